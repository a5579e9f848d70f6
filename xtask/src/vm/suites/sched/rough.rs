//! What a machine does to a scheduler: CPUs that come and go, SMT, storms of tasks, masks and nice
//! values, a loader that is killed, a scheduler that is stuck.

use super::behaviours::{counter, scenario_under};
use super::cost;
use super::load::soon;
use super::load::{self, Load};
use crate::random::Random;
use crate::vm::guest::{Guest, json_of, output, read};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Loads and unloads under load.
const RELOADS: u32 = 50;
/// Times SMT goes off and on.
const SWITCHES: u32 = 5;
/// Short processes in a storm.
pub(super) const STORM: &str =
    "i=0; while [ $i -lt 40 ]; do /bin/true & /bin/true; i=$((i+1)); done; wait";
/// Processes, each of which makes two until the third generation: bounded.
const BOMB: &str =
    "bomb() { [ $1 -gt 0 ] && { bomb $(($1-1)) & bomb $(($1-1)) & wait; }; true; }; bomb 6";
/// Long enough for every hog to have had its turns.
const TURNS: Duration = Duration::from_secs(3);
/// Long enough for shares of bound tasks, though other CPUs end an epoch of 2.4.19 and CPUs of a guest take turns.
const SHARES: Duration = Duration::from_secs(12);
/// What hangs on where a thread of the kernel waits when a CPU goes needs more than one try.
const ROUNDS: u32 = 3;
/// The longest wait while CPUs go and come, in a guest whose CPUs take turns.
const GOING_NS_MAX: u64 = 5_000_000_000;
/// Of the guest's time: what CPUs that go and come do to chat of 800 tasks.
const STORM_TIME: Duration = Duration::from_secs(30 * 60);
const CHAT: &str = "chat:rooms=10,messages=4";
/// A guest has so many tasks while that runs, and at no other time.
const CHAT_TASKS: usize = 800;
/// By then each of them has had its slice of 3 ms, on one CPU; and 100 ms more.
const STORM_NS_MAX: u64 = CHAT_TASKS as u64 * 3_000_000 + 100_000_000;
/// A storm of fewer is none.
const STORM_LEAST: u32 = 200;
const CHAT_LOG: &str = "/tmp/chat.log";
/// A policy that is handled roughly, and what it owes then.
pub(super) struct Rough {
    pub(super) policy: &'static str,
    /// Counters of a displaced task that goes on elsewhere: one at least is above 0.
    goes_on: &'static [&'static str],
    /// A task has so many times the CPU time of one of nice 10 on its CPU, at least.
    nice: f64,
    /// And of one whose group has a tenth of its own group's weight, at least and at most.
    group: (f64, f64),
    /// The longest wait that is no starvation, in a guest whose CPUs take turns.
    pub(super) wait_ns_max: u64,
}

pub(super) const CORE_QUEUE: Rough = Rough {
    policy: "core-queue",
    goes_on: &["told_other_core", "told_sibling"],
    // By weight the lesser ones should have a ninth and an eleventh.
    nice: 3.0,
    group: (3.0, f64::INFINITY),
    wait_ns_max: 8_000_000_000,
};
/// Of 2002: a slice of half the length at nice 10, or less where other CPUs end the epoch, no groups, and no bound of waiting but the 15 s of ours.
pub(super) const fn article(policy: &'static str, goes_on: &'static [&'static str]) -> Rough {
    Rough { policy, goes_on, nice: 1.4, group: (0.4, 2.5), wait_ns_max: 17_000_000_000 }
}

/// Half of CPU 1 and half of any other are for real-time tasks.
const REAL_TIME: &str = r#"
name = "real-time"
title = "real-time tasks beside normal ones"
about = "A real-time task takes half of CPU 1, another half of any."
topology = "2x2"
profile = "gzip"
slowdown = 1.0
until_ms = 2500
warmup_ms = 500

[[program]]
name = "real-time"
steps = [{ forever = true, steps = [{ compute_us = 3000 }, { sleep_us = 3000 }] }]

[[socket]]
name = "there"

[[socket]]
name = "back"

[[program]]
name = "client"
steps = [{ forever = true, steps = [{ send_bytes = 100, socket = "there" }, { receive_bytes = 100, socket = "back" }] }]

[[program]]
name = "server"
steps = [{ forever = true, steps = [{ receive_bytes = 100, socket = "there" }, { send_bytes = 100, socket = "back" }] }]

[[program]]
name = "bound"
steps = [{ forever = true, steps = [{ compute_us = 1000 }] }]

[[program]]
name = "free"
steps = [{ forever = true, steps = [{ compute_us = 1000 }] }]

[[program]]
name = "waker"
steps = [
    { forever = true, steps = [{ sleep_us = 2000 }, { begin = true }, { compute_us = 100 }, { done = "woken" }] },
]

[[task]]
program = "real-time"
class = "fifo"
priority = 50
cpus = "1"
made_on = 1
server = true

[[task]]
program = "real-time"
class = "round_robin"
priority = 10
server = true

[[task]]
program = "bound"
cpus = "1"
made_on = 1

[[task]]
program = "free"
count = 3

[[task]]
program = "waker"
count = 2

[[task]]
program = "client"

[[task]]
program = "server"
server = true
"#;

/// A quarter of each of four CPUs is for a real-time task of its own, in turns; one normal task may run on any of them.
const DISPLACED: &str = r#"
name = "displaced"
title = "a normal task that real-time ones displace"
about = "Whichever CPU it is on, a real-time task takes it soon, and three others are idle."
topology = "2x2"
profile = "gzip"
slowdown = 1.0
until_ms = 2500
warmup_ms = 500
program = [PROGRAMS]
task = [TASKS]
"#;

/// What the program in the kernel decided, taken again by the simulated policy's arithmetic: no difference, and some of
/// each kind.
fn decided_again() -> Result<String> {
    std::fs::write("/tmp/real-time.toml", REAL_TIME).context("writing a scenario")?;
    let arguments = ["sched", "scenario", "/tmp/real-time.toml", "--json", "--trial-decisions"];
    let decisions = &json_of("coretwin", &arguments)?["decisions"];
    for kind in ["w", "o", "l", "a", "g", "k"] {
        ensure!(decisions["told"][kind].as_u64() > Some(0), "none of kind {kind}: {decisions}");
    }
    ensure!(decisions["different"] == json!([]), "{decisions}");
    Ok(decisions["told"].to_string())
}

/// The quick ones: SMT off and on while loaded, a killed loader, a stuck scheduler.
pub(super) fn run_quick(guest: &mut Guest, rough: &'static Rough) -> Result<()> {
    let policy = rough.policy;
    let cpus = guest.topology.cpus();
    if policy == CORE_QUEUE.policy {
        let name = "decisions taken again by the simulated policy's arithmetic";
        guest.check_told(name, decided_again)?;
    }
    guest.check_told("SMT off and on while loaded and busy", || {
        // Before there is work: the kernel's look at its code takes long enough.
        load::start_policy(policy, &[])?;
        let load = Load::hogs(cpus as usize + 2)?;
        load::switch_smt(false)?;
        load::is_ours()?;
        load::switch_smt(true)?;
        load::is_ours()?;
        every_hog_ran(&load)
    })?;
    guest.check("loading it twice is refused, and changes nothing", || {
        let again = output("coretwin", &["sched", "start", "--detach"])?;
        let said = String::from_utf8_lossy(&again.stderr);
        ensure!(again.status.code() == Some(3), "{}: {said}", again.status);
        ensure!(said.contains(policy) || said.contains("core_queue"), "{said}");
        load::is_ours()
    })?;
    guest.check("SIGKILL of its process gives the kernel's scheduler back", || {
        let status = load::status()?;
        let keeper = &status["loaded"]["keeper"];
        let process = ["process", "pid", "id"].iter().find_map(|name| keeper[name].as_u64());
        let process = process.with_context(|| format!("no process in {status}"))?.to_string();
        let killed = output("kill", &["-9", &process])?;
        ensure!(killed.status.success(), "{}", String::from_utf8_lossy(&killed.stderr));
        load::is_kernels()
    })?;
    guest.check_told("the kernel's watchdog ends a stuck scheduler, which is explained", || {
        stuck(policy, cpus)
    })?;
    Ok(())
}

/// A scheduler that never gives a waiting task a CPU; what was told of its end.
fn stuck(policy: &str, cpus: u32) -> Result<String> {
    let trial = ["--trial-stuck", "--trial-watchdog-ms", "3000"];
    let arguments = [&["sched", "start", "--policy", policy], &trial[..]].concat();
    let mut start = Command::new("coretwin");
    let start = start.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    soon("a scheduler in charge", || Ok(load::is_ours().is_ok()))?;
    let _load = Load::hogs(cpus as usize + 2)?;
    let stuck = start.wait_with_output()?;
    let said = String::from_utf8_lossy(&stuck.stderr);
    ensure!(stuck.status.code() == Some(1), "{}: {said}", stuck.status);
    ensure!(said.contains("watchdog"), "{said}");
    let dump = read("/run/coretwin/sched-dump.txt")?;
    ensure!(dump.contains("CPU states") && said.contains("sched-dump.txt"), "{said}\n{dump}");
    load::is_kernels()?;
    let told = said.lines().find(|line| line.contains("watchdog"));
    Ok(told.unwrap_or_default().to_owned())
}

/// The others.
pub(super) fn run(guest: &mut Guest, rough: &'static Rough) -> Result<()> {
    let policy = rough.policy;
    let (cpus, threads) = (guest.topology.cpus(), guest.topology.threads);
    guest.check("CPUs go and come while loaded, busy and asked for by pinned tasks", || {
        go_and_come(policy, cpus)
    })?;
    guest.check("SMT off and on again and again while busy", || {
        let _load = Load::hogs(cpus as usize + 2)?;
        for _ in 0..SWITCHES {
            load::switch_smt(false)?;
            load::switch_smt(true)?;
        }
        load::is_ours()
    })?;
    guest.check_told("storms of short tasks and a bounded fork bomb", || {
        let _load = Load::hogs(cpus as usize)?;
        for program in [STORM, BOMB] {
            let ended = output("sh", &["-c", program])?;
            ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        }
        load::is_ours()?;
        soon("a record of its counters", || Ok(load::status()?["loaded"].is_object()))?;
        let status = load::status()?;
        Ok(format!("{} tasks ran first", counter(&status, "ran_first")?))
    })?;
    guest.check_told("pinned tasks beside free ones: all run, by their nice values", || {
        pinned(rough)
    })?;
    guest.check_told("nobody waits for long", || {
        let waited_ns = counter(&load::status()?, "waited_longest_ns")?;
        ensure!(waited_ns < rough.wait_ns_max, "{} ms", waited_ns / 1_000_000);
        Ok(format!("the longest wait was {} ms", waited_ns / 1_000_000))
    })?;
    guest.check_told("real-time tasks beside normal ones, which all go on", || {
        load::stop()?;
        beside_real_time(rough)
    })?;
    guest.check_told("a task that real-time ones displace goes to an idle CPU", || {
        displaced(rough)
    })?;
    guest.check_told("a CPU that nobody knew at load has it loaded again", || {
        unknown_cpus(policy, cpus, threads)
    })?;
    guest.check("it goes in good order", load::stop)?;
    guest.check_told("a CPU goes and comes while it is being loaded", || {
        changing(policy, cpus - 1)
    })?;
    Ok(())
}

/// Cores of one CPU go and come, each with whatever waits for it.
pub(super) fn run_hotplug(guest: &mut Guest, policies: &[&'static str]) -> Result<()> {
    let cpus = guest.topology.cpus();
    for policy in policies.iter().copied() {
        let name = format!("{policy}: cores go and come while busy, and nobody waits for long");
        guest.check_told(&name, || {
            go_and_come(policy, cpus)?;
            let waited_ns = counter(&load::status()?, "waited_longest_ns")?;
            load::stop()?;
            ensure!(waited_ns < GOING_NS_MAX, "{} ms", waited_ns / 1_000_000);
            Ok(format!("the longest wait was {} ms", waited_ns / 1_000_000))
        })?;
    }
    Ok(())
}

/// CPUs go and come at random under chat, for so long of the guest's time that what is rare happens.
pub(super) fn run_storm(guest: &mut Guest) -> Result<()> {
    cost::prepare()?;
    let (cpus, seed) = (guest.topology.cpus(), guest.seed);
    guest.check_told("half an hour of chat while CPUs go and come at random", || {
        load::start_policy(CORE_QUEUE.policy, &[])?;
        let (mut random, started) = (Random(seed), Instant::now());
        let (mut runs, mut switches) = (0, 0);
        let mut online = vec![true; cpus as usize];
        while started.elapsed() < STORM_TIME {
            let log = File::create(CHAT_LOG)?;
            let mut chat = Command::new("coretwin")
                .args(["run", "--json", CHAT])
                .stdout(log.try_clone()?)
                .stderr(log)
                .spawn()
                .context("starting chat")?;
            let ended = loop {
                if let Some(ended) = chat.try_wait()? {
                    break ended;
                }
                // A run begins with all CPUs.
                if tasks()? < CHAT_TASKS {
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                }
                let cpu = 1 + random.below(cpus as usize - 1);
                online[cpu] = !online[cpu];
                load::switch_cpu(cpu as u32, online[cpu])?;
                load::is_ours()?;
                switches += 1;
            };
            let said = std::fs::read_to_string(CHAT_LOG)?;
            let run: Value = serde_json::from_str(&said).with_context(|| said.clone())?;
            let checks = run["checks"].as_object().context("no checks")?;
            let failed = checks.iter().filter(|(_, passed)| **passed != json!(true));
            // That the machine changed is what this is about.
            let failed: Vec<_> = failed.filter(|it| it.0 != "machine_unchanged").collect();
            ensure!(failed.is_empty(), "chat: {ended}: {failed:?}");
            runs += 1;
            for cpu in 1..cpus {
                load::switch_cpu(cpu, true)?;
                online[cpu as usize] = true;
            }
        }
        let waited_ns = counter(&load::status()?, "waited_longest_ns")?;
        load::stop()?;
        ensure!(waited_ns < STORM_NS_MAX, "somebody waited {} ms", waited_ns / 1_000_000);
        ensure!(switches >= STORM_LEAST, "a CPU went or came only {switches} times");
        Ok(format!(
            "{runs} runs of chat, {switches} times a CPU went or came; the longest wait was {} ms",
            waited_ns / 1_000_000
        ))
    })?;
    Ok(())
}

/// Tasks of the guest (proc_loadavg(5), the fourth field).
pub(super) fn tasks() -> Result<usize> {
    let text = read("/proc/loadavg")?;
    let tasks = text.split([' ', '/']).nth(4).and_then(|tasks| tasks.parse().ok());
    tasks.with_context(|| format!("no number of tasks in {text}"))
}

fn go_and_come(policy: &str, cpus: u32) -> Result<()> {
    load::start_policy(policy, &[])?;
    let mut load = Load::hogs(cpus as usize)?;
    for cpu in 0..cpus {
        load.add_pinned(cpu, 0)?;
    }
    for _ in 0..ROUNDS {
        for (cpu, online) in
            (1..cpus).map(|it| (it, false)).chain((1..cpus).rev().map(|it| (it, true)))
        {
            load::switch_cpu(cpu, online)?;
            load::is_ours()?;
        }
    }
    Ok(())
}

/// It is loaded, or refused with the reason; the scheduler in charge is ours or the kernel's, accordingly.
fn changing(policy: &str, cpu: u32) -> Result<String> {
    let mut start = Command::new("coretwin")
        .args(["sched", "start", "--detach", "--policy", policy])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting coretwin")?;
    let mut times = 0;
    while start.try_wait()?.is_none() {
        load::switch_cpu(cpu, false)?;
        load::switch_cpu(cpu, true)?;
        times += 1;
    }
    let ended = start.wait_with_output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    match ended.status.code() {
        Some(0) => {
            load::is_ours()?;
            load::stop()?;
        }
        Some(3) => {
            ensure!(said.contains("CPUs changed"), "{said}");
            load::is_kernels()?;
        }
        _ => bail!("{}: {said}", ended.status),
    }
    Ok(format!("{times} times; {}", said.lines().next().unwrap_or("it was loaded")))
}

/// The normal task goes on elsewhere each time, and has nearly all of a CPU's time.
fn displaced(rough: &Rough) -> Result<String> {
    let mut programs = vec![
        r#"{ name = "normal", steps = [{ forever = true, steps = [{ compute_us = 1000 }] }] }"#
            .to_owned(),
    ];
    // On a fifth CPU no real-time task would displace it.
    let mut tasks = vec![r#"{ program = "normal", cpus = "0-3" }"#.to_owned()];
    for cpu in 0..4 {
        let turn = "{ forever = true, steps = [{ compute_us = 3000 }, { sleep_us = 9000 }] }";
        let first = 1 + 3000 * cpu;
        programs
            .push(format!(r#"{{ name = "rt{cpu}", steps = [{{ sleep_us = {first} }}, {turn}] }}"#));
        tasks.push(format!(
            r#"{{ program = "rt{cpu}", class = "fifo", priority = 50, cpus = "{cpu}", made_on = {cpu}, server = true }}"#
        ));
    }
    let text = DISPLACED.replace("PROGRAMS", &programs.join(", "));
    std::fs::write("/tmp/displaced.toml", text.replace("TASKS", &tasks.join(", ")))
        .context("writing a scenario")?;
    let record = scenario_under(rough.policy, "/tmp/displaced.toml", &[])?;
    let seconds = record["cpu_s"]["normal"].as_f64().with_context(|| format!("{record}"))?;
    let told = rough.goes_on.iter().map(|name| counter(&record, name)).sum::<Result<u64>>()?;
    ensure!(told > 0, "it never went on, the normal task had {seconds} s: {record}");
    Ok(format!("it went on elsewhere {told} times, {seconds:.2} s of CPU time"))
}

/// A real-time task that takes half of CPU 1 and another that takes half of any, beside normal tasks.
fn beside_real_time(rough: &Rough) -> Result<String> {
    std::fs::write("/tmp/real-time.toml", REAL_TIME).context("writing a scenario")?;
    let record = scenario_under(rough.policy, "/tmp/real-time.toml", &[])?;
    let mut told = Vec::new();
    for program in ["real-time", "bound", "free"] {
        let seconds = record["cpu_s"][program].as_f64().with_context(|| format!("{record}"))?;
        ensure!(seconds > 0.1, "{program} had {seconds} s of CPU time");
        told.push(format!("{program} {seconds:.2} s"));
    }
    let woken = record["operations"]["woken"].as_u64().unwrap_or(0);
    ensure!(woken > 0, "nobody woke: {record}");
    let waited_ns = counter(&record, "waited_longest_ns")?;
    ensure!(waited_ns < rough.wait_ns_max, "somebody waited {} ms", waited_ns / 1_000_000);
    told.push(format!("{woken} woke, the longest wait was {} ms", waited_ns / 1_000_000));
    Ok(told.join(", "))
}

/// Every core has but one CPU online and nobody remembers more when the scheduler is loaded, which then cannot know
/// siblings. When one comes, the scheduler ends itself, and is loaded again by its keeper; of the others it is
/// known then where they are.
fn unknown_cpus(policy: &str, cpus: u32, threads: u32) -> Result<String> {
    let loads = || -> Result<u64> { Ok(read("/sys/kernel/sched_ext/enable_seq")?.parse()?) };
    let siblings: Vec<u32> = (0..cpus).filter(|cpu| cpu % threads > 0).collect();
    for cpu in &siblings {
        load::switch_cpu(*cpu, false)?;
    }
    std::fs::remove_file("/var/lib/coretwin/siblings").ok();
    load::start_policy(policy, &[])?;
    let before = loads()?;
    load::switch_cpu(siblings[0], true)?;
    soon("it is loaded again", || Ok(loads()? > before && load::is_ours().is_ok()))?;
    let again = loads()?;
    for cpu in &siblings[1..] {
        load::switch_cpu(*cpu, true)?;
    }
    soon("a record with all CPUs", || {
        let cores = load::status()?["loaded"]["cores"].take();
        let online = |core: &Value| core["online"].as_u64().unwrap_or(0);
        let online: u64 = cores.as_array().map_or(0, |cores| cores.iter().map(online).sum());
        Ok(online == u64::from(cpus))
    })?;
    Ok(format!("load {before}, then {again}"))
}

/// Two on one CPU, one of them nice; two on another, in groups of which one weighs more.
fn pinned(rough: &Rough) -> Result<String> {
    let mut load = Load::hogs(2)?;
    load.add_pinned(1, 0)?;
    load.add_pinned(1, 10)?;
    load.add_pinned(2, 0)?;
    load.group_last("heavy", 1000)?;
    load.add_pinned(2, 0)?;
    load.group_last("light", 100)?;
    let used = used_ticks_in(&load, SHARES)?;
    let nice = (rough.nice, f64::INFINITY);
    for (more, less, (least, most)) in [(2, 3, nice), (4, 5, rough.group)] {
        let times = used[more] as f64 / used[less] as f64;
        ensure!((least..=most).contains(&times), "{times:.1} times as much: {used:?}");
    }
    Ok(format!("ticks {used:?}"))
}

fn every_hog_ran(load: &Load) -> Result<String> {
    Ok(format!("ticks {:?}", used_ticks(load)?))
}

/// The CPU time of each in a while; all must have some.
fn used_ticks(load: &Load) -> Result<Vec<u64>> {
    used_ticks_in(load, TURNS)
}

pub(super) fn used_ticks_in(load: &Load, time: Duration) -> Result<Vec<u64>> {
    let before = load.used_ticks()?;
    std::thread::sleep(time);
    let used: Vec<u64> =
        load.used_ticks()?.iter().zip(before).map(|(now, then)| now - then).collect();
    ensure!(used.iter().all(|ticks| *ticks > 0), "somebody starved: {used:?}");
    Ok(used)
}

/// Loads and unloads it again and again while tasks come, sleep, wake and go on every CPU.
pub(super) fn run_reloads(guest: &mut Guest, policy: &str) -> Result<()> {
    // CPUs of a guest take turns: beside hogs the kernel's look at the code takes minutes.
    let _load = Load::sleepers(guest.topology.cpus() as usize)?;
    guest.check_told(&format!("{RELOADS} loads and unloads under load"), || {
        for round in 0..RELOADS {
            load::start_policy(policy, &[]).with_context(|| format!("round {round}"))?;
            load::stop().with_context(|| format!("round {round}"))?;
        }
        let times = read("/sys/kernel/sched_ext/enable_seq")?;
        Ok(format!("the kernel counts {times}"))
    })?;
    Ok(())
}
