//! Two boots of one machine: a study that compares them, and a saved state that outlived its boot.

use super::hand::{SAVED, refused, said};
use super::state::Arranged;
use crate::vm::guest::{Guest, json_of, output};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;

const STUDY: &str = "/study";
const STATE: &str = "/brought/smt-hand.json";
/// With it the boot with SMT comes first.
const SEED: &str = "1";

/// A boot as any other.
pub(super) fn first(guest: &mut Guest) -> Result<()> {
    guest.check("a study measures this boot, and says what to boot next", || {
        let output = output(
            "coretwin",
            &[
                "study",
                "--arm",
                "boot:smt",
                "--arm",
                "boot:nosmt",
                "--blocks",
                "1",
                "--settle",
                "0s",
                "--seed",
                SEED,
                "--yes",
                "--out",
                STUDY,
                "--",
                "/bin/true",
            ],
        )?;
        ensure!(output.status.success(), "{}", said(&output));
        let told = said(&output);
        ensure!(told.contains("nosmt") && told.contains("--resume"), "{told}");
        let readings = readings()?;
        ensure!(!readings.is_empty() && !readings.contains(&"boot:nosmt".into()), "{readings:?}");
        Ok(())
    })?;
    json_of("coretwin", &["smt", "off", "--yes", "--json"])?;
    fs::create_dir_all("/brought")?;
    fs::copy(SAVED, STATE).context("the saved state")?;
    guest.bring_out(Path::new("/brought"))?;
    guest.bring_out(Path::new(STUDY))
}

/// The same machine, booted with `nosmt`.
pub(super) fn second(guest: &mut Guest) -> Result<()> {
    let machine = Arranged::of_nosmt()?;
    fs::create_dir_all("/run/coretwin")?;
    fs::copy(STATE, SAVED).context("the state that was brought in")?;
    guest.check("restore refuses the state of another boot", || {
        refused(&machine, &output("coretwin", &["smt", "restore"])?, 3, "earlier boot")?;
        let status = super::hand::status()?;
        ensure!(status["saved"][0]["same_boot"] == false, "{}", status["saved"]);
        Ok(())
    })?;
    fs::remove_file(SAVED)?;
    guest.check("the study goes on in this boot and comes to its end", || {
        let output = output("coretwin", &["study", "--resume", STUDY])?;
        ensure!(output.status.success(), "{}", said(&output));
        let readings = readings()?;
        ensure!(readings.contains(&"boot:nosmt".into()), "{readings:?}");
        let summary = fs::read(Path::new(STUDY).join("summary.json")).context("the summary")?;
        let summary: Value = serde_json::from_slice(&summary)?;
        ensure!(summary["comparison"] == "smt", "comparison {}", summary["comparison"]);
        ensure!(summary["next_boot"].is_null(), "next boot {}", summary["next_boot"]);
        machine.is_as_before()
    })?;
    Ok(())
}

/// The arms of all readings.
fn readings() -> Result<Vec<String>> {
    let journal =
        fs::read_to_string(Path::new(STUDY).join("journal.jsonl")).context("the journal")?;
    let arm = |line: &str| -> Result<String> {
        let reading: Value = serde_json::from_str(line).context("a reading")?;
        ensure!(reading["status"] == "ok", "{}: {}", reading["status"], reading["cause"]);
        Ok(reading["arm"].as_str().unwrap_or_default().to_owned())
    };
    journal.lines().map(arm).collect()
}
