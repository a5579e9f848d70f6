//! The article's schedulers on a real kernel: each is loaded, shown by what it counts, handled roughly, unloaded.

use super::behaviours::{counter, scenario_under};
use super::cost;
use super::load::{self, Load, soon};
use crate::vm::guest::{Guest, mount_one, output, read};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

/// Boots: a policy each.
pub(super) const LINUX_2_4_19: &str = "linux24";
pub(super) const LINUX_2_5_32: &str = "linux25";
pub(super) const LINUX_2_5_32_A9: &str = "linux25a9";
pub(super) const CROWDS: &str = "crowds";
pub(super) const TABLE_7: &str = "table7";
/// What a machine does to each, by boot.
pub(super) const ROUGH: &[(&str, &str)] =
    &[("rough24", POLICY_2_4_19), ("rough25", POLICY_2_5_32), ("rough25a9", POLICY_2_5_32_A9)];

const POLICY_2_4_19: &str = "linux-2.4.19";
const POLICY_2_5_32: &str = "linux-2.5.32";
const POLICY_2_5_32_A9: &str = "linux-2.5.32-a9";
/// Numbers of tasks for which the cost of a switch is counted; and with one for which slices of all take 15 s.
const SMALL_CROWDS: &[usize] = &[10, 100];
const LARGE_CROWDS: &[usize] = &[10, 100, 1000];
/// The first of an array and the task that ran, of those of a core some that run on the sibling.
const LOOKED_MAX: f64 = 4.0;
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
    crowds(guest, POLICY_2_4_19, SMALL_CROWDS)?;
    guest.check("linux-2.4.19 goes in good order", load::stop)?;
    guest.check_told("a study of on@kernel and on@linux-2.4.19", || study(POLICY_2_4_19))?;
    Ok(())
}

/// The behaviours of linux-2.5.32, and its cost.
pub(super) fn linux_2_5_32(guest: &mut Guest) -> Result<()> {
    let run = |name: &str| scenario_under(POLICY_2_5_32, name, &[]);
    guest.check_told("it knows no siblings: two hogs on one core stay there", || {
        let record = run("two-on-siblings")?;
        let [asked, sibling] = ["active_asked", "woke_sibling"].map(|name| counter(&record, name));
        ensure!((asked?, sibling?) == (0, 0), "{record}");
        at_least(&record, &[("woke_own_idle", 1), ("picked", 1)])
    })?;
    guest.check_told("an idle CPU takes a waiting task of a longer queue", || {
        at_least(&run("passive-balancing")?, &[("pulled_idle", 1), ("idle_told", 1)])
    })?;
    guest.check_told("sleepers take the place of those who compute, and stay active", || {
        let names = ["preempted", "woke_waits", "woke_beside_waker"].map(|name| (name, 1));
        at_least(&run("mixed-load")?, &names)
    })?;
    slices_and_crowds(guest, POLICY_2_5_32)?;
    guest.check_told("a study of on@kernel and on@linux-2.5.32", || study(POLICY_2_5_32))?;
    Ok(())
}

/// What Molnar's patch adds.
pub(super) fn linux_2_5_32_a9(guest: &mut Guest) -> Result<()> {
    let run = |name: &str, set: &[&str]| scenario_under(POLICY_2_5_32_A9, name, set);
    guest.check_told("active: a running task moves to an idle core", || {
        at_least(&run("two-on-siblings", &["passive=off"])?, &[("active_moved", 1)])
    })?;
    guest.check_told("active=off: nothing of it is left", || {
        let record = run("two-on-siblings", &["active=off"])?;
        let [asked, moved] = ["active_asked", "active_moved"].map(|name| counter(&record, name));
        ensure!((asked?, moved?) == (0, 0), "{record}");
        at_least(&record, &[("picked", 1)])
    })?;
    guest.check_told("wakeup: a task that wakes on a busy CPU gets an idle sibling", || {
        at_least(&run("wakeup-beside-idle", &[])?, &[("woke_sibling", 1)])
    })?;
    guest.check_told("wakeup=off: nothing of it is left", || {
        let record = run("wakeup-beside-idle", &["wakeup=off"])?;
        for name in ["woke_sibling", "preempted_sibling", "preempted_equal"] {
            ensure!(counter(&record, name)? == 0, "{name} in {record}");
        }
        at_least(&record, &[("woke_own_idle", 1)])
    })?;
    slices_and_crowds(guest, POLICY_2_5_32_A9)?;
    Ok(())
}

/// Slices of both forms, and what a switch costs.
fn slices_and_crowds(guest: &mut Guest, policy: &'static str) -> Result<()> {
    let cpus = guest.topology.cpus();
    guest.check_told("slices of 151 ticks end, and the arrays are swapped", || {
        load::start_policy(policy, &[])?;
        let _load = Load::hogs(cpus as usize + 2)?;
        let [ticks, late, expired, swapped] =
            counted(["ticks", "late_ticks", "expired", "swapped"])?;
        ensure!(expired > 0 && swapped > 0, "{expired} expired, {swapped} swapped");
        let slice = (ticks - late) / expired;
        ensure!((100..=200).contains(&slice), "{ticks} ticks, {late} late, {expired} expired");
        Ok(format!("{ticks} ticks, {late} late, {expired} expired, {swapped} swapped"))
    })?;
    crowds(guest, policy, SMALL_CROWDS)?;
    guest.check(&format!("{policy} goes in good order"), load::stop)?;
    Ok(())
}

/// The cost of switches, up to a crowd that takes long.
pub(super) fn large_crowds(guest: &mut Guest) -> Result<()> {
    for policy in [POLICY_2_4_19, POLICY_2_5_32, POLICY_2_5_32_A9] {
        load::start_policy(policy, &[])?;
        crowds(guest, policy, LARGE_CROWDS)?;
        load::stop()?;
    }
    Ok(())
}

/// Tasks looked at for a switch: of 2.4.19 all that could run, of 2.5.32 the first.
fn crowds(guest: &mut Guest, policy: &str, crowds: &[usize]) -> Result<()> {
    let is_list = policy == POLICY_2_4_19;
    let grow = if is_list { "grow" } else { "do not grow" };
    guest.check_told(&format!("{policy}: tasks looked at a switch {grow} with tasks"), || {
        let mut told = Vec::new();
        for crowd in crowds {
            let looked = looked(*crowd)?;
            let fits = if is_list { looked > *crowd as f64 / 2.0 } else { looked < LOOKED_MAX };
            ensure!(fits, "{looked:.1} looked at of {crowd}");
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

/// The patch without each of its five parts, and without all.
fn switches(guest: &mut Guest) -> Result<()> {
    guest.check_told("each switch off, and all", || {
        let switches = ["active=off", "affinity=off", "passive=off", "pickup=off", "wakeup=off"];
        let mut told = Vec::new();
        for set in switches.map(|one| vec![one]).into_iter().chain([switches.to_vec()]) {
            let record = scenario_under(POLICY_2_5_32_A9, "mixed-load", &set)?;
            told.push(at_least(&record, &[("picked", 1)])?);
        }
        Ok(told.join("; "))
    })?;
    Ok(())
}

/// What a machine does to a scheduler.
pub(super) fn rough(guest: &mut Guest, policy: &'static str) -> Result<()> {
    let cpus = guest.topology.cpus();
    if policy == POLICY_2_5_32_A9 {
        switches(guest)?;
    }
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
        load::stop()?;
        // Beside hogs the kernel's look at the code takes minutes.
        let _load = Load::sleepers(cpus as usize)?;
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

/// The study of the article's last table, end to end, and what its report says.
pub(super) fn table_7(guest: &mut Guest) -> Result<()> {
    const FOLDER: &str = "/tmp/table7";
    // The workloads keep their semaphores there, and chat talks over the loopback.
    mount_one("tmpfs", "/dev/shm", "")?;
    output("busybox", &["ip", "link", "set", "lo", "up"])?;
    std::fs::write("/tmp/calls.txt", cost::CALLS.trim_start())?;
    let files = format!("Mkdir \"\\clients\" 0x0\n{}", cost::CALLS.trim_start());
    std::fs::write("/tmp/files.txt", files)?;
    guest.check_told("Table 7 as a study of both schedulers, with and without siblings", || {
        let dbench = "dbench:clients=2,mode=timed,seconds=0.5,warmup=0.3,loadfile=/tmp/files.txt";
        let rows = ["study", "chat:rooms=1,messages=5", dbench, cost::TBENCH];
        let arms = ["one-per-core@linux-2.4.19", "on@linux-2.4.19", "one-per-core@linux-2.5.32"];
        let arms = arms.into_iter().chain(["on@linux-2.5.32"]).flat_map(|arm| ["--arm", arm]);
        let rest = ["--blocks", "2", "--settle", "0s", "--yes", "--out", FOLDER];
        let limits = ["--steal-limit", "100%", "--others-limit", "100%"];
        let arguments: Vec<&str> = rows.into_iter().chain(arms).chain(rest).chain(limits).collect();
        let ended = output("coretwin", &arguments)?;
        ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let report = output("coretwin", &["report", FOLDER, "--full"])?;
        let report = String::from_utf8_lossy(&report.stdout).into_owned();
        // Wherever its lines end.
        let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["Table 7.", "EMULATED", "share nothing", POLICY_2_4_19, POLICY_2_5_32] {
            ensure!(words.contains(part), "no {part} in {report}");
        }
        Ok(report)
    })?;
    Ok(())
}
