//! The clock that all processes of a machine share.

use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_a_thousand_million_nanoseconds() {
        let seconds = || clock_gettime(ClockId::Monotonic).tv_sec.cast_unsigned();
        let (before, now, after) = (seconds(), monotonic_ns() / 1_000_000_000, seconds());
        assert!((before..=after).contains(&now), "{before} {now} {after}");
    }
}
