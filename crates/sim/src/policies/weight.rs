//! What a nice value is worth.

/// Weight of nice 0.
pub(super) const WEIGHT: u64 = 1024;

/// Weight of a nice value: each step a factor of 1.25, which is how the kernel's table
/// (`sched_prio_to_weight`) was made; it differs from that by rounding.
pub(super) fn weight(nice: i8) -> u64 {
    let mut weight = WEIGHT;
    for _ in 0..nice.unsigned_abs() {
        weight = if nice > 0 { weight * 4 / 5 } else { weight * 5 / 4 };
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_kernel_within_rounding() {
        for (nice, kernel) in [(-20, 88761_u64), (-5, 3121), (0, 1024), (5, 335), (19, 15)] {
            let own = weight(nice);
            assert!(own.abs_diff(kernel) * 100 <= kernel * 7, "{nice}: {own} for {kernel}");
        }
    }
}
