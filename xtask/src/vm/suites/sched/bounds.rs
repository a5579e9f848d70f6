//! What the article's live schedulers count where they are bounded and their originals are not, load by load: the
//! rows of a page (`kept.rs`).

use super::article::{self, COUNTED, Crowd};
use super::behaviours::counter;
use super::load;
use super::rough::STORM;
use crate::vm::guest::{Guest, mount_one, output};
use anyhow::{Context, Error, Result, ensure};
use serde_json::Value;
use std::thread;
use std::time::Duration;

/// The boot of a policy, and what is shown of it.
pub(super) struct Bounds {
    pub(super) boot: &'static str,
    pub(super) policy: &'static str,
    /// What it looks at grows with the tasks that could run.
    is_list: bool,
    /// Counters of its bounds.
    counters: &'static [&'static str],
}

pub(super) const BOUNDS: &[Bounds] = &[
    Bounds {
        boot: "bounds24",
        policy: article::POLICY_2_4_19,
        is_list: true,
        counters: &["looks_cut", "lost", "taken_unseen", "overdue", "past_queues"],
    },
    Bounds {
        boot: "bounds25",
        policy: article::POLICY_2_5_32,
        is_list: false,
        counters: COUNTERS_2_5_32,
    },
    Bounds {
        boot: "bounds25a9",
        policy: article::POLICY_2_5_32_A9,
        is_list: false,
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
2 siblings each, emulated, time by instructions. Each load has a loading of the scheduler. Tasks that compute are counted
for 3 s, 1,000 that may run anywhere for 20 s, when all are there. *Looked* is tasks looked at for a switch, in all its
walks, *most* in one walk. The other columns are [counters](../reference/scheduler.md) of what the originals do not do;
[a table](../method/article-schedulers.md) says what for.
";
/// So long that tasks of a crowd wait 15 s.
const LONG: Duration = Duration::from_secs(20);
/// The record is written each second.
const RECORDED: Duration = Duration::from_secs(2);
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
    let crowd = |tasks, time| Load::Crowd { tasks, cpu: None, time };
    let on_one = |tasks, time| Load::Crowd { tasks, cpu: Some(0), time };
    let loads = [
        crowd(10, COUNTED),
        crowd(100, COUNTED),
        crowd(1000, LONG),
        Load::Program("chat, 10 rooms: 800 tasks", "coretwin", CHAT),
        Load::Program("a storm of short processes", "sh", &["-c", STORM]),
        on_one(1200, COUNTED),
        on_one(4500, COUNTED),
    ];
    let mut rows = Vec::new();
    for load in loads {
        guest.check_told(&load.name(), || {
            let (row, looked) = counted(bounds, &load)?;
            if let Load::Crowd { tasks, cpu: None, .. } = load {
                let least = if bounds.is_list { tasks as f64 / 2.0 } else { 0.0 };
                let most = if bounds.is_list { f64::INFINITY } else { LOOKED_MAX };
                ensure!((least..most).contains(&looked), "{looked:.1} looked at of {tasks}: {row}");
            }
            rows.push(row.clone());
            Ok(row)
        })?;
    }
    guest.check_told("the rows of its page", || Ok(rows.concat()))?;
    Ok(())
}

/// What the scheduler has to do.
enum Load {
    /// Tasks that compute, on one CPU or on all.
    Crowd { tasks: usize, cpu: Option<u32>, time: Duration },
    /// A program that ends, with its name on the page.
    Program(&'static str, &'static str, &'static [&'static str]),
}

impl Load {
    fn name(&self) -> String {
        match self {
            Self::Crowd { tasks, cpu: None, .. } => format!("{tasks} that compute"),
            Self::Crowd { tasks, .. } => format!("{tasks} that compute, bound to one CPU"),
            Self::Program(name, ..) => (*name).to_owned(),
        }
    }

    /// Counters before and after; of a crowd when all are there, and before the first has gone.
    fn counters(&self) -> Result<[Value; 2]> {
        match *self {
            Self::Crowd { tasks, cpu, time } => Crowd::of(tasks, cpu)?.during(|| {
                thread::sleep(RECORDED);
                let before = article::counters()?;
                thread::sleep(time);
                Ok([before, article::counters()?])
            }),
            Self::Program(_, program, arguments) => {
                let before = article::counters()?;
                let ended = output(program, arguments)?;
                ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
                thread::sleep(RECORDED);
                Ok([before, article::counters()?])
            }
        }
    }
}

/// Loads it for one load; a row of what it counted, and tasks looked at a switch.
fn counted(bounds: &Bounds, load: &Load) -> Result<(String, f64)> {
    load::start_policy(bounds.policy, &[])?;
    // A record without counters is written first.
    let has_counted = |record: Value| counter(&record, "switches").is_ok();
    load::soon("counters in its record", || Ok(article::counters().is_ok_and(has_counted)))?;
    let [before, after] = load.counters()?;
    load::is_ours()?;
    load::stop()?;
    let value = |name: &str| Ok::<_, Error>(counter(&after, name)? - counter(&before, name)?);
    let switches = value("switches")?;
    let looked = value("looked")? as f64 / switches.max(1) as f64;
    let most = counter(&after, "looked_most")?;
    let longest_ms = counter(&after, "waited_longest_ns")? / 1_000_000;
    let counters = bounds.counters.iter().map(|name| Ok(value(name)?.to_string()));
    let counters = counters.collect::<Result<Vec<_>>>()?.join(" | ");
    let name = load.name();
    let row =
        format!("| {name} | {switches} | {looked:.1} | {most} | {longest_ms} ms | {counters} |\n");
    Ok((row, looked))
}
