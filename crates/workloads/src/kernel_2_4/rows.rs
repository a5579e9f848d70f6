//! The rows of `kernel-2.4`, in order of name.

use super::delay::Delay;
use super::{Kind, Row};

/// Every row.
pub(super) const ALL: &[&Row] = &[
    &DELAY_CLOCK,
    &DELAY_LOOP,
    &DELAY_SLEEP,
    &LOCK_128,
    &LOCK_64,
    &LOCK_PACKED,
    &SPIN,
    &SPIN_PAUSE,
    &STACK_ALIASED,
    &STACK_OFFSET,
];

/// The enhancement: a delay that watches the clock.
pub static DELAY_CLOCK: Row = Row {
    name: "kernel-2.4/delay-clock",
    about: "one task computes beside one that delays by watching the clock, with PAUSE",
    kind: Kind::Delay(Delay::Clock),
};
/// Before it: a delay of instructions.
pub static DELAY_LOOP: Row = Row {
    name: "kernel-2.4/delay-loop",
    about: "one task computes beside one that delays by a calibrated loop of instructions",
    kind: Kind::Delay(Delay::Loop),
};
/// What leaves the core to others.
pub static DELAY_SLEEP: Row = Row {
    name: "kernel-2.4/delay-sleep",
    about: "one task computes beside one that delays by sleeping",
    kind: Kind::Delay(Delay::Sleep),
};
/// The enhancement: a lock has 128 bytes.
pub static LOCK_128: Row = Row {
    name: "kernel-2.4/lock-128",
    about: "two tasks each take a lock of their own; the locks are 128 bytes apart",
    kind: Kind::Locks { distance: 128 },
};
/// A line for each lock.
pub static LOCK_64: Row = Row {
    name: "kernel-2.4/lock-64",
    about: "two tasks each take a lock of their own; the locks are 64 bytes apart",
    kind: Kind::Locks { distance: 64 },
};
/// Before it: locks as small as they are.
pub static LOCK_PACKED: Row = Row {
    name: "kernel-2.4/lock-packed",
    about: "two tasks each take a lock of their own; both locks are in one cache line",
    kind: Kind::Locks { distance: 4 },
};
/// Before the enhancement: polls as fast as can be.
pub static SPIN: Row = Row {
    name: "kernel-2.4/spin",
    about: "one task computes beside one that polls a line for its next change",
    kind: Kind::Spin { pause: false },
};
/// The enhancement: PAUSE after each poll.
pub static SPIN_PAUSE: Row = Row {
    name: "kernel-2.4/spin-pause",
    about: "one task computes beside one that polls a line for its next change, with PAUSE",
    kind: Kind::Spin { pause: true },
};
/// Before the enhancement: stacks that begin at equal low addresses.
pub static STACK_ALIASED: Row = Row {
    name: "kernel-2.4/stack-aliased",
    about: "two tasks work at the top of stacks whose addresses have equal low 16 bits",
    kind: Kind::Stacks { offset: 0 },
};
/// The enhancement: 128 bytes more for each task.
pub static STACK_OFFSET: Row = Row {
    name: "kernel-2.4/stack-offset",
    about: "the same with the second stack moved by 128 bytes, as Linux 2.4 did",
    kind: Kind::Stacks { offset: 128 },
};
