//! What the scheduler costs beside the kernel's own, interleaved; and SMT off and on in one study with it.
//! An emulated guest shows decisions and overhead, never what SMT gains.

use crate::vm::guest::{Guest, json_of, output};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

const STUDY: &str = "/study";
const COSTS: &str = "/costs";
/// Enough for an interval.
const BLOCKS: &str = "8";

pub(super) fn run(guest: &mut Guest) -> Result<()> {
    guest.check_told(
        "a study of off@kernel, on@kernel and on@core-queue, every arm verified",
        || {
            let arms = ["off@kernel", "on@kernel", "on@core-queue"];
            let summary = study(STUDY, &arms, "2", &["--", "/bin/true"])?;
            let rows = summary["rows"].as_array().context("no rows")?;
            ensure!(!rows.is_empty(), "no rows in {summary}");
            let journal = std::fs::read_to_string(format!("{STUDY}/journal.jsonl"))?;
            let readings: Vec<Value> = journal
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .filter(|line: &Value| line["arm"].is_string())
                .collect();
            let failed = readings.iter().find(|reading| reading["status"] != "ok");
            ensure!(failed.is_none(), "{failed:?}");
            let mut seen: Vec<&str> = readings.iter().filter_map(|it| it["arm"].as_str()).collect();
            seen.sort_unstable();
            seen.dedup();
            ensure!(seen.len() == arms.len(), "arms in the journal: {seen:?}");
            Ok(format!("{} readings of {}", readings.len(), seen.join(", ")))
        },
    )?;
    guest.check_told("cost beside the kernel's own scheduler, as ratios", || {
        let rows = ["lmbench/pipe-latency", "chat:rooms=1", "tbench:clients=4"];
        let summary = study(COSTS, &["on@kernel", "on@core-queue"], BLOCKS, &rows)?;
        let rows = summary["rows"].as_array().context("no rows")?;
        let told: Vec<String> = rows.iter().map(ratio).collect::<Result<_>>()?;
        ensure!(!told.is_empty(), "no rows in {summary}");
        Ok(told.join("; "))
    })?;
    Ok(())
}

fn study(folder: &str, arms: &[&str], blocks: &str, what: &[&str]) -> Result<Value> {
    let mut arguments = vec!["study", "--yes", "--settle", "0s", "--blocks", blocks];
    arguments.extend(arms.iter().flat_map(|arm| ["--arm", arm]));
    arguments.extend(["--out", folder]);
    arguments.extend(what);
    let output = output("coretwin", &arguments)?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    json_of("cat", &[&format!("{folder}/summary.json")])
}

fn ratio(row: &Value) -> Result<String> {
    let number = |name: &str| row[name].as_f64().with_context(|| format!("no {name} in {row}"));
    let (ratio, low, high) = (number("ratio")?, number("low")?, number("high")?);
    Ok(format!("{} {ratio:.3} ({low:.3} to {high:.3})", row["workload"].as_str().unwrap_or("?")))
}
