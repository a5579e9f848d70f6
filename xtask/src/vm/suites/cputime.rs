//! The note's experiment in a guest: that it takes the guest's real siblings, and says that emulated
//! CPUs tell nothing about SMT.

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::{Guest, json_of, output};
use crate::vm::qemu::Topology;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

pub(crate) const SUITE: Suite = Suite {
    name: "cputime",
    about: "cputime finds the siblings, measures both sides, and says what emulation cannot show",
    machines,
    guest,
};

/// Where the experiment lies.
const FOLDER: &str = "/experiment";
/// The fewest conditions; a guest is never quiet.
const OPTIONS: [&str; 14] = [
    "cputime",
    "--blocks",
    "1",
    "--spinners",
    "1",
    "--spinner",
    "native",
    "--others-limit",
    "100%",
    "--steal-limit",
    "100%",
    "--json",
    "--out",
    FOLDER,
];

/// The newest kernel, two cores of two siblings.
fn machines(wanted: &Wanted) -> Vec<Machine> {
    let boot = Boot::only(10);
    let newest = wanted.kernels.last().cloned();
    let machine =
        |kernel| Machine { kernel, topology: Topology::new(1, 2, 2), boots: vec![boot.clone()] };
    newest.map(machine).into_iter().collect()
}

fn guest(guest: &mut Guest) -> Result<()> {
    let mut summary = Value::Null;
    guest.check("gzip beside a spinner goes to its end", || {
        summary = json_of("coretwin", &OPTIONS)?;
        Ok(())
    })?;
    guest.check("the pair is the guest's first siblings, the control another core", || {
        let cpus = &summary["cpus"];
        ensure!(cpus["work"] == 0 && cpus["neighbour"] == 1, "the pair is {cpus}");
        ensure!(cpus["relation"] == "siblings", "they are called {}", cpus["relation"]);
        ensure!(summary["control"] == 2, "the control is {}", summary["control"]);
        Ok(())
    })?;
    guest.check_told("every condition was measured on both sides", || measured(&summary))?;
    guest.check("emulation is said to mean nothing, and no factors are kept", || {
        let meaning = summary["meaning"].to_string();
        ensure!(meaning.contains("slowdowns mean nothing here"), "it says {meaning}");
        let kept = Path::new("/var/lib/coretwin/factors.jsonl");
        ensure!(!kept.exists(), "{} is there", kept.display());
        Ok(())
    })?;
    guest.check("the report says so too", || {
        let report = output("coretwin", &["report", FOLDER, "--full"])?;
        let text = String::from_utf8_lossy(&report.stdout);
        ensure!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
        for part in ["emulated in software", "1 spinner on the sibling"] {
            ensure!(text.contains(part), "'{part}' is not in:\n{text}");
        }
        Ok(())
    })?;
    Ok(())
}

fn measured(summary: &Value) -> Result<String> {
    let conditions = summary["conditions"].as_array().context("no conditions")?;
    let mut told = Vec::new();
    for name in ["siblings/1", "same-cpu/1", "free/1", "cores/1"] {
        let found = conditions.iter().find(|condition| condition["name"] == name);
        let found = found.with_context(|| format!("no condition {name}"))?;
        let slowdown = found["slowdown"].as_f64().with_context(|| format!("{found}"))?;
        let spinner =
            found["spinner_slowdown"]["value"].as_f64().with_context(|| found.to_string());
        told.push(format!("{name} {slowdown:.2} (spinner {:.2})", spinner?));
    }
    Ok(told.join(", "))
}
