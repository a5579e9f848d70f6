//! What Linux 2.4.17 changed for Hyper-Threading, as pairs of rows: each change beside what was there
//! before it. The article's list of enhancements; it measured none of them alone.
//!
//! A row is two tasks that share one thing: a cache line with two locks, a line that one polls while the
//! other works, the core beside one that waits for a time, the low bits of their addresses. `pairs` is what
//! they do, `run` the process with both tasks and its clock, and the worker's side.
//!
//! Of the seven enhancements four are rows here. Starting the second logical processor is what the
//! arms of a study compare, and idle cores before idle siblings what the placements of every workload
//! do. The seventh, serialised MTRR and microcode updates, cannot be timed: it is there for siblings
//! to be right, not fast, and no program can start such an update. `topology` says whether siblings
//! agree in microcode and flags.

mod pairs;
pub(crate) mod run;

use crate::times::Times;
use crate::workload::{ParamSpec, Placement};
use serde::{Deserialize, Serialize};

const SECONDS: ParamSpec = ParamSpec::decimal(
    "seconds",
    "1",
    [0.02, 1000.0],
    "how long both tasks run side by side, in seconds; the first runs as long alone",
);
const DELAY_US: ParamSpec =
    ParamSpec::int("delay_us", [100, 1, 100_000], "length of a delay, in microseconds");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Locks {
        /// From one lock to the other, in bytes.
        distance: usize,
    },
    Spin {
        pause: bool,
    },
    Delay(Delay),
    /// The low 16 bits of their stacks' addresses, apart from an offset.
    Stacks {
        /// How far the second stack is moved, in bytes.
        offset: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delay {
    /// An empty loop of a number of turns calibrated beforehand.
    Loop,
    /// A loop that looks at the clock, with PAUSE.
    Clock,
    Sleep,
}

pub struct Row {
    name: &'static str,
    about: &'static str,
    kind: Kind,
}

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

trait Pair: Sync {
    /// What the second task prepares before the first phase, while the first sleeps.
    fn prepare(&self) {}

    /// One of the two tasks, 0 or 1, until the clock says so (see [`crate::times`]), but something at
    /// least: on a busy machine the time may be over when a task first runs.
    fn run(&self, task: usize, until_ns: u64) -> Tally;

    /// Whether all that was done is right, by name; both tasks have counted that much, in all phases.
    fn checks(&self, all: &[Tally; 2]) -> Vec<(&'static str, bool)>;
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Tally {
    /// Operations: locks taken, turns of work, polls, delays.
    operations: u64,
    /// Hand-overs made by the worker.
    handed_over: u64,
    /// Of a waiter, how long each hand-over took; of delays that were too long, by how much.
    times: Times,
    /// Of delays that were too short, by how much.
    early: Times,
    /// Of delays, how long they were together, in nanoseconds.
    delayed_ns: u64,
    is_wrong: bool,
    elapsed_s: f64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.handed_over += other.handed_over;
        self.times.merge(&other.times);
        self.early.merge(&other.early);
        self.delayed_ns += other.delayed_ns;
        self.is_wrong |= other.is_wrong;
        self.elapsed_s += other.elapsed_s;
    }

    fn per_s(&self) -> f64 {
        self.operations as f64 / self.elapsed_s
    }
}

impl Kind {
    /// Whether both tasks do the same, so that the value is the sum of both.
    fn is_even(self) -> bool {
        matches!(self, Self::Locks { .. } | Self::Stacks { .. })
    }

    fn analysis(self) -> &'static str {
        match self {
            Self::Locks { .. } => {
                "Read lock-packed, lock-64 and lock-128 together. On two cores packed locks send \
                 their line to and fro with each lock taken; locks 64 bytes apart do so where \
                 lines are fetched in pairs (NetBurst's sectors of 128 bytes, adjacent-line \
                 prefetch); 128 bytes end it. On siblings, which share the cache, the line stays, \
                 and what is left of the difference is stores of one that flush speculative loads \
                 of the other. On one CPU all three are alike."
            }
            Self::Spin { .. } => {
                "Read spin and spin-pause together. On siblings the value is what the waiter \
                 leaves to the one that works: PAUSE gives issue slots back, at the price of a \
                 hand-over later by up to the length of a PAUSE (about 10 to 140 cycles by \
                 processor). On two cores the worker keeps its speed either way and only the \
                 hand-over differs. On one CPU the waiter burns whole time slices, and PAUSE \
                 helps nobody. In a virtual machine a hypervisor may trap on PAUSE."
            }
            Self::Delay(_) => {
                "Read delay-loop, delay-clock and delay-sleep together. On siblings the value is \
                 what a delay leaves to the one that works: a loop of instructions takes issue \
                 slots, a loop that reads the clock with PAUSE fewer, a sleep none. A loop is also \
                 wrong: calibrated alone, it is too long beside a busy sibling (late_*), or at \
                 another clock rate. On two cores and on one CPU the value shows nothing of SMT; \
                 how exact each is shows everywhere."
            }
            Self::Stacks { .. } => {
                "Read stack-aliased and stack-offset together. On siblings of a processor whose \
                 first cache cannot hold two lines with equal address bits 6 to 15 (NetBurst, \
                 family 15, models 0 to 2) equal stacks throw each other out and 128 bytes end \
                 it. Caches since then choose by fewer bits among several ways, so on them the \
                 two rows should be alike, as they are on two cores and on one CPU everywhere: \
                 no difference there is the expected result."
            }
        }
    }

    /// What a reading under this placement cannot show.
    fn limits(self, placement: Placement) -> &'static str {
        match (placement, self) {
            (Placement::Siblings, _) => "both tasks ran on siblings of one core",
            (Placement::Free, _) => {
                "the scheduler chose the CPUs: only --placement siblings shows what siblings do to \
                 each other, and --placement cores what cores do"
            }
            (Placement::SameCpu, Self::Delay(_)) => {
                "both tasks took turns on one CPU: this shows how exact the delay is there, and \
                 nothing of siblings"
            }
            (Placement::SameCpu, _) => {
                "both tasks took turns on one CPU and never ran at once: nothing of siblings or \
                 caches shows here"
            }
            (Placement::Cores | Placement::Packages, Self::Locks { .. }) => {
                "the tasks ran on different cores: this shows what a shared line costs between \
                 caches, and nothing of siblings"
            }
            (Placement::Cores | Placement::Packages, Self::Spin { .. } | Self::Delay(_)) => {
                "the tasks ran on different cores: how late and how exact shows here; what one \
                 takes from the other only shows on siblings"
            }
            (Placement::Cores | Placement::Packages, Self::Stacks { .. }) => {
                "the tasks ran on different cores with caches of their own: aliasing cannot show"
            }
        }
    }
}
