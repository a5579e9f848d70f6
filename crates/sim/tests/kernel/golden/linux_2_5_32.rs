//! `linux-2.5.32`: slices and arrays, interactivity, pulls. HZ is 1000: a tick is 1 ms.

use super::{first_lines, log, log_after_boot, task};
use expect_test::expect;

/// Neither has slept: priority 120 - (10 * 0 / 2000 - 5) = 125. A slice of nice 0 is
/// 10 + 290 * 19 / 39 = 151 ticks.
///
/// * 151 ms: the slice of `a` ends; 125 is above 120 - 2, so it is not interactive, and expires. `b` is
///   left among the active.
/// * 302 ms: `b` expires; nothing is active, so the arrays are swapped.
/// * 351 ms: `a` has had its 200 ms; `b` gets the last 49.
#[test]
fn a_slice_is_151_ticks_and_the_arrays_swap() {
    expect![[r#"
        0.000000 cpu0   place   a#1            cpu0        its own CPU
        0.000000 cpu0   resched a#1            cpu0        its CPU is idle
        0.000000 cpu0   pick    a#1            cpu0        best priority: priority 125
        0.000000 cpu0   place   b#2            cpu0        its own CPU
        0.000000 cpu0   note    b#2            cpu0        waits its turn
        151.000000 cpu0   resched a#1            cpu0        its slice ended: expires: was 125, priority 125
        151.000000 cpu0   pick    b#2            cpu0        best priority: priority 125
        302.000000 cpu0   resched b#2            cpu0        its slice ended: expires: was 125, priority 125
        302.000000 cpu0   pick    a#1            cpu0        best priority, arrays swapped: priority 125
        351.000000 cpu0   pick    b#2            cpu0        best priority: priority 125
        400.000000 cpu0   pick    -              cpu0        no task waits here, and none was to be had
    "#]].assert_eq(&log_after_boot(
        "linux-2.5.32",
        "1x1",
        vec![task("a", 0, 0, 200_000), task("b", 0, 0, 200_000)],
    ));
}

/// What becomes of a task that slept so long beside one that has not slept, from 10.5 ms before it wakes.
fn sleeper_before_hog(slept_us: u64) -> String {
    let from_us = slept_us - 10_500;
    let sleeper = task("sleeper", 0, 0, 160_000).sleeps_first(slept_us);
    log("linux-2.5.32", "1x1", from_us, vec![sleeper, task("hog", 0, from_us, 30_000)])
}

/// `sleeper` sleeps 1600 ticks: priority 120 - (10 * 1600 / 2000 - 5) = 117, which beats the 125 of
/// `hog`. It runs from 1600.5 ms; its 151st tick comes at 1751 ms, when it has slept 1600 - 151 = 1449:
/// 120 - (7 - 5) = 118, not above 120 - 2: interactive, it goes on before `hog`.
#[test]
fn an_interactive_task_goes_on() {
    expect![[r#"
          1590.000000 cpu0   place   hog#2          cpu0        its own CPU
          1590.000000 cpu0   resched hog#2          cpu0        its CPU is idle
          1590.000000 cpu0   pick    hog#2          cpu0        best priority: priority 125
          1600.500000 cpu0   place   sleeper#1      cpu0        its own CPU
          1600.500000 cpu0   resched sleeper#1      cpu0        better priority than what runs: own 117, current 125
          1600.500000 cpu0   pick    sleeper#1      cpu0        best priority: priority 117
          1751.000000 cpu0   resched sleeper#1      cpu0        its slice ended: goes on: was 117, priority 118
          1751.000000 cpu0   pick    sleeper#1      cpu0        best priority: priority 118
          1760.500000 cpu0   pick    hog#2          cpu0        best priority: priority 125
          1780.000000 cpu0   pick    -              cpu0        no task waits here, and none was to be had
    "#]].assert_eq(&sleeper_before_hog(1_600_500));
}

/// After 1500 ticks asleep it wakes at 120 - (7 - 5) = 118. At its 151st tick that is
/// 1500 - 151 = 1349, hence 120 - (6 - 5) = 119: what counts is the new priority, and so it expires.
/// `hog`, alone among the active, gets its last 20 ms; then the arrays are swapped.
#[test]
fn interactive_is_who_is_so_when_the_slice_ends() {
    expect![[r#"
          1490.000000 cpu0   place   hog#2          cpu0        its own CPU
          1490.000000 cpu0   resched hog#2          cpu0        its CPU is idle
          1490.000000 cpu0   pick    hog#2          cpu0        best priority: priority 125
          1500.500000 cpu0   place   sleeper#1      cpu0        its own CPU
          1500.500000 cpu0   resched sleeper#1      cpu0        better priority than what runs: own 118, current 125
          1500.500000 cpu0   pick    sleeper#1      cpu0        best priority: priority 118
          1651.000000 cpu0   resched sleeper#1      cpu0        its slice ended: expires: was 118, priority 119
          1651.000000 cpu0   pick    hog#2          cpu0        best priority: priority 125
          1670.500000 cpu0   pick    sleeper#1      cpu0        best priority, arrays swapped: priority 119
          1680.000000 cpu0   pick    -              cpu0        no task waits here, and none was to be had
    "#]].assert_eq(&sleeper_before_hog(1_500_500));
}

/// Three tasks begin on CPU 0. CPU 1 looks at each tick: the queue has three, but until they have been
/// there for more than 2 ticks (`cache_decay_ms`) their caches count as warm. At 3 ms it takes one: of
/// those of equal priority the one at the list's end, `c`; that leaves 2 there, and 1 here. When `c`
/// ends at 7.5 ms CPU 1 looks once more on its way to idle: 2 against 0. It takes `b`, the only one
/// that does not run.
#[test]
fn an_idle_cpu_pulls_one_cold_task() {
    expect![[r#"
        0.000000 cpu0   place   a#1            cpu0        its own CPU
        0.000000 cpu0   resched a#1            cpu0        its CPU is idle
        0.000000 cpu0   pick    a#1            cpu0        best priority: priority 125
        0.000000 cpu0   place   b#2            cpu0        its own CPU
        0.000000 cpu0   note    b#2            cpu0        waits its turn
        0.000000 cpu0   place   c#3            cpu0        its own CPU
        0.000000 cpu0   note    c#3            cpu0        waits its turn
        3.000000 cpu1   pull    c#3            cpu0>cpu1   a longer queue: own 1, other 2
        3.000000 cpu1   resched c#3            cpu1        a pulled task is better than what runs
        3.000000 cpu1   pick    c#3            cpu1        best priority: priority 125
        7.500000 cpu1   pull    b#2            cpu0>cpu1   a longer queue: own 1, other 1
        7.500000 cpu1   pick    b#2            cpu1        best priority: priority 125
        12.000000 cpu1   pick    -              cpu1        no task waits here, and none was to be had
        20.000000 cpu0   pick    -              cpu0        no task waits here, and none was to be had
    "#]].assert_eq(&log_after_boot(
        "linux-2.5.32",
        "2x1",
        vec![task("a", 0, 0, 20_000), task("b", 0, 0, 4_500), task("c", 0, 0, 4_500)],
    ));
}

/// Five on CPU 0, one on CPU 1, which looks every 250 ms. At 250 it has seen nobody with two before,
/// and believes only in what lasted. At 500 ms: 5 against 1, half of the difference is 2, and the
/// least that counts is (5 + 3) / 4 = 2. By then `a`, `b`, `c` have expired on CPU 0 in this order, at
/// 151, 302, 453 ms: the last one first, `c` and then `b`.
#[test]
fn a_busy_cpu_pulls_half_of_the_difference() {
    let all = log(
        "linux-2.5.32",
        "2x1",
        450_000,
        vec![
            task("a", 0, 0, 170_000),
            task("b", 0, 0, 170_000),
            task("c", 0, 0, 170_000),
            task("d", 0, 0, 170_000),
            task("e", 0, 0, 170_000),
            task("x", 1, 0, 501_000),
        ],
    );
    let until = first_lines(all.lines(), 6);
    expect![[r#"
           453.000000 cpu0   resched c#3            cpu0        its slice ended: expires: was 125, priority 125
           453.000000 cpu0   pick    d#4            cpu0        best priority: priority 125
           453.000000 cpu1   resched x#6            cpu1        its slice ended: expires: was 125, priority 125
           453.000000 cpu1   pick    x#6            cpu1        best priority, arrays swapped: priority 125
           500.000000 cpu1   pull    c#3            cpu0>cpu1   a longer queue: own 2, other 4
           500.000000 cpu1   pull    b#2            cpu0>cpu1   a longer queue: own 3, other 3
    "#]].assert_eq(&until);
}
