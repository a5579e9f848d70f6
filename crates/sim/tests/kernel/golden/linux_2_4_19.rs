//! `linux-2.4.19`: goodness, recalculation, and the search for a CPU. HZ is 100: a tick is 10 ms.

use super::{Case, first_lines, log, log_after_boot, task};
use crate::support::compute;
use coretwin_sim::kernel::Step;
use coretwin_sim::kernel::program::Which;
use expect_test::expect;

/// Slices: nice 0 has (20 >> 2) + 1 = 6 ticks, nice -10 has (30 >> 2) + 1 = 8.
///
/// * 0 ms: `plain` finds CPU 0 idle, and is worth 6 + 15 (its last CPU) + 20 = 41 there. `better`, with
///   8 + 15 + 20 + 10 = 53, is 11 above it, now that its memory is at hand: 41 + 1.
/// * 80 ms: `better` has used 8 ticks and is worth 0. `plain` has none of its memory at hand: 41.
///   `better` then looks for a CPU: 0 against 6 + 15 + 1 + 20 of `plain` is no gain.
/// * 140 ms: `plain` has used its 6. Both are worth 0: new slices for two tasks, 0 / 2 + 6 and
///   0 / 2 + 8. `better` 8 + 15 + 30 = 53, `plain` 6 + 15 + 1 (its memory is at hand) + 20 = 42, with
///   which it gains nothing on 53 + 1 either.
/// * 155 ms: `better` has had its 95 ms. `plain` 41, and 35 ms more until 190 ms.
#[test]
fn goodness_and_new_slices() {
    expect![[r#"
        0.000000 cpu0   resched plain#1        cpu0        its last CPU is idle
        0.000000 cpu0   pick    plain#1        cpu0        the best goodness: goodness 41
        0.000000 cpu0   resched better#2       cpu0        better than the running task: gain 11
        0.000000 cpu0   pick    better#2       cpu0        the best goodness: goodness 53
        0.000000 cpu0   note    plain#1        cpu0        better than no running task: waits
        80.000000 cpu0   resched better#2       cpu0        its slice is used up
        80.000000 cpu0   pick    plain#1        cpu0        the best goodness: goodness 41
        80.000000 cpu0   note    better#2       cpu0        better than no running task: waits
        140.000000 cpu0   resched plain#1        cpu0        its slice is used up
        140.000000 cpu0   note    -              cpu0        all slices are used up: new ones for every task: tasks 2
        140.000000 cpu0   pick    better#2       cpu0        the best goodness: goodness 53
        140.000000 cpu0   note    plain#1        cpu0        better than no running task: waits
        155.000000 cpu0   pick    plain#1        cpu0        the best goodness: goodness 41
        190.000000 cpu0   pick    -              cpu0        no task waits that may run here
    "#]].assert_eq(&log_after_boot(
        "linux-2.4.19",
        "1x1",
        vec![task("plain", 0, 0, 95_000), task("better", 0, 0, 95_000).nice(-10)],
    ));
}

/// All are made on CPU 0, which becomes their last CPU.
///
/// * `a`: CPU 0 is idle; 6 + 15 + 20 = 41.
/// * `b`: CPU 0 is busy. CPU 1 is idle, its sibling not; CPU 2 and its sibling are: taken at once. It
///   last ran elsewhere: 6 + 20 = 26.
/// * `c`: of CPUs 1 and 3 neither has an idle sibling. Both last chose at 0 ms, so the first is taken.
/// * `d`: only CPU 3 is idle.
/// * `e`: none is. On CPU 0 it is worth 8 + 15 + 30 = 53 against 6 + 15 + 1 + 20 = 42 of `a`, who has
///   not had a tick yet: 11. On the others it lacks the 15: 38 against 42.
/// * `a` looks for a CPU in turn: 6 + 20 = 26 against 42 on CPUs 1 to 3, and worse on 0: it waits
///   until CPU 2 is free, where it is worth 26.
#[test]
fn the_search_for_a_cpu() {
    let arrives = |name, at_us| task(name, 0, at_us, 8_500);
    expect![[r#"
        0.000000 cpu0   resched a#1            cpu0        its last CPU is idle
        0.000000 cpu0   pick    a#1            cpu0        the best goodness: goodness 41
        1.000000 cpu0   resched b#2            cpu2        an idle CPU of an idle core
        1.000000 cpu2   pick    b#2            cpu2        the best goodness: goodness 26
        2.000000 cpu0   resched c#3            cpu1        the CPU that is idle longest
        2.000000 cpu1   pick    c#3            cpu1        the best goodness: goodness 26
        3.000000 cpu0   resched d#4            cpu3        the CPU that is idle longest
        3.000000 cpu3   pick    d#4            cpu3        the best goodness: goodness 26
        4.000000 cpu0   resched e#5            cpu0        better than the running task: gain 11
        4.000000 cpu0   pick    e#5            cpu0        the best goodness: goodness 53
        4.000000 cpu0   note    a#1            cpu0        better than no running task: waits
        9.500000 cpu2   pick    a#1            cpu2        the best goodness: goodness 26
        10.500000 cpu1   pick    -              cpu1        no task waits that may run here
        11.500000 cpu3   pick    -              cpu3        no task waits that may run here
        12.500000 cpu0   pick    -              cpu0        no task waits that may run here
        14.000000 cpu2   pick    -              cpu2        no task waits that may run here
    "#]]
    .assert_eq(&log_after_boot(
        "linux-2.4.19",
        "2x2",
        vec![
            arrives("a", 0),
            arrives("b", 1000),
            arrives("c", 2000),
            arrives("d", 3000),
            arrives("e", 4000).nice(-10),
        ],
    ));
}

/// `opener` wakes both others in one go, and both find CPU 0, their last, idle. It runs `second`, whose
/// memory it used last: 6 + 15 + 1 + 20 = 42 against 41. `first` waits although CPU 1 idles, for nobody
/// looks on its behalf until CPU 0 turns away from `second` at its sixth tick. `second` is worth 0 then,
/// and its last CPU busy: it takes CPU 1. There it is all there is, with nothing left: new slices come
/// for all three, and on CPU 1, never its last, it is worth 0 / 2 + 6 + 20 = 26.
#[test]
fn a_task_may_wait_beside_an_idle_cpu() {
    let wait = || Step::Barrier { barrier: Which::Number(0) };
    let behind =
        |name, at_us| Case { steps: vec![wait(), compute(65_000_000)], ..task(name, 0, at_us, 0) };
    let steps = vec![compute(500_000), wait(), compute(200_000_000)];
    let opener = Case { steps, ..task("opener", 2, 0, 0) }.bound();
    let tasks = vec![behind("first", 0), behind("second", 100), opener];
    let all = log("linux-2.4.19", "3x1", 500, tasks);
    let until = first_lines(all.lines(), 8);
    expect![[r#"
        0.500000 cpu2   resched first#1        cpu0        its last CPU is idle
        0.500000 cpu2   resched second#3       cpu0        its last CPU is idle
        0.500000 cpu0   pick    second#3       cpu0        the best goodness: goodness 42
        60.000000 cpu0   resched second#3       cpu0        its slice is used up
        60.000000 cpu0   pick    first#1        cpu0        the best goodness: goodness 41
        60.000000 cpu0   resched second#3       cpu1        the CPU that is idle longest
        60.000000 cpu1   note    -              cpu1        all slices are used up: new ones for every task: tasks 3
        60.000000 cpu1   pick    second#3       cpu1        the best goodness: goodness 26
    "#]].assert_eq(&until);
}
