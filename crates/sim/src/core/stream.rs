//! What goes into a run: a stream of micro-operations per thread, and the run's options.

use super::Uop;

/// An endless source of micro-operations, produced in batches.
///
/// A finite program starts again from its beginning when it ends, so that a short thread keeps its
/// sibling company for the whole measurement. A stream knows nothing of simulated time.
pub trait Stream {
    /// Fills the whole batch with the next micro-operations.
    fn fill(&mut self, batch: &mut [Uop]);
}

/// How virtual pages become physical ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Every page at a place drawn from the seed, as a long-running system hands them out.
    Random,
    /// Physical order follows virtual order: ideally coloured.
    Contiguous,
}

/// Memory that a program touches again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// Whether it is code.
    pub code: bool,
    /// Its first address.
    pub start: u64,
    /// How far it reaches.
    pub bytes: u64,
}

/// One thread of a run.
pub struct ThreadInput<'stream> {
    /// Its micro-operations; `None` is a halted logical CPU.
    pub stream: Option<Box<dyn Stream + 'stream>>,
    /// Data pages with equal numbers are shared (threads of one process). Below 2^24.
    pub data_space: u32,
    /// Code pages with equal numbers are shared (one binary). Below 2^24.
    pub code_space: u32,
    /// Size of data pages in bytes, a power of two from 4096 to 2^30.
    pub page_bytes: u64,
    /// Where its data pages lie.
    pub placement: Placement,
    /// After so many micro-operations its work begins again.
    pub round_uops: u64,
    /// What it touches again and again; see [`Options::warm`].
    pub touched: Vec<Touched>,
}

impl<'stream> ThreadInput<'stream> {
    /// A thread with 4-KiB pages at random places, in an address space and binary of its own.
    pub fn new(stream: impl Stream + 'stream, space: u16) -> Self {
        Self {
            stream: Some(Box::new(stream)),
            data_space: u32::from(space),
            code_space: u32::from(space),
            page_bytes: 4096,
            placement: Placement::Random,
            round_uops: 1,
            touched: Vec::new(),
        }
    }

    /// A logical CPU that is halted throughout.
    pub fn halted() -> Self {
        Self {
            stream: None,
            data_space: 0,
            code_space: 0,
            page_bytes: 4096,
            placement: Placement::Random,
            round_uops: 1,
            touched: Vec::new(),
        }
    }
}

/// How long to run, and from which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Every thread retires at least this many micro-operations before measurement begins, for
    /// all threads at the same cycle.
    pub warmup_uops: u64,
    /// Measurement ends when every thread has retired this many more.
    pub measure_uops: u64,
    /// Above 0: measurement goes on until every thread has done a round of its work and its speed is
    /// known to a hundredth, but not for that once every thread has retired this many.
    pub settle_uops: u64,
    /// Names the page map.
    pub seed: u64,
    /// A run that takes more cycles than this is stuck.
    pub cycle_bound: u64,
    /// Jump over cycles in which nothing happens. Changes speed, never results.
    pub idle_skip: bool,
    /// Whether the outer caches hold what the threads touch again and again, from the start.
    pub warm: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            warmup_uops: 200_000,
            measure_uops: 1_000_000,
            settle_uops: 0,
            seed: 1,
            cycle_bound: 2_000_000_000,
            idle_skip: true,
            warm: false,
        }
    }
}
