//! What kernels do in benchmarks, counted under live schedulers on one, two and four CPUs without siblings: the guest's
//! part of `cargo xtask reality`. Of one CPU the counts are a kernel's; several take turns on one thread of the host.

use super::article::{POLICY_2_4_19, POLICY_2_5_32, POLICY_2_5_32_A9};
use super::cost::{self, GROUPS};
use super::peers;
use crate::vm::guest::{Guest, output, read};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::time::Instant;

/// Boots and their CPUs.
pub(crate) const BOOTS: &[(&str, u32)] = &[("counts1", 1), ("counts2", 2), ("counts4", 4)];
const POLICIES: &[&str] = &["kernel", "core-queue", POLICY_2_4_19, POLICY_2_5_32, POLICY_2_5_32_A9];
/// A load by the words of `coretwin run`, and the same with fewer operations, whose counts are taken off: making
/// tasks and connections is in both.
struct Load {
    name: &'static str,
    words: &'static [&'static str],
    fewer: Option<&'static [&'static str]>,
    /// Writes of both, where a run does not say its operations.
    writes: [f64; 2],
}

const LOADS: &[Load] = &[
    load("pipe", &["lmbench/pipe-latency:sample=0.1,samples=3"], None),
    load("tbench 2", &[cost::TBENCH], None),
    load("chat 2", &["chat:rooms=2,messages=25"], Some(&["chat:rooms=2,messages=5"])),
    load("chat 10", &["chat:rooms=10,messages=6"], Some(&["chat:rooms=10,messages=2"])),
    Load {
        writes: [cost::GROUPS_WRITES, cost::GROUPS_WRITES / 4.0],
        ..load(
            "groups 4",
            &["--", "/init", GROUPS, "4"],
            Some(&["--", "/init", GROUPS, "4", "100"]),
        )
    },
];

const fn load(
    name: &'static str,
    words: &'static [&'static str],
    fewer: Option<&'static [&'static str]>,
) -> Load {
    Load { name, words, fewer, writes: [0.0; 2] }
}

/// Runs of each, of which the middle one is shown, with the least and the most: of one CPU, and of several.
const RUNS: [usize; 2] = [3, 1];

/// The page, without its rows.
pub(crate) const PAGE: &str = "\
# What a kernel does in benchmarks, under schedulers of two decades

Written by `cargo xtask vm schedcost --boot counts1 --boot counts2 --boot counts4 --page`. Linux RELEASE, emulated, no
siblings, time by instructions. Counted per operation: a round trip (pipe), a call of a client (tbench), a message received
(chat), a write (groups, the shape of hackbench). Chat and groups run twice, the second time with fewer operations, and the
difference counts: making tasks and connections is in both. Shown is the middle of three pairs, the least and the most;
of one pair with several CPUs. Switches are those of `/proc/stat`, idle CPUs' included; wake-ups those of
`/proc/schedstat`; segments those of TCP. Several emulated CPUs take turns on one thread of the host, which bends their
counts. Beside the simulated ones: [reality.md](reality.md).

| CPUs | load | scheduler | operations | operations/s | switches | wake-ups | segments |
|---|---|---|---|---|---|---|---|
";

pub(super) fn run(guest: &mut Guest, cpus: u32) -> Result<()> {
    cost::prepare()?;
    std::fs::write("/proc/sys/kernel/sched_schedstats", "1").context("counting wake-ups")?;
    guest.check_told("benchmarks are counted under each scheduler", || {
        let mut rows = String::new();
        for load in LOADS {
            for policy in POLICIES {
                let row = counted(policy, load, RUNS[usize::from(cpus > 1)])
                    .with_context(|| format!("{} under {policy}", load.name))?;
                writeln!(rows, "| {cpus} | {} | {policy} | {row}", load.name)?;
            }
        }
        Ok(rows.trim_end().to_owned())
    })?;
    Ok(())
}

/// The cells of a load under a scheduler.
fn counted(policy: &str, load: &Load, runs: usize) -> Result<String> {
    let loaded = match policy {
        "kernel" => None,
        policy => Some(peers::load("coretwin", &["sched", "keep", "--policy", policy])?),
    };
    let runs = (0..runs).map(|_| each(load)).collect::<Result<Vec<_>>>();
    if let Some(loaded) = loaded {
        peers::unload(loaded)?;
    }
    let runs = runs?;
    let cell = |of: usize| {
        let mut values: Vec<f64> = runs.iter().map(|run| run[of]).collect();
        values.sort_by(f64::total_cmp);
        let [least, middle, most] = [values[0], values[values.len() / 2], values[values.len() - 1]];
        match of {
            0 | 1 => format!("{middle:.0}"),
            _ => format!("{middle:.3} ({least:.3} to {most:.3})"),
        }
    };
    Ok((0..5).map(cell).collect::<Vec<_>>().join(" | ") + " |")
}

/// Operations, and how many in a second; switches, wake-ups and segments for each of them.
fn each(load: &Load) -> Result<[f64; 5]> {
    let [writes, fewer] = load.writes;
    let mut all = one(load.words, writes)?;
    if let Some(words) = load.fewer {
        let less = one(words, fewer)?;
        all.iter_mut().zip(less).for_each(|(all, less)| *all -= less);
    }
    let [operations, seconds, counts @ ..] = all;
    ensure!(operations > 0.0 && seconds > 0.0, "no operations");
    let [switches, wake_ups, segments] = counts.map(|count| count / operations);
    Ok([operations, operations / seconds, switches, wake_ups, segments])
}

/// Operations of a run and its seconds, its switches, wake-ups and segments.
fn one(words: &[&str], writes: f64) -> Result<[f64; 5]> {
    let started = Instant::now();
    let before = counts()?;
    let ran = output("coretwin", &[&["run", "--json"], words].concat())?;
    let (after, seconds) = (counts()?, started.elapsed().as_secs_f64());
    let run: Value = serde_json::from_slice(&ran.stdout).context("the JSON of a run")?;
    ensure!(ran.status.success(), "{}", run["cause"]);
    let told = || {
        let metrics = ["operations_with_warm_up", "operations"]
            .map(|it| run["metrics"][it]["value"].as_f64());
        metrics.into_iter().flatten().next().or_else(|| run["operations"].as_f64())
    };
    let operations = Some(writes).filter(|writes| *writes > 0.0).or_else(told);
    let of = |at: usize| after[at] - before[at];
    Ok([operations.context("no operations")?, seconds, of(0), of(1), of(2)])
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
