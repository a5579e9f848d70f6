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

/// A number for each pool.
pub(super) type Row = [u16; MAX_POOLS];

/// A small number for each pool, in a byte of its own: what one thread may take of all pools fits
/// into two registers of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Credits(u128);

impl Credits {
    /// The upper bit of each byte is set, so that a byte never borrows from the next one.
    const GUARDS: u128 = u128::MAX / 0xff * 0x80;
    /// More than one cycle's rename can take.
    const MOST: u16 = 0x7f;

    /// One entry of this pool; of no other.
    pub(super) fn one(pool: usize) -> u128 {
        1 << (8 * pool)
    }

    /// Whether one of the pools has fewer entries than are asked for.
    #[inline(always)]
    pub(super) fn lacks(self, takes: u128) -> bool {
        !self.0.wrapping_sub(takes) & Self::GUARDS != 0
    }

    #[inline(always)]
    pub(super) fn take(&mut self, takes: u128) {
        self.0 = self.0.wrapping_sub(takes);
    }

    /// Whether the pool has an entry left.
    #[inline(always)]
    pub(super) fn has(self, pool: usize) -> bool {
        self.0 >> (8 * pool) & u128::from(Self::MOST) != 0
    }
}

/// The pools, by thread and pool: one thread's room in all of them is a few vector operations.
#[derive(Debug, Clone)]
pub(super) struct Pools {
    used: [Row; MAX_THREADS],
    /// Most entries of each thread, whatever the others hold.
    cap: [Row; MAX_THREADS],
    /// Entries that each thread can always get.
    reserve: [Row; MAX_THREADS],
    entries: Row,
    /// What a thread would find if it were alone.
    alone: Row,
    /// All bits are 0 where what one thread holds can be missing to another, else 1.
    uncontended: Row,
    rules: [Resource; MAX_POOLS],
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
        let mut rules = [unlimited; MAX_POOLS];
        for (rule, (_, resource)) in rules.iter_mut().zip(resources(preset)) {
            *rule = resource.unwrap_or(unlimited);
        }
        let nothing = [[0; MAX_POOLS]; MAX_THREADS];
        let mut all = Self {
            used: nothing,
            cap: nothing,
            reserve: nothing,
            entries: rules.map(|rule| rule.entries),
            alone: rules.map(|rule| match rule.policy {
                Policy::Static if rule.always_split => rule.entries / u16::from(preset.ways),
                _ => rule.entries,
            }),
            uncontended: [u16::MAX; MAX_POOLS],
            rules,
            count: name::SCHEDULERS + preset.schedulers.len(),
            ways: usize::from(preset.ways),
        };
        all.divide(awake);
        all
    }

    /// Divides every pool anew among the threads that are awake.
    pub(super) fn divide(&mut self, awake: [bool; MAX_THREADS]) {
        for pool in 0..self.count {
            self.divide_pool(pool, awake);
        }
    }

    fn divide_pool(&mut self, pool: usize, awake: [bool; MAX_THREADS]) {
        let Resource { entries, policy, always_split } = self.rules[pool];
        let parts = if always_split { self.ways } else { awake.iter().filter(|on| **on).count() };
        for (thread, on) in awake.into_iter().enumerate() {
            let (cap, reserve) = match policy {
                Policy::Static => (entries / parts.max(1) as u16, 0),
                Policy::Competitive => (entries, 0),
                Policy::Watermark { reserve } if parts > 1 => (entries, reserve),
                Policy::Capped { cap } if parts > 1 => (cap.min(entries), 0),
                Policy::Watermark { .. } | Policy::Capped { .. } => (entries, 0),
            };
            self.cap[thread][pool] = cap;
            let kept = on || (always_split && thread < self.ways);
            self.reserve[thread][pool] = if kept { reserve } else { 0 };
        }
        // Equal parts never meet, but for what is left from before the division.
        let over = |thread: usize| self.used[thread][pool] > self.cap[thread][pool];
        let contended = self.ways > 1 && (policy != Policy::Static || (0..MAX_THREADS).any(over));
        self.uncontended[pool] = if contended { 0 } else { u16::MAX };
    }

    /// How many entries of each pool the thread may still take: a sibling takes from it what it
    /// holds, or its reserve where that is more.
    #[inline(always)]
    pub(super) fn credits(&self, thread: usize) -> Credits {
        let mut rooms = [0; MAX_POOLS];
        self.rooms(thread, &mut rooms);
        Credits(u128::from_le_bytes(rooms) | Credits::GUARDS)
    }

    /// The same in bytes. Where this is inlined, compilers take its vectors apart byte by byte.
    #[inline(never)]
    fn rooms(&self, thread: usize, rooms: &mut [u8; MAX_POOLS]) {
        let thread = thread % MAX_THREADS;
        let mut claimed = self.used[thread];
        for step in 1..self.ways {
            let other =
                if self.ways == 2 { thread ^ 1 } else { (thread + step) % self.ways } % MAX_THREADS;
            let (used, reserve) = (&self.used[other], &self.reserve[other]);
            for pool in 0..MAX_POOLS {
                claimed[pool] += used[pool].max(reserve[pool]);
            }
        }
        let (used, cap) = (&self.used[thread], &self.cap[thread]);
        for pool in 0..MAX_POOLS {
            let shared = self.entries[pool].saturating_sub(claimed[pool]) | self.uncontended[pool];
            let room = cap[pool].saturating_sub(used[pool]).min(shared);
            rooms[pool] = room.min(Credits::MOST) as u8;
        }
    }

    /// How many entries of one pool.
    #[inline(always)]
    pub(super) fn room(&self, pool: usize, thread: usize) -> u16 {
        let (pool, thread) = (pool % MAX_POOLS, thread % MAX_THREADS);
        let used = self.used[thread][pool];
        let own = self.cap[thread][pool].saturating_sub(used);
        if self.uncontended[pool] != 0 {
            return own;
        }
        let by_siblings = self.claimed_by_siblings(pool, thread);
        own.min(self.entries[pool].saturating_sub(by_siblings + used))
    }

    /// What a thread takes from the others.
    #[inline(always)]
    fn claimed(&self, pool: usize, thread: usize) -> u16 {
        self.used[thread][pool].max(self.reserve[thread][pool])
    }

    #[inline(always)]
    fn claimed_by_siblings(&self, pool: usize, thread: usize) -> u16 {
        if self.ways == 2 {
            return self.claimed(pool, (thread ^ 1) % MAX_THREADS);
        }
        self.claimed_by_all_siblings(pool, thread)
    }

    /// Not inlined, or cores with two threads would work it out ahead of time and never need it.
    #[inline(never)]
    fn claimed_by_all_siblings(&self, pool: usize, thread: usize) -> u16 {
        let siblings = (0..self.ways).filter(|other| *other != thread);
        siblings.map(|other| self.claimed(pool, other)).sum()
    }

    /// Whether the thread may take one more entry.
    #[inline(always)]
    pub(super) fn has_room(&self, pool: usize, thread: usize) -> bool {
        let (pool, thread) = (pool % MAX_POOLS, thread % MAX_THREADS);
        let used = self.used[thread][pool];
        if used >= self.cap[thread][pool] || self.uncontended[pool] != 0 {
            return used < self.cap[thread][pool];
        }
        used + self.claimed_by_siblings(pool, thread) < self.entries[pool]
    }

    #[inline(always)]
    pub(super) fn take(&mut self, pool: usize, thread: usize, entries: u16) {
        self.used[thread % MAX_THREADS][pool % MAX_POOLS] += entries;
    }

    /// Takes what is in the one and not in the other: the credits before and after.
    #[inline(always)]
    pub(super) fn take_all(&mut self, thread: usize, before: Credits, after: Credits) {
        let taken = before.0.wrapping_sub(after.0).to_le_bytes();
        add(&mut self.used[thread % MAX_THREADS], &taken);
    }

    #[inline(always)]
    pub(super) fn give(&mut self, pool: usize, thread: usize, entries: u16) {
        let used = &mut self.used[thread % MAX_THREADS][pool % MAX_POOLS];
        debug_assert!(*used >= entries, "an entry is given back twice");
        *used = used.wrapping_sub(entries);
    }

    #[inline(always)]
    pub(super) fn used(&self, pool: usize, thread: usize) -> u16 {
        self.used[thread % MAX_THREADS][pool % MAX_POOLS]
    }

    /// Entries that the thread would find if it were alone, less those it has now: what sharing
    /// withholds when it finds no room.
    pub(super) fn withheld(&self, pool: usize, thread: usize) -> u16 {
        self.alone[pool % MAX_POOLS].saturating_sub(self.used(pool, thread))
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }
}

/// Not inlined, as [`Pools::rooms`].
#[inline(never)]
fn add(used: &mut Row, taken: &[u8; MAX_POOLS]) {
    for (used, taken) in used.chunks_exact_mut(8).zip(taken.chunks_exact(8)) {
        for (used, taken) in used.iter_mut().zip(taken) {
            *used += u16::from(*taken);
        }
    }
}
