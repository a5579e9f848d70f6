//! Locks: which thread owns one, which spin, and what a store costs siblings that read its line early.

use super::thread::{SPIN_ROUND, StoreEntry, bucket, mark};
use super::{Core, MAX_THREADS, NEVER};
use crate::core::{Component, Effect, KERNEL_DATA};

/// Locks of one address space; a stream's lock numbers count modulo this.
pub(super) const NUMBERS: usize = 16;
/// Locks of a core: the kernel's, and those of as many address spaces as there are threads.
pub(super) const LOCKS: usize = NUMBERS * (1 + MAX_THREADS);

impl Core<'_> {
    /// The lock of this number whose word a thread has at this address.
    fn lock(&self, thread: usize, number: u16, address: u64) -> usize {
        let space = if address & KERNEL_DATA != 0 { 0 } else { 1 + self.first_of_space[thread] };
        space * NUMBERS + usize::from(number) % NUMBERS
    }

    /// A locked operation executes: younger work may rename again, and an acquire takes its lock
    /// or begins to spin.
    pub(super) fn execute_atomic(&mut self, thread: usize, slot: usize, complete: u64) {
        let after = complete.div_ceil(self.ticks_per_cycle);
        let oldest = self.threads[thread].slots[slot];
        let lock = self.lock(thread, oldest.argument, oldest.address);
        let state = &mut self.threads[thread];
        state.rename_at = after;
        if state.slots[slot].effect == Effect::None {
            return;
        }
        state.fetch_at = after;
        let owner = &mut self.owners[lock];
        if owner.is_none_or(|owner| usize::from(owner) == thread) {
            *owner = Some(thread as u8);
            state.spin = None;
        } else {
            // This attempt was no work; the one that succeeds will be.
            state.slots[slot].marks |= mark::SPIN;
            state.counts.contended_acquires += 1;
            if let Some(spin) = &mut state.spin {
                (spin.step, spin.leaving) = (0, false);
            }
        }
    }

    /// A spinning thread reads the lock's word. Where it reads "free", its branch turns out
    /// mispredicted: what it fetched behind is dropped, and the acquire is fetched next.
    pub(super) fn read_lock_word(&mut self, thread: usize, slot: usize, complete: u64) {
        let read = self.threads[thread].slots[slot];
        let lock = self.lock(thread, read.argument, read.address);
        let spinning = &mut self.threads[thread];
        let Some(spin) = &mut spinning.spin else { return };
        if spin.leaving || self.owners[lock].is_some() {
            return;
        }
        spin.leaving = true;
        let dropped = spinning.fetched - spinning.renamed;
        spinning.fetched = spinning.renamed;
        self.pools.give(super::pool::name::UOP_QUEUE, thread, dropped as u16);
        // The test and the branch follow the load, a cycle each; then the refill.
        let resolved = complete.div_ceil(self.ticks_per_cycle) + 1;
        let refill = u64::from(self.preset.front_end.mispredict_cycles).saturating_sub(2);
        spinning.fetch_at = resolved + refill;
        spinning.supply = Component::Lock;
        if spinning.rename_cause == Component::Pause {
            // The PAUSE behind the branch was fetched on the wrong path, too.
            spinning.rename_at = spinning.rename_at.min(self.cycle);
        }
    }

    /// A store has become visible: gives its lock back, and undoes the siblings' loads of its line
    /// that were executed and have not retired.
    pub(super) fn store_visible(&mut self, thread: usize, store: StoreEntry) {
        let StoreEntry { line, release, address, .. } = store;
        if release != u16::MAX && release != SPIN_ROUND {
            let lock = self.lock(thread, release, address);
            let owner = &mut self.owners[lock];
            if owner.is_some_and(|owner| usize::from(owner) == thread) {
                *owner = None;
            }
        }
        if !self.spaces_shared {
            return;
        }
        for sibling in 0..self.ways {
            let place = bucket(u64::from(line));
            if sibling == thread || self.threads[sibling].load_lines[place] == 0 {
                continue;
            }
            let until = self.cycle + u64::from(self.preset.memory.machine_clear_cycles);
            let state = &mut self.threads[sibling];
            state.counts.machine_clears += 1;
            state.load_lines.fill(0);
            state.cleared = state.renamed;
            if state.rename_at != NEVER && state.rename_at < until {
                state.rename_at = until;
                state.rename_cause = Component::MachineClear;
            }
        }
    }
}
