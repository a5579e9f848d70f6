//! `core-queue`: the five behaviours, each with its switch on and off. HZ is 250: a tick is 4 ms; CPUs 0
//! and 1 are one core, 2 and 3 the other.

use super::{Case, log, log_after_boot, task};
use expect_test::expect;

fn without(off: &str) -> String {
    format!("core-queue[{off}]")
}

/// New tasks stay where they are made.
fn stays(also: &str) -> String {
    without(&format!("passive=off,idle_core_first=off,{also}"))
}

/// `late` last ran on CPU 0, which `hog` has. Its sibling is idle; off: it waits for its own CPU, for it
/// is 0.5 ms before `hog`, which has run so long, not more than the 2 ms of `preempt_us`. Its turn comes at the tick of
/// 4 ms, when `hog` has had its 3 ms.
#[test]
fn wakeup() {
    let tasks = || vec![task("late", 0, 0, 500).sleeps_first(1_000), task("hog", 0, 500, 9_000)];
    expect![[r#"
             1.000000 cpu0   place   late#1         cpu1        an idle sibling of its last CPU: last_cpu 0
             1.000000 cpu0   resched late#1         cpu1        idle, and has work now
             1.000000 cpu1   pick    late#1         cpu1        least CPU time of those that wait on its core
             1.500000 cpu1   pick    -              cpu1        no task waits that it may run
             9.500000 cpu0   pick    -              cpu0        no task waits that it may run
    "#]].assert_eq(&log("core-queue", "1x2", 1_000, tasks()));
    let off = without("wakeup=off,passive=off");
    expect![[r#"
        1.000000 cpu0   place   late#1         cpu0        its last CPU, busy
        4.000000 cpu0   resched hog#2          cpu0        its slice is used up: ran_us 3500
        4.000000 cpu0   pick    late#1         cpu0        least CPU time of those that wait on its core
        4.500000 cpu0   pick    hog#2          cpu0        least CPU time of those that wait on its core
        10.000000 cpu0   pick    -              cpu0        no task waits that it may run
    "#]].assert_eq(&log(&off, "1x2", 1_000, tasks()));
}

/// CPU 1 is done at 1 ms, and `b` waits on the core, for CPU 0 where it was made. Off: only CPU 0 may
/// have it, when `a` has ended.
#[test]
fn pickup() {
    let tasks = || vec![task("short", 1, 0, 1_000), task("a", 0, 0, 3_000), task("b", 0, 0, 3_000)];
    let others = "wakeup=off,passive=off";
    expect![[r#"
             1.000000 cpu1   pick    b#3            cpu1        least CPU time of those that wait on its core
             3.000000 cpu0   pick    -              cpu0        no task waits that it may run
             4.000000 cpu1   pick    -              cpu1        no task waits that it may run
    "#]].assert_eq(&log(&without(others), "1x2", 1_000, tasks()));
    let off = format!("pickup=off,{others}");
    expect![[r#"
             1.000000 cpu1   pick    -              cpu1        no task waits that it may run
             3.000000 cpu0   pick    b#3            cpu0        least CPU time of those that wait on its core
             6.000000 cpu0   pick    -              cpu0        no task waits that it may run
    "#]].assert_eq(&log(&without(&off), "1x2", 1_000, tasks()));
}

/// `sleeper` ran on CPU 2, which is idle when it wakes. Off: the first idle CPU will do.
#[test]
fn affinity() {
    let tasks = || vec![task("sleeper", 2, 0, 500).sleeps_first(1_000)];
    expect![[r#"
        1.000000 cpu2   place   sleeper#1      cpu2        its last CPU, of an idle core
        1.000000 cpu2   resched sleeper#1      cpu2        idle, and has work now
        1.000000 cpu2   pick    sleeper#1      cpu2        least CPU time of those that wait on its core
        1.500000 cpu2   pick    -              cpu2        no task waits that it may run
    "#]].assert_eq(&log("core-queue", "2x2", 1_000, tasks()));
    expect![[r#"
             1.000000 cpu0   place   sleeper#1      cpu0        the first idle CPU, wherever it ran
             1.000000 cpu0   resched sleeper#1      cpu0        idle, and has work now
             1.000000 cpu0   pick    sleeper#1      cpu0        least CPU time of those that wait on its core
             1.500000 cpu0   pick    -              cpu0        no task waits that it may run
    "#]].assert_eq(&log(&without("affinity=off"), "2x2", 1_000, tasks()));
}

/// Five are made on core 0. Core 1 is idle for `b`, its second CPU for `d`; `c` has the sibling of `a`. The
/// first CPU that is done takes what waits: `e`. Off: all stay on core 0.
#[test]
fn passive() {
    let tasks = || {
        let made = |name, busy_us| task(name, 0, 500, busy_us);
        vec![
            made("a", 3_000),
            made("b", 1_000),
            made("c", 3_000),
            made("d", 3_000),
            made("e", 1_000),
        ]
    };
    expect![[r#"
        0.500000 cpu0   place   a#1            cpu0        its last CPU, of an idle core
        0.500000 cpu0   resched a#1            cpu0        idle, and has work now
        0.500000 cpu0   pick    a#1            cpu0        least CPU time of those that wait on its core
        0.500000 cpu0   place   b#2            cpu2        an idle core: last_cpu 0
        0.500000 cpu0   resched b#2            cpu2        idle, and has work now
        0.500000 cpu2   pick    b#2            cpu2        least CPU time of those that wait on its core
        0.500000 cpu0   place   c#3            cpu1        an idle sibling of its last CPU: last_cpu 0
        0.500000 cpu0   resched c#3            cpu1        idle, and has work now
        0.500000 cpu1   pick    c#3            cpu1        least CPU time of those that wait on its core
        0.500000 cpu0   place   d#4            cpu3        an idle CPU of another core: last_cpu 0
        0.500000 cpu0   resched d#4            cpu3        idle, and has work now
        0.500000 cpu3   pick    d#4            cpu3        least CPU time of those that wait on its core
        0.500000 cpu0   place   e#5            cpu0        the core with least to do
        1.500000 cpu2   pull    e#5            cpu0>cpu2   a busier core
        1.500000 cpu2   pick    e#5            cpu2        taken from a busier core
        2.500000 cpu2   pick    -              cpu2        no task waits that it may run
        3.500000 cpu0   pick    -              cpu0        no task waits that it may run
        3.500000 cpu1   pick    -              cpu1        no task waits that it may run
        3.500000 cpu3   pick    -              cpu3        no task waits that it may run
    "#]].assert_eq(&log("core-queue[active=off]", "2x2", 500, tasks()));
    expect![[r#"
        0.500000 cpu0   place   a#1            cpu0        its last CPU is idle
        0.500000 cpu0   resched a#1            cpu0        idle, and has work now
        0.500000 cpu0   pick    a#1            cpu0        least CPU time of those that wait on its core
        0.500000 cpu0   place   b#2            cpu1        an idle sibling of its last CPU: last_cpu 0
        0.500000 cpu0   resched b#2            cpu1        idle, and has work now
        0.500000 cpu1   pick    b#2            cpu1        least CPU time of those that wait on its core
        0.500000 cpu0   place   c#3            cpu0        its last CPU, busy
        0.500000 cpu0   place   d#4            cpu0        its last CPU, busy
        0.500000 cpu0   place   e#5            cpu0        its last CPU, busy
        1.500000 cpu1   pick    c#3            cpu1        least CPU time of those that wait on its core
        3.500000 cpu0   pick    d#4            cpu0        least CPU time of those that wait on its core
        4.500000 cpu1   pick    e#5            cpu1        least CPU time of those that wait on its core
        5.500000 cpu1   pick    -              cpu1        no task waits that it may run
        6.500000 cpu0   pick    -              cpu0        no task waits that it may run
    "#]].assert_eq(&log(&stays("active=off"), "2x2", 500, tasks()));
}

/// Core 1 is done at 1 ms while `a` and `b` run on core 0. It asks for the task of CPU 0, the first that
/// may come; the stopper hands it to CPU 2. Off: it idles.
#[test]
fn active() {
    let tasks = || -> Vec<Case> {
        vec![task("a", 0, 0, 3_000), task("b", 1, 0, 3_000), task("short", 2, 0, 1_000)]
    };
    expect![[r#"
             1.000000 cpu2   pick    -              cpu2        no task waits that it may run
             1.000000 cpu2   stopper -              cpu0        its core runs several tasks, and another core is idle: running 2
             1.000000 cpu0   pull    a#1            cpu0>cpu2   a core to itself
             1.000000 cpu0   resched a#1            cpu2        idle, and has work now
             1.000000 cpu2   pick    a#1            cpu2        least CPU time of those that wait on its core
             1.005000 cpu0   pick    -              cpu0        no task waits that it may run
             3.000000 cpu1   pick    -              cpu1        no task waits that it may run
             3.000000 cpu2   pick    -              cpu2        no task waits that it may run
    "#]].assert_eq(&log(&stays("active=on"), "2x2", 1_000, tasks()));
    expect![[r#"
             1.000000 cpu2   pick    -              cpu2        no task waits that it may run
             3.000000 cpu0   pick    -              cpu0        no task waits that it may run
             3.000000 cpu1   pick    -              cpu1        no task waits that it may run
    "#]]
    .assert_eq(&log(&stays("active=off"), "2x2", 1_000, tasks()));
}

/// Least virtual time first. `a` runs until the tick of 8 ms, the first after its 5 ms; `b` has had none
/// and is next; `late`, made at 9 ms, begins where the core's clock is: at the most that any task began
/// with, 0 ms. At 16 ms (`b` has 8, more than 5) `late` has 0; then `a` and `b` stand at 8 each, and
/// `a` has waited longer.
#[test]
fn least_cpu_time_first() {
    expect![[r#"
        0.000000 cpu0   place   a#1            cpu0        its last CPU, of an idle core
        0.000000 cpu0   resched a#1            cpu0        idle, and has work now
        0.000000 cpu0   pick    a#1            cpu0        least CPU time of those that wait on its core
        0.000000 cpu0   place   b#2            cpu0        the core with least to do
        8.000000 cpu0   resched a#1            cpu0        its slice is used up: ran_us 8000
        8.000000 cpu0   pick    b#2            cpu0        least CPU time of those that wait on its core
        9.000000 cpu0   place   late#3         cpu0        the core with least to do
        16.000000 cpu0   resched b#2            cpu0        its slice is used up: ran_us 8000
        16.000000 cpu0   pick    late#3         cpu0        least CPU time of those that wait on its core
        18.000000 cpu0   pick    a#1            cpu0        least CPU time of those that wait on its core
        22.000000 cpu0   pick    b#2            cpu0        least CPU time of those that wait on its core
        26.000000 cpu0   pick    -              cpu0        no task waits that it may run
    "#]].assert_eq(&log_after_boot(
        "core-queue[slice_us=5000]",
        "1x1",
        vec![task("a", 0, 0, 12_000), task("b", 0, 0, 12_000), task("late", 0, 9_000, 2_000)],
    ));
}
