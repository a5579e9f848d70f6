//! Retirement, in order for each thread, and behind it the stores' way into the cache.

use super::memory::Access;
use super::pool::name;
use super::thread::{bucket, mark};
use super::{Core, MAX_STORES, NEVER, stage};
use crate::core::preset::ThreadSelect;
use crate::core::uop::{Class, Effect};

/// What one thread's retirement gives back.
#[derive(Default)]
struct Retired {
    all: u16,
    loads: u16,
    integers: u16,
    floats: u16,
    work: u64,
    halt: Option<u64>,
}

impl Core<'_> {
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
        let mut retired = Retired::default();
        while retired.all < width && state.retired < state.renamed {
            let slot = &state.slots[state.place(state.retired)];
            if slot.complete > tick {
                break;
            }
            retired.all += 1;
            retired.work += u64::from(slot.marks & mark::SPIN == 0);
            match slot.class {
                Class::Load | Class::Atomic => {
                    retired.loads += 1;
                    if slot.marks & mark::WATCHED != 0 && state.retired >= state.cleared {
                        let line = self.memory.line(thread, slot.address);
                        state.load_lines[bucket(u64::from(line))] -= 1;
                    }
                }
                Class::Store => state.stores_retired = state.stores_retired.wrapping_add(1),
                _ => {}
            }
            match slot.class.writes_float_register() {
                Some(true) => retired.floats += 1,
                Some(false) => retired.integers += 1,
                None => {}
            }
            state.retired += 1;
            if slot.effect == Effect::Halt {
                retired.halt = Some(slot.address);
                break;
            }
        }
        self.give_back(thread, &retired);
        retired.all
    }

    fn give_back(&mut self, thread: usize, retired: &Retired) {
        self.pools.give(name::REORDER_BUFFER, thread, retired.all);
        if retired.loads > 0 {
            self.pools.give(name::LOAD_BUFFER, thread, retired.loads);
        }
        if self.preset.integer_registers.is_some() {
            self.pools.give(name::INTEGER_REGISTERS, thread, retired.integers);
        }
        if self.preset.float_registers.is_some() {
            self.pools.give(name::FLOAT_REGISTERS, thread, retired.floats);
        }
        let state = &mut self.threads[thread];
        if retired.work > 0 {
            state.last_progress = self.cycle;
            let before = state.uops;
            state.uops += retired.work;
            if before < state.target && state.uops >= state.target {
                self.unfinished -= 1;
            }
        }
        if let Some(cycles) = retired.halt {
            self.halt(thread, cycles);
        }
    }

    /// Writes retired stores, each thread's in order, as many as the cache takes in a cycle.
    pub(super) fn write_stores(&mut self, tick: u64) {
        let mut left = self.preset.memory.commits_per_cycle;
        let order = self.order(ThreadSelect::Alternate, stage::WRITE);
        for thread in order {
            while left > 0 && self.write_store(thread, tick) {
                left -= 1;
                self.turn[stage::WRITE] = thread;
            }
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
        let (line, release) = (entry.line, entry.release);
        entry.line_ready = NEVER;
        state.store_buckets[bucket(entry.address >> 3)] -= 1;
        state.written = state.written.wrapping_add(1);
        self.pools.give(name::STORE_BUFFER, thread, 1);
        if self.spaces_shared || release != u16::MAX {
            self.store_visible(thread, line, release);
        }
        true
    }
}
