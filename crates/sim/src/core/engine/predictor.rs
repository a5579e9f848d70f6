//! The branch predictor: two-bit counters, tagged, indexed by site and recent outcomes.
//!
//! It learns when a branch is fetched, in program order, so that with a copy for each thread what
//! it predicts depends on that thread alone.

use super::MAX_THREADS;
use crate::core::preset::{Predictor as Description, Sharing};

/// A counter from 0 (surely not taken) to 3 (surely taken), and whose it is.
#[derive(Debug, Clone, Copy)]
struct Counter {
    tag: u16,
    value: u8,
}

/// The tables of all threads.
#[derive(Debug, Clone)]
pub(super) struct Predictor {
    counters: Vec<Counter>,
    mask: u32,
    history_mask: u32,
    history: [u32; MAX_THREADS],
    copy: [usize; MAX_THREADS],
    shared: bool,
}

impl Predictor {
    pub(super) fn new(description: Description, threads: usize) -> Self {
        let entries = description.entries.next_power_of_two();
        let shared = description.sharing != Sharing::Replicated;
        let copies = if shared { 1 } else { threads };
        let mut copy = [0; MAX_THREADS];
        for (thread, start) in copy.iter_mut().enumerate() {
            *start = thread % copies * entries as usize;
        }
        Self {
            counters: vec![Counter { tag: 0, value: 2 }; entries as usize * copies],
            mask: entries - 1,
            history_mask: (1 << description.history_bits.min(16)) - 1,
            history: [0; MAX_THREADS],
            copy,
            shared,
        }
    }

    /// Predicts the branch at `site`, learns its outcome, and tells whether it was predicted.
    ///
    /// A shared table's entries are tagged with their owner, as NetBurst's are: siblings compete
    /// for entries, and do not mistake each other's.
    #[inline(always)]
    pub(super) fn predict(&mut self, thread: usize, site: u32, taken: bool) -> bool {
        let history = self.history[thread];
        let owner = if self.shared { thread as u32 } else { 0 };
        let hash = (site ^ owner << 28).wrapping_mul(0x9e37_79b1);
        let hash = hash ^ hash >> 15;
        let index = ((hash ^ history.wrapping_mul(0x85eb_ca6b) >> 7) & self.mask) as usize;
        let tag = (hash >> 16) as u16 ^ owner as u16;
        let counter = &mut self.counters[self.copy[thread] + index];
        if counter.tag != tag {
            // A branch that is not known is predicted taken: most are, loops above all.
            *counter = Counter { tag, value: 2 };
        }
        let right = (counter.value >= 2) == taken;
        counter.value =
            if taken { (counter.value + 1).min(3) } else { counter.value.saturating_sub(1) };
        self.history[thread] = (history << 1 | u32::from(taken)) & self.history_mask;
        right
    }
}
