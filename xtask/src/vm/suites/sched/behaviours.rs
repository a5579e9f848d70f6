//! Each of the five behaviours shows in counters, and is gone when its switch is off.

use super::load::{self, soon};
use crate::vm::guest::{Guest, mount_one, output};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A behaviour and how it shows.
struct Behaviour {
    /// Its switch.
    name: &'static str,
    about: &'static str,
    /// Where it shows.
    scenario: &'static str,
    /// What else is switched, so that nothing else comes first.
    set: &'static [&'static str],
    /// Counters of which one at least is above 0 while it is on.
    on: &'static [&'static str],
    /// Counters that are all 0 when it is off.
    off: &'static [&'static str],
    /// Counters that are 0 while it is on, and above 0 together when it is off.
    instead: &'static [&'static str],
}

const BEHAVIOURS: &[Behaviour] = &[
    Behaviour {
        name: "active",
        about: "two hogs made on one core end on two cores",
        scenario: "two-on-siblings",
        // A hog that a daemon displaces for a moment could be taken as it waits.
        // And they are placed apart where idle cores come first.
        set: &["passive=off", "idle_core_first=off"],
        on: &["active_moved"],
        off: &["active_asked", "active_moved"],
        instead: &[],
    },
    Behaviour {
        name: "wakeup",
        about: "a task that wakes on a busy CPU gets the idle sibling before another core",
        scenario: "wakeup-beside-idle",
        set: &["idle_core_first=off"],
        on: &["woke_sibling"],
        off: &["woke_sibling", "told_sibling"],
        instead: &[],
    },
    Behaviour {
        name: "pickup",
        about: "CPUs draw from the one queue of their core",
        scenario: "affinity-in-core",
        set: &[],
        on: &["picked"],
        off: &["queued", "picked"],
        instead: &[],
    },
    Behaviour {
        name: "affinity",
        about: "tasks go back to their core",
        scenario: "affinity-in-core",
        set: &[],
        on: &["woke_last_idle"],
        off: &["woke_last_idle", "woke_sibling", "woke_last_busy"],
        instead: &["woke_anywhere_idle", "woke_anywhere"],
    },
    Behaviour {
        name: "passive",
        about: "tasks that start, wake or wait leave a busy core",
        scenario: "passive-balancing",
        set: &["idle_core_first=off"],
        on: &["stolen", "evened_out", "woke_other_idle", "woke_less_crowded"],
        off: &["stolen", "evened_out", "woke_other_idle", "woke_less_crowded", "told_other_core"],
        instead: &[],
    },
];

/// Runs in one of which at least a behaviour shows.
const TRIES: u32 = 4;

/// All of them.
pub(super) fn run(guest: &mut Guest) -> Result<()> {
    // A run of a workload keeps its semaphores there.
    mount_one("tmpfs", "/dev/shm", "")?;
    BEHAVIOURS.iter().try_for_each(|behaviour| show(guest, behaviour))?;
    guest.check_told("an idle core comes before an idle sibling, if that is wished", || {
        let record = scenario("wakeup-beside-idle", &["idle_core_first=on"])?;
        let (cores, siblings) =
            (counter(&record, "woke_idle_core")?, counter(&record, "woke_sibling")?);
        ensure!(cores > 0 && cores > siblings, "{cores} idle cores, {siblings} siblings");
        Ok(format!("{cores} idle cores, {siblings} siblings"))
    })?;
    guest.check_told(
        "follow: through a pipe tasks run where their waker waits, and not off",
        || {
            let (with, without) = (followed("follow=on")?, followed("follow=off")?);
            ensure!(with > 100 && without == 0, "{with} with it, {without} without");
            Ok(format!("{with} wake-ups"))
        },
    )?;
    Ok(())
}

/// Tasks that ran next where their waker waited, while two wake each other through a pipe.
fn followed(set: &str) -> Result<u64> {
    load::start(&[set])?;
    let run = output("coretwin", &["run", "lmbench/pipe-latency:sample=0.05,samples=1"])?;
    // A record of what was counted before the run's end says nothing.
    let counted = || -> Result<Value> { Ok(load::status()?["loaded"]["counted_utc"].clone()) };
    let last = counted()?;
    soon("a record of its counters", || Ok(counted()? != last))?;
    let with = counter(&load::status()?, "woke_with_waker");
    load::stop()?;
    ensure!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    with
}

/// The article's own: two hogs on one core.
pub(super) fn run_one(guest: &mut Guest) -> Result<()> {
    show(guest, &BEHAVIOURS[0])
}

fn show(guest: &mut Guest, behaviour: &Behaviour) -> Result<()> {
    let Behaviour { name, about, .. } = behaviour;
    guest.check_told(&format!("{name}: {about}"), || {
        let mut record = scenario(behaviour.scenario, behaviour.set)?;
        let mut shown = sum(&record, behaviour.on)?;
        // By chance there may be nothing to do: a task that happens to wake elsewhere is apart already.
        for _ in 1..TRIES {
            if shown == 0 {
                record = scenario(behaviour.scenario, behaviour.set)?;
                shown = sum(&record, behaviour.on)?;
            }
        }
        ensure!(shown > 0, "nothing of {:?} in {record}", behaviour.on);
        let instead = sum(&record, behaviour.instead)?;
        ensure!(instead == 0, "{instead} of {:?}", behaviour.instead);
        // Work of the own core comes first, whatever else there is.
        let (left, picked) = (counter(&record, "left_own")?, counter(&record, "picked")?);
        ensure!(left <= picked / 20 + 2, "own work was left {left} times, picked {picked} times");
        told(&record, &[behaviour.on, behaviour.off].concat())
    })?;
    guest.check_told(&format!("{name}=off: nothing of it is left"), || {
        let off = format!("{name}=off");
        let record = scenario(behaviour.scenario, &[behaviour.set, &[&off]].concat())?;
        let left = sum(&record, behaviour.off)?;
        ensure!(left == 0, "{left} of {:?} in {record}", behaviour.off);
        if !behaviour.instead.is_empty() {
            ensure!(sum(&record, behaviour.instead)? > 0, "nothing of {:?}", behaviour.instead);
        }
        told(&record, &["ran_same_cpu", "ran_same_core", "ran_other_core"])
    })?;
    Ok(())
}

fn sum(record: &Value, names: &[&str]) -> Result<u64> {
    names.iter().map(|name| counter(record, name)).sum()
}

fn told(record: &Value, names: &[&str]) -> Result<String> {
    let mut names = names.to_vec();
    names.dedup();
    let one = |name: &&str| Ok(format!("{name} {}", counter(record, name)?));
    Ok(names.iter().map(one).collect::<Result<Vec<_>>>()?.join(", "))
}

/// Runs a scenario under the scheduler; its record.
pub(super) fn scenario(name: &str, set: &[&str]) -> Result<Value> {
    scenario_under("core-queue", name, set)
}

/// The same under a policy.
pub(super) fn scenario_under(policy: &str, name: &str, set: &[&str]) -> Result<Value> {
    let mut arguments = vec!["sched", "scenario", name, "--json", "--policy", policy];
    arguments.extend(set.iter().flat_map(|pair| ["--set", pair]));
    // It ends with 1, and its record, where the kernel has ejected the scheduler.
    let output = output("coretwin", &arguments)?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    let record: Value = serde_json::from_slice(&output.stdout).with_context(said)?;
    ensure!(record["ejected"].is_null(), "ejected: {}", record["ejected"]);
    Ok(record)
}

/// A counter of a record that a scenario or a status gave.
pub(super) fn counter(record: &Value, name: &str) -> Result<u64> {
    let counters = [&record["statistics"]["counters"], &record["loaded"]["counters"]];
    let found = counters.into_iter().find_map(|counters| counters[name].as_u64());
    found.with_context(|| format!("no counter {name} in {record}"))
}
