//! `one-per-core`: the lowest online CPU of each core takes tasks, the others none.

use super::{log_after_boot, task};
use expect_test::expect;

/// Made on CPU 1: its core is served by CPU 0, then the idle core by CPU 2. `c` and `d` wait on their
/// last core. At 3 ms CPU 0 is done with `a` and runs `c`, which has waited longest; CPU 2, done with
/// `b` at 4 ms, has none of its own, and takes `d`. CPUs 1 and 3 never run anything.
#[test]
fn a_core_runs_one_task_at_a_time() {
    let made = |name, at_us, busy_us| task(name, 1, at_us, busy_us);
    expect![[r#"
             0.000000 cpu1   place   a#1            cpu0        its last core is idle
             0.000000 cpu1   resched a#1            cpu0        idle, and has work now
             0.000000 cpu0   pick    a#1            cpu0        has waited longest
             0.500000 cpu1   place   b#2            cpu2        an idle core
             0.500000 cpu1   resched b#2            cpu2        idle, and has work now
             0.500000 cpu2   pick    b#2            cpu2        has waited longest
             1.000000 cpu1   place   c#3            cpu0        no core is idle: its last core
             1.500000 cpu1   place   d#4            cpu0        no core is idle: its last core
             3.000000 cpu0   pick    c#3            cpu0        has waited longest
             4.000000 cpu2   pull    d#4            cpu0>cpu2   nothing to do here
             4.000000 cpu2   pick    d#4            cpu2        has waited longest
             5.000000 cpu0   pick    -              cpu0        no task waits
             6.000000 cpu2   pick    -              cpu2        no task waits
    "#]]
    .assert_eq(&log_after_boot(
        "one-per-core",
        "2x2",
        vec![
            made("a", 0, 3_000),
            made("b", 500, 3_500),
            made("c", 1_000, 2_000),
            made("d", 1_500, 2_000),
        ],
    ));
}
