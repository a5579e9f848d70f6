//! `linux-2.4.19`: its parameters, and the pure arithmetic of its list. The simulated policy takes its decisions
//! here; the live program has the same in `crates/bpf/c/linux_2_4_19_decide.h`, and a test of that crate holds one
//! against the other.
//!
//! Counters are in ticks of [`HZ`].

use super::policy_parameter::Parameter;

pub const NAME: &str = "linux-2.4.19";
/// What the kernel calls it while it is loaded, in `/sys/kernel/sched_ext/root/ops`.
pub const OPS_NAME: &str = "coretwin_linux_2_4_19";

pub const PARAMETERS: [Parameter; 2] = [
    Parameter::switch("ht_rule", true, "an idle CPU of an idle core before one of a busy core"),
    Parameter::switch(
        "wake_tail",
        false,
        "woken tasks join the list's tail (2.4 after 2.4.19), not its head",
    ),
];

/// Ticks a second of i386 before 2.5.
pub const HZ: u64 = 100;
/// What a task that last ran here has over others, in ticks (i386).
const SAME_CPU_BONUS: i64 = 15;
/// What a task of the same memory as the one before has over others.
const SAME_MEMORY_BONUS: i64 = 1;
/// The most ticks that a parent has once a child gave back what it had left (MAX_COUNTER).
const COUNTER_MAX: i64 = 20 * HZ as i64 / 100;
/// No counter changes by further recalculations after so many.
pub const EPOCHS_MAX: u64 = 8;

/// The slice of a nice value, in ticks: 60 ms for nice 0.
pub fn slice(nice: i64) -> i64 {
    ((20 - nice) >> 2) + 1
}

/// Goodness of a normal task that has not yielded, on a CPU.
pub fn goodness(counter: i64, nice: i64, same_cpu: bool, same_memory: bool) -> i64 {
    if counter == 0 {
        return 0;
    }
    let cpu = if same_cpu { SAME_CPU_BONUS } else { 0 };
    let memory = if same_memory { SAME_MEMORY_BONUS } else { 0 };
    counter + cpu + memory + 20 - nice
}

/// A counter after so many recalculations: each halves what is left and adds a slice.
pub fn renewed(counter: i64, nice: i64, epochs: u64) -> i64 {
    (0..epochs.min(EPOCHS_MAX)).fold(counter, |counter, _| (counter >> 1) + slice(nice))
}

/// What parent and child have after a fork, of what the parent had.
pub fn forked(counter: i64) -> (i64, i64) {
    (counter >> 1, (counter + 1) >> 1)
}

/// What a parent has once a child has ended that had so much left.
pub fn given_back(parent: i64, child: i64) -> i64 {
    (parent + child).min(COUNTER_MAX)
}

/// What is left after a tick.
pub fn ticked(counter: i64) -> i64 {
    (counter - 1).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_those_of_hz_100() {
        assert_eq!([-20, 0, 10, 19].map(slice), [11, 6, 3, 1]);
    }

    #[test]
    fn a_counter_rests_before_the_last_recalculation_that_is_made() {
        for nice in -20..20 {
            for counter in 0..=COUNTER_MAX + slice(-20) {
                let rests = renewed(counter, nice, EPOCHS_MAX);
                assert_eq!(rests, (rests >> 1) + slice(nice), "{counter} at nice {nice}");
                assert!(rests <= 2 * slice(nice), "{counter} at nice {nice}");
            }
        }
        // A sleeper at nice 0: 6, then half and 6 more each time.
        let sleeper: Vec<i64> = (0..6).map(|epochs| renewed(6, 0, epochs)).collect();
        assert_eq!(sleeper, [6, 9, 10, 11, 11, 11]);
    }
}
