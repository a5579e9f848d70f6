//! Where there is no room, and where a task is not who it was: said, counted, and nothing twice.

use crate::load::{burn, phases};
use crate::machine::{self, Machine, cpus, run_of, total_ns};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_bpf::overlap::{CpuTime, Room, SIBLINGS_MAX, SiblingMap, Window};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

/// Threads of a crowd.
const CROWD: usize = 48;
/// Rounds until there must have been no room.
const ROUNDS: usize = 100;
/// Work for a shell.
const WORK: &str = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";

/// Threads that all live at once, and end at once.
fn crowd() {
    let together = Barrier::new(CROWD);
    std::thread::scope(|scope| {
        for _ in 0..CROWD {
            scope.spawn(|| {
                burn(Duration::from_micros(300));
                together.wait();
            });
        }
    });
}

fn charged_ns(window: &Window) -> u64 {
    window.cpus.iter().map(|cpu| cpu.run_ns).sum()
}

fn listed_ns(window: &Window) -> u64 {
    window.tasks.iter().map(total_ns).sum()
}

#[test]
fn a_full_table_counts_the_time_of_those_without_a_place() {
    // One line of the table, then some, in which tasks are found further on than where they begin.
    for tasks in [8, 64, 256] {
        let Some(mut machine) = machine::start_with(Room { tasks, ..Room::default() }) else {
            return;
        };
        machine.overlap.window().expect("a window");
        crowd();
        let window = machine.overlap.window().expect("a window");
        let missing = window.missing;
        println!("of {tasks}, {} had a place, {missing:?}", window.tasks.len());
        if tasks < CROWD as u32 {
            assert!(missing.unlisted > 0 && missing.unlisted_ns > 0, "{missing:?}");
        }
        assert_eq!(listed_ns(&window) + missing.unlisted_ns, charged_ns(&window), "{missing:?}");
    }
}

/// Tasks there are, and how many were made since the boot. That is no task's number: those begin anew.
fn tasks_there_are() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/loadavg").expect("loadavg");
    let words: Vec<&str> = text.split(['/', ' ', '\n']).collect();
    let stat = std::fs::read_to_string("/proc/stat").expect("stat");
    let made = stat.lines().find_map(|line| line.strip_prefix("processes ")).expect("a line");
    (words[4].parse().expect("a count"), made.parse().expect("a number"))
}

#[test]
fn a_task_without_a_place_is_counted_once_however_often_it_runs() {
    let Some(mut machine) = machine::start_with(Room { tasks: 8, ..Room::default() }) else {
        return;
    };
    let (living, made) = tasks_there_are();
    std::thread::scope(|scope| {
        for _ in 0..CROWD {
            scope.spawn(|| (0..100).for_each(|_| std::thread::sleep(Duration::from_micros(500))));
        }
    });
    let window = machine.overlap.window().expect("a window");
    let (all, missing) = (living + tasks_there_are().1 - made, window.missing);
    println!("{} switches, {all} tasks, {missing:?}", window.switches);
    let crowd = CROWD as u64;
    assert!((crowd - 8..=all).contains(&missing.unlisted), "{missing:?} of {all}");
}

#[test]
fn a_full_ring_counts_the_ended_that_were_not_read() {
    let room = Room { ended_bytes: 4096, ..Room::default() };
    let Some(mut machine) = machine::start_with(room) else { return };
    machine.overlap.window().expect("a window");
    let (mut listed, mut charged, mut lost, mut lost_ns) = (0, 0, 0, 0);
    // Who ends while a window is being closed is counted as lost in the next.
    for round in 0.. {
        let quiet = lost > 0 || round >= ROUNDS;
        if quiet {
            std::thread::sleep(Duration::from_millis(100));
        } else {
            crowd();
        }
        let window = machine.overlap.window().expect("a window");
        let missing = window.missing;
        assert_eq!(missing.unlisted, 0, "{missing:?}");
        listed += listed_ns(&window);
        charged += charged_ns(&window);
        lost += missing.lost;
        lost_ns += missing.lost_ns;
        if (quiet && missing.lost == 0) || round > 2 * ROUNDS {
            break;
        }
    }
    if lost == 0 {
        println!("skipped: whoever reads the ring came in time in each of {ROUNDS} rounds");
        return;
    }
    println!("{lost} ended were lost, {lost_ns} ns of {charged}");
    assert!(listed <= charged, "{listed} of {charged}");
    // All run time of those that are lost, so also what was listed while they lived.
    assert!(listed + lost_ns >= charged, "{listed} of {charged}, {lost_ns} lost");
}

/// Not a test of its own: a thread that is not its process's first starts a program.
#[test]
#[ignore = "the child of another test"]
fn child() {
    let starter = std::thread::spawn(|| {
        burn(Duration::from_millis(200));
        Command::new("/bin/sh").args(["-c", WORK]).exec()
    });
    burn(Duration::from_millis(50));
    panic!("{:?}", starter.join());
}

/// CPU time of children that were waited for, in nanoseconds (`/proc/self/stat`, fields 16 and 17).
fn children_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("stat");
    let (_, rest) = stat.rsplit_once(')').expect("a name");
    let ticks = rest.split_ascii_whitespace().skip(13).take(2);
    let ticks: u64 = ticks.map(|field| field.parse::<u64>().expect("ticks")).sum();
    ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second()
}

#[test]
fn a_thread_that_starts_a_program_is_counted_once() {
    let Some(mut machine) = machine::start() else { return };
    machine.overlap.follow_children(std::process::id()).expect("followed");
    machine.overlap.window().expect("a window");
    let before_ns = children_ns();
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "limits::child", "--ignored", "--nocapture"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("a child");
    let mut windows = Vec::new();
    // Before and after it is another program.
    let status = loop {
        windows.push(machine.overlap.window().expect("a window"));
        match child.try_wait().expect("waited for") {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(30)),
        }
    };
    assert!(status.success(), "{status}");
    windows.push(machine.overlap.window().expect("a window"));
    let root = child.id();
    let tasks = windows.iter().flat_map(|window| &window.tasks);
    let ours_ns: u64 = tasks.filter(|task| task.followed == Some(root)).map(total_ns).sum();
    let theirs_ns = children_ns() - before_ns;
    println!("{} windows, {ours_ns} ns, by the kernel's ticks {theirs_ns} ns", windows.len());
    let hidden_ns: u64 = windows.iter().map(|window| window.missing.strangers_ns).sum();
    let off_ns = theirs_ns / 100 + 60_000_000 + hidden_ns;
    assert!(ours_ns.abs_diff(theirs_ns) <= off_ns, "{ours_ns} against {theirs_ns}");
}

/// A map of eight siblings, most of which never come online.
fn of_eight() -> Option<Machine> {
    let online: CpuSet = cpus("online").iter().take(SIBLINGS_MAX).collect();
    let highest = online.iter().next_back()?.0;
    let more = (highest + 1..).map(coretwin_base::machine::cpu_set::CpuId);
    let core: CpuSet = online.iter().chain(more).take(SIBLINGS_MAX).collect();
    let possible = cpus("possible").union(&core);
    let map = SiblingMap::new(&possible, &cpus("online"), &[core]).expect("a map");
    machine::start_on(map, Room::default())
}

#[test]
fn a_core_may_have_eight_siblings() {
    let Some(mut machine) = of_eight() else { return };
    let [first, second] = machine.pair();
    machine.overlap.window().expect("a window");
    let (busy, idle) = (Duration::from_millis(20), Duration::from_millis(5));
    let tids = std::thread::scope(|scope| {
        let one = |cpu| {
            move || {
                phases(cpu, 4, busy, idle);
                crate::load::told().tid
            }
        };
        [first, second].map(|cpu| scope.spawn(one(cpu))).map(|one| one.join().expect("a thread"))
    });
    let window = machine.overlap.window().expect("a window");
    for tid in tids {
        let run = run_of(std::slice::from_ref(&window), tid);
        assert_eq!(run.len(), SIBLINGS_MAX, "{run:?}");
        let known_ns = run.iter().sum::<u64>() + window.missing.strangers_ns;
        assert!(known_ns >= 4 * 20_000_000 - 1_000_000, "{run:?} {:?}", window.missing);
        let online = cpus("online").len().min(SIBLINGS_MAX);
        assert!(
            run[online..].iter().all(|&ns| ns == 0),
            "no more are busy than there are: {run:?}"
        );
    }
    let [core] = &window.cores[..] else {
        return assert!(window.cores.len() > 1, "the core of eight, and other CPUs' own");
    };
    let busy_ns: u64 = (0..).zip(&core.busy_ns).map(|(k, ns)| k * ns).sum();
    let tasks_ns: u64 = window.cpus.iter().map(|cpu| cpu.tasks_ns).sum();
    // Windows end on one CPU after the other, and whoever closes them may be stopped in between.
    let spread_ns = |end: fn(&CpuTime) -> u64| {
        let ends = window.cpus.iter().map(end);
        ends.clone().max().unwrap_or_default() - ends.min().unwrap_or_default()
    };
    let apart_ns = spread_ns(|cpu| cpu.from_ns) + spread_ns(|cpu| cpu.until_ns);
    let off_ns = tasks_ns / 100 + machine::off_ns() as u64 + SIBLINGS_MAX as u64 * apart_ns;
    assert!(busy_ns.abs_diff(tasks_ns) <= off_ns, "{busy_ns} {tasks_ns}");
}
