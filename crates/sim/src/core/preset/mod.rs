//! A processor as data: sizes, widths, latencies, and for every resource how siblings share it.
//!
//! The vocabulary of sharing is the vendors' own: statically partitioned, competitively shared,
//! watermarked (AMD's software optimisation guides use the three words in this sense).

mod check;
mod read;
pub mod table;

pub use crate::document::{Confidence, Provenance};

use super::Class;

/// The most that a preset may have of something: what the core has arrays for.
pub(crate) mod limits {
    pub(crate) const REORDER_BUFFER: usize = 512;
    /// Entries of the queue between fetch and rename.
    pub(crate) const UOP_QUEUE: usize = 256;
    pub(crate) const STORE_BUFFER: usize = 256;
    /// First-level misses under way.
    pub(crate) const MISS_BUFFERS: usize = 64;
    pub(crate) const SCHEDULERS: usize = 9;
    pub(crate) const TRACKERS: usize = 32;
    /// Lines that the prefetcher announces at once.
    pub(crate) const DEGREE: usize = 8;
    pub(crate) const WALKERS: usize = 8;
    /// Ports, and units that are not pipelined, where ports are bound at rename.
    pub(crate) const BOUND_GROUPS: usize = 15;
}

/// How one thread is chosen at a stage that serves fewer threads than there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadSelect {
    /// Turns alternate; a thread that cannot use its turn leaves it to the next (NetBurst and
    /// its successors).
    Alternate,
    /// The thread with the fewest micro-operations before issue goes first.
    FewestInFlight,
    /// The thread with the lowest number that can use the stage goes first.
    FirstThread,
}

/// A pipeline stage with a width and a choice among threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Micro-operations per cycle, 1 to 16.
    pub width: u8,
    /// How the thread is chosen.
    pub select: ThreadSelect,
    /// How many threads may share the width of one cycle, 1 to 4.
    pub threads_per_cycle: u8,
}

/// How the entries of a queue or pool are shared between the threads that are awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Each thread may hold an equal part, rounded down.
    Static,
    /// First come, first served.
    Competitive,
    /// First come, first served, but this many entries stay within reach of each sibling.
    Watermark {
        /// Entries a sibling can always get.
        reserve: u16,
    },
    /// First come, first served, but no thread may hold more than this while a sibling is awake.
    Capped {
        /// Most entries of one thread.
        cap: u16,
    },
}

/// A queue or pool of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// All entries, as one thread alone finds them when the core is recombined.
    pub entries: u16,
    /// How siblings share them.
    pub policy: Policy,
    /// Divided among all hardware threads even when some are halted (Zen 1's store queue).
    pub always_split: bool,
}

/// How a cache-like array is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// One array for all, entries tagged with their owner where they need to be.
    Shared,
    /// An equal part of the ways for each thread that is awake.
    StaticWays,
    /// A whole array for each thread.
    Replicated,
}

/// A scheduler: where micro-operations wait for their sources and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduler {
    /// Its name in reports: `unified`, `memory`, `int`, …
    pub name: String,
    /// Its entries.
    pub resource: Resource,
    /// Which classes wait here; every class but `nop` waits in exactly one scheduler.
    pub classes: Vec<Class>,
}

/// How one class executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// Bit `p` is set where port `p` accepts the class; 0 only for `nop`.
    pub ports: u16,
    /// Half cycles from issue until a dependent can issue; even unless the core's simple units
    /// are double pumped. For loads: ignored, the caches tell. For stores: until data can be
    /// forwarded.
    pub latency_half_cycles: u16,
    /// Cycles until the class's one unit accepts another; 0 where it is pipelined on every port.
    pub interval_cycles: u16,
}

/// One level of cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// Capacity in bytes; capacity / ways / line is a power of two.
    pub bytes: u64,
    /// Associativity, 1 to 32.
    pub ways: u8,
    /// Cycles from a load's issue to its dependent's, when the load hits here (load to use).
    pub load_cycles: u16,
    /// How siblings share it.
    pub sharing: Sharing,
    /// Cycles between two accesses that this level can serve; 0: no limit. The first level is
    /// limited by its ports instead.
    pub interval_cycles: u16,
}

/// A translation buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tlb {
    /// Entries; entries / ways is a power of two.
    pub entries: u16,
    /// Associativity; equal to `entries` for a fully associative buffer.
    pub ways: u16,
    /// How siblings share it.
    pub sharing: Sharing,
}

/// Translation: first-level buffers, an optional second level, and the walker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Translation {
    /// For code.
    pub code: Tlb,
    /// For data.
    pub data: Tlb,
    /// The second level, shared by both, with its cycles on top of the access.
    pub second: Option<(Tlb, u16)>,
    /// Cycles of a page walk, on top of the access.
    pub walk_cycles: u16,
    /// Walks that may be under way at once, at least 1.
    pub walkers: u8,
    /// Whether a data page's walk reads its entry from the caches, on top of the cycles.
    pub entries_in_caches: bool,
}

/// A cache of decoded micro-operations: a uop cache, or NetBurst's trace cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UopCache {
    /// Lines in all; lines / ways is a power of two.
    pub lines: u32,
    /// Associativity, 1 to 32.
    pub ways: u8,
    /// Bytes of code that a line covers, a power of two.
    pub code_bytes: u16,
    /// How siblings share it.
    pub sharing: Sharing,
    /// Micro-operations per cycle from decoding, where the cache misses.
    pub decode_width: u8,
    /// Cycles lost when fetch turns from the cache to decoding.
    pub switch_cycles: u16,
    /// Of a trace cache: micro-operations of a line, and branches after which it ends. A line takes two
    /// cycles' fetch, full or not. `None`: lines are stretches of code.
    pub trace_line: Option<(u8, u8)>,
}

/// The branch predictor: two-bit counters with tags, of site and recent outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predictor {
    /// Counters, a power of two, of each copy.
    pub entries: u32,
    /// How many recent outcomes of the thread are part of the index, 0 to 16.
    pub history_bits: u8,
    /// `Shared` or `Replicated`.
    pub sharing: Sharing,
}

/// Everything before rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontEnd {
    /// From the uop cache (or the decoders) into the uop queue.
    pub fetch: Stage,
    /// Taken branches that one cycle's fetch may cross; fetch ends behind the last. 0: no limit.
    pub taken_branches_per_cycle: u8,
    /// One cycle's fetch stays within an aligned block of so many bytes of code, a power of two;
    /// 0: no limit.
    pub block_bytes: u16,
    /// The queue between fetch and rename.
    pub uop_queue: Resource,
    /// Decoded micro-operations, where the processor keeps them.
    pub uop_cache: Option<UopCache>,
    /// The code cache; `None` where the uop cache refills from the second level (NetBurst).
    pub code_cache: Option<Cache>,
    /// The branch predictor.
    pub predictor: Predictor,
    /// From the issue of a mispredicted branch until the first micro-operation of the right path
    /// can issue, in cycles; at least 3.
    pub mispredict_cycles: u16,
    /// How long PAUSE keeps its thread from renaming, in cycles.
    pub pause_cycles: u16,
    /// Cost of entering and of leaving the kernel, in cycles.
    pub kernel_entry_cycles: u16,
    /// See `kernel_entry_cycles`.
    pub kernel_exit_cycles: u16,
    /// Whether microcode takes a thread's turns at rename in these cycles, every second one.
    pub kernel_takes_turns: bool,
}

/// Hardware prefetching into the second level, trained by first-level misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefetcher {
    /// None.
    None,
    /// The next `degree` lines after a miss.
    NextLine {
        /// Lines fetched ahead.
        degree: u8,
    },
    /// Ascending and descending sequences within a page, followed by a table of trackers.
    Stream {
        /// Trackers, shared by the threads.
        trackers: u8,
        /// Lines fetched ahead of a confirmed sequence.
        degree: u8,
    },
}

/// What happens to stores in the first-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritePolicy {
    /// Lines are fetched for writing and written back when evicted.
    Back,
    /// Every store goes on to the second level (NetBurst).
    Through,
}

/// The memory side of the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of a line, a power of two from 64 to 512; one size for all levels.
    pub line_bytes: u16,
    /// First-level data cache.
    pub first: Cache,
    /// What stores do there.
    pub write_policy: WritePolicy,
    /// Buffers in which stores that miss a first level that writes through wait for their lines; 0 where
    /// nothing is known of them: one such store waits for the other.
    pub write_combining: u8,
    /// Further levels, outwards.
    pub outer: Vec<Cache>,
    /// Cycles from a load's issue to its dependent's when it misses everywhere.
    pub memory_cycles: u16,
    /// Cycles between two lines from or to memory: the bandwidth.
    pub memory_interval_cycles: u16,
    /// Lines fetched for each miss in the last level (2 on NetBurst, whose sector is 128 bytes).
    pub lines_per_fill: u8,
    /// First-level misses that can be outstanding (line fill buffers).
    pub miss_buffers: Resource,
    /// Loads between rename and retirement.
    pub load_buffer: Resource,
    /// Stores between rename and the cache.
    pub store_buffer: Resource,
    /// Stores written to the first level per cycle, 1 to 4.
    pub commits_per_cycle: u8,
    /// Cycles from a load's issue to its dependent's when an older store in the buffer supplies
    /// the data.
    pub forward_cycles: u16,
    /// Extra cycles when an older store overlaps but cannot supply the data.
    pub forward_blocked_cycles: u16,
    /// Linear address bits below this one, down to the line, must differ between two lines in
    /// the first level (16 for NetBurst's 64-KiB aliasing); 0: no such rule.
    pub alias_bits: u8,
    /// Whether that rule holds within an address space only: lines carry the context of their page
    /// tables (Intel 64 and IA-32 SDM 3A, L1 data cache context mode, adaptive).
    pub alias_contexts: bool,
    /// Address translation.
    pub translation: Translation,
    /// Prefetching.
    pub prefetcher: Prefetcher,
    /// Cost when a load must be undone because a sibling wrote its line too early, in cycles.
    pub machine_clear_cycles: u16,
}

/// A processor core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// Its id: `westmere`.
    pub name: String,
    /// One line: `Intel Xeon X5650 (Westmere-EP), 2010`.
    pub title: String,
    /// Nominal clock in MHz.
    pub clock_mhz: u32,
    /// Hardware threads: 1, 2 or 4.
    pub ways: u8,
    /// Simple units start an operation every half cycle (NetBurst).
    pub double_pumped: bool,
    /// Cycles in which nothing is fetched when a thread halts or wakes and the core is divided
    /// anew.
    pub switch_cycles: u16,
    /// Everything before rename.
    pub front_end: FrontEnd,
    /// Whether a compare and the branch behind it are one micro-operation. Profiles count them as
    /// two; where they fuse, streams contain the branch alone.
    pub fuses_compare_and_branch: bool,
    /// Rename and allocation.
    pub rename: Stage,
    /// Retirement; `threads_per_cycle` threads may retire, each up to the width they share.
    pub retire: Stage,
    /// The reorder buffer.
    pub reorder_buffer: Resource,
    /// Integer registers beyond the architectural ones; `None`: not modelled, never the limit.
    pub integer_registers: Option<Resource>,
    /// Floating-point registers beyond the architectural ones.
    pub float_registers: Option<Resource>,
    /// Whether rename says which of its ports a micro-operation goes to.
    pub binds_ports_at_rename: bool,
    /// Cycles after which a load that missed, and what hangs on it, take their ports again (NetBurst);
    /// 0: they wait where they are.
    pub replay_cycles: u16,
    /// Cycles after a mispredicted branch is known in which rename serves no thread, its siblings included;
    /// no more than the thread itself waits for its refill.
    pub recovery_cycles: u16,
    /// The schedulers.
    pub schedulers: Vec<Scheduler>,
    /// Ports that start an operation every half cycle, as a bit mask (only where `double_pumped`).
    pub fast_ports: u16,
    /// How each class executes, by class number.
    pub execution: [Execution; Class::COUNT],
    /// The memory side.
    pub memory: Memory,
    /// Where the values come from.
    pub provenance: Vec<Provenance>,
}
