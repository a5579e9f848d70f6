//! The branch predictor: two-bit counters by site, and counters by site and recent outcomes for
//! the branches that those get wrong.
//!
//! The second table is the last component of TAGE (Seznec and Michaud, "A case for (partially)
//! tagged geometric history length branch prediction", 2006) and no more of it: where an entry of
//! the history is found, it decides; entries are made only when a branch was mispredicted, so that
//! steady branches leave the table to those that need it.
//!
//! It learns when a branch is fetched, in program order, so that with a copy for each thread what
//! it predicts depends on that thread alone.

use super::MAX_THREADS;
use crate::core::preset::{Predictor as Description, Sharing};

/// A counter from 0 (strongly not taken) to 3 (strongly taken), and the tag of its branch.
#[derive(Debug, Clone, Copy)]
struct Counter {
    tag: u16,
    value: u8,
}

impl Counter {
    #[inline(always)]
    fn learn(&mut self, taken: bool) {
        self.value = if taken { (self.value + 1).min(3) } else { self.value.saturating_sub(1) };
    }
}

#[derive(Debug, Clone)]
pub(super) struct Predictor {
    by_site: Vec<Counter>,
    by_history: Vec<Counter>,
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
        // No branch is known yet.
        let unknown = vec![Counter { tag: 0, value: 2 }; entries as usize * copies];
        Self {
            by_history: if description.history_bits > 0 { unknown.clone() } else { Vec::new() },
            by_site: unknown,
            mask: entries - 1,
            history_mask: (1 << description.history_bits.min(16)) - 1,
            history: [0; MAX_THREADS],
            copy,
            shared,
        }
    }

    /// Predicts the branch at `site`, learns its outcome, and tells whether it was predicted.
    ///
    /// A shared table's entries belong to an address space: siblings compete for entries, and
    /// those of different programs do not mistake each other's. (NetBurst tags with the logical
    /// CPU; with the space, exchanging the threads changes nothing.) The space moves the index,
    /// too: siblings in the same code would else fight for the same entries in every round.
    #[inline]
    pub(super) fn predict(&mut self, thread: usize, space: u64, site: u32, taken: bool) -> bool {
        let owner = if self.shared { space as u32 } else { 0 };
        let hash = (site ^ owner.wrapping_mul(0x7feb_352d)).wrapping_mul(0x9e37_79b1);
        let hash = hash ^ hash >> 15;
        // Never 0, which is the tag of what is not known.
        let tag = (hash >> 16) as u16 | 1;
        let counter = &mut self.by_site[self.copy[thread] + (hash & self.mask) as usize];
        if counter.tag != tag {
            // A branch that is not known is predicted taken: most are, loops above all.
            *counter = Counter { tag, value: 2 };
        }
        let mut predicted = counter.value >= 2;
        counter.learn(taken);
        if !self.by_history.is_empty() {
            let history = self.history[thread];
            let mixed = (hash ^ history.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35);
            let tag = (mixed >> 8) as u16 | 1;
            let index = self.copy[thread] + (mixed >> 16 & self.mask) as usize;
            let counter = &mut self.by_history[index];
            if counter.tag == tag {
                // An entry decides once it has been right: what made it may have been chance.
                if matches!(counter.value, 0 | 3) {
                    predicted = counter.value == 3;
                }
                counter.learn(taken);
            } else if predicted != taken {
                *counter = Counter { tag, value: if taken { 2 } else { 1 } };
            }
            self.history[thread] = (history << 1 | u32::from(taken)) & self.history_mask;
        }
        predicted == taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mispredicts(history_bits: u8, outcomes: impl Iterator<Item = bool>) -> usize {
        let sharing = Sharing::Replicated;
        let mut predictor = Predictor::new(Description { entries: 4096, history_bits, sharing }, 1);
        outcomes.filter(|taken| !predictor.predict(0, 0, 0x40_0000, *taken)).count()
    }

    #[test]
    fn a_pattern_needs_history_and_a_steady_branch_does_not() {
        let pattern = || (0..3000).map(|index| index % 3 == 0);
        assert!(mispredicts(8, pattern()) < 60);
        assert!(mispredicts(0, pattern()) > 900);
        assert_eq!(mispredicts(0, (0..3000).map(|_| true)), 0);
        assert!(mispredicts(8, (0..3000).map(|_| false)) < 4);
    }
}
