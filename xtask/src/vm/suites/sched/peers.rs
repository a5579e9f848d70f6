//! The kernel's own scheduler, core-queue and those of others, in one study: each reading loads its scheduler, runs
//! a load of `cost.rs` and unloads it, in an order that is drawn for every block. `cargo xtask peers` builds the others.

use super::cost;
use crate::peers::PROGRAMS;
use crate::vm::guest::{Guest, json_of, mount_one, read};
use anyhow::{Context, Result, bail, ensure};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The word by which this program takes one reading: `peer SCHEDULER ROW`.
pub(crate) const READING: &str = "peer";
/// The first is what the others are compared with.
const SCHEDULERS: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("core-queue", &["coretwin", "sched", "keep"]),
    ("bpfland", &["scx_bpfland"]),
    ("lavd", &["scx_lavd"]),
    ("lavd-per-cpu", &["scx_lavd", "--per-cpu-dsq"]),
    ("rusty", &["scx_rusty"]),
    ("cosmos", &["scx_cosmos"]),
    ("p2dq", &["scx_p2dq"]),
];
/// A boot for each load, made for those alone who ask for it, and the boot of `cost.rs` of which the load is.
pub(crate) const BOOTS: [(&str, &str); 6] = [
    ("peerspipe", "costpipe"),
    ("peerstbench", "costtbench"),
    ("peerschat10", "costchat10"),
    ("peerschat20", "costchat20"),
    ("peersgroups1", "costgroups1"),
    ("peersgroups4", "costgroups4"),
];
/// How long a scheduler may take to be in charge, or gone, of the guest's time: the kernel looks through a program of
/// thousands of lines for more than a minute there.
const LOADING: Duration = Duration::from_secs(300);
/// Of the guest's time: then the study is interrupted, and kept for the next boot.
const SESSION: Duration = Duration::from_secs(600);
/// Of the host's time, for a boot.
pub(super) const TIMEOUT: Duration = Duration::from_secs(3 * 60 * 60);
const GLANCE: Duration = Duration::from_millis(20);
const SCHED_EXT: &str = "/sys/kernel/sched_ext";
const STATE: &str = "/sys/kernel/sched_ext/state";
/// A scheduler of which a run failed has no row; why stands in its log.
const LOG: &str = "/tmp/peer.log";

/// The page of what they say, without its rows.
pub(crate) const PAGE: &str = "\
# core-queue beside other schedulers for sched_ext, in a guest

`rusty` and `p2dq` lead in hackbench, by less than their intervals; core-queue wins the pipe, tbench and chat, the last by a rule that acts on slow processors alone.

Written by `cargo xtask vm schedcost --page` with `--boot peerspipe` and its like (`vm --help`), after `cargo xtask peers` has built VERSIONS. Linux RELEASE,
2 cores with 2 siblings each, emulated, time by instructions. A reading loads a scheduler, runs the load and unloads
it; all schedulers take part in every block, in an order that is drawn. Ratios to the kernel's own scheduler, above
1 is better, with 95 % intervals. Bold is the best of a row. Emulated siblings share nothing: this shows each
scheduler's own steps and its order of tasks, never what SMT gains. Each runs with its own defaults, made for other
machines and for other aims (latency of games, power, large caches) than the throughput of these loads.

How chat compares hung on one rule. A woken task took the place of a running one that had had 2 ms more; so whoever
sends to many was displaced by the first that it woke, which found one message. Who has woken more
than four since it began to run keeps its CPU now. Thousands of messages a second, the middle of three runs in one boot
(of p2dq in another):

| chat | the kernel's own | displaced at once | after 2 ms, always | never, slices of 10 ms, lag forgotten | p2dq |
|---|---|---|---|---|---|
| 10 rooms, 4 messages a user | 9.8 | 9.4 | 10.7 | 13.8 | 14.5 |
| 10 rooms, 16 messages | 10.9 | 14.8 | 15.4 | 19.9 | 21.5 |
| 1 room, 40 messages | 24.9 | 24.6 | 25.9 | 27.3 | 22.8 |

So most of what p2dq gains with ten rooms is longer slices, and that a woken task stands behind those that wait. core-queue
has neither: wake-ups would wait for longer, and a task that sleeps would lose what it had not used. Where a slice is not worth
1500 switches, as on an emulated processor, tasks that wake among many stand four slices later now
([why](core-queue-guest.md)). Without that rule, as on processors of usual speed, and before tasks stayed near, core-queue had 1.182 (0.716 to 1.951)
and 0.994 (0.714 to 1.385) of the kernel's own in chat, and rusty and p2dq had 1.67 to 1.87.

| load | SCHEDULERS | blocks |
";

/// The load of a boot; none of another boot.
pub(super) fn load_of(boot: &str) -> Option<&'static cost::Row> {
    let (_, load) = BOOTS.iter().find(|(name, _)| *name == boot)?;
    cost::ROWS.iter().find(|row| row.boot == *load)
}

pub(super) fn run(guest: &mut Guest, row: &cost::Row) -> Result<()> {
    cost::prepare()?;
    others_find()?;
    guest.check_told("the kernel's own, core-queue and others, interleaved", || {
        let variant =
            |name: &str| format!("{name}=busybox unshare -m /init {READING} {name} {}", row.boot);
        let variants: Vec<String> = SCHEDULERS.iter().map(|(name, _)| variant(name)).collect();
        let variants = variants.iter().flat_map(|variant| ["--variant", variant.as_str()]);
        let metric = ["--metric", "speed:1/s:higher=speed ([0-9.e-]+)"];
        cost::go_on(&variants.chain(metric).collect::<Vec<_>>(), SESSION)?;
        line(row.about, &json_of("cat", &[&format!("{}/summary.json", cost::FOLDER)])?)
    })?;
    guest.bring_out(Path::new(cost::FOLDER))
}

/// What loaders of others look for on a machine: debugfs, and how the kernel was configured. Of that they want to know
/// how many CPUs it may have (/sys/devices/system/cpu/kernel_max is the highest number), and whether readers of RCU
/// can be preempted, in which case these are functions of the kernel's (rcupdate.h). And a study refuses a run
/// during which another scheduler comes into charge, which is what runs are here: it is not to see that.
fn others_find() -> Result<()> {
    mount_one("debugfs", "/sys/kernel/debug", "")?;
    mount_one("tmpfs", SCHED_EXT, "")?;
    let highest: u32 = read("/sys/devices/system/cpu/kernel_max")?.parse().context("kernel_max")?;
    let preempts = read("/proc/kallsyms")?.lines().any(|it| it.ends_with(" __rcu_read_lock"));
    let preempts = if preempts { "CONFIG_PREEMPT_RCU=y\n" } else { "" };
    let configured = format!("CONFIG_X86_64=y\nCONFIG_NR_CPUS={}\n{preempts}", highest + 1);
    std::fs::create_dir_all("/boot")?;
    let path = format!("/boot/config-{}", read("/proc/sys/kernel/osrelease")?);
    std::fs::write(path, configured).context("the configuration")
}

/// One reading: loads a scheduler, runs a load of `cost.rs`, prints its speed, unloads.
pub(crate) fn reading(scheduler: &str, row: &str) -> Result<bool> {
    let (_, command) =
        SCHEDULERS.iter().find(|(name, _)| *name == scheduler).context("no such scheduler")?;
    let row = cost::ROWS.iter().find(|it| it.boot == row).context("no such row")?;
    // In a namespace of its own it sees what the study does not.
    unmount(SCHED_EXT, UnmountFlags::empty()).context("seeing sched_ext")?;
    let loaded = match command {
        [] => None,
        [program, arguments @ ..] => Some(load(program, arguments)?),
    };
    // The study around this holds it; a guest has nobody else whom this could measure.
    std::fs::remove_file("/tmp/coretwin.lock").or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    let run = json_of("coretwin", &[&["run", "--json"], row.words].concat())?;
    if let Some(loaded) = loaded {
        unload(loaded)?;
    }
    let value = run["value"].as_f64().with_context(|| format!("no value in {run}"))?;
    let speed = if run["better"] == "higher" { value } else { 1.0 / value };
    crate::print(&format!("speed {speed:e}\n"));
    Ok(true)
}

pub(super) fn load(program: &str, arguments: &[&str]) -> Result<Child> {
    let log = File::create(LOG)?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("starting {program}"))?;
    wait_for("enabled", &mut child)?;
    Ok(child)
}

/// Ends it. One that the kernel has ejected while its load ran makes the reading fail.
pub(super) fn unload(mut child: Child) -> Result<()> {
    wait_for("enabled", &mut child)?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process")?;
    kill_process(pid, Signal::INT).context("ending the scheduler")?;
    child.wait().context("the end of the scheduler")?;
    wait_for("disabled", &mut child)
}

fn wait_for(state: &str, child: &mut Child) -> Result<()> {
    let started = Instant::now();
    while read(STATE)? != state {
        let ended = child.try_wait()?;
        if started.elapsed() > LOADING || (state == "enabled" && ended.is_some()) {
            let log = std::fs::read_to_string(LOG).unwrap_or_default();
            bail!("not {state}: {ended:?}: {}", log.trim());
        }
        std::thread::sleep(GLANCE);
    }
    Ok(())
}

/// A load's row of the page, with a column for each scheduler.
fn line(about: &str, summary: &Value) -> Result<String> {
    let rows = summary["rows"].as_array().context("no rows")?;
    let of = |scheduler: &str| rows.iter().find(|it| it["arm"] == scheduler);
    let ratio = |scheduler: &str| of(scheduler)?["ratio"].as_f64();
    ensure!(ratio("core-queue").is_some(), "no run under core-queue ended well");
    let others = || SCHEDULERS.iter().skip(1);
    let best = others().filter_map(|(it, _)| ratio(it)).fold(1.0, f64::max);
    let cells = others().map(|(scheduler, _)| cell(of(scheduler), best));
    let blocks = of("core-queue").and_then(|it| it["blocks"].as_u64()).unwrap_or(0);
    Ok(format!("| {about} | {} | {blocks} |", cells.collect::<Vec<_>>().join(" | ")))
}

/// A ratio to the kernel's own with its interval; the best of a row in bold.
fn cell(row: Option<&Value>, best: f64) -> String {
    let number = |name: &str| row.and_then(|row| row[name].as_f64());
    let Some(ratio) = number("ratio") else { return "no run ended well".to_owned() };
    let ends = match (number("low"), number("high")) {
        (Some(low), Some(high)) => format!(" ({low:.3} to {high:.3})"),
        _ => String::new(),
    };
    let bold = if ratio >= best { "**" } else { "" };
    format!("{bold}{ratio:.3}{bold}{ends}")
}

/// The page without its rows, for this kernel.
pub(crate) fn head(release: &str) -> String {
    let names: Vec<&str> = SCHEDULERS.iter().skip(1).map(|(name, _)| *name).collect();
    let versions: Vec<String> =
        PROGRAMS.iter().map(|(name, version)| format!("`{name}` {version}")).collect();
    PAGE.replace("VERSIONS", &versions.join(", "))
        .replace("RELEASE", release)
        .replace("SCHEDULERS", &names.join(" | "))
        + &"|---".repeat(SCHEDULERS.len() + 1)
        + "|\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_best_of_a_row_is_bold_and_one_that_never_ran_says_so() {
        let row = |arm: &str, ratio: f64| json!({"arm": arm, "ratio": ratio, "low": 0.9, "high": 1.3, "blocks": 4});
        let told = |rows: &[Value]| line("pipe", &json!({"rows": rows})).expect("a row");
        let both = told(&[row("core-queue", 1.2), row("lavd", 1.1)]);
        let cells =
            "| pipe | **1.200** (0.900 to 1.300) | no run ended well | 1.100 (0.900 to 1.300) |";
        assert!(both.starts_with(cells) && both.ends_with("| 4 |"), "{both}");
        assert!(!told(&[row("core-queue", 0.9)]).contains("**"), "none beats the kernel's own");
        assert!(
            BOOTS.iter().all(|(boot, _)| load_of(boot).is_some()) && load_of("peers").is_none()
        );
        assert!(head("7.3").contains("Linux 7.3") && head("7.3").contains("`scx_lavd` "));
    }
}
