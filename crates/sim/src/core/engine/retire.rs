//! Retirement, in order for each thread, and behind it the stores' way into the cache.

use super::memory::Access;
use super::pool::name;
use super::thread::{bucket, mark};
use super::{Core, MAX_STORES, NEVER, stage};
use crate::core::preset::ThreadSelect;

/// Pools of which retirement gives entries back, in the order of the bytes of `Slot::gives`.
pub(super) const GIVEN: [usize; 4] = [
    name::LOAD_BUFFER,
    // Written stores give their entries back, retired ones do not yet.
    name::STORE_BUFFER,
    name::INTEGER_REGISTERS,
    name::FLOAT_REGISTERS,
];

impl Core<'_> {
    #[inline(never)]
    pub(super) fn retire(&mut self, tick: u64) {
        let description = self.preset.retire;
        let order = self.order(description.select, stage::RETIRE);
        let mut left = u16::from(description.width);
        let mut served = 0;
        for thread in order {
            let state = &self.threads[thread];
            if state.retired == state.renamed {
                continue;
            }
            let oldest = &state.slots[state.place(state.retired)];
            if oldest.complete > tick {
                if oldest.marks & mark::OLDEST != 0 {
                    self.release_oldest(thread, tick);
                }
                continue;
            }
            if served == description.threads_per_cycle || left == 0 {
                continue;
            }
            self.busy = true;
            left -= self.retire_thread(thread, left, tick);
            served += 1;
            self.turn[stage::RETIRE] = thread;
        }
    }

    /// A locked operation is the oldest: it may issue once the older stores are written.
    fn release_oldest(&mut self, thread: usize, tick: u64) {
        let state = &mut self.threads[thread];
        let index = state.place(state.retired);
        if state.written != state.stores_retired {
            return;
        }
        let slot = &mut state.slots[index];
        slot.marks &= !mark::OLDEST;
        slot.pending -= 1;
        self.replays.forget_followers();
        if slot.pending == 0 {
            self.busy = true;
            let at = slot.ready;
            if at <= tick {
                let group = usize::from(slot.group);
                state.set_ready(index, group);
            } else {
                // The wheel's buckets up to this tick have been taken; this tick's has not.
                self.schedule(thread, index, at, tick.saturating_sub(1));
            }
        }
    }

    fn retire_thread(&mut self, thread: usize, width: u16, tick: u64) -> u16 {
        let state = &mut self.threads[thread];
        let (first, mut number) = (state.retired, state.retired);
        let end = state.renamed.min(first + u64::from(width));
        let (mut gives, mut marks) = (0, 0);
        while number < end && marks & mark::HALT == 0 {
            let slot = &state.slots[state.place(number)];
            if slot.complete > tick {
                break;
            }
            gives += slot.gives;
            marks |= slot.marks;
            number += 1;
        }
        let all = (number - first) as u16;
        let spins = if marks & (mark::SPIN | mark::WATCHED) == 0 {
            0
        } else {
            self.retire_marked(thread, first..number)
        };
        let state = &mut self.threads[thread];
        state.retired = number;
        state.stores_retired = state.stores_retired.wrapping_add(gives >> 8 & 0xff);
        self.pools.give(name::REORDER_BUFFER, thread, all);
        for (byte, pool) in GIVEN.into_iter().enumerate() {
            let entries = (gives >> (8 * byte) & 0xff) as u16;
            if pool != name::STORE_BUFFER && entries > 0 {
                self.pools.give(pool, thread, entries);
            }
        }
        self.progress(thread, u64::from(all) - spins);
        if marks & mark::HALT != 0 {
            let state = &self.threads[thread];
            let cycles = state.slots[state.place(number - 1)].address;
            self.halt(thread, cycles);
        }
        all
    }

    /// Forgets the loads that siblings' stores were watched for; gives how many were of a spin.
    fn retire_marked(&mut self, thread: usize, numbers: std::ops::Range<u64>) -> u64 {
        let mut spins = 0;
        for number in numbers {
            let state = &mut self.threads[thread];
            let slot = &state.slots[state.place(number)];
            spins += u64::from(slot.marks & mark::SPIN != 0);
            if slot.marks & mark::WATCHED != 0 && number >= state.cleared {
                let line = self.memory.line(thread, slot.address);
                state.load_lines[bucket(u64::from(line))] -= 1;
            }
        }
        spins
    }

    fn progress(&mut self, thread: usize, work: u64) {
        if work > 0 {
            let state = &mut self.threads[thread];
            state.last_progress = self.cycle;
            let before = state.uops;
            state.uops += work;
            if before < state.target && state.uops >= state.target {
                self.unfinished -= 1;
            }
        }
    }

    /// Writes retired stores, each thread's in order, as many as the cache takes in a cycle.
    #[inline(never)]
    pub(super) fn write_stores(&mut self, tick: u64) {
        if self.threads.iter().all(|thread| thread.written == thread.stores_retired) {
            return;
        }
        let mut left = self.preset.memory.commits_per_cycle;
        let order = self.order(ThreadSelect::Alternate, stage::WRITE);
        for thread in order {
            while left > 0 && self.write_store(thread, tick) {
                left -= 1;
                self.turn[stage::WRITE] = thread;
            }
            if self.tables.asks_ahead > 0 {
                self.ask_ahead(thread, tick);
            }
        }
    }

    /// Asks for the line of the first retired store that found no miss buffer when it executed: stores are
    /// written in order, but their lines come side by side (Gharachorloo, Gupta and Hennessy, "Two techniques
    /// to enhance the performance of memory consistency models", ICPP 1991).
    #[inline(always)]
    fn ask_ahead(&mut self, thread: usize, tick: u64) {
        let limit = self.tables.asks_ahead;
        let state = &mut self.threads[thread];
        let ahead = |of: u32| of.wrapping_sub(state.written);
        if ahead(state.stores_asked) > ahead(state.stores_retired) {
            // It was written since.
            state.stores_asked = state.written;
        }
        while state.stores_asked != state.stores_retired
            && state.stores_asked.wrapping_sub(state.written) < limit
        {
            let entry = &mut state.stores[state.stores_asked as usize % MAX_STORES];
            if !entry.requested {
                if entry.line_ready > tick {
                    return;
                }
                let (pools, counts) = (&mut self.pools, &mut state.counts);
                let asked = self.memory.ask_for_store(thread, entry.address, tick, pools, counts);
                match asked {
                    Access::At(ready, _) => (entry.line_ready, entry.requested) = (ready, true),
                    Access::Retry(at) => entry.line_ready = at,
                }
                self.busy |= entry.requested;
                return;
            }
            state.stores_asked = state.stores_asked.wrapping_add(1);
        }
    }

    /// Writes the oldest retired store of a thread, if its line is there.
    #[inline(always)]
    fn write_store(&mut self, thread: usize, tick: u64) -> bool {
        let state = &mut self.threads[thread];
        if state.written == state.stores_retired {
            return false;
        }
        let entry = &mut state.stores[state.written as usize % MAX_STORES];
        if entry.line_ready > tick {
            return false;
        }
        self.busy = true;
        if !entry.requested {
            let (pools, counts) = (&mut self.pools, &mut state.counts);
            let asked = self.memory.ask_for_store(thread, entry.address, tick, pools, counts);
            (entry.line_ready, entry.requested) = match asked {
                Access::At(ready, _) => (ready, true),
                Access::Retry(at) => (at, false),
            };
            if !entry.requested || entry.line_ready > tick {
                return false;
            }
        }
        if !self.memory.write(thread, entry.line, tick) {
            entry.line_ready = self.memory.writable_at().max(tick + 1);
            return false;
        }
        let store = *entry;
        entry.line_ready = NEVER;
        state.store_buckets[bucket(store.address >> 3)] -= 1;
        state.written = state.written.wrapping_add(1);
        self.pools.give(name::STORE_BUFFER, thread, 1);
        if self.spaces_shared || store.release != u16::MAX {
            self.store_visible(thread, store);
        }
        true
    }
}
