//! Locks: who owns one, who spins, and what a store costs the siblings that read its line early.

use super::thread::{SPIN_ROUND, bucket, mark};
use super::{Core, NEVER};
use crate::core::outcome::Component;
use crate::core::uop::Effect;

/// Locks that the threads of a core may share; a stream's lock numbers count modulo this.
pub(super) const LOCKS: usize = 16;

impl Core<'_> {
    /// A locked operation executes: younger work may rename again, and an acquire takes its lock
    /// or begins to spin.
    pub(super) fn execute_atomic(&mut self, thread: usize, slot: usize, complete: u64) {
        let after = complete.div_ceil(self.ticks_per_cycle);
        let state = &mut self.threads[thread];
        state.rename_at = after;
        if state.slots[slot].effect == Effect::None {
            return;
        }
        state.fetch_at = after;
        let owner = &mut self.owners[usize::from(state.slots[slot].argument) % LOCKS];
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
    pub(super) fn read_lock_word(&mut self, thread: usize, lock: u16, complete: u64) {
        let spinning = &mut self.threads[thread];
        let Some(spin) = &mut spinning.spin else { return };
        if spin.leaving || self.owners[usize::from(lock) % LOCKS].is_some() {
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
    pub(super) fn store_visible(&mut self, thread: usize, line: u32, release: u16) {
        if release != u16::MAX && release != SPIN_ROUND {
            let owner = &mut self.owners[usize::from(release) % LOCKS];
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
