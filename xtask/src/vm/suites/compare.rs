//! One machine under two kernels: a switching study under each, then what `coretwin compare` makes of
//! the two: workload, kernel, SMT, and the interaction with its interval.

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::{Guest, json_of, output};
use crate::vm::qemu::{Clock, Topology};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

pub(crate) const SUITE: Suite = Suite {
    name: "compare",
    about: "a switching study under each of two kernels, and the two compared",
    machines,
    guest,
};

/// Where the study of each boot lies.
const STUDIES: [&str; 2] = ["/older", "/newer"];
/// Enough for an interval of the interaction.
const BLOCKS: &str = "4";

/// One machine, if there are two kernels; too long for every change.
fn machines(wanted: &Wanted) -> Vec<Machine> {
    let [older, .., newer] = &wanted.kernels[..] else { return Vec::new() };
    if wanted.fast {
        return Vec::new();
    }
    let boot = |name, kernel| Boot {
        name,
        kernel,
        command_line: "",
        timeout: Duration::from_secs(15 * 60),
        clock: Clock::Host,
    };
    vec![Machine {
        kernel: older.clone(),
        topology: Topology::new(1, 2, 2),
        boots: vec![boot("older", None), boot("newer", Some(newer.clone()))],
    }]
}

fn guest(guest: &mut Guest) -> Result<()> {
    let second = guest.boot == "newer";
    let folder = STUDIES[usize::from(second)];
    guest.check("a switching study goes to its end", || study(folder))?;
    if second {
        guest.check_told("compare tells the kernels apart and has the interaction", compared)?;
        guest.check("the table has both kernels side by side", table)?;
    } else {
        guest.bring_out(Path::new(folder))?;
    }
    Ok(())
}

fn study(folder: &str) -> Result<()> {
    let options = ["study", "--switch", "--yes", "--settle", "0s", "--blocks", BLOCKS];
    // What else the host does is not a fault here.
    let limits = ["--steal-limit", "100%", "--others-limit", "100%"];
    let rest = ["--out", folder, "--", "/bin/true"];
    let output = output("coretwin", &[&options[..], &limits, &rest].concat())?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn compared() -> Result<String> {
    let [older, newer] = STUDIES;
    let record = json_of("coretwin", &["compare", older, newer, "--format", "json"])?;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").context("the release")?;
    let heads = [0, 1].map(|study| record["studies"][study]["head"].as_str().unwrap_or_default());
    ensure!(heads[0] != heads[1], "both are called {}", heads[0]);
    ensure!(release.starts_with(heads[1]), "'{}' is not of {release}", heads[1]);
    for study in 0..2 {
        let kind = &record["studies"][study]["comparison"];
        ensure!(*kind == "smt", "the comparison is {kind}");
    }
    let interaction = &record["effects"][0]["interaction"];
    let number = |field: &str| -> Result<f64> {
        interaction[field].as_f64().with_context(|| format!("{field} in {interaction}"))
    };
    let (low, ratio, high) = (number("low")?, number("ratio")?, number("high")?);
    ensure!(low < ratio && ratio < high, "{low} {ratio} {high}");
    let facts = record["facts"].as_array().map_or(&[][..], Vec::as_slice);
    let kernel = |fact: &Value| fact["fact"].as_str().is_some_and(|fact| fact.contains("kernel"));
    ensure!(facts.iter().any(kernel), "the kernels are not among what differs");
    Ok(format!("interaction {ratio:.3}, interval from {low:.3} to {high:.3}"))
}

fn table() -> Result<()> {
    let [older, newer] = STUDIES;
    let output = output("coretwin", &["compare", older, newer, "--full"])?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for part in ["off", "on", "command", "nteraction"] {
        ensure!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    Ok(())
}
