//! Address translation: buffers for code and data, an optional second level, and walkers.

use super::tags::Tags;
use super::{MAX_THREADS, Preset};
use crate::core::preset::{Tlb, limits};

/// The translation buffers of a core. Times are in ticks.
#[derive(Debug, Clone)]
pub(super) struct Translation {
    code: Tags,
    data: Tags,
    second: Option<(Tags, u64)>,
    walk_ticks: u64,
    walkers: usize,
    free_at: [u64; limits::WALKERS],
    /// Whether a walk for data has an entry to read, and the walker that has.
    entries_in_caches: bool,
    reads: Option<usize>,
}

impl Translation {
    pub(super) fn new(preset: &Preset, ticks_per_cycle: u64) -> Self {
        let threads = usize::from(preset.ways);
        let buffer = |tlb: Tlb| {
            let ways = usize::from(tlb.ways);
            Tags::new(u32::from(tlb.entries) / ways as u32, ways, tlb.sharing, threads, false)
        };
        let description = preset.memory.translation;
        Self {
            code: buffer(description.code),
            data: buffer(description.data),
            second: description
                .second
                .map(|(tlb, cycles)| (buffer(tlb), u64::from(cycles) * ticks_per_cycle)),
            walk_ticks: u64::from(description.walk_cycles) * ticks_per_cycle,
            walkers: usize::from(description.walkers).clamp(1, limits::WALKERS),
            free_at: [0; limits::WALKERS],
            entries_in_caches: description.entries_in_caches,
            reads: None,
        }
    }

    pub(super) fn divide(&mut self, awake: [bool; MAX_THREADS]) {
        self.code.divide(awake);
        self.data.divide(awake);
        if let Some((second, _)) = &mut self.second {
            second.divide(awake);
        }
    }

    /// Ticks that translating a data page adds; 0 is a hit.
    #[inline(always)]
    pub(super) fn data(&mut self, thread: usize, page: u32, now: u64) -> u64 {
        if self.data.touch(thread, page) {
            return 0;
        }
        self.reads = None;
        let ticks = self.beyond(thread, page, now);
        let _ = self.data.insert(thread, page, false);
        ticks
    }

    /// Ticks that translating a code page adds; 0 is a hit.
    #[inline(always)]
    pub(super) fn code(&mut self, thread: usize, page: u32, now: u64) -> u64 {
        if self.code.touch(thread, page) {
            return 0;
        }
        let ticks = self.beyond(thread, page, now);
        let _ = self.code.insert(thread, page, false);
        ticks
    }

    /// The second level and the walk behind it.
    fn beyond(&mut self, thread: usize, page: u32, now: u64) -> u64 {
        let mut ticks = 0;
        if let Some((second, second_ticks)) = &mut self.second {
            ticks = *second_ticks;
            if second.touch(thread, page) {
                return ticks;
            }
            let _ = second.insert(thread, page, false);
        }
        let mut walker = 0;
        for other in 1..self.walkers {
            if self.free_at[other] < self.free_at[walker] {
                walker = other;
            }
        }
        let end = self.free_at[walker].max(now + ticks) + self.walk_ticks;
        self.free_at[walker] = end;
        self.reads = self.entries_in_caches.then_some(walker);
        end - now
    }

    /// Whether walks for data read their entries from the caches.
    pub(super) fn reads_entries(&self) -> bool {
        self.entries_in_caches
    }

    /// The walker that has yet to read the entry of the page that was translated last, if it walked.
    #[inline(always)]
    pub(super) fn reading(&mut self) -> Option<usize> {
        self.reads.take()
    }

    /// A walker has read its entry at this tick.
    pub(super) fn read(&mut self, walker: usize, at: u64) {
        self.free_at[walker] = self.free_at[walker].max(at);
    }
}
