//! The rows of `kernel-2.4`: the enhancements, each beside what it replaced.

use super::{Delay, Kind, Row};

/// Every row, in the order of the suite.
pub static ALL: &[Row] = &[
    // Before it: locks as small as they are.
    Row {
        name: "kernel-2.4/lock-packed",
        about: "two tasks each take a lock of their own; both locks are in one cache line",
        kind: Kind::Locks { distance: 4 },
    },
    // A line for each lock.
    Row {
        name: "kernel-2.4/lock-64",
        about: "two tasks each take a lock of their own; the locks are 64 bytes apart",
        kind: Kind::Locks { distance: 64 },
    },
    // The enhancement: a lock has 128 bytes.
    Row {
        name: "kernel-2.4/lock-128",
        about: "two tasks each take a lock of their own; the locks are 128 bytes apart",
        kind: Kind::Locks { distance: 128 },
    },
    // Before the enhancement: polls as fast as can be.
    Row {
        name: "kernel-2.4/spin",
        about: "one task computes beside one that polls a line for its next change",
        kind: Kind::Spin { pause: false },
    },
    // The enhancement: PAUSE after each poll.
    Row {
        name: "kernel-2.4/spin-pause",
        about: "one task computes beside one that polls a line for its next change, with PAUSE",
        kind: Kind::Spin { pause: true },
    },
    // Before it: a delay of instructions.
    Row {
        name: "kernel-2.4/delay-loop",
        about: "one task computes beside one that delays by a calibrated loop of instructions",
        kind: Kind::Delay(Delay::Loop),
    },
    // The enhancement: a delay that watches the clock.
    Row {
        name: "kernel-2.4/delay-clock",
        about: "one task computes beside one that delays by watching the clock, with PAUSE",
        kind: Kind::Delay(Delay::Clock),
    },
    // What leaves the core to others.
    Row {
        name: "kernel-2.4/delay-sleep",
        about: "one task computes beside one that delays by sleeping",
        kind: Kind::Delay(Delay::Sleep),
    },
    // Before the enhancement: stacks that begin at equal low addresses.
    Row {
        name: "kernel-2.4/stack-aliased",
        about: "two tasks work at the top of stacks whose addresses have equal low 16 bits",
        kind: Kind::Stacks { offset: 0 },
    },
    // The enhancement: 128 bytes more for each task.
    Row {
        name: "kernel-2.4/stack-offset",
        about: "the same with the second stack moved by 128 bytes, as Linux 2.4 did",
        kind: Kind::Stacks { offset: 128 },
    },
];
