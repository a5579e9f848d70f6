//! Outcome of a run: speeds, cycle stacks, occupancy; or why it did not end.

use std::fmt;

named! {
/// Where a slot of the rename stage went. Exclusive: in every cycle each thread has as many slots
/// as rename is wide, and each belongs to exactly one component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Component {
    /// A micro-operation was renamed.
    Base = "base",
    /// Fetch delivered too little: taken branches, decoding, its width.
    Fetch = "fetch",
    /// Code was missing: code cache, trace cache refill, code translation.
    CodeMiss = "code_miss",
    /// A mispredicted branch: until it resolved, and the refill behind it.
    Mispredict = "mispredict",
    /// PAUSE.
    Pause = "pause",
    /// Halted, or the core was being divided anew.
    Halt = "halt",
    /// Entering or leaving the kernel, and waiting for older work before it.
    Kernel = "kernel",
    /// Waiting for a lock: serialisation, spinning is counted as work.
    Lock = "lock",
    /// A machine clear.
    MachineClear = "machine_clear",
    /// The window was full behind work that waited for execution or its sources.
    Execution = "execution",
    /// The window was full behind a load that hit the first level or a store buffer.
    FirstLevel = "first_level",
    /// The window was full behind a load served by a cache further out.
    OuterLevel = "outer_level",
    /// The window was full behind a load from memory.
    Memory = "memory",
    /// The store buffer was full.
    Stores = "stores",
    /// The sibling was served in this thread's place, at fetch or rename.
    SiblingSlots = "sibling_slots",
    /// A queue or pool was full only because a sibling holds, or is kept, entries of it.
    SiblingEntries = "sibling_entries",
    /// The window was full of work that could have issued, had a sibling not taken the port.
    SiblingPorts = "sibling_ports",
}
}

/// Counts of one thread over the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Conditional branches retired.
    pub branches: u64,
    /// Of these, mispredicted.
    pub mispredicts: u64,
    /// Loads and atomics that accessed the first level.
    pub loads: u64,
    /// Loads that missed the first level.
    pub first_level_misses: u64,
    /// Loads that went to memory.
    pub memory_loads: u64,
    /// Data translations that missed the first-level buffer.
    pub translation_misses: u64,
    /// Code lines that missed the uop cache (or, without one, the code cache).
    pub code_misses: u64,
    /// Loads that were supplied by an older store.
    pub forwarded_loads: u64,
    /// Lines thrown out of the first level by the aliasing rule.
    pub alias_evictions: u64,
    /// Machine clears.
    pub machine_clears: u64,
    /// Times a lock was found held.
    pub contended_acquires: u64,
}

/// One thread over the measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadOutcome {
    /// Micro-operations retired before the measurement.
    pub warmup_uops: u64,
    /// Micro-operations retired while measured.
    pub uops: u64,
    /// Slots by component; they sum to cycles × rename width.
    pub slots: [u64; Component::COUNT],
    /// Events.
    pub counts: Counts,
    /// Entry cycles held of each resource, in the order of [`Outcome::resources`].
    pub entry_cycles: Vec<u64>,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Cycles of the measurement, the same for every thread.
    pub cycles: u64,
    /// Width of rename: slots per thread and cycle.
    pub width: u8,
    /// Names and sizes of the resources whose occupancy was watched.
    pub resources: Vec<(String, u16)>,
    /// One entry per hardware thread, halted ones included.
    pub threads: Vec<ThreadOutcome>,
    /// Two standard errors of the least known speed, as a share of it; `None` where the length was given.
    pub speed_error: Option<f64>,
    /// Cycles executed from the start, warm-up included.
    pub total_cycles: u64,
    /// Micro-operations retired from the start by all threads, warm-up included.
    pub total_uops: u64,
}

impl Outcome {
    /// Micro-operations per cycle of one thread.
    pub fn uops_per_cycle(&self, thread: usize) -> f64 {
        self.threads[thread].uops as f64 / self.cycles.max(1) as f64
    }
}

/// Why a run was given up, with what waits on what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// What was exceeded: the run's bound, or a thread's time without progress.
    pub what: String,
    /// The cycle at which the run was given up.
    pub cycle: u64,
    /// A line or more for each thread: what it waits on.
    pub waits: Vec<String>,
}

impl std::error::Error for Stuck {}

impl fmt::Display for Stuck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the simulation gave up at cycle {}: {}", self.cycle, self.what)?;
        for line in &self.waits {
            write!(formatter, "\n  {line}")?;
        }
        Ok(())
    }
}
