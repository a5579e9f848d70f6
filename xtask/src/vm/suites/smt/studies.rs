//! A study that switches, to its end; and two at once.

use super::hand::{refused, said};
use super::state::{Arranged, wait_until};
use crate::vm::guest::{Guest, output};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Where a study keeps the state to which the machine goes back.
pub(super) const SAVED: &str = "/run/coretwin/smt-study.json";

/// More blocks than a study will ever come to.
pub(super) const ENDLESS: &str = "1000";

/// What others do to an emulated guest is not asked here: a study may not end as too busy for it.
const UNDISTURBED: [&str; 4] = ["--steal-limit", "100%", "--others-limit", "100%"];

/// A switching study of the shortest command.
pub(super) fn start(folder: &Path, blocks: &str) -> Result<Child> {
    let log = File::create(folder.with_extension("log"))?;
    Command::new("coretwin")
        .args(["study", "--switch", "--yes", "--settle", "0s", "--blocks", blocks])
        .args(UNDISTURBED)
        .arg("--out")
        .arg(folder)
        .args(["--", "/bin/true"])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("starting a study")
}

/// What a study said, for a message.
pub(super) fn log(folder: &Path) -> String {
    let bytes = fs::read(folder.with_extension("log")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

pub(super) fn run(guest: &mut Guest) -> Result<()> {
    let machine = Arranged::new()?;
    let folder = Path::new("/tmp/study");
    guest.check("a switching study goes to its end and leaves nothing behind", || {
        let output = output(
            "coretwin",
            &[
                &["study", "--switch", "--yes", "--settle", "0s", "--blocks", "2"][..],
                &UNDISTURBED,
                &["--out", "/tmp/study", "--", "/bin/true"],
            ]
            .concat(),
        )?;
        ensure!(output.status.success(), "{}", said(&output));
        ensure!(!Path::new(SAVED).exists(), "the state is still there");
        machine.is_as_before()
    })?;
    guest.check("its readings are of machines with and without siblings", || ran_on(folder))?;
    guest.check("another switch is refused while a study uses it", || {
        let first = Path::new("/tmp/first");
        let mut study = start(first, ENDLESS)?;
        let outcome = while_used(first);
        study.kill()?;
        study.wait()?;
        wait_until("the guard puts the machine back", || Ok(!Path::new(SAVED).exists()))?;
        outcome?;
        machine.is_as_before()
    })?;
    guest.check("nothing is left for restore", || {
        refused(&machine, &output("coretwin", &["smt", "restore"])?, 0, "")
    })?;
    Ok(())
}

/// A study that is killed goes on where it was.
pub(super) fn run_resumed(guest: &mut Guest) -> Result<()> {
    let machine = Arranged::new()?;
    let folder = Path::new("/tmp/resumed");
    guest.check("a study that was killed is resumed to its end", || {
        let mut study = start(folder, "2")?;
        let readings = || {
            fs::read_to_string(folder.join("journal.jsonl"))
                .map_or(0, |journal| journal.lines().count())
        };
        let begun = wait_until("there are readings", || Ok(readings() > 1));
        study.kill()?;
        study.wait()?;
        begun.with_context(|| log(folder))?;
        let before = readings();
        // At once: the guard may still be at it.
        let resume = ["study", "--resume", "/tmp/resumed", "--yes"];
        let output = output("coretwin", &resume)?;
        ensure!(output.status.success(), "{}", said(&output));
        ensure!(readings() > before, "{} readings after {before}", readings());
        machine.is_as_before()
    })?;
    guest.check("its readings are of machines with and without siblings too", || ran_on(folder))?;
    Ok(())
}

fn while_used(folder: &Path) -> Result<()> {
    wait_until("the study saves the state", || Ok(Path::new(SAVED).exists()))
        .with_context(|| log(folder))?;
    for arguments in [
        &["study", "--switch", "--yes", "--out", "/tmp/second", "--", "/bin/true"][..],
        &["smt", "off", "--yes"],
        &["smt", "restore"],
    ] {
        let output = output("coretwin", arguments)?;
        ensure!(output.status.code() == Some(3), "{}: {}", arguments.join(" "), said(&output));
    }
    Ok(())
}

/// Every reading of `off` ran on the first threads only, and some of `on` on more CPUs.
fn ran_on(folder: &Path) -> Result<()> {
    let journal = fs::read_to_string(folder.join("journal.jsonl")).context("the journal")?;
    let mut arms = (0, 0);
    for line in journal.lines() {
        let reading: Value = serde_json::from_str(line).context("a reading")?;
        ensure!(reading["status"] != "failed", "failed: {}", reading["cause"]);
        let cpus: Vec<u64> = reading["cpus_ran"]
            .as_array()
            .map(|cpus| cpus.iter().filter_map(Value::as_u64).collect())
            .unwrap_or_default();
        match reading["arm"].as_str() {
            Some("off") => {
                arms.0 += 1;
                let first_threads = cpus.iter().all(|cpu| cpu % 2 == 0);
                ensure!(first_threads, "off ran on {cpus:?}");
            }
            _ => arms.1 += 1,
        }
    }
    ensure!(arms.0 >= 2 && arms.1 >= 2, "{arms:?} readings");
    Ok(())
}
