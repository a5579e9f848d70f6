//! `coretwin smt off`, `on`, `level` and `restore` by hand.

use super::state::{Arranged, CONTROL, CPUS};
use crate::vm::guest::{Guest, expand, json_of, output, read};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

/// Where a change by hand waits for its undo.
pub(super) const SAVED: &str = "/run/coretwin/smt-hand.json";

pub(super) fn run(guest: &mut Guest) -> Result<()> {
    let mut machine = Arranged::with_partition()?;
    guest.check("status tells the switch and that nothing is saved", || {
        let status = status()?;
        ensure!(status["control"] == "on" && status["switchable"] == true, "{status}");
        ensure!(status["saved"] == Value::Array(Vec::new()), "{}", status["saved"]);
        Ok(())
    })?;
    guest.check("a dry run changes nothing", || {
        json_of("coretwin", &["smt", "off", "--dry-run", "--json"])?;
        ensure!(!Path::new(SAVED).exists(), "a state was saved");
        machine.is_as_before()
    })?;
    guest.check("off leaves the first thread of each core", || {
        change("off", &["smt", "off", "--yes", "--json"])?;
        is_off("0,2")?;
        ensure!(Path::new(SAVED).exists(), "nothing is saved");
        let status = status()?;
        ensure!(status["saved"][0]["kept"] == true, "{}", status["saved"]);
        Ok(())
    })?;
    guest.check("on wakes siblings, and not the CPU that was offline by hand", || {
        change("on", &["smt", "on", "--yes", "--json"])?;
        let online = read(format!("{CPUS}/online"))?;
        ensure!(online == "0-2" && read(CONTROL)? == "on", "online {online}");
        Ok(())
    })?;
    guest.check("restore puts everything back", || restored(&machine))?;
    guest.check("a second restore finds nothing to do", || {
        json_of("coretwin", &["smt", "restore", "--json"])?;
        machine.is_as_before()
    })?;
    guest.check("off, restore", || {
        change("off", &["smt", "off", "--yes", "--json"])?;
        ensure!(!machine.changed()?.is_empty(), "off changed nothing");
        restored(&machine)
    })?;
    guest.check("a level is taken, or refused without a change", || {
        let output = output("coretwin", &["smt", "level", "1", "--yes"])?;
        let code = output.status.code();
        ensure!(matches!(code, Some(0 | 3)), "{}", said(&output));
        if code == Some(0) {
            is_off("0,2")?;
        }
        restored(&machine)
    })?;
    guest.check("a group that was set anew meanwhile is told and left so", || {
        change("off", &["smt", "off", "--yes", "--json"])?;
        machine.set_group_anew()?;
        let done = json_of("coretwin", &["smt", "restore", "--json"])?;
        ensure!(done["warnings"].to_string().contains("wish the CPUs 0"), "{}", done["warnings"]);
        machine.is_as_before()
    })?;
    guest.check("a group that was deleted meanwhile is told, the rest put back", || {
        change("off", &["smt", "off", "--yes", "--json"])?;
        machine.delete_group()?;
        let done = json_of("coretwin", &["smt", "restore", "--json"])?;
        ensure!(done["warnings"].to_string().contains("wish"), "{}", done["warnings"]);
        machine.is_as_before()
    })?;
    Ok(())
}

/// `coretwin smt restore`, to the end.
pub(super) fn restored(machine: &Arranged) -> Result<()> {
    let done = json_of("coretwin", &["smt", "restore", "--json"])?;
    let left = &done["left_to_do"];
    ensure!(*left == Value::Array(Vec::new()), "left to do: {left}");
    ensure!(!Path::new(SAVED).exists(), "the state is still there");
    machine.is_as_before()
}

/// A change that must succeed, and tell what the kernel tells.
pub(super) fn change(word: &str, arguments: &[&str]) -> Result<()> {
    let done = json_of("coretwin", arguments)?;
    ensure!(done["action"] == word, "action {}", done["action"]);
    let online = read(format!("{CPUS}/online"))?;
    let told = done["online_after"].as_array().context("no list of CPUs")?;
    let told: Vec<String> = told.iter().map(Value::to_string).collect();
    ensure!(told == expand(&online)?, "{told:?} and not {online}");
    let control = read(CONTROL)?;
    ensure!(done["control_after"] == control, "{} and not {control}", done["control_after"]);
    Ok(())
}

fn is_off(expected: &str) -> Result<()> {
    let (online, control) = (read(format!("{CPUS}/online"))?, read(CONTROL)?);
    ensure!(online == expected && control == "off", "online {online}, control {control}");
    Ok(())
}

pub(super) fn status() -> Result<Value> {
    json_of("coretwin", &["smt", "status", "--json"])
}

/// A program's end and what it said, for a message.
pub(super) fn said(output: &std::process::Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    format!("{}: {} {}", output.status, text(&output.stderr), text(&output.stdout))
}

/// That a command was refused with this exit status and a sentence, and nothing changed.
pub(super) fn refused(
    machine: &Arranged,
    output: &std::process::Output,
    status: i32,
    part: &str,
) -> Result<()> {
    ensure!(output.status.code() == Some(status), "not {status}: {}", said(output));
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(errors.contains(part), "'{part}' is not in: {}", said(output));
    machine.is_as_before().context("after a refusal")
}
