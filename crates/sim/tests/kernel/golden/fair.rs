//! `fair`: deadlines, and where tasks go. HZ is 250: a tick is 4 ms.

use super::{first_lines, log, log_after_boot, task};
use expect_test::expect;

/// One CPU: a slice is 0.7 ms, so that each tick ends one. Weights: 1024, and 336 for nice 5, whose
/// clock runs 1024 / 336 = 3.05 times as fast: its first deadline is 0.7 * 3.05 = 2.13 ms.
///
/// | ms | virtual times after | average | eligible, by deadline | picked |
/// |---|---|---|---|---|
/// | 0 | a 0, b 0, c 0 | 0 | a 0.7, b 0.7, c 2.13 | a, who came first |
/// | 4 | a 4 | 1.72 | b 0.7, c 2.13 | b |
/// | 8 | b 4 | 3.44 | c 2.13 | c |
/// | 12 | c 12.19 | 5.15 | a 4.7, b 4.7 | a, who waits longer |
/// | 16 | a 8 | 6.87 | b 4.7 | b |
/// | 20 | b 8 | 8.59 | a 8.7, b 8.7 | a |
///
/// The average is by weight: at 4 ms 1024 * 4 / (1024 + 1024 + 336) = 1.72.
#[test]
fn the_earliest_deadline_of_those_that_are_eligible() {
    let all = log_after_boot(
        "fair",
        "1x1",
        vec![task("a", 0, 0, 30_000), task("b", 0, 0, 30_000), task("c", 0, 0, 30_000).nice(5)],
    );
    let picks = all.lines().filter(|line| line.contains(" pick "));
    let first = first_lines(picks, 6);
    expect![[r#"
        0.000000 cpu0   pick    a#1            cpu0        eligible, and the earliest deadline
        4.000000 cpu0   pick    b#2            cpu0        eligible, and the earliest deadline
        8.000000 cpu0   pick    c#3            cpu0        eligible, and the earliest deadline
        12.000000 cpu0   pick    a#1            cpu0        eligible, and the earliest deadline
        16.000000 cpu0   pick    b#2            cpu0        eligible, and the earliest deadline
        20.000000 cpu0   pick    a#1            cpu0        eligible, and the earliest deadline
    "#]]
    .assert_eq(&first);
}

/// New tasks: idle cores first (CPUs 0 and 2), then idle CPUs (1 and 3), then the first of the shortest
/// queues.
#[test]
fn new_tasks_go_to_idle_cores_then_idle_cpus() {
    let made = |name, at_us| task(name, 0, at_us, 3_000);
    expect![[r#"
             0.000000 cpu0   place   a#1            cpu0        an idle core for a new task
             0.000000 cpu0   resched a#1            cpu0        idle, and has work now
             0.000000 cpu0   pick    a#1            cpu0        eligible, and the earliest deadline
             0.100000 cpu0   place   b#2            cpu2        an idle core for a new task
             0.100000 cpu0   resched b#2            cpu2        idle, and has work now
             0.100000 cpu2   pick    b#2            cpu2        eligible, and the earliest deadline
             0.200000 cpu0   place   c#3            cpu1        an idle CPU for a new task
             0.200000 cpu0   resched c#3            cpu1        idle, and has work now
             0.200000 cpu1   pick    c#3            cpu1        eligible, and the earliest deadline
             0.300000 cpu0   place   d#4            cpu3        an idle CPU for a new task
             0.300000 cpu0   resched d#4            cpu3        idle, and has work now
             0.300000 cpu3   pick    d#4            cpu3        eligible, and the earliest deadline
             0.400000 cpu0   place   e#5            cpu0        the shortest queue for a new task: length 1
             3.000000 cpu0   pick    e#5            cpu0        eligible, and the earliest deadline
             3.100000 cpu2   pick    -              cpu2        nothing waits that it may run
             3.200000 cpu1   pick    -              cpu1        nothing waits that it may run
             3.300000 cpu3   pick    -              cpu3        nothing waits that it may run
             6.000000 cpu0   pick    -              cpu0        nothing waits that it may run
    "#]].assert_eq(&log_after_boot(
        "fair",
        "2x2",
        vec![made("a", 0), made("b", 100), made("c", 200), made("d", 300), made("e", 400)],
    ));
}

/// `sleeper` last ran on CPU 0, where `hog` is bound. It wakes at 1 ms: CPU 0 is busy; the search from
/// CPU 1 on for a whole idle core finds CPU 2. Without regard for siblings the first idle CPU will do:
/// CPU 1, beside `hog`.
#[test]
fn a_wake_up_looks_for_an_idle_core() {
    let tasks =
        || vec![task("sleeper", 0, 0, 500).sleeps_first(1_000), task("hog", 0, 500, 3_000).bound()];
    expect![[r#"
             1.000000 cpu0   place   sleeper#1      cpu2        an idle core that shares the cache
             1.000000 cpu0   resched sleeper#1      cpu2        idle, and has work now
             1.000000 cpu2   pick    sleeper#1      cpu2        eligible, and the earliest deadline
             1.500000 cpu2   pick    -              cpu2        nothing waits that it may run
             3.500000 cpu0   pick    -              cpu0        nothing waits that it may run
    "#]]
    .assert_eq(&log("fair", "2x2", 1_000, tasks()));
    expect![[r#"
             1.000000 cpu0   place   sleeper#1      cpu1        an idle CPU that shares the cache
             1.000000 cpu0   resched sleeper#1      cpu1        idle, and has work now
             1.000000 cpu1   pick    sleeper#1      cpu1        eligible, and the earliest deadline
             1.500000 cpu1   pick    -              cpu1        nothing waits that it may run
             3.500000 cpu0   pick    -              cpu0        nothing waits that it may run
    "#]]
    .assert_eq(&log("fair[smt=off]", "2x2", 1_000, tasks()));
}

/// `b`, bound, and `a` share core 0 from 0.1 ms; core 1 is kept by `c` and `d` until 2 ms. At the tick of 4 ms
/// CPU 0 sees two tasks on its core and core 1 idle: its stopper gives `a` away.
#[test]
fn a_core_with_two_gives_one_to_an_idle_core() {
    expect![[r#"
             4.000000 cpu0   stopper -              cpu0        its core runs several tasks, and another core is idle: running 2
             4.000000 cpu0   pull    a#4            cpu0>cpu2   a core to itself
             4.000000 cpu0   resched a#4            cpu2        idle, and has work now
             4.000000 cpu2   pick    a#4            cpu2        eligible, and the earliest deadline
             4.005000 cpu0   pick    -              cpu0        nothing waits that it may run
             6.000000 cpu1   pick    -              cpu1        nothing waits that it may run
             6.100000 cpu2   pick    -              cpu2        nothing waits that it may run
    "#]].assert_eq(&log(
        "fair",
        "2x2",
        3_000,
        vec![
            task("c", 2, 0, 2_000).bound(),
            task("d", 3, 0, 2_000).bound(),
            task("b", 1, 0, 6_000).bound(),
            task("a", 0, 100, 6_000),
        ],
    ));
}
