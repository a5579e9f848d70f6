//! `linux-2.5.32`, and `linux-2.5.32-a9` with Molnar's patch: parameters, and the pure arithmetic of their queues. The
//! simulated policies take their decisions here; the live programs have the same in
//! `crates/bpf/c/linux_2_5_32_decide.h`, and a test of that crate holds one against the other.
//!
//! Slices and sleep averages are in ticks of [`HZ`], priorities are those of the kernel: lower is better.

use super::policy_parameter::Parameter;

pub const NAME: &str = "linux-2.5.32";
/// What the kernel calls it while it is loaded, in `/sys/kernel/sched_ext/root/ops`.
pub const OPS_NAME: &str = "coretwin_linux_2_5_32";

/// With the patch of April 2003.
pub mod a9 {
    pub const NAME: &str = "linux-2.5.32-a9";
    pub const OPS_NAME: &str = "coretwin_linux_2_5_32_a9";
}

const CACHE_DECAY: Parameter = Parameter::number(
    "cache_decay_ms",
    2,
    (0, 1000),
    "how long a task's cache stays warm: Molnar gives 5 ms for 2 MB, 1 ms for 128 KB",
);

pub const PLAIN: &[Parameter] = &[CACHE_DECAY];

pub const PATCHED: &[Parameter] = &[
    Parameter::switch("active", true, "an idle core gets a running task of a core with two"),
    Parameter::switch("affinity", true, "tasks stick to cores, not to logical CPUs"),
    CACHE_DECAY,
    Parameter::switch("passive", true, "lengths are balanced between cores, not logical CPUs"),
    Parameter::switch("pickup", true, "a CPU runs whatever waits on its core"),
    Parameter::switch("wakeup", true, "a task that wakes on a busy CPU gets an idle sibling"),
];

/// Ticks a second of i386 from 2.5 on.
pub const HZ: u64 = 1000;
/// The first priority that is no real-time one, and how many there are from there on.
pub const REAL_TIME_PRIORITIES: i64 = 100;
const USER_PRIORITIES: i64 = 40;
/// Priority of an idle CPU: anything beats it.
pub const IDLE_PRIORITY: i64 = REAL_TIME_PRIORITIES + USER_PRIORITIES;
const SLICE_MIN_MS: i64 = 10;
const SLICE_MAX_MS: i64 = 300;
pub const SLEEP_AVERAGE_MAX: u64 = 2 * HZ;
/// By how much sleeping can change a priority in all: a quarter of the user's priorities.
const BONUS_RANGE: i64 = USER_PRIORITIES * 25 / 100;
const INTERACTIVE_DELTA: i64 = 2;
const STARVATION_TICKS: u64 = 2 * HZ;
/// Share of its sleep average that a child starts with, in percent; its parent keeps all.
const CHILD_PERCENT: u64 = 95;
/// Weight of the parent's sleep average against that of a child that ends.
const EXIT_WEIGHT: u64 = 3;

/// The slice of a nice value, in ticks: 10 ms for 19, 151 ms for 0, 300 ms for -20.
pub fn slice(nice: i64) -> u64 {
    let above_lowest = IDLE_PRIORITY - 1 - static_priority(nice);
    ticks(SLICE_MIN_MS + (SLICE_MAX_MS - SLICE_MIN_MS) * above_lowest / (USER_PRIORITIES - 1))
}

/// The priority of a nice value, before sleeping counts.
pub fn static_priority(nice: i64) -> i64 {
    REAL_TIME_PRIORITIES + USER_PRIORITIES / 2 + nice
}

/// Priority by nice value and sleep average: five better to five worse than the nice value says.
pub fn priority(nice: i64, sleep_average: u64) -> i64 {
    let slept = BONUS_RANGE * sleep_average as i64 / SLEEP_AVERAGE_MAX as i64;
    let priority = static_priority(nice) - (slept - BONUS_RANGE / 2);
    priority.clamp(REAL_TIME_PRIORITIES, IDLE_PRIORITY - 1)
}

/// Whether a task of this priority sleeps so much that it goes on although its slice is spent.
pub fn is_interactive(priority: i64, nice: i64) -> bool {
    let delta = nice * BONUS_RANGE / USER_PRIORITIES + INTERACTIVE_DELTA;
    priority <= static_priority(nice) - delta
}

/// The sleep average of one that wakes after so many ticks.
pub fn woken(sleep_average: u64, slept: u64) -> u64 {
    sleep_average.saturating_add(slept).min(SLEEP_AVERAGE_MAX)
}

/// What parent and child have after a fork, of what the parent had of its slice.
pub fn forked(slice: u64) -> (u64, u64) {
    (slice / 2, slice.div_ceil(2))
}

/// The sleep average of a child.
pub fn child_average(sleep_average: u64) -> u64 {
    sleep_average * CHILD_PERCENT / 100
}

/// The slice of a parent once a child has ended that had so much left of its first one.
pub fn given_back(parent: u64, child: u64) -> u64 {
    (parent + child).min(ticks(SLICE_MAX_MS))
}

/// The sleep average of a parent once a child with this one has ended.
pub fn parent_average(parent: u64, child: u64) -> u64 {
    match child < parent {
        true => (parent * EXIT_WEIGHT + child) / (EXIT_WEIGHT + 1),
        false => parent,
    }
}

/// Whether expired tasks have waited so long, in ticks, beside so many tasks, that interactive ones expire, too.
pub fn is_starved(waited: u64, tasks: u64) -> bool {
    waited > STARVATION_TICKS * tasks
}

/// Whether a task's cache is no more warm, so many ticks after it ran.
pub fn is_cold(since: u64, cache_decay: u64) -> bool {
    since > cache_decay
}

/// Why a waiting task takes the place of the one that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preempts {
    No,
    Better,
    /// Of equal priority, with more of its slice left: with the patch as mended.
    MoreLeft,
}

/// Whether a task of a priority and slice takes the place of another.
pub fn preempts(own: (i64, u64), current: (i64, u64), is_mended: bool) -> Preempts {
    if own.0 < current.0 {
        Preempts::Better
    } else if is_mended && own.0 == current.0 && own.1 > current.1 {
        Preempts::MoreLeft
    } else {
        Preempts::No
    }
}

/// How many tasks a CPU takes from the longest of the other queues: by their lengths now, and by what it believes of
/// them, which for a busy CPU is what lasted since its last look.
pub fn pulled(is_idle: bool, own: u64, busiest: u64, own_now: u64, busiest_now: u64) -> u64 {
    if busiest <= 1 || busiest_now <= own_now + 1 {
        return 0;
    }
    let imbalance = busiest.saturating_sub(own) / 2;
    match is_idle {
        true => 1,
        false if imbalance < busiest.div_ceil(4) => 0,
        false => imbalance,
    }
}

/// What a CPU believes of another queue that is so long now, and was so long at its last look.
pub fn lasting(is_idle: bool, now: u64, before: u64) -> u64 {
    if is_idle { now } else { now.min(before) }
}

/// The same of its own queue.
pub fn own_lasting(is_idle: bool, now: u64, before: u64) -> u64 {
    if is_idle { now } else { now.max(before) }
}

fn ticks(ms: i64) -> u64 {
    ms.unsigned_abs() * HZ / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_and_priorities_are_those_of_the_kernel() {
        assert_eq!([-20, 0, 19].map(slice), [300, 151, 10]);
        // Slept: none, half of two seconds, all of them.
        assert_eq!([0, 1000, 2000].map(|slept| priority(0, slept)), [125, 120, 115]);
        assert_eq!([(19, 0), (-20, 2000)].map(|(nice, slept)| priority(nice, slept)), [139, 100]);
        assert_eq!(
            [119, 118, 117].map(|priority| is_interactive(priority, 0)),
            [false, true, true]
        );
    }

    #[test]
    fn a_busy_cpu_takes_half_of_what_lasted_and_an_idle_one_a_task() {
        // Five against one; only just come; a difference too small; a queue that is no longer by now.
        assert_eq!(pulled(false, 1, 5, 1, 5), 2);
        assert_eq!(pulled(false, 1, lasting(false, 5, 1), 1, 5), 0);
        assert_eq!(pulled(false, 2, 3, 2, 3), 0);
        assert_eq!(pulled(false, 1, 5, 3, 4), 0);
        assert_eq!([(2, 2), (1, 1)].map(|(then, now)| pulled(true, 0, then, 0, now)), [1, 0]);
    }
}
