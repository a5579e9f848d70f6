//! The clock that all processes of a machine share.

use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
