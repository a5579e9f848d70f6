//! Locks: which thread owns one, which spin, and what a store costs siblings that read its line early.

use super::thread::{SPIN_ROUND, Spin, StoreEntry, Try, bucket, mark};
use super::{Core, MAX_THREADS, NEVER};
use crate::core::{Component, Effect, KERNEL_DATA};

/// Locks of one address space; a stream's lock numbers count modulo this.
pub(super) const NUMBERS: usize = 16;
/// Locks of a core: the kernel's, and those of as many address spaces as there are threads.
pub(super) const LOCKS: usize = NUMBERS * (1 + MAX_THREADS);

/// A thread whose lock was given back so often while it spun, and taken again each time, has it next. Rounds of equal
/// length would keep it out for good, and no machine repeats itself to the cycle. How soon a real one breaks step is an
/// assumption.
const PASSED_OVER: u8 = 8;

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
            self.written_at[lock] = after;
            (state.spin, state.trying, state.passed_over) = (None, None, 0);
        } else {
            state.trying = Some(Try { lock, slot, until: after });
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
        let taken = self.owners[lock].is_some_and(|owner| usize::from(owner) != thread)
            && self.written_at[lock] <= self.cycle;
        if spin.leaving || taken {
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

    /// A lock is free: a sibling's acquire that is under way has it, for a locked operation reads and writes at its
    /// end, not when it begins.
    fn hand_over(&mut self, thread: usize, lock: usize) {
        for sibling in (0..self.ways).filter(|sibling| *sibling != thread) {
            let state = &mut self.threads[sibling];
            if let Some(it) = state.trying.take_if(|it| it.lock == lock && it.until > self.cycle) {
                state.slots[it.slot].marks &= !mark::SPIN;
                (state.spin, state.passed_over) = (None, 0);
                self.owners[lock] = Some(sibling as u8);
                self.written_at[lock] = it.until;
                return;
            }
            let Some(Spin { acquire: word, .. }) = state.spin else { continue };
            if self.lock(sibling, word.argument, word.address) != lock {
                continue;
            }
            let passed_over = &mut self.threads[sibling].passed_over;
            *passed_over = passed_over.saturating_add(1);
            if *passed_over >= PASSED_OVER {
                self.owners[lock] = Some(sibling as u8);
                return;
            }
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
                self.hand_over(thread, lock);
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
