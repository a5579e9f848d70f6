//! The rows of `kernel-2.4`: the enhancements, each beside what it replaced.

use super::{Delay, Kind, Row};

macro_rules! rows {
    ($($name:literal, $kind:expr, $about:literal;)+) => {
        &[$(Row { name: concat!("kernel-2.4/", $name), about: $about, kind: $kind }),+]
    };
}

/// Every row, in the order of the suite.
pub static ALL: &[Row] = rows! {
    // Before it: locks as small as they are.
    "lock-packed", Kind::Locks { distance: 4 },
        "two tasks each take a lock of their own; both locks are in one cache line";
    // A line for each lock.
    "lock-64", Kind::Locks { distance: 64 },
        "two tasks each take a lock of their own; the locks are 64 bytes apart";
    // The enhancement: a lock has 128 bytes.
    "lock-128", Kind::Locks { distance: 128 },
        "two tasks each take a lock of their own; the locks are 128 bytes apart";
    // Before the enhancement: polls as fast as can be.
    "spin", Kind::Spin { pause: false },
        "one task computes beside one that polls a line for its next change";
    // The enhancement: PAUSE after each poll.
    "spin-pause", Kind::Spin { pause: true },
        "one task computes beside one that polls a line for its next change, with PAUSE";
    // Before it: a delay of instructions.
    "delay-loop", Kind::Delay(Delay::Loop),
        "one task computes beside one that delays by a calibrated loop of instructions";
    // The enhancement: a delay that watches the clock.
    "delay-clock", Kind::Delay(Delay::Clock),
        "one task computes beside one that delays by watching the clock, with PAUSE";
    // What leaves the core to others.
    "delay-sleep", Kind::Delay(Delay::Sleep),
        "one task computes beside one that delays by sleeping";
    // Before the enhancement: stacks that begin at equal low addresses.
    "stack-aliased", Kind::Stacks { offset: 0 },
        "two tasks work at the top of stacks whose addresses have equal low 16 bits";
    // The enhancement: 128 bytes more for each task.
    "stack-offset", Kind::Stacks { offset: 128 },
        "the same with the second stack moved by 128 bytes, as Linux 2.4 did";
};
