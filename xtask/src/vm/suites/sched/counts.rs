//! What kernels do in benchmarks, counted under live schedulers on one, two and four CPUs without siblings: the guest's
//! part of `cargo xtask reality`. Of one CPU the counts are a kernel's; several take turns on one thread of the host.

use super::article::{POLICY_2_4_19, POLICY_2_5_32, POLICY_2_5_32_A9};
use super::cost::{self, GROUPS};
use super::peers;
use crate::vm::guest::{Guest, output, read};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write;

/// Boots and their CPUs.
pub(crate) const BOOTS: &[(&str, u32)] = &[("counts1", 1), ("counts2", 2), ("counts4", 4)];
const POLICIES: &[&str] = &["kernel", "core-queue", POLICY_2_4_19, POLICY_2_5_32, POLICY_2_5_32_A9];
/// Loads by the words of `coretwin run`. Writes and sends that are one operation, where a run does not say them.
const LOADS: &[(&str, &[&str], Option<f64>)] = &[
    ("pipe", &["lmbench/pipe-latency:sample=0.1,samples=3"], None),
    ("tbench 2", &[cost::TBENCH], None),
    ("chat 2", &["chat:rooms=2,messages=20"], None),
    ("chat 10", &["chat:rooms=10,messages=4"], None),
    ("groups 4", &["--", "/init", GROUPS, "4"], Some(cost::GROUPS_WRITES)),
];
/// Runs of each, of which the middle one is shown, with the least and the most.
const RUNS: usize = 3;

/// The page, without its rows.
pub(crate) const PAGE: &str = "\
# What a kernel does in benchmarks, under schedulers of two decades

Written by `cargo xtask vm sched --boot counts1 --boot counts2 --boot counts4 --page`. Linux RELEASE, emulated, no
siblings, time by instructions. Counted in a whole run, the making of tasks included, and per operation: a round trip
(pipe), a call of a client (tbench), a message received (chat), a write (groups, the shape of hackbench): the middle of three
runs (least to most). Switches are those of `/proc/stat`, idle CPUs' included; wake-ups those of `/proc/schedstat`;
segments those of TCP. Several emulated CPUs take turns on one thread of the host, which bends their counts.

| CPUs | load | scheduler | operations | switches | wake-ups | segments |
|---|---|---|---|---|---|---|
";

pub(super) fn run(guest: &mut Guest, cpus: u32) -> Result<()> {
    cost::prepare()?;
    std::fs::write("/proc/sys/kernel/sched_schedstats", "1").context("counting wake-ups")?;
    guest.check_told("benchmarks are counted under each scheduler", || {
        let mut rows = String::new();
        for (load, words, operations) in LOADS {
            for policy in POLICIES {
                let row = counted(policy, words, *operations)
                    .with_context(|| format!("{load} under {policy}"))?;
                writeln!(rows, "| {cpus} | {load} | {policy} | {row}")?;
            }
        }
        Ok(rows.trim_end().to_owned())
    })?;
    Ok(())
}

/// The cells of a load under a scheduler.
fn counted(policy: &str, words: &[&str], operations: Option<f64>) -> Result<String> {
    let loaded = match policy {
        "kernel" => None,
        policy => Some(peers::load("coretwin", &["sched", "keep", "--policy", policy])?),
    };
    let runs = (0..RUNS).map(|_| one(words, operations)).collect::<Result<Vec<_>>>();
    if let Some(loaded) = loaded {
        peers::unload(loaded)?;
    }
    let runs = runs?;
    let cell = |of: usize| {
        let mut values: Vec<f64> = runs.iter().map(|run| run[of]).collect();
        values.sort_by(f64::total_cmp);
        let [least, middle, most] = [values[0], values[RUNS / 2], values[RUNS - 1]];
        match of {
            0 => format!("{middle:.0}"),
            _ => format!("{middle:.3} ({least:.3} to {most:.3})"),
        }
    };
    Ok((0..4).map(cell).collect::<Vec<_>>().join(" | ") + " |")
}

/// Operations of a run; switches, wake-ups and segments for each of them.
fn one(words: &[&str], operations: Option<f64>) -> Result<[f64; 4]> {
    let before = counts()?;
    let ran = output("coretwin", &[&["run", "--json"], words].concat())?;
    let after = counts()?;
    let run: Value = serde_json::from_slice(&ran.stdout).context("the JSON of a run")?;
    ensure!(ran.status.success(), "{}", run["cause"]);
    let told = || {
        let metrics = ["operations_with_warm_up", "operations"]
            .map(|it| run["metrics"][it]["value"].as_f64());
        metrics.into_iter().flatten().next().or_else(|| run["operations"].as_f64())
    };
    let operations = operations.or_else(told).context("no operations")?;
    let each = |at: usize| (after[at] - before[at]) / operations;
    Ok([operations, each(0), each(1), each(2)])
}

/// Switches, wake-ups and segments since the boot.
fn counts() -> Result<[f64; 3]> {
    let number = |text: Option<&str>| text.and_then(|it| it.parse::<f64>().ok());
    let stat = read("/proc/stat")?;
    let switches = stat.lines().find_map(|line| number(line.strip_prefix("ctxt ")));
    // Documentation/scheduler/sched-stats.rst: the fifth number of a CPU's line.
    let of_cpus = read("/proc/schedstat")?;
    let of_cpus = of_cpus.lines().filter(|line| line.starts_with("cpu"));
    let wake_ups = of_cpus.map(|line| number(line.split(' ').nth(5))).sum::<Option<f64>>();
    let network = read("/proc/net/snmp")?;
    let mut tcp = network.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (tcp.next().unwrap_or_default(), tcp.next().unwrap_or_default());
    let mut pairs = names.split(' ').zip(values.split(' '));
    let segments = pairs.find(|(name, _)| *name == "OutSegs").and_then(|it| number(Some(it.1)));
    let all = [switches, wake_ups, segments].map(|it| it.context("a count is missing"));
    let [switches, wake_ups, segments] = all;
    Ok([switches?, wake_ups?, segments?])
}
