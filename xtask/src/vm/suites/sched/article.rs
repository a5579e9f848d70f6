//! The article's schedulers on a real kernel: each is loaded, shown by what it counts, handled roughly, unloaded.

use super::behaviours::{counter, scenario_under};
use super::cost;
use super::load::{self, Load, soon};
use super::rough::{self, Rough};
use crate::vm::guest::{Guest, mount_one, output, read};
use anyhow::{Context, Result, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Boots: a policy each.
pub(super) const LINUX_2_4_19: &str = "linux24";
pub(super) const LINUX_2_5_32: &str = "linux25";
pub(super) const LINUX_2_5_32_A9: &str = "linux25a9";
pub(super) const TABLE_7: &str = "table7";
/// What a machine does to each, and loads and unloads, by boot.
pub(super) const ROUGH: &[(&str, &str, Rough)] = &[
    (
        "rough24",
        "reloads24",
        rough::article(POLICY_2_4_19, &["woke_idle_core", "woke_longest_idle"]),
    ),
    ("rough25", "reloads25", rough::article(POLICY_2_5_32, &["pulled_idle"])),
    (
        "rough25a9",
        "reloads25a9",
        rough::article(POLICY_2_5_32_A9, &["pulled_idle", "active_moved"]),
    ),
];

pub(super) const POLICY_2_4_19: &str = "linux-2.4.19";
pub(super) const POLICY_2_5_32: &str = "linux-2.5.32";
pub(super) const POLICY_2_5_32_A9: &str = "linux-2.5.32-a9";
/// Numbers of tasks for which the cost of a switch is counted.
const CROWDS: [usize; 2] = [10, 100];
/// The first of an array and the task that ran, of those of a core some that run on the sibling.
const LOOKED_MAX: f64 = 4.0;
/// In which switches of a crowd are counted.
pub(super) const COUNTED: Duration = Duration::from_secs(3);
const STACK_BYTES: usize = 64 << 10;

/// The behaviours of linux-2.4.19, and its cost.
pub(super) fn linux_2_4_19(guest: &mut Guest) -> Result<()> {
    let cpus = guest.topology.cpus();
    let run = |name: &str, set: &[&str]| scenario_under(POLICY_2_4_19, name, set);
    guest.check_told("ht_rule: an idle CPU of an idle core comes first", || {
        let wanted = [("woke_idle_core", 1), ("woke_last_idle", 1), ("picked", 1)];
        // A task finds its last CPU taken some ten times in a run; now and then no core is idle at any of them.
        let mut told = at_least(&run("half-loaded", &[])?, &wanted);
        for _ in 0..2 {
            told = told.or_else(|_| at_least(&run("half-loaded", &[])?, &wanted));
        }
        told
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
    crowds(guest, POLICY_2_4_19)?;
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
    crowds(guest, policy)?;
    guest.check(&format!("{policy} goes in good order"), load::stop)?;
    Ok(())
}

/// Tasks looked at for a switch: of 2.4.19 all that could run, of 2.5.32 the first.
fn crowds(guest: &mut Guest, policy: &str) -> Result<()> {
    let is_list = policy == POLICY_2_4_19;
    let grow = if is_list { "grow" } else { "do not grow" };
    guest.check_told(&format!("{policy}: tasks looked at a switch {grow} with tasks"), || {
        let mut told = Vec::new();
        for crowd in CROWDS {
            let looked = looked(crowd)?;
            let fits = if is_list { looked > crowd as f64 / 2.0 } else { looked < LOOKED_MAX };
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
pub(super) fn switches(guest: &mut Guest) -> Result<()> {
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

/// The loaded scheduler's record, in which [`counter`] finds what it counts.
pub(super) fn counters() -> Result<Value> {
    let record: Value = serde_json::from_str(&read("/run/coretwin/sched.json")?)?;
    Ok(json!({ "loaded": record }))
}

/// What the loaded scheduler counts of these in a while. It is read from its record: a child that asks would get
/// half of this task's slice.
fn counted<const N: usize>(names: [&str; N]) -> Result<[u64; N]> {
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
    let [looked, switches] = Crowd::of(crowd, None)?.during(|| {
        // The record is written each second.
        thread::sleep(Duration::from_secs(2));
        counted(["looked", "switches"])
    })?;
    ensure!(switches > 0, "no switch among {looked} looks");
    Ok(looked as f64 / switches as f64)
}

/// Threads that compute.
pub(super) struct Crowd {
    goes_on: Arc<AtomicBool>,
    // Who makes tasks gives them its slice, and would wait for those that compute already.
    gate: Arc<RwLock<()>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Crowd {
    /// So many, on one CPU or on all; `during` begins.
    pub(super) fn of(count: usize, cpu: Option<u32>) -> Result<Self> {
        let mut crowd = Self { goes_on: Arc::default(), gate: Arc::default(), tasks: Vec::new() };
        crowd.goes_on.store(true, Ordering::Relaxed);
        let gate = Arc::clone(&crowd.gate);
        let closed = gate.write();
        let everywhere = sched_getaffinity(None).context("the CPUs of this task")?;
        if let Some(cpu) = cpu {
            let mut only = CpuSet::new();
            only.set(cpu as usize);
            sched_setaffinity(None, &only).context("binding to a CPU")?;
        }
        for _ in 0..count {
            let (goes_on, gate) = (Arc::clone(&crowd.goes_on), Arc::clone(&crowd.gate));
            let spin = move || {
                drop(gate.read());
                while goes_on.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            let task = thread::Builder::new().stack_size(STACK_BYTES).spawn(spin);
            crowd.tasks.push(task.with_context(|| format!("task {}", crowd.tasks.len()))?);
        }
        sched_setaffinity(None, &everywhere).context("unbinding from a CPU")?;
        drop(closed);
        Ok(crowd)
    }

    /// Does something while they compute, and ends them.
    pub(super) fn during<T>(self, something: impl FnOnce() -> Result<T>) -> Result<T> {
        let done = something();
        self.goes_on.store(false, Ordering::Relaxed);
        for task in self.tasks {
            ensure!(task.join().is_ok(), "a task of a crowd is gone");
        }
        done
    }
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
