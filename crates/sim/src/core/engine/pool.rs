//! Queues and pools of entries, and which threads may take one.

use super::{MAX_THREADS, Preset};
use crate::core::preset::{Policy, Resource, limits};

/// The pools that every core has, before its schedulers.
pub(super) mod name {
    /// Between fetch and rename.
    pub(crate) const UOP_QUEUE: usize = 0;
    /// Between rename and retirement.
    pub(crate) const REORDER_BUFFER: usize = 1;
    /// Loads in the window.
    pub(crate) const LOAD_BUFFER: usize = 2;
    /// Stores in the window and behind it.
    pub(crate) const STORE_BUFFER: usize = 3;
    /// Integer results in the window.
    pub(crate) const INTEGER_REGISTERS: usize = 4;
    /// Floating-point results in the window.
    pub(crate) const FLOAT_REGISTERS: usize = 5;
    /// First-level misses under way.
    pub(crate) const MISS_BUFFERS: usize = 6;
    /// The first scheduler; the others follow.
    pub(crate) const SCHEDULERS: usize = 7;
}

/// Most pools of a core, a power of two.
pub(super) const MAX_POOLS: usize = name::SCHEDULERS + limits::SCHEDULERS;
const _: () = assert!(MAX_POOLS.is_power_of_two());

/// One pool: its rule and its users.
#[derive(Debug, Clone, Copy)]
struct Pool {
    used: [u16; MAX_THREADS],
    /// Most entries of each thread, whatever the others hold.
    cap: [u16; MAX_THREADS],
    /// Entries that each thread can always get.
    reserve: [u16; MAX_THREADS],
    entries: u16,
    policy: Policy,
    always_split: bool,
    /// Whether what one thread holds can be missing to another.
    contended: bool,
}

impl Pool {
    fn new(resource: Resource) -> Self {
        Self {
            used: [0; MAX_THREADS],
            cap: [resource.entries; MAX_THREADS],
            reserve: [0; MAX_THREADS],
            entries: resource.entries,
            policy: resource.policy,
            always_split: resource.always_split,
            contended: false,
        }
    }

    fn divide(&mut self, awake: [bool; MAX_THREADS], ways: usize) {
        let parts = if self.always_split { ways } else { awake.iter().filter(|on| **on).count() };
        for (thread, on) in awake.into_iter().enumerate() {
            let (cap, reserve) = match self.policy {
                Policy::Static => (self.entries / parts.max(1) as u16, 0),
                Policy::Competitive => (self.entries, 0),
                Policy::Watermark { reserve } if parts > 1 => (self.entries, reserve),
                Policy::Capped { cap } if parts > 1 => (cap.min(self.entries), 0),
                Policy::Watermark { .. } | Policy::Capped { .. } => (self.entries, 0),
            };
            self.cap[thread] = cap;
            self.reserve[thread] =
                if on || (self.always_split && thread < ways) { reserve } else { 0 };
        }
        // Equal parts never meet, but for what is left from before the division.
        self.contended = ways > 1
            && (self.policy != Policy::Static
                || (0..MAX_THREADS).any(|thread| self.used[thread] > self.cap[thread]));
    }

    /// How many entries the thread may still take: a sibling takes from it what it holds, or its
    /// reserve where that is more.
    #[inline(always)]
    fn room(&self, thread: usize, ways: usize) -> u16 {
        let used = self.used[thread & 3];
        let own = self.cap[thread & 3].saturating_sub(used);
        if !self.contended {
            return own;
        }
        let claimed = |of: usize| self.used[of & 3].max(self.reserve[of & 3]);
        let by_siblings: u16 = if ways == 2 {
            claimed(thread ^ 1)
        } else {
            (0..ways).filter(|other| *other != thread).map(claimed).sum()
        };
        own.min(self.entries.saturating_sub(by_siblings + used))
    }
}

#[derive(Debug, Clone)]
pub(super) struct Pools {
    pools: [Pool; MAX_POOLS],
    count: usize,
    ways: usize,
}

/// The pools of a preset with their names, in order; `None`: not modelled, never the limit.
pub(super) fn resources(preset: &Preset) -> impl Iterator<Item = (&str, Option<Resource>)> {
    let (front_end, memory) = (&preset.front_end, &preset.memory);
    let fixed = [
        ("uop_queue", Some(front_end.uop_queue)),
        ("reorder_buffer", Some(preset.reorder_buffer)),
        ("load_buffer", Some(memory.load_buffer)),
        ("store_buffer", Some(memory.store_buffer)),
        ("integer_registers", preset.integer_registers),
        ("float_registers", preset.float_registers),
        ("miss_buffers", Some(memory.miss_buffers)),
    ];
    let schedulers = preset.schedulers.iter();
    fixed.into_iter().chain(schedulers.map(|one| (one.name.as_str(), Some(one.resource))))
}

impl Pools {
    pub(super) fn new(preset: &Preset, awake: [bool; MAX_THREADS]) -> Self {
        let unlimited =
            Resource { entries: u16::MAX / 8, policy: Policy::Competitive, always_split: false };
        let mut pools = [Pool::new(unlimited); MAX_POOLS];
        for (pool, (_, resource)) in pools.iter_mut().zip(resources(preset)) {
            *pool = Pool::new(resource.unwrap_or(unlimited));
        }
        let count = name::SCHEDULERS + preset.schedulers.len();
        let mut all = Self { pools, count, ways: usize::from(preset.ways) };
        all.divide(awake);
        all
    }

    /// Divides every pool anew among the threads that are awake.
    pub(super) fn divide(&mut self, awake: [bool; MAX_THREADS]) {
        for pool in &mut self.pools[..self.count] {
            pool.divide(awake, self.ways);
        }
    }

    /// Whether the thread may take one more entry.
    #[inline(always)]
    pub(super) fn has_room(&self, pool: usize, thread: usize) -> bool {
        self.room(pool, thread) > 0
    }

    #[inline(always)]
    pub(super) fn room(&self, pool: usize, thread: usize) -> u16 {
        self.pools[pool & (MAX_POOLS - 1)].room(thread, self.ways)
    }

    #[inline(always)]
    pub(super) fn take(&mut self, pool: usize, thread: usize, entries: u16) {
        let pool = &mut self.pools[pool & (MAX_POOLS - 1)];
        pool.used[thread & 3] += entries;
        debug_assert!(pool.used.iter().sum::<u16>() <= pool.entries, "a pool is overfull");
    }

    #[inline(always)]
    pub(super) fn give(&mut self, pool: usize, thread: usize, entries: u16) {
        let pool = &mut self.pools[pool & (MAX_POOLS - 1)];
        debug_assert!(pool.used[thread & 3] >= entries, "an entry is given back twice");
        pool.used[thread & 3] -= entries;
    }

    #[inline(always)]
    pub(super) fn used(&self, pool: usize, thread: usize) -> u16 {
        self.pools[pool & (MAX_POOLS - 1)].used[thread]
    }

    /// Entries that the thread would find if it were alone, less those it has now: what sharing
    /// withholds when it finds no room.
    pub(super) fn withheld(&self, pool: usize, thread: usize) -> u16 {
        let pool = &self.pools[pool & (MAX_POOLS - 1)];
        let alone = match pool.policy {
            Policy::Static if pool.always_split => pool.entries / self.ways as u16,
            _ => pool.entries,
        };
        alone.saturating_sub(pool.used[thread])
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }
}
