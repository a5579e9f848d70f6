//! What the article's live schedulers count where they are bounded and their originals are not, load by load: the
//! rows of a page (`kept.rs`).

use super::article::{self, COUNTED, Crowd};
use super::behaviours::counter;
use super::load::{self, Load};
use super::rough::STORM;
use crate::vm::guest::{Guest, mount_one, output};
use anyhow::{Context, Result, ensure};
use std::thread;
use std::time::Duration;

/// The boot of a policy, and what is shown of it.
pub(super) struct Bounds {
    pub(super) boot: &'static str,
    pub(super) policy: &'static str,
    /// What it looks at grows with the tasks that could run.
    is_list: bool,
    /// Tasks that are more than any of its bounds, and whether all are bound to one CPU: else its choice is the first.
    beyond: (usize, Option<u32>),
    /// Counters of its bounds.
    counters: &'static [&'static str],
}

pub(super) const BOUNDS: &[Bounds] = &[
    Bounds {
        boot: "bounds24",
        policy: article::POLICY_2_4_19,
        is_list: true,
        beyond: (9000, None),
        counters: &["looks_cut", "lost", "taken_unseen", "overdue", "past_queues"],
    },
    Bounds {
        boot: "bounds25",
        policy: article::POLICY_2_5_32,
        is_list: false,
        beyond: (4500, Some(0)),
        counters: COUNTERS_2_5_32,
    },
    Bounds {
        boot: "bounds25a9",
        policy: article::POLICY_2_5_32_A9,
        is_list: false,
        beyond: (4500, Some(0)),
        counters: COUNTERS_2_5_32,
    },
];
const COUNTERS_2_5_32: &[&str] = &[
    "looks_cut",
    "lost",
    "pulls_cut",
    "late_ticks",
    "overdue",
    "swept",
    "idle_told",
    "active_in_vain",
    "past_queues",
];
/// The page, without its rows.
pub(in crate::vm) const PAGE: &str = "\
# The article's live schedulers: what they look at, and what their bounds do

Written by `cargo xtask vm sched --boot bounds24 --boot bounds25 --boot bounds25a9 --page`. Linux RELEASE, 2 cores with
2 siblings each, emulated, time by instructions. Each load has the scheduler to itself; what is counted is from the
loading on. *Looked* is tasks looked at for a switch, *most* in one walk. The other columns are [counters](../reference/scheduler.md)
of what the originals do not do; [a table](../method/article-schedulers.md) says what for.
";
/// So long that tasks of a crowd wait 15 s.
const LONG: Duration = Duration::from_secs(20);
/// The first of an array and the task that ran, of those of a core some that run on the sibling.
const LOOKED_MAX: f64 = 4.0;
const CHAT: &[&str] = &["run", "chat:rooms=10,messages=4"];

/// The boots and what stands above their rows on the page.
pub(in crate::vm) fn heads() -> impl Iterator<Item = (&'static str, String)> {
    BOUNDS.iter().map(|it| {
        let columns = it.counters.join("` | `");
        let line = "|---".repeat(5 + it.counters.len());
        let head = "| load | switches | looked | most | longest wait | `";
        (it.boot, format!("\n## {}\n\n{head}{columns}` |\n{line}|\n", it.policy))
    })
}

pub(super) fn run(guest: &mut Guest, bounds: &Bounds) -> Result<()> {
    // The workloads keep their semaphores there, and chat talks over the loopback.
    mount_one("tmpfs", "/dev/shm", "")?;
    output("busybox", &["ip", "link", "set", "lo", "up"])?;
    // An eighth of the memory may be threads, else.
    std::fs::write("/proc/sys/kernel/threads-max", "20000").context("threads")?;
    let cpus = guest.topology.cpus() as usize;
    let mut rows = Vec::new();
    for crowd in [10, 100, 1000] {
        guest.check_told(&format!("{crowd} that compute: tasks looked at a switch"), || {
            let time = if crowd == 1000 { LONG } else { COUNTED };
            let (row, looked) = counted(bounds, &format!("{crowd} that compute"), || {
                Crowd::of(crowd, None)?.during(|| wait(time))
            })?;
            let least = if bounds.is_list { crowd as f64 / 2.0 } else { 0.0 };
            let most = if bounds.is_list { f64::INFINITY } else { LOOKED_MAX };
            ensure!((least..most).contains(&looked), "{looked:.1} looked at of {crowd}: {row}");
            rows.push(row.clone());
            Ok(row)
        })?;
    }
    let (beyond, cpu) = bounds.beyond;
    let bound = |tasks: usize| format!("{tasks} that compute on one CPU");
    let beyond_name = if cpu.is_some() { bound(beyond) } else { format!("{beyond} that compute") };
    let loads: [(String, Box<dyn FnOnce() -> Result<()>>); 5] = [
        (
            "two more than CPUs that compute".into(),
            Box::new(|| {
                let _load = Load::hogs(cpus + 2)?;
                wait(COUNTED)
            }),
        ),
        ("chat, 10 rooms: 800 tasks".into(), Box::new(|| succeeds("coretwin", CHAT))),
        ("a storm of short processes".into(), Box::new(|| succeeds("sh", &["-c", STORM]))),
        (bound(1200), Box::new(|| Crowd::of(1200, Some(0))?.during(|| wait(COUNTED)))),
        (beyond_name, Box::new(|| Crowd::of(beyond, cpu)?.during(|| wait(LONG)))),
    ];
    for (name, load) in loads {
        guest.check_told(&name, || {
            let (row, _) = counted(bounds, &name, load)?;
            rows.push(row.clone());
            Ok(row)
        })?;
    }
    guest.check_told("the rows of its page", || Ok(rows.concat()))?;
    Ok(())
}

fn wait(time: Duration) -> Result<()> {
    thread::sleep(time);
    Ok(())
}

fn succeeds(program: &str, arguments: &[&str]) -> Result<()> {
    let ended = output(program, arguments)?;
    ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    Ok(())
}

/// Loads it for one load; a row of what it counted, and tasks looked at a switch.
fn counted(
    bounds: &Bounds,
    name: &str,
    load: impl FnOnce() -> Result<()>,
) -> Result<(String, f64)> {
    load::start_policy(bounds.policy, &[])?;
    load()?;
    // The record is written each second.
    thread::sleep(Duration::from_secs(2));
    let status = load::status()?;
    load::stop()?;
    let value = |name: &str| counter(&status, name);
    let (switches, most) = (value("switches")?, value("looked_most")?);
    let looked = value("looked")? as f64 / switches.max(1) as f64;
    let longest_ms = value("waited_longest_ns")? / 1_000_000;
    let counters = bounds.counters.iter().map(|name| Ok(value(name)?.to_string()));
    let counters = counters.collect::<Result<Vec<_>>>()?.join(" | ");
    let row =
        format!("| {name} | {switches} | {looked:.1} | {most} | {longest_ms} ms | {counters} |\n");
    Ok((row, looked))
}
