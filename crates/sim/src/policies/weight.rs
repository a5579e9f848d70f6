//! What classes and nice values are worth to the policies of today.

use crate::kernel::{Class, TaskView};

/// Rank of the ordinary class; real-time classes come before it.
pub(super) const NORMAL: u8 = 100;

/// Better classes first.
pub(super) fn rank(class: Class) -> u8 {
    match class {
        Class::Fifo(priority) | Class::RoundRobin(priority) => 99_u8.saturating_sub(priority),
        Class::Normal => NORMAL,
        Class::Idle => NORMAL + 1,
    }
}

pub(super) const WEIGHT: u64 = 1024;

const NICE_LEAST: i8 = -20;

/// By nice value, from the lowest: each step a factor of 1.25, rounded.
const WEIGHTS: [u64; 40] = {
    let mut weights = [0; 40];
    let mut index = 0;
    while index < weights.len() {
        let steps = (index as i32 + NICE_LEAST as i32).unsigned_abs();
        let (above, below) = (5_u64.pow(steps), 4_u64.pow(steps));
        let (above, below) = if index < 20 { (above, below) } else { (below, above) };
        weights[index] = (2 * WEIGHT * above + below) / (2 * below);
        index += 1;
    }
    weights
};

/// Weight of a nice value, which is how the kernel's table (`sched_prio_to_weight`) was made; it differs
/// from that by rounding.
pub(super) fn weight(nice: i8) -> u64 {
    let index = i16::from(nice) - i16::from(NICE_LEAST);
    WEIGHTS[index.clamp(0, 39) as usize]
}

/// Weight of a task, times that of its group.
pub(super) fn weight_of(task: &TaskView) -> u64 {
    (weight(task.nice) * u64::from(task.group_weight) / 100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_kernel_within_rounding() {
        for (nice, kernel) in [(-20, 88761_u64), (-5, 3121), (0, 1024), (5, 335), (19, 15)] {
            let own = weight(nice);
            assert!(own.abs_diff(kernel) * 100 <= kernel, "{nice}: {own} for {kernel}");
        }
    }
}
