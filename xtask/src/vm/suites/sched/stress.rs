//! Programs of Debian that change what a scheduler knows of its tasks as fast as they can: masks, classes, nice
//! values, switches. None ends it, stalls, or has anybody wait for long; and no queue counts a task that is gone.

use super::behaviours::counter;
use super::load::{self, Load, soon};
use super::rough::{self, tasks};
use crate::vm::guest::{Guest, output, read};
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

pub(crate) const BOOT: &str = "stress";
/// What the guest is brought: packages stress-ng and util-linux.
pub(crate) const PROGRAMS: &[&str] = &["stress-ng", "chrt"];
/// Stressors of stress-ng, and whether all tasks are of a kind: beside real-time tasks, and with nice values, some wait longer.
/// Debian 12 has none called cpu-sched: `schedpolicy` and `nice` change what that changes.
const STRESSORS: &[(&str, bool)] =
    &[("affinity", true), ("switch", true), ("schedpolicy", false), ("nice", false)];
/// Of the guest's time.
const SECONDS: &str = "20";
const SLICE_NS: u64 = 3_000_000;
const BESIDE_NS: u64 = 100_000_000;
/// Classes that a task goes through while others wait: chrt(1).
const CLASSES: [[&str; 2]; 6] =
    [["-f", "1"], ["-o", "0"], ["-b", "0"], ["-i", "0"], ["-r", "1"], ["-o", "0"]];
const LOG: &str = "/tmp/stress.log";

pub(super) fn run(guest: &mut Guest) -> Result<()> {
    let (cpus, policy) = (guest.topology.cpus() as usize, rough::CORE_QUEUE.policy);
    for (stressor, of_a_kind) in STRESSORS {
        let name = format!("stress-ng --{stressor}: it stays, and nobody waits for long");
        guest.check_told(&name, || {
            load::start_policy(policy, &[])?;
            let most = stressed(stressor, 2 * cpus)?;
            let waited_ns = counter(&load::status()?, "waited_longest_ns")?;
            load::stop()?;
            let allowed_ns = match of_a_kind {
                true => most as u64 * SLICE_NS + BESIDE_NS,
                false => rough::CORE_QUEUE.wait_ns_max,
            };
            let told =
                format!("{most} tasks at most, the longest wait was {} ms", waited_ns / 1_000_000);
            ensure!(waited_ns <= allowed_ns, "{told}, {} are allowed", allowed_ns / 1_000_000);
            Ok(told)
        })?;
    }
    guest.check_told(
        "tasks change their class while they wait, and no queue keeps them",
        || {
            load::start_policy(policy, &[])?;
            let told = classes(2 * cpus)?;
            load::stop()?;
            Ok(told)
        },
    )?;
    Ok(())
}

/// Runs a stressor with so many workers; the most tasks that the guest had.
fn stressed(stressor: &str, workers: usize) -> Result<usize> {
    let log = File::create(LOG)?;
    let mut run = Command::new("stress-ng")
        .args([&format!("--{stressor}"), &workers.to_string(), "--timeout", SECONDS])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("starting stress-ng")?;
    let mut most = 0;
    let ended = loop {
        if let Some(ended) = run.try_wait()? {
            break ended;
        }
        most = most.max(tasks()?);
        load::is_ours()?;
        std::thread::sleep(Duration::from_millis(200));
    };
    ensure!(ended.success(), "{ended}: {}", read(LOG)?);
    load::is_ours()?;
    Ok(most)
}

fn classes(count: usize) -> Result<String> {
    let load = Load::hogs(count)?;
    let mut changes = 0;
    for id in load.ids() {
        for [class, priority] in CLASSES {
            let changed = output("chrt", &[class, "-p", priority, &id.to_string()])?;
            ensure!(changed.status.success(), "{}", String::from_utf8_lossy(&changed.stderr));
            changes += 1;
        }
        load::is_ours()?;
    }
    rough::used_ticks_in(&load, Duration::from_secs(3))?;
    drop(load);
    soon("no task waits any more", || {
        let cores = load::status()?["loaded"]["cores"].take();
        let cores = cores.as_array().context("no cores")?;
        Ok(cores.iter().all(|core| core["queued"] == 0))
    })?;
    Ok(format!("{changes} times"))
}
