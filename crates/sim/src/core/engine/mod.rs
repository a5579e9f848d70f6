//! The event-driven core: what happens in each cycle.
//!
//! A cycle runs the stages from the last to the first, so that nothing passes two stages at once:
//! stores are written, micro-operations retire, issue (twice where the simple units are double
//! pumped), rename, are fetched. Time is a whole number of ticks; there are two ticks a cycle where
//! units are double pumped, else one. When nothing can happen, [`rest`] jumps to the next cycle in
//! which something does.
//!
//! A micro-operation lives in its thread's queue (fetch to rename), then in a slot of its thread's
//! window (rename to retirement). It waits for its sources on their lists of consumers, for their
//! latency in the [`wheel`], and for a port in a bit map of those that are ready. Nothing is
//! allocated while the core runs.

mod binding;
mod fetch;
mod issue;
mod lock;
mod memory;
mod page_map;
mod pool;
mod predictor;
mod prefetch;
mod put_off;
mod rename;
mod replay;
mod rest;
mod retire;
mod run;
mod squash;
mod tables;
mod tags;
mod thread;
mod translation;
mod walk;
mod warm;
mod wheel;

pub use run::{Stretch, simulate, simulate_stretches};
pub(crate) use walk::Walk;

use super::preset::{ThreadSelect, limits};
use super::{Component, Options, Preset, ThreadInput};
use binding::Binding;
use memory::Memory;
use page_map::Space;
use pool::Pools;
use predictor::Predictor;
use replay::Replays;
use tables::Tables;
use tags::Tags;
use thread::Threads;
use wheel::Wheel;

/// Most hardware threads of a core.
pub const MAX_THREADS: usize = 4;
const WINDOW: usize = limits::REORDER_BUFFER;
const QUEUE: usize = limits::UOP_QUEUE;
const MAX_STORES: usize = limits::STORE_BUFFER;
/// A time that does not come.
const NEVER: u64 = u64::MAX;
/// Occupancy is watched in every cycle whose number is a multiple of this.
const WATCH_EVERY: u64 = 16;

struct Core<'stream> {
    preset: Preset,
    tables: Tables,
    ticks_per_cycle: u64,
    cycle: u64,
    /// Whether anything happened in this cycle, loads aside that were put off.
    busy: bool,
    ways: usize,
    threads: Threads<'stream>,
    awake: [bool; MAX_THREADS],
    awake_count: usize,
    pools: Pools,
    memory: Memory,
    predictor: Predictor,
    uop_cache: Option<Tags>,
    /// Bytes of code, as a power of two, that fetch looks up at once.
    code_line_bits: u32,
    /// Micro-operations per cycle where the uop cache misses.
    decode_width: u8,
    /// Bytes of code, as a power of two, that one cycle's fetch stays within.
    block_bits: u32,
    wheel: Wheel,
    /// When the loads that threads have put off come again; [`NEVER`] where there are none.
    put_off_until: u64,
    unit_free_at: [u64; 16],
    /// When all of them are free.
    units_free_at: u64,
    /// Ports that each thread took in this cycle.
    taken_ports: [u16; MAX_THREADS],
    binding: Binding,
    replays: Replays,
    /// The cycle from which rename serves threads again after a mispredicted branch.
    recovered_at: u64,
    stamp: u32,
    owners: [Option<u8>; lock::LOCKS],
    /// When the locked operation that took it has written its word.
    written_at: [u64; lock::LOCKS],
    /// For each thread, the first one with its data space.
    first_of_space: [usize; MAX_THREADS],
    /// Whether two threads share data pages, so that one can disturb the other's loads.
    spaces_shared: bool,
    /// The orders that begin with each thread.
    rotations: [u32; MAX_THREADS],
    /// The thread that was served last, by stage.
    turn: [usize; 4],
    /// Threads that have not reached their target.
    unfinished: usize,
    entry_cycles: [[u64; pool::MAX_POOLS]; MAX_THREADS],
}

/// Threads in order, four bits each: it stays in a register.
#[derive(Clone, Copy)]
struct Order {
    packed: u32,
    left: usize,
}

impl Order {
    /// For each thread: from it on, round and round.
    fn rotations(ways: usize) -> [u32; MAX_THREADS] {
        let mut rotations = [0; MAX_THREADS];
        for (first, packed) in rotations.iter_mut().enumerate() {
            for place in 0..ways {
                *packed |= (((first + place) % ways) as u32) << (4 * place);
            }
        }
        rotations
    }
}

impl Iterator for Order {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let thread = self.packed as usize & 3;
        self.packed >>= 4;
        self.left -= 1;
        Some(thread)
    }
}

/// Index into [`Core::turn`].
mod stage {
    pub(super) const FETCH: usize = 0;
    pub(super) const RENAME: usize = 1;
    pub(super) const RETIRE: usize = 2;
    pub(super) const WRITE: usize = 3;
}

impl<'stream> Core<'stream> {
    fn new(preset: &Preset, inputs: Vec<ThreadInput<'stream>>, options: &Options) -> Self {
        let ways = usize::from(preset.ways);
        let ticks_per_cycle = if preset.double_pumped { 2 } else { 1 };
        let mut inputs = inputs;
        inputs.resize_with(ways, ThreadInput::halted);
        let touched = warm::take(&mut inputs, options.warm);
        let mut awake = [false; MAX_THREADS];
        let mut spaces = [None; MAX_THREADS];
        for (thread, input) in inputs.iter().enumerate() {
            awake[thread] = input.stream.is_some();
            spaces[thread] = Some(space(input));
        }
        let spaces =
            spaces.map(|space| space.unwrap_or_else(|| self::space(&ThreadInput::halted())));
        let shared = |first: usize, second: usize| {
            awake[first] && awake[second] && spaces[first].data == spaces[second].data
        };
        let spaces_shared =
            (0..ways).any(|first| (first + 1..ways).any(|second| shared(first, second)));
        let first_of_space: [usize; MAX_THREADS] = std::array::from_fn(|thread| {
            let alike = |other: &usize| spaces[*other].data == spaces[thread].data;
            (0..thread).find(alike).unwrap_or(thread)
        });
        let uop_cache = preset.front_end.uop_cache.map(|cache| {
            let sets = cache.lines / u32::from(cache.ways);
            Tags::new(sets.max(1), usize::from(cache.ways), cache.sharing, ways, false)
        });
        let mut core = Self {
            tables: Tables::new(preset, ticks_per_cycle),
            ticks_per_cycle,
            cycle: 0,
            busy: false,
            ways,
            threads: Threads::new(inputs, preset),
            awake,
            awake_count: 0,
            pools: Pools::new(preset, awake),
            memory: Memory::new(preset, spaces, options.seed, ticks_per_cycle),
            predictor: Predictor::new(preset.front_end.predictor, ways),
            uop_cache,
            code_line_bits: code_line_bits(preset),
            decode_width: preset.front_end.uop_cache.map_or(u8::MAX, |cache| cache.decode_width),
            block_bits: block_bits(preset),
            wheel: Wheel::new(),
            put_off_until: NEVER,
            unit_free_at: [0; 16],
            units_free_at: 0,
            taken_ports: [0; MAX_THREADS],
            binding: Binding::default(),
            replays: Replays::new(u64::from(preset.replay_cycles) * ticks_per_cycle),
            recovered_at: 0,
            stamp: 0,
            owners: [None; lock::LOCKS],
            written_at: [0; lock::LOCKS],
            first_of_space,
            spaces_shared,
            rotations: Order::rotations(ways),
            // One thread has to be first: which one depends on the programs, not on their hardware threads.
            turn: [(ways - 1 + first_served(&spaces, &awake)) % ways; 4],
            unfinished: 0,
            entry_cycles: [[0; pool::MAX_POOLS]; MAX_THREADS],
            preset: preset.clone(),
        };
        core.divide();
        core.memory.warm(&touched, first_served(&spaces, &awake));
        core
    }

    fn step(&mut self) {
        self.busy = false;
        let tick = self.cycle * self.ticks_per_cycle;
        if self.awake_count < self.ways {
            self.wake_threads();
        }
        self.write_stores(tick);
        self.retire(tick);
        self.issue_cycle(tick);
        self.end_cycle(tick);
    }

    /// Whether a cycle begins at this tick.
    #[inline(always)]
    fn begins_cycle(&self, tick: u64) -> bool {
        tick & (self.ticks_per_cycle - 1) == 0
    }

    /// The first cycle that begins at this tick or later. Without a division: there are one or two ticks a cycle.
    #[inline(always)]
    fn cycles_to(&self, tick: u64) -> u64 {
        (tick >> (self.ticks_per_cycle - 1)) + (tick & (self.ticks_per_cycle - 1))
    }

    #[inline(always)]
    fn issue_cycle(&mut self, tick: u64) {
        self.taken_ports = [0; MAX_THREADS];
        self.issue(tick, self.tables.ports);
        if self.ticks_per_cycle == 2 {
            self.issue(tick + 1, self.tables.fast_ports);
        }
    }

    /// What follows issue in a cycle.
    #[inline(always)]
    fn end_cycle(&mut self, tick: u64) {
        self.rename(tick);
        self.fetch(tick);
        self.watch(tick);
        self.cycle += 1;
    }

    #[inline(always)]
    fn watch(&mut self, tick: u64) {
        if self.cycle.is_multiple_of(WATCH_EVERY) {
            self.watch_occupancy(tick, 1);
        }
    }

    /// Adds what each thread holds, `times` over.
    fn watch_occupancy(&mut self, tick: u64, times: u64) {
        self.memory.expire(tick, &mut self.pools);
        for thread in 0..self.ways {
            for pool in 0..self.pools.count() {
                self.entry_cycles[thread][pool] +=
                    times * WATCH_EVERY * u64::from(self.pools.used(pool, thread));
            }
        }
    }

    /// The order in which threads are offered a stage.
    #[inline(always)]
    fn order(&self, select: ThreadSelect, stage: usize) -> Order {
        let first = match select {
            ThreadSelect::FirstThread => 0,
            ThreadSelect::Alternate => self.turn[stage] + 1,
            ThreadSelect::FewestInFlight => return self.fewest_in_flight(stage),
        };
        Order { packed: self.rotations[first & 3], left: self.ways }
    }

    #[inline(never)]
    fn fewest_in_flight(&self, stage: usize) -> Order {
        let mut order: [usize; MAX_THREADS] = [0; MAX_THREADS];
        for (place, thread) in order[..self.ways].iter_mut().enumerate() {
            *thread = (self.turn[stage] + 1 + place) % self.ways;
        }
        order[..self.ways].sort_by_key(|thread| {
            let thread = &self.threads[*thread];
            thread.fetched - thread.renamed + u64::from(thread.waiting)
        });
        let packed = |all: u32, thread: &usize| all << 4 | *thread as u32;
        Order { packed: order[..self.ways].iter().rev().fold(0, packed), left: self.ways }
    }

    #[inline(always)]
    fn charge(&mut self, thread: usize, component: Component, slots: u64) {
        self.threads[thread].charged[component as usize] += slots;
    }

    /// Divides everything that is divided anew among the threads that are awake.
    fn divide(&mut self) {
        self.awake_count = self.awake.iter().filter(|on| **on).count();
        self.pools.divide(self.awake);
        self.memory.divide(self.awake);
        if let Some(uop_cache) = &mut self.uop_cache {
            uop_cache.divide(self.awake);
        }
    }

    /// Divides the core anew after a thread halted or woke; that drains the pipeline.
    fn switch_mode(&mut self) {
        self.divide();
        let until = self.cycle + u64::from(self.preset.switch_cycles);
        for thread in self.threads.iter_mut() {
            if thread.rename_at < until {
                thread.rename_at = until;
                thread.rename_cause = Component::Halt;
            }
        }
    }

    fn halt(&mut self, thread: usize, cycles: u64) {
        let halted = &mut self.threads[thread];
        halted.wake_at = if cycles == 0 { NEVER } else { self.cycle + cycles };
        if cycles == 0 && halted.uops < halted.target {
            // It will never get there: the run does not wait for it.
            halted.target = 0;
            self.unfinished -= 1;
        }
        self.awake[thread] = false;
        self.switch_mode();
    }

    fn wake_threads(&mut self) {
        for thread in 0..self.ways {
            if !self.awake[thread] && self.threads[thread].wake_at <= self.cycle {
                self.busy = true;
                self.awake[thread] = true;
                let woken = &mut self.threads[thread];
                woken.wake_at = NEVER;
                woken.fetch_at = self.cycle;
                woken.last_progress = self.cycle;
                self.switch_mode();
            }
        }
    }
}

fn code_line_bits(preset: &Preset) -> u32 {
    let cache = preset.front_end.uop_cache;
    let bytes = cache.map_or(preset.memory.line_bytes, |cache| cache.code_bytes);
    u32::from(bytes).trailing_zeros()
}

fn block_bits(preset: &Preset) -> u32 {
    match preset.front_end.block_bytes {
        // Beyond every address: no limit.
        0 => 31,
        bytes => u32::from(bytes).trailing_zeros(),
    }
}

/// The thread that awake threads let go first at the start: that of the lowest data space.
fn first_served(spaces: &[Space; MAX_THREADS], awake: &[bool; MAX_THREADS]) -> usize {
    let mut first = 0;
    for thread in 1..MAX_THREADS {
        let before = |of: usize| (!awake[of], spaces[of].data);
        if before(thread) < before(first) {
            first = thread;
        }
    }
    first
}

fn space(input: &ThreadInput<'_>) -> Space {
    Space {
        data: u64::from(input.data_space % page_map::SPACES),
        code: u64::from(input.code_space % page_map::SPACES),
        page_bits: input.page_bytes.trailing_zeros().clamp(12, 30),
        placement: input.placement,
    }
}
