//! Molnar's patch, `linux-2.5.32-f3` as posted and `linux-2.5.32-a9` as mended: CPUs of a core share a
//! queue. CPUs 0 and 1 are one core, 2 and 3 the other.

use super::{Case, first_lines, log, log_after_boot, task};
use expect_test::expect;

/// CPU 1 is done with `short` at 10.5 ms. The queue of the core is `best` (nice -5: 115 + 5 = 120), which
/// runs on CPU 0 and is skipped, then `waits` (125).
#[test]
fn pickup_skips_what_runs_on_the_sibling() {
    expect![[r#"
            10.500000 cpu1   pick    waits#3        cpu1        best priority: priority 125
            15.500000 cpu1   pick    -              cpu1        the tasks of its queue run on its siblings, or may not run here
            30.000000 cpu0   pick    -              cpu0        no task waits here, and none was to be had
    "#]].assert_eq(&log(
        "linux-2.5.32-a9",
        "1x2",
        10_000,
        vec![
            task("best", 0, 0, 30_000).nice(-5),
            task("short", 1, 0, 10_500),
            task("waits", 0, 500, 5_000),
        ],
    ));
}

/// Each is made on CPU 0, but the last.
///
/// * `a`: its own CPU is idle.
/// * `b`: its sibling is.
/// * `c`, nice -5: 120 beats the 125 of `a` on its own CPU.
/// * `d`, nice -2: 123 does not beat 120, but the 125 of `b` on the sibling.
/// * `e`, as `d`: 123 beats neither 120 nor 123.
/// * `f`, as `d`, made on CPU 1 at 10.5 ms: equal to what runs there. A slice of nice -2 is
///   10 + 290 * 21 / 39 = 166; `d`, on the CPU since 4.5 ms, has had the ticks of 5 to 10 ms: 160.
///   `f` has more left, and the CPU chooses anew; the first of that priority that may run there is
///   `d` itself, which goes on.
#[test]
fn the_order_of_a_wake_up() {
    let made = |name, at_us, nice| task(name, 0, at_us, 20_000).nice(nice);
    let all = log_after_boot(
        "linux-2.5.32-a9",
        "1x2",
        vec![
            made("a", 1500, 0),
            made("b", 2500, 0),
            made("c", 3500, -5),
            made("d", 4500, -2),
            made("e", 5500, -2),
            task("f", 1, 10_500, 20_000).nice(-2),
        ],
    );
    let arrivals = first_lines(all.lines(), 17);
    expect![[r#"
        1.500000 cpu0   place   a#1            cpu0        its own CPU
        1.500000 cpu0   resched a#1            cpu0        its CPU is idle
        1.500000 cpu0   pick    a#1            cpu0        best priority: priority 125
        2.500000 cpu0   place   b#2            cpu0        its own CPU
        2.500000 cpu0   resched b#2            cpu1        its CPU is busy and the sibling idle: own_cpu 0
        2.500000 cpu1   pick    b#2            cpu1        best priority: priority 125
        3.500000 cpu0   place   c#3            cpu0        its own CPU
        3.500000 cpu0   resched c#3            cpu0        better priority than what runs: own 120, current 125
        3.500000 cpu0   pick    c#3            cpu0        best priority: priority 120
        4.500000 cpu0   place   d#4            cpu0        its own CPU
        4.500000 cpu0   resched d#4            cpu1        better priority than what the sibling runs: own 123
        4.500000 cpu1   pick    d#4            cpu1        best priority: priority 123
        5.500000 cpu0   place   e#5            cpu0        its own CPU
        5.500000 cpu0   note    e#5            cpu0        waits its turn
        10.500000 cpu1   place   f#6            cpu1        its own CPU
        10.500000 cpu1   resched f#6            cpu1        equal priority, and more of its slice left: own_ms 166, current_ms 160
        10.500000 cpu1   pick    d#4            cpu1        best priority: priority 123
    "#]].assert_eq(&arrivals);
}

/// Two tasks on core 0; what core 1 had to do ends then.
fn two_beside_an_idle_core(end_us: u64) -> Vec<Case> {
    vec![task("a", 0, 0, 30_000), task("b", 1, 0, 30_000), task("short", 2, 0, end_us)]
}

/// The idle CPU 2 marks its own queue and wakes the stopper of CPU 0. That looks for a mark on *its*
/// queue, finds none, and does nothing: `a` goes on where it was, and nobody asks again.
#[test]
fn active_balance_as_posted_does_nothing() {
    expect![[r#"
        5.500000 cpu2   pick    -              cpu2        no task waits here, and none was to be had
        5.500000 cpu2   stopper -              cpu0        its core runs several tasks, and this one is idle: idle_cpu 2
        5.505000 cpu0   note    -              cpu0        the mark is on another queue: the stopper does nothing
        5.505000 cpu0   pick    a#1            cpu0        best priority: priority 125
        30.000000 cpu1   pick    -              cpu1        the tasks of its queue run on its siblings, or may not run here
        30.005000 cpu0   pick    -              cpu0        no task waits here, and none was to be had
    "#]].assert_eq(&log("linux-2.5.32-f3", "2x2", 5_000, two_beside_an_idle_core(5_500)));
}

/// What help there is comes by the way. The stopper is on CPU 0 from 5.998 to 6.003 ms, and `a` waits.
/// At the tick of 6 ms CPU 2 counts 3 on core 0, the stopper among them, and none of its own: 1 is to be
/// had, and `a` is the one that does not run.
#[test]
fn active_balance_as_posted_may_help_by_the_way() {
    expect![[r#"
        5.998000 cpu2   pick    -              cpu2        no task waits here, and none was to be had
        5.998000 cpu2   stopper -              cpu0        its core runs several tasks, and this one is idle: idle_cpu 2
        6.000000 cpu2   pull    a#1            cpu0>cpu2   a longer queue: own 1, other 1
        6.000000 cpu2   resched a#1            cpu2        a pulled task is better than what runs
        6.000000 cpu2   pick    a#1            cpu2        best priority: priority 125
        6.003000 cpu0   note    -              cpu0        the mark is on another queue: the stopper does nothing
        6.003000 cpu0   pick    -              cpu0        the tasks of its queue run on its siblings, or may not run here
        30.000000 cpu1   pick    -              cpu1        no task waits here, and none was to be had
        30.002000 cpu2   pick    -              cpu2        no task waits here, and none was to be had
    "#]].assert_eq(&log("linux-2.5.32-f3", "2x2", 5_500, two_beside_an_idle_core(5_998)));
}

/// The queue of core 0 is marked. The stopper of CPU 0 finds the mark, both of its CPUs busy, and core 1
/// without any task: `a`, which it runs in place of, goes there. CPU 0 then has only `b` in its queue,
/// which runs on the sibling.
#[test]
fn active_balance_as_mended_moves_a_running_task() {
    expect![[r#"
        5.500000 cpu2   pick    -              cpu2        no task waits here, and none was to be had
        5.500000 cpu2   stopper -              cpu0        its core runs several tasks, and this one is idle: idle_cpu 2
        5.505000 cpu0   pull    a#1            cpu0>cpu2   a longer queue: own 1, other 1
        5.505000 cpu0   resched a#1            cpu2        a pulled task is better than what runs
        5.505000 cpu0   pick    -              cpu0        the tasks of its queue run on its siblings, or may not run here
        5.505000 cpu2   pick    a#1            cpu2        best priority: priority 125
        30.000000 cpu1   pick    -              cpu1        no task waits here, and none was to be had
        30.005000 cpu2   pick    -              cpu2        no task waits here, and none was to be had
    "#]].assert_eq(&log("linux-2.5.32-a9", "2x2", 5_000, two_beside_an_idle_core(5_500)));
}

/// As posted it works once the queue of the busy core carries a mark of an earlier spell. At 5.5 ms core 1
/// marks itself, as above. At 45.5 ms the roles are changed: core 0 marks itself and wakes the stopper of
/// CPU 2, which finds the old mark on its queue, and gives `c` away.
#[test]
fn active_balance_as_posted_hangs_on_history() {
    let mut tasks = two_beside_an_idle_core(5_500);
    tasks.extend([
        task("c", 2, 40_000, 30_000),
        task("d", 3, 40_000, 30_000),
        task("late", 0, 40_000, 5_500),
    ]);
    expect![[r#"
            45.500000 cpu0   pick    -              cpu0        no task waits here, and none was to be had
            45.500000 cpu0   stopper -              cpu2        its core runs several tasks, and this one is idle: idle_cpu 0
            45.505000 cpu2   pull    c#4            cpu2>cpu0   a longer queue: own 1, other 1
            45.505000 cpu2   resched c#4            cpu0        a pulled task is better than what runs
            45.505000 cpu2   pick    -              cpu2        the tasks of its queue run on its siblings, or may not run here
            45.505000 cpu0   pick    c#4            cpu0        best priority: priority 125
            70.000000 cpu3   pick    -              cpu3        no task waits here, and none was to be had
            70.005000 cpu0   pick    -              cpu0        no task waits here, and none was to be had
    "#]].assert_eq(&log("linux-2.5.32-f3", "2x2", 45_000, tasks));
}

/// Three on core 0, of which `c` waits; core 1 is idle and looks at each tick. 3 against 0 is a
/// difference of 3, half of it 1. Passive balancing of the patch takes `c` at the first tick, with its
/// cache still warm.
#[test]
fn passive_balancing_takes_a_waiting_task_at_the_next_tick() {
    expect![[r#"
             0.000000 cpu0   place   a#1            cpu0        its own CPU
             0.000000 cpu0   resched a#1            cpu0        its CPU is idle
             0.000000 cpu0   pick    a#1            cpu0        best priority: priority 125
             0.000000 cpu1   place   b#2            cpu1        its own CPU
             0.000000 cpu1   resched b#2            cpu1        its CPU is idle
             0.000000 cpu1   pick    b#2            cpu1        best priority: priority 125
             0.000000 cpu0   place   c#3            cpu0        its own CPU
             0.000000 cpu0   note    c#3            cpu0        waits its turn
             1.000000 cpu2   pull    c#3            cpu0>cpu2   a longer queue: own 1, other 2
             1.000000 cpu2   resched c#3            cpu2        a pulled task is better than what runs
             1.000000 cpu2   pick    c#3            cpu2        best priority: priority 125
             5.500000 cpu0   pick    -              cpu0        the tasks of its queue run on its siblings, or may not run here
             5.500000 cpu1   pick    -              cpu1        no task waits here, and none was to be had
             6.500000 cpu2   pick    -              cpu2        no task waits here, and none was to be had
    "#]].assert_eq(&log_after_boot(
        "linux-2.5.32-a9",
        "2x2",
        vec![task("a", 0, 0, 5_500), task("b", 1, 0, 5_500), task("c", 0, 0, 5_500)],
    ));
}
