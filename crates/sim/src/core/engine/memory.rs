//! The memory side: caches, miss buffers, bandwidth. Everything here is touched when an access
//! issues, never before: reserving at dispatch lets a pointer chase book the buffers thousands of
//! cycles ahead.

use super::page_map::{PageMap, Space, contexts};
use super::pool::{Pools, name};
use super::prefetch::Prefetcher;
use super::tags::{Evicted, Tags};
use super::translation::Translation;
use super::{MAX_THREADS, NEVER, Preset};
use crate::core::preset::{Cache, WritePolicy, limits};
use crate::core::{Counts, KERNEL_DATA};

const MAX_MISSES: usize = limits::MISS_BUFFERS;
/// Where a space's page tables begin, beyond all other data; and what an entry takes.
const PAGE_TABLES: u64 = 1 << 46;
const ENTRY_BYTES: u64 = 8;
/// So many of the lines that the first level was given last are remembered, a power of two.
const LAST_FILLS: u32 = 8;
/// Most lines on their way into outer levels.
const MAX_ARRIVING: usize = 32;

/// How far out an access was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Served {
    First = 1,
    Outer = 2,
    Memory = 3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// The data is there at this tick.
    At(u64, Served),
    /// No miss buffer is free before this tick.
    Retry(u64),
}

/// A line that was not in the first level when that had been filled so many times.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Missed {
    line: u32,
    fills: u32,
}

impl Missed {
    /// It has missed again.
    #[inline(always)]
    pub(super) fn again(&mut self, memory: &Memory) {
        self.fills = memory.fills;
    }
}

#[derive(Debug, Clone, Copy)]
struct Miss {
    line: u32,
    ready: u64,
    thread: u8,
    served: Served,
}

/// Buffers in which stores that miss a first level that writes through wait for their lines.
#[derive(Debug, Clone)]
struct Combining {
    buffers: usize,
    busy_until: [u64; MAX_MISSES],
}

impl Combining {
    fn new(buffers: u8) -> Self {
        Self { buffers: usize::from(buffers).min(MAX_MISSES), busy_until: [0; MAX_MISSES] }
    }

    fn free(&self, now: u64) -> Option<usize> {
        self.busy_until[..self.buffers].iter().position(|until| *until <= now)
    }

    /// When the first of them is free.
    fn next_free(&self, now: u64) -> u64 {
        let until = self.busy_until[..self.buffers].iter().min();
        until.map_or(now, |until| *until).max(now + 1)
    }
}

#[derive(Debug, Clone)]
struct Level {
    tags: Tags,
    ticks: u64,
    interval: u64,
    free_at: u64,
}

impl Level {
    fn new(cache: Cache, line_bytes: u16, threads: usize, ticks_per_cycle: u64) -> Self {
        Self {
            tags: Tags::of_cache(&cache, line_bytes, threads, false),
            ticks: u64::from(cache.load_cycles) * ticks_per_cycle,
            interval: u64::from(cache.interval_cycles) * ticks_per_cycle,
            free_at: 0,
        }
    }
}

/// The memory side of a core. Times are in ticks.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    map: PageMap,
    spaces: [Space; MAX_THREADS],
    translation: Translation,
    first: Tags,
    first_ticks: u64,
    alias_bits: u32,
    /// For the aliasing rule: lines of threads with different numbers never clash.
    contexts: [u32; MAX_THREADS],
    through: bool,
    combining: Combining,
    code: Option<Level>,
    outer: Vec<Level>,
    line_bits: u32,
    memory_ticks: u64,
    bus_interval: u64,
    bus_free_at: u64,
    lines_per_fill: u32,
    misses: [Miss; MAX_MISSES],
    miss_count: usize,
    /// When the first of them is served, or [`NEVER`]; and when the last is that there ever was.
    next_served: u64,
    last_served: u64,
    /// How many lines the first level has been given, from [`LAST_FILLS`], and the last of them.
    fills: u32,
    last_fills: [u32; LAST_FILLS as usize],
    /// Lines that are in an outer level's tags but not there yet: line and tick.
    arriving: [(u32, u64); MAX_ARRIVING],
    last_arrival: u64,
    prefetcher: Prefetcher,
}

impl Memory {
    pub(super) fn new(
        preset: &Preset,
        spaces: [Space; MAX_THREADS],
        seed: u64,
        ticks_per_cycle: u64,
    ) -> Self {
        let memory = &preset.memory;
        let threads = usize::from(preset.ways);
        let level = |cache: Cache| Level::new(cache, memory.line_bytes, threads, ticks_per_cycle);
        let idle = Miss { line: 0, ready: 0, thread: 0, served: Served::First };
        Self {
            map: PageMap::new(seed),
            spaces,
            translation: Translation::new(preset, ticks_per_cycle),
            first: Tags::of_cache(&memory.first, memory.line_bytes, threads, memory.alias_bits > 0),
            first_ticks: u64::from(memory.first.load_cycles) * ticks_per_cycle,
            alias_bits: u32::from(memory.alias_bits),
            contexts: contexts(memory.alias_contexts, &spaces),
            through: memory.write_policy == WritePolicy::Through,
            combining: Combining::new(memory.write_combining),
            code: preset.front_end.code_cache.map(level),
            outer: memory.outer.iter().copied().map(level).collect(),
            line_bits: u32::from(memory.line_bytes).trailing_zeros(),
            memory_ticks: u64::from(memory.memory_cycles) * ticks_per_cycle,
            bus_interval: u64::from(memory.memory_interval_cycles) * ticks_per_cycle,
            bus_free_at: 0,
            lines_per_fill: u32::from(memory.lines_per_fill),
            misses: [idle; MAX_MISSES],
            miss_count: 0,
            next_served: NEVER,
            last_served: 0,
            fills: LAST_FILLS,
            last_fills: [u32::MAX; LAST_FILLS as usize],
            arriving: [(0, 0); MAX_ARRIVING],
            last_arrival: 0,
            prefetcher: Prefetcher::new(memory.prefetcher, memory.line_bytes),
        }
    }

    /// Bytes of the last level; `None` without an outer one.
    pub(super) fn outermost_bytes(&self) -> Option<u64> {
        self.outer.last().map(|last| last.tags.entries() << self.line_bits)
    }

    pub(super) fn line_bytes(&self) -> usize {
        1 << self.line_bits
    }

    /// Puts a line into every outer level, without time or traffic.
    pub(super) fn place(&mut self, thread: usize, code: bool, address: u64) {
        let space = &self.spaces[thread];
        let place = match code {
            true => self.map.code(space, address as u32),
            false => self.map.data(space, address),
        };
        self.place_line(thread, (place >> self.line_bits) as u32);
    }

    /// The same for the page table's entries of a stretch of data, where walks read them.
    pub(super) fn place_entries(&mut self, thread: usize, start: u64, bytes: u64) {
        if self.translation.reads_entries() {
            let page = 1 << self.spaces[thread].page_bits;
            let of_a_line = page * (self.line_bytes() as u64 / ENTRY_BYTES);
            for offset in (0..bytes).step_by(of_a_line as usize) {
                self.place_line(thread, self.entry_line(thread, start + offset));
            }
        }
    }

    fn place_line(&mut self, thread: usize, line: u32) {
        for level in &mut self.outer {
            if !level.tags.touch(thread, line) {
                let _ = level.tags.insert(thread, line, false);
            }
        }
    }

    pub(super) fn divide(&mut self, awake: [bool; MAX_THREADS]) {
        self.translation.divide(awake);
        // Other ways may be seen: what missed is looked up anew.
        self.fills = self.fills.wrapping_add(LAST_FILLS).max(LAST_FILLS);
        self.first.divide(awake);
        for level in self.outer.iter_mut().chain(&mut self.code) {
            level.tags.divide(awake);
        }
    }

    #[inline(always)]
    pub(super) fn data_space(&self, thread: usize) -> u64 {
        self.spaces[thread].data
    }

    #[inline(always)]
    pub(super) fn line(&self, thread: usize, address: u64) -> u32 {
        (self.map.data(&self.spaces[thread], address) >> self.line_bits) as u32
    }

    #[inline(always)]
    pub(super) fn load(
        &mut self,
        thread: usize,
        address: u64,
        now: u64,
        pools: &mut Pools,
        counts: &mut Counts,
    ) -> Access {
        let line = self.line(thread, address);
        if self.first.touch(thread, line) {
            let ready = now + self.translate(thread, address, now, counts) + self.first_ticks;
            return self.under_way(line, ready);
        }
        self.miss(thread, address, line, now, pools, counts)
    }

    /// What a load that missed is to remember.
    pub(super) fn missed(&self, thread: usize, address: u64) -> Missed {
        Missed { line: self.line(thread, address), fills: self.fills }
    }

    /// Whether a load that missed certainly misses still and finds no buffer: when it may come again.
    #[inline(always)]
    pub(super) fn retries(
        &self,
        thread: usize,
        missed: Missed,
        now: u64,
        pools: &Pools,
    ) -> Option<u64> {
        let since = self.fills.wrapping_sub(missed.fills);
        let filled = |back: u32| {
            let number = self.fills.wrapping_sub(back);
            self.last_fills[(number % LAST_FILLS) as usize] == missed.line
        };
        let comes = since < LAST_FILLS
            && self.next_served > now
            && self.next_served != NEVER
            && !(0..since).any(filled);
        (comes && !pools.has_room(name::MISS_BUFFERS, thread)).then_some(self.next_served)
    }

    #[inline(always)]
    fn translate(&mut self, thread: usize, address: u64, now: u64, counts: &mut Counts) -> u64 {
        let page = self.spaces[thread].data_page_key(address);
        let ticks = self.translation.data(thread, page, now);
        counts.translation_misses += u64::from(ticks > 0);
        match if ticks > 0 { self.translation.reading() } else { None } {
            Some(walker) => self.read_entry(thread, walker, address, now + ticks) - now,
            None => ticks,
        }
    }

    /// Where the page table's entry of this address lies: page tables are data, eight bytes a page.
    fn entry_line(&self, thread: usize, address: u64) -> u32 {
        let space = &self.spaces[thread];
        let page = (address & !KERNEL_DATA) >> space.page_bits;
        self.line(thread, address & KERNEL_DATA | PAGE_TABLES | (page * ENTRY_BYTES))
    }

    /// A walker reads a page's entry as a load would, but for miss buffers; when it has.
    #[inline(never)]
    fn read_entry(&mut self, thread: usize, walker: usize, address: u64, now: u64) -> u64 {
        let line = self.entry_line(thread, address);
        let ready = match self.first.touch(thread, line) {
            true => now + self.first_ticks,
            false => self.fetch(thread, line, now, 0).0,
        };
        self.translation.read(walker, ready);
        ready
    }

    /// A hit on a line that may still be on its way.
    #[inline(always)]
    fn under_way(&self, line: u32, ready: u64) -> Access {
        if self.last_served > ready {
            for miss in &self.misses[..self.miss_count] {
                if miss.line == line && miss.ready > ready {
                    return Access::At(miss.ready, miss.served);
                }
            }
        }
        Access::At(ready, Served::First)
    }

    /// Gives back the buffers of misses that have been served.
    pub(super) fn expire(&mut self, now: u64, pools: &mut Pools) {
        if self.next_served > now {
            return;
        }
        let mut index = 0;
        self.next_served = NEVER;
        while index < self.miss_count {
            if self.misses[index].ready <= now {
                pools.give(name::MISS_BUFFERS, usize::from(self.misses[index].thread), 1);
                self.miss_count -= 1;
                self.misses[index] = self.misses[self.miss_count];
            } else {
                self.next_served = self.next_served.min(self.misses[index].ready);
                index += 1;
            }
        }
    }

    /// The first tick after `now` at which a miss is served.
    pub(super) fn next_served(&self, now: u64) -> Option<u64> {
        if self.next_served > now {
            return (self.next_served != NEVER).then_some(self.next_served);
        }
        let under_way = self.misses[..self.miss_count].iter().map(|miss| miss.ready);
        under_way.filter(|ready| *ready > now).min()
    }

    /// A load or store that is not in the first level: takes a miss buffer and fetches the line.
    #[inline(never)]
    fn miss(
        &mut self,
        thread: usize,
        address: u64,
        line: u32,
        now: u64,
        pools: &mut Pools,
        counts: &mut Counts,
    ) -> Access {
        let access = self.request(thread, address, line, now, pools, counts);
        if matches!(access, Access::At(..)) {
            counts.first_level_misses += 1;
            self.fill_first(thread, line, address, now, counts);
            for next in self.prefetcher.miss(line) {
                self.prefetch(thread, next, now);
            }
        }
        access
    }

    /// Takes a miss buffer, if one is free, and fetches the line from beyond the first level.
    #[inline(always)]
    fn request(
        &mut self,
        thread: usize,
        address: u64,
        line: u32,
        now: u64,
        pools: &mut Pools,
        counts: &mut Counts,
    ) -> Access {
        self.expire(now, pools);
        if !pools.has_room(name::MISS_BUFFERS, thread) || self.miss_count == MAX_MISSES {
            return Access::Retry(self.next_served(now).unwrap_or(now + 1));
        }
        pools.take(name::MISS_BUFFERS, thread, 1);
        let start = now + self.translate(thread, address, now, counts);
        let (ready, served) = self.fetch(thread, line, start, 0);
        self.misses[self.miss_count] = Miss { line, ready, thread: thread as u8, served };
        self.miss_count += 1;
        self.next_served = self.next_served.min(ready);
        self.last_served = self.last_served.max(ready);
        Access::At(ready, served)
    }

    fn fill_first(
        &mut self,
        thread: usize,
        line: u32,
        address: u64,
        now: u64,
        counts: &mut Counts,
    ) {
        self.fills = self.fills.wrapping_add(1).max(LAST_FILLS);
        self.last_fills[(self.fills % LAST_FILLS) as usize] = line;
        let evicted = if self.alias_bits > 0 {
            let alias = (address & ((1 << self.alias_bits) - 1)) >> self.line_bits;
            let alias = (alias as u32) << 2 | self.contexts[thread];
            let (evicted, by_rule) = self.first.insert_aliased(thread, line, false, alias);
            counts.alias_evictions += u64::from(by_rule);
            evicted
        } else {
            self.first.insert(thread, line, false)
        };
        self.write_back(thread, evicted, 0, now);
    }

    /// Fetches a line from outer level `from` or beyond, and leaves it in the levels it passes.
    fn fetch(&mut self, thread: usize, line: u32, start: u64, from: usize) -> (u64, Served) {
        let mut queued = start;
        for index in from..self.outer.len() {
            let level = &mut self.outer[index];
            if level.interval > 0 {
                queued = queued.max(level.free_at);
                level.free_at = queued + level.interval;
            }
            if level.tags.touch(thread, line) {
                let mut ready = queued + level.ticks;
                let mut served = Served::Outer;
                if self.last_arrival > ready {
                    for &(arriving, tick) in &self.arriving {
                        if arriving == line && tick > ready {
                            (ready, served) = (tick, Served::Memory);
                        }
                    }
                }
                self.leave(thread, line, from..index, queued);
                return (ready, served);
            }
        }
        queued = queued.max(self.bus_free_at);
        self.bus_free_at = queued + self.bus_interval * u64::from(self.lines_per_fill.max(1));
        let ready = queued + self.memory_ticks;
        self.leave(thread, line, from..self.outer.len(), queued);
        self.fetch_neighbours(thread, line, ready, queued);
        (ready, Served::Memory)
    }

    /// The other lines of the unit in which memory is read.
    fn fetch_neighbours(&mut self, thread: usize, line: u32, ready: u64, now: u64) {
        let Some(last) = self.outer.len().checked_sub(1) else { return };
        for other in 1..self.lines_per_fill {
            let neighbour = line ^ other;
            if !self.outer[last].tags.holds(thread, neighbour) {
                self.leave(thread, neighbour, last..last + 1, now);
                self.arrives(neighbour, ready + self.bus_interval * u64::from(other), now);
            }
        }
    }

    fn leave(&mut self, thread: usize, line: u32, levels: std::ops::Range<usize>, now: u64) {
        for index in levels {
            let evicted = self.outer[index].tags.insert(thread, line, false);
            self.write_back(thread, evicted, index + 1, now);
        }
    }

    /// Writes a line that went out, if it is dirty, to outer level `to` or to memory.
    fn write_back(&mut self, thread: usize, evicted: Option<Evicted>, to: usize, now: u64) {
        let mut evicted = evicted.filter(|out| out.dirty);
        let mut to = to;
        while let Some(out) = evicted {
            let Some(level) = self.outer.get_mut(to) else {
                self.bus_free_at = self.bus_free_at.max(now) + self.bus_interval;
                return;
            };
            if level.tags.touch_as(thread, out.key, true) {
                return;
            }
            evicted = level.tags.insert(thread, out.key, true).filter(|out| out.dirty);
            to += 1;
        }
    }

    fn prefetch(&mut self, thread: usize, line: u32, now: u64) {
        let wanted = self.outer.first().is_some_and(|level| !level.tags.holds(thread, line));
        if wanted && self.arriving.iter().any(|&(_, tick)| tick <= now) {
            let (ready, _) = self.fetch(thread, line, now, 0);
            self.arrives(line, ready, now);
        }
    }

    fn arrives(&mut self, line: u32, ready: u64, now: u64) {
        if let Some(free) = self.arriving.iter_mut().find(|(_, tick)| *tick <= now) {
            *free = (line, ready);
            self.last_arrival = self.last_arrival.max(ready);
        }
    }

    /// A store whose address and data are known: asks for its line, to be written later.
    #[inline]
    pub(super) fn ask_for_store(
        &mut self,
        thread: usize,
        address: u64,
        now: u64,
        pools: &mut Pools,
        counts: &mut Counts,
    ) -> Access {
        let line = self.line(thread, address);
        if self.first.touch(thread, line) {
            let ready = now + self.translate(thread, address, now, counts);
            return self.under_way(line, ready);
        }
        if !self.through {
            return self.miss(thread, address, line, now, pools, counts);
        }
        // Write-through does not allocate in the first level; the second must hold the line.
        let Some(second) = self.outer.first_mut() else {
            return Access::At(now, Served::First);
        };
        if second.tags.touch(thread, line) {
            let ready = now + self.translate(thread, address, now, counts);
            return Access::At(ready, Served::Outer);
        }
        if self.combining.buffers > 0 {
            return self.combine(thread, address, line, now, counts);
        }
        self.request(thread, address, line, now, pools, counts)
    }

    /// Fetches the line of a store that misses into the buffers that combine writes: they are other ones
    /// than those of loads.
    fn combine(
        &mut self,
        thread: usize,
        address: u64,
        line: u32,
        now: u64,
        counts: &mut Counts,
    ) -> Access {
        let Some(buffer) = self.combining.free(now) else {
            return Access::Retry(self.combining.next_free(now));
        };
        let start = now + self.translate(thread, address, now, counts);
        let (ready, served) = self.fetch(thread, line, start, 0);
        self.combining.busy_until[buffer] = ready;
        Access::At(ready, served)
    }

    /// Writes a store whose line is there; `false` where the second level is busy.
    #[inline]
    pub(super) fn write(&mut self, thread: usize, line: u32, now: u64) -> bool {
        if !self.through {
            if !self.first.touch_as(thread, line, true) {
                // The line went out while the store waited: it is written one level further.
                self.write_back(thread, Some(Evicted { key: line, dirty: true }), 0, now);
            }
            return true;
        }
        if let Some(second) = self.outer.first_mut() {
            if second.free_at > now {
                return false;
            }
            second.free_at = now + second.interval;
        }
        self.write_back(thread, Some(Evicted { key: line, dirty: true }), 0, now);
        true
    }

    /// When the second level can take another write.
    pub(super) fn writable_at(&self) -> u64 {
        self.outer.first().map_or(0, |second| second.free_at)
    }

    /// The key of the stretch of code at `code`, of `1 << bits` bytes, in the uop cache.
    #[inline(always)]
    pub(super) fn code_key(&self, thread: usize, code: u32, bits: u32) -> u32 {
        self.spaces[thread].code_line_key(code >> bits, code)
    }

    /// Ticks until the code at this address is there; 0 where it is in the code cache.
    pub(super) fn code(&mut self, thread: usize, code: u32, now: u64) -> u64 {
        let space = &self.spaces[thread];
        let line = (self.map.code(space, code) >> self.line_bits) as u32;
        let page = space.code_page_key(code);
        let walk = self.translation.code(thread, page, now);
        if let Some(level) = &mut self.code {
            if level.tags.touch(thread, line) {
                return walk;
            }
            let _ = level.tags.insert(thread, line, false);
        }
        let (ready, _) = self.fetch(thread, line, now + walk, 0);
        ready - now
    }
}
