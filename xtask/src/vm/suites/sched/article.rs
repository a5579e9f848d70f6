//! The article's schedulers on a real kernel: each is loaded, shown by what it counts, handled roughly, unloaded.

use super::behaviours::{counter, scenario_under};
use super::load::{self, Load, soon};
use crate::vm::guest::{Guest, output, read};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

/// Boots.
pub(super) const LINUX_2_4_19: &str = "linux24";
pub(super) const CROWD_2_4_19: &str = "crowd24";
pub(super) const ROUGH_2_4_19: &str = "rough24";

const POLICY_2_4_19: &str = "linux-2.4.19";
/// Numbers of tasks for which the cost of a switch is counted; and with one for which slices of all take 15 s.
const CROWDS: &[usize] = &[10, 100];
const LARGE_CROWDS: &[usize] = &[10, 100, 1000];
/// In which switches of a crowd are counted.
const COUNTED: Duration = Duration::from_secs(3);
const STACK_BYTES: usize = 64 << 10;
/// Loads and unloads under load.
const RELOADS: u32 = 50;
/// Short processes in a storm.
const STORM: &str = "i=0; while [ $i -lt 40 ]; do /bin/true & /bin/true; i=$((i+1)); done; wait";

/// The behaviours of linux-2.4.19, and its cost.
pub(super) fn linux_2_4_19(guest: &mut Guest) -> Result<()> {
    let cpus = guest.topology.cpus();
    let run = |name: &str, set: &[&str]| scenario_under(POLICY_2_4_19, name, set);
    guest.check_told("ht_rule: an idle CPU of an idle core comes first", || {
        let record = run("half-loaded", &[])?;
        at_least(&record, &[("woke_idle_core", 1), ("woke_last_idle", 1), ("picked", 1)])
    })?;
    guest.check_told("ht_rule=off: the CPU that is idle longest", || {
        let record = run("half-loaded", &["ht_rule=off"])?;
        let cores = counter(&record, "woke_idle_core")?;
        ensure!(cores == 0, "{cores} idle cores in {record}");
        at_least(&record, &[("woke_longest_idle", 1)])
    })?;
    guest.check_told("goodness: sleepers take the place of those who compute", || {
        let record = run("mixed-load", &[])?;
        at_least(&record, &[("preempted", 1), ("woke_waits", 1), ("woke_sync", 1), ("renewals", 1)])
    })?;
    guest.check_told("ticks: who computes pays for every 10 ms, and slices are renewed", || {
        load::start_policy(POLICY_2_4_19, &[])?;
        let _load = Load::hogs(cpus as usize + 2)?;
        let [ticks, renewals] = counted(["ticks", "renewals"])?;
        // A renewal gives every task 60 ms, and is due when those who compute have used them up.
        ensure!(ticks > 0 && renewals > 0, "{ticks} ticks, {renewals} renewals");
        ensure!(ticks / renewals >= 12, "{ticks} ticks, {renewals} renewals");
        Ok(format!("{ticks} ticks, {renewals} renewals"))
    })?;
    crowds(guest, CROWDS)?;
    guest.check("linux-2.4.19 goes in good order", load::stop)?;
    guest.check_told("a study of on@kernel and on@linux-2.4.19", || study(POLICY_2_4_19))?;
    Ok(())
}

/// The cost of its switches, up to a crowd that takes long.
pub(super) fn large_crowds(guest: &mut Guest) -> Result<()> {
    load::start_policy(POLICY_2_4_19, &[])?;
    crowds(guest, LARGE_CROWDS)?;
    load::stop()
}

fn crowds(guest: &mut Guest, crowds: &[usize]) -> Result<()> {
    guest.check_told("tasks looked at a switch grow with tasks that could run", || {
        let mut told = Vec::new();
        for crowd in crowds {
            let looked = looked(*crowd)?;
            ensure!(looked > *crowd as f64 / 2.0, "{looked:.1} looked at of {crowd}");
            told.push(format!("{looked:.1} of {crowd}"));
        }
        Ok(told.join(", "))
    })?;
    Ok(())
}

/// A study that loads a policy for every other visit; what it says of the schedulers that were in charge.
fn study(policy: &str) -> Result<String> {
    const FOLDER: &str = "/tmp/article";
    let arm = format!("on@{policy}");
    let arms = ["study", "--arm", "on@kernel", "--arm", &arm, "--blocks", "2", "--settle", "0s"];
    let rest = ["--yes", "--out", FOLDER, "--steal-limit", "100%", "--others-limit", "100%"];
    let ended = output("coretwin", &[&arms[..], &rest[..], &["--", "/bin/true"]].concat())?;
    ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let journal = read(format!("{FOLDER}/journal.jsonl"))?;
    let under = |name: &str| {
        let readings = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        readings
            .filter(|it| it["notes"]["scheduler"] == name && it["checks"]["scheduler"] == true)
            .count()
    };
    let counts = (under("kernel"), under(policy));
    ensure!(counts.0 >= 2 && counts.1 >= 2, "{counts:?} readings in {journal}");
    Ok(format!("{} readings under the kernel's own, {} under {policy}", counts.0, counts.1))
}

/// What a machine does to a scheduler.
pub(super) fn rough(guest: &mut Guest, policy: &'static str) -> Result<()> {
    let cpus = guest.topology.cpus();
    guest.check(
        &format!("{policy}: CPUs go and come while busy, asked for by pinned tasks"),
        || {
            load::start_policy(policy, &[])?;
            let mut load = Load::hogs(cpus as usize)?;
            (0..cpus).try_for_each(|cpu| load.add_pinned(cpu, 0))?;
            for online in [false, true] {
                for cpu in 1..cpus {
                    load::switch_cpu(cpu, online)?;
                    load::is_ours()?;
                }
            }
            for on in [false, true, false, true] {
                load::switch_smt(on)?;
            }
            load::is_ours()
        },
    )?;
    guest.check_told(&format!("{policy}: a storm of short tasks; all pinned ones run"), || {
        let mut load = Load::hogs(cpus as usize)?;
        load.add_pinned(0, 0)?;
        load.add_pinned(cpus - 1, 10)?;
        let ended = output("sh", &["-c", STORM])?;
        ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        soon("CPU time for every hog", || Ok(load.used_ticks()?.iter().all(|used| *used > 0)))?;
        load::is_ours()?;
        Ok(format!("{:?} ticks", load.used_ticks()?))
    })?;
    guest.check(&format!("{policy}: {RELOADS} loads and unloads while busy"), || {
        let _load = Load::hogs(cpus as usize + 2)?;
        load::stop()?;
        for _ in 0..RELOADS {
            load::start_policy(policy, &[])?;
            load::stop()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Some counters, each at least so much.
fn at_least(record: &Value, names: &[(&str, u64)]) -> Result<String> {
    let mut told = Vec::new();
    for (name, least) in names {
        let value = counter(record, name)?;
        ensure!(value >= *least, "{name} is {value} in {record}");
        told.push(format!("{name} {value}"));
    }
    Ok(told.join(", "))
}

/// What the loaded scheduler counts of these in a while. It is read from its record: a child that asks would get
/// half of this task's slice.
fn counted<const N: usize>(names: [&str; N]) -> Result<[u64; N]> {
    let counters = || -> Result<Value> {
        let record: Value = serde_json::from_str(&read("/run/coretwin/sched.json")?)?;
        Ok(json!({ "loaded": record }))
    };
    soon("counters in its record", || Ok(counter(&counters()?, names[0]).is_ok()))?;
    let before = counters()?;
    thread::sleep(COUNTED);
    let after = counters()?;
    let mut changes = [0; N];
    for (change, name) in changes.iter_mut().zip(names) {
        *change = counter(&after, name)? - counter(&before, name)?;
    }
    Ok(changes)
}

/// Tasks looked at for each switch while so many compute.
fn looked(crowd: usize) -> Result<f64> {
    let goes_on = Arc::new(AtomicBool::new(true));
    // Who makes tasks gives them its slice, and would wait for those that compute already.
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write();
    let tasks: Vec<_> = (0..crowd)
        .map(|_| {
            let (goes_on, gate) = (Arc::clone(&goes_on), Arc::clone(&gate));
            let spin = move || {
                drop(gate.read());
                while goes_on.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            thread::Builder::new().stack_size(STACK_BYTES).spawn(spin)
        })
        .collect();
    drop(closed);
    // The record is written each second.
    thread::sleep(Duration::from_secs(2));
    let counted = counted(["looked", "switches"]);
    goes_on.store(false, Ordering::Relaxed);
    for task in tasks {
        ensure!(task?.join().is_ok(), "a task of a crowd is gone");
    }
    let [looked, switches] = counted?;
    ensure!(switches > 0, "no switch among {looked} looks");
    Ok(looked as f64 / switches as f64)
}
