//! What a work-conserving scheduler keeps whatever the load, each as a floor that a plausible mistake in the program
//! falls through: a kick that is not sent, tasks that no other core pulls, a clock taken over from another queue, load
//! that does not count who waits. And shares by nice value, group and mask.

use super::behaviours::{counter, scenario};
use super::load::{self, Load};
use super::rough::used_ticks_in;
use crate::vm::guest::{Guest, mount_one, read};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::time::Duration;

/// How far from its share of CPU time a task may be.
const SHARE_BESIDE: f64 = 0.05;

/// Of the time, of a task that is displaced again and again while CPUs are idle.
const RAN_LEAST: f64 = 0.95;

/// Of these: turns are long where CPUs take turns themselves.
const SHARED: Duration = Duration::from_secs(48);

/// How long the tasks of a core run while one has another core.
const APART: Duration = Duration::from_secs(12);
/// How long it runs with them then.
const TOGETHER: Duration = Duration::from_secs(12);
/// Of what each of them has.
const CAME_LEAST: f64 = 0.6;

const HEAD: &str = r#"
title = "a floor"
about = "What holds under any load."
topology = "2x2"
profile = "gzip"
slowdown = 1.0
until_ms = 9000
warmup_ms = 500
"#;
const HOG: &str = "[{ forever = true, steps = [{ compute_us = 1000 }] }]";

pub(super) fn run(guest: &mut Guest) -> Result<()> {
    guest.check_told("kick: who is displaced goes on at once on an idle CPU of any core", kick)?;
    guest
        .check_told("pull: tasks leave a crowded core while they wait, and for idle CPUs", pull)?;
    guest.check_told("clock: who changes cores waits for nobody's past", clock)?;
    guest.check_told("load: who waits counts where tasks start", crowd)?;
    guest.check_told(
        "partners: of what waits goes next what goes best with the sibling's",
        partners,
    )?;
    guest.check_told("shares by nice value, weight of groups and masks", shares)?;
    Ok(())
}

/// Runs a scenario of these programs, names with steps, and tasks.
fn run_scene(
    name: &str,
    programs: &[(&str, String)],
    tasks: &[String],
    set: &[&str],
) -> Result<Value> {
    let programs: String = programs
        .iter()
        .map(|(name, steps)| format!("\n[[program]]\nname = \"{name}\"\nsteps = {steps}\n"))
        .collect();
    let tasks: String = tasks.iter().map(|task| format!("\n[[task]]\n{task}\n")).collect();
    let path = format!("/tmp/{name}.toml");
    std::fs::write(&path, format!("name = \"{name}\"\n{HEAD}{programs}{tasks}"))
        .context("writing a scenario")?;
    scenario(&path, set)
}

fn seconds(record: &Value, program: &str) -> Result<f64> {
    record["cpu_s"][program].as_f64().with_context(|| format!("no {program} in {record}"))
}

/// A real-time task takes each CPU in turn for a tenth of a second, while the other three are idle, and have been: none
/// comes by that would find the displaced one. Who is told of the displaced task takes it in a few
/// milliseconds; now and then a CPU of a guest has its turn late.
fn kick() -> Result<String> {
    let mut programs = vec![("normal", HOG.to_owned())];
    let mut tasks = vec!["program = \"normal\"".to_owned()];
    for (cpu, name) in ["turn0", "turn1", "turn2", "turn3"].into_iter().enumerate() {
        let turn = "{ forever = true, steps = [{ compute_us = 100000 }, { sleep_us = 500000 }] }";
        programs.push((name, format!("[{{ sleep_us = {} }}, {turn}]", 1 + 150_000 * cpu)));
        tasks.push(format!(
            "program = \"{name}\"\nclass = \"fifo\"\npriority = 50\ncpus = \"{cpu}\"\nmade_on = {cpu}\nserver = true"
        ));
    }
    let record = run_scene("kick", &programs, &tasks, &[])?;
    let (ran_s, elapsed_s) =
        (seconds(&record, "normal")?, record["elapsed_s"].as_f64().context("no time")?);
    let waits = counter(&record, "waits")?.max(1);
    let mean_ms = counter(&record, "waited_ns")? / waits / 1_000_000;
    let told = format!(
        "{ran_s:.2} of {elapsed_s:.2} s, {waits} waits, {mean_ms} ms the mean, {} the longest, {} others told, {} taken",
        counter(&record, "waited_longest_ns")? / 1_000_000,
        counter(&record, "told_other_core")?,
        counter(&record, "stolen")?,
    );
    ensure!(ran_s > RAN_LEAST * elapsed_s, "{told}");
    Ok(told)
}

/// Short tasks bound to the second core, with long ones that may leave it.
fn pull() -> Result<String> {
    let programs = [("long", HOG.to_owned()), ("short", "[{ compute_us = 500000 }]".to_owned())];
    let tasks = [
        "program = \"long\"\ncount = 4".to_owned(),
        "program = \"short\"\ncount = 4\ncpus = \"2-3\"\nmade_on = 2".to_owned(),
    ];
    let record = run_scene("pull", &programs, &tasks, &["active=off"])?;
    let (stolen, evened_out) = (counter(&record, "stolen")?, counter(&record, "evened_out")?);
    let told = format!(
        "{stolen} stolen, {evened_out} evened out, long {:.2} s",
        seconds(&record, "long")?
    );
    ensure!(stolen + evened_out > 0, "{told}");
    Ok(told)
}

/// Four tasks share a core while one has the other for itself, whose clock goes twice as fast; then it is moved to them.
/// With the time of its old clock it would wait there until theirs had caught up, twice as long as the first part.
fn clock() -> Result<String> {
    load::start(&[])?;
    let mut load = Load::default();
    for mask in ["3", "3", "3", "3", "c"] {
        load.add(&["taskset", mask, "sh", "-c", "while :; do :; done"])?;
    }
    std::thread::sleep(APART);
    load.bind_last(&[0, 1])?;
    let before = load.used_ticks()?;
    std::thread::sleep(TOGETHER);
    let after = load.used_ticks()?;
    load::stop()?;
    let used: Vec<u64> = after.iter().zip(before).map(|(now, then)| now - then).collect();
    let (came, others) = used.split_last().context("no task")?;
    let mean = others.iter().sum::<u64>() as f64 / others.len() as f64;
    let has = *came as f64 / mean;
    let told = format!("it had {has:.2} of what the others had in the mean, {used:?} ticks");
    ensure!(has > CAME_LEAST, "{told}");
    Ok(told)
}

/// More tasks than CPUs, all made at once: each has as much.
fn crowd() -> Result<String> {
    let tasks = ["program = \"hog\"\ncount = 12".to_owned()];
    let record = run_scene("crowd", &[("hog", HOG.to_owned())], &tasks, &["passive=on"])?;
    let fairness = record["fairness"].as_f64().context("no fairness")?;
    let told = format!("the least had {fairness:.2} of the most");
    ensure!(fairness > 0.75, "{told}");
    Ok(told)
}

/// As `cputime --with` prints pairs of two programs that go well together, and not beside themselves.
const PAIRS: &str = r#"{"schema":1,"work":"l,r","spinner":"each","control":null,"topology_trust":"reported","meaning":[],
"cpus":{"work":0,"neighbour":1,"relation":"siblings"},"conditions":[],"spinners_alone":[],"factors":null,"blocks":1,
"blocks_set_aside":0,"seed":1,"stopped_because":"blocks","warnings":[],"placement":null,"commands":[
{"name":"l","argv":["/tmp/busybox-l"]},{"name":"m","argv":["/tmp/busybox-l"]},
{"name":"r","argv":["/tmp/busybox-r"]},{"name":"s","argv":["/tmp/busybox-r"]}],"pairs":[YY,ZZ,XX]}"#;

/// How much of the time in which both CPUs of the first core run a loop the two are of different programs, by the
/// kernel's trace of who runs.
fn mixed() -> Result<f64> {
    let set = |name: &str, value: &str| {
        let path = format!("/sys/kernel/tracing/{name}");
        std::fs::write(&path, value).with_context(|| path.clone())
    };
    mount_one("tracefs", "/sys/kernel/tracing", "").ok();
    for (name, value) in [
        ("tracing_on", "0"),
        ("trace", ""),
        ("buffer_size_kb", "8192"),
        ("events/sched/sched_switch/enable", "1"),
        ("tracing_on", "1"),
    ] {
        set(name, value)?;
    }
    std::thread::sleep(Duration::from_secs(8));
    set("tracing_on", "0")?;
    let text = read("/sys/kernel/tracing/trace")?;
    set("events/sched/sched_switch/enable", "0")?;
    let mut runs = [String::new(), String::new()];
    let (mut mixed_s, mut all_s, mut before_s) = (0.0, 0.0, None);
    for (cpu, at_s, next) in text.lines().filter_map(switch) {
        let since_s = at_s - before_s.replace(at_s).unwrap_or(at_s);
        if runs.iter().all(|name| name.starts_with("busybox-")) {
            all_s += since_s;
            mixed_s += if runs[0] == runs[1] { 0.0 } else { since_s };
        }
        if let Some(runs) = runs.get_mut(cpu) {
            next.clone_into(runs);
        }
    }
    ensure!(all_s > 2.0, "side by side for {all_s:.2} s");
    Ok(mixed_s / all_s)
}

/// CPU, time and the program that comes of a line of the trace: `… [000] d..2. 12.345678: sched_switch: … next_comm=…`.
fn switch(line: &str) -> Option<(usize, f64, &str)> {
    let (head, rest) = line.split_once(": sched_switch: ")?;
    let (head, time) = head.rsplit_once(' ')?;
    let cpu = head.rsplit_once('[')?.1.split_once(']')?.0.parse().ok()?;
    let next = rest.split_once("next_comm=")?.1.split_once(" next_pid=")?.0;
    Some((cpu, time.parse().ok()?, next))
}

/// Four loops on one core, two of each program: who is beside whom, and shares.
fn partners() -> Result<String> {
    let pair = |a: u32, b: u32, slowdown: f64| {
        let ends = r#""low_a":null,"high_a":null,"low_b":null,"high_b":null"#;
        let core = r#""core_yield":{"value":1.0,"low":null,"high":null}"#;
        format!(
            r#"{{"a":{a},"b":{b},"slowdown_a":{slowdown},"slowdown_b":{slowdown},{ends},{core}}}"#
        )
    };
    let text = PAIRS.replace("YY", &pair(0, 1, 2.0)).replace("ZZ", &pair(2, 3, 2.0));
    std::fs::write("/tmp/pairs.json", text.replace("XX", &pair(0, 2, 1.2)))?;
    let mut load = Load::default();
    for name in ["/tmp/busybox-l", "/tmp/busybox-r"] {
        std::fs::copy("/bin/busybox", name).context(name)?;
        for _ in 0..2 {
            load.add(&["taskset", "3", name, "sh", "-c", "while :; do :; done"])?;
        }
    }
    load::start(&[])?;
    let without = mixed()?;
    load::stop()?;
    load::start_with(&["--partners", "/tmp/pairs.json"])?;
    let used = used_ticks_in(&load, Duration::from_secs(10))?;
    let with = mixed()?;
    let taken = load::status()?["loaded"]["counters"]["partnered"].as_u64().unwrap_or(0);
    load::stop()?;
    let (least, most) = (used.iter().min().context("none")?, used.iter().max().context("none")?);
    let told = format!(
        "mixed {with:.2} of the time, {without:.2} without, {taken} before their turn, ticks {least} to {most}"
    );
    // An emulated CPU may stand still for hundreds of turns of its sibling, beside which the two others and one of its own
    // program go in turns then: two thirds are mixed whatever is chosen.
    ensure!(with > without && taken > 100 && *least as f64 > 0.8 * *most as f64, "{told}");
    Ok(told)
}

/// Pairs on a CPU each: by nice value, by group, and one bound beside one free.
fn shares() -> Result<String> {
    load::start(&[])?;
    let mut load = Load::default();
    load.add_pinned(0, 0)?;
    load.add_pinned(0, 5)?;
    load.add_pinned(1, 0)?;
    load.add_pinned(1, 10)?;
    load.add_pinned(2, 0)?;
    load.group_last("heavy", 300)?;
    load.add_pinned(2, 0)?;
    load.group_last("light", 100)?;
    load.add_pinned(3, 0)?;
    load.add_pinned(3, 0)?;
    let used = used_ticks_in(&load, SHARED)?;
    load::stop()?;
    let mut told = Vec::new();
    let mut beside = false;
    // Weights of nice 0, 5 and 10 are 1024, 335 and 110.
    for (pair, share) in [(0, 0.753), (2, 0.903), (4, 0.75), (6, 0.5)] {
        let (more, less) = (used[pair] as f64, used[pair + 1] as f64);
        let has = more / (more + less);
        beside |= (has - share).abs() > SHARE_BESIDE;
        told.push(format!("{has:.3} of {share}"));
    }
    ensure!(!beside, "{}", told.join(", "));
    Ok(told.join(", "))
}
