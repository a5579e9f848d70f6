//! The statistics of a program, as a profile states them.

use super::Body;
use crate::core::Class;

pub(super) const REGIONS_MAX: usize = 4;

pub(super) const PHASES_MAX: usize = 16;

/// A stretch of a program with statistics of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Its name in errors and lists.
    pub name: String,
    /// Length in unfused micro-operations; then the next phase, after the last the first.
    pub uops: u64,
    /// Whether it runs in the kernel: entered and left at the preset's cost, with kernel code
    /// and kernel data.
    pub kernel: bool,
    /// The loop that it is, uop by uop; then the statistics below are the loop's, and nothing is drawn
    /// from them.
    pub body: Option<Body>,
    /// Shares of the classes.
    pub mix: Mix,
    /// Where values come from.
    pub sources: Sources,
    /// Branches.
    pub branches: Branches,
    /// Code footprint.
    pub code: Code,
    /// Data footprint.
    pub regions: Vec<Region>,
    /// A PAUSE after so many micro-operations; 0: none.
    pub pause_every_uops: u64,
    /// Halted for so many cycles at the phase's end; 0: not.
    pub halt_cycles: u64,
    /// A lock taken again and again.
    pub lock: Option<Lock>,
}

/// Shares of the unfused micro-operations by class; they sum to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// By class number.
    pub share: [f64; Class::COUNT],
    /// Share of the branches that follow a compare of their own, one of the `int_alu`.
    pub compared: f64,
}

/// How far back the producers of a micro-operation's sources lie.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources {
    /// Share of micro-operations without a source.
    pub none: f64,
    /// Share with two.
    pub two: f64,
    /// Upper ends of the classes of distance, in unfused micro-operations, ascending.
    pub up_to: Vec<u16>,
    /// Share of each class; they sum to 1.
    pub share: Vec<f64>,
}

/// What branches do.
#[derive(Debug, Clone, PartialEq)]
pub struct Branches {
    /// Share of the branches whose usual way is to be taken.
    pub taken: f64,
    /// Share of the branches that wait for the load before them.
    pub on_loads: f64,
    /// How often a branch goes its usual way, by class of branches.
    pub bias: Vec<f64>,
    /// Share of each class; they sum to 1.
    pub share: Vec<f64>,
}

/// The code that is executed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Code {
    /// Bytes of code touched.
    pub bytes: u64,
    /// Bytes of it that are executed round after round.
    pub hot_bytes: u64,
    /// Share of the execution within these; the rest is spread over the others at random.
    pub hot_share: f64,
}

/// How a region of data is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Uniformly random.
    Random,
    /// A strided walk of this step in bytes that wraps at the region's end.
    Stride(u64),
}

/// A part of the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Share of all loads, stores and atomics that go there.
    pub share: f64,
    /// Its size in bytes.
    pub bytes: u64,
    /// How it is walked.
    pub pattern: Pattern,
    /// Its loads make one chain with those of every other such region: each has its address from
    /// the one before.
    pub chase: bool,
    /// Integer operations between two loads of the chain.
    pub chase_steps: u8,
    /// Its loads have their address from the chain, without being part of it.
    pub follows: bool,
    /// Its data is the same for all threads of the data space (kernel data, shared memory).
    pub shared: bool,
}

/// A lock that the phase takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// Its number, 0 to 15; equal numbers are one lock.
    pub number: u16,
    /// Micro-operations from one taking to the next.
    pub every_uops: u64,
    /// Micro-operations while it is held.
    pub hold_uops: u64,
    /// Whether waiting pauses.
    pub pausing: bool,
}

impl Mix {
    /// Share of one class.
    pub fn of(&self, class: Class) -> f64 {
        self.share[class as usize]
    }

    /// Share of loads, stores and atomics together.
    pub fn memory(&self) -> f64 {
        self.of(Class::Load) + self.of(Class::Store) + self.of(Class::Atomic)
    }

    /// Micro-operations left of one unfused one where compares fuse with branches.
    pub fn fused_share(&self) -> f64 {
        1.0 - self.of(Class::Branch) * self.compared
    }
}
