//! A mispredicted branch is known to be one: what was fetched behind it goes out of queue and window.

use super::issue::SLOT_BITS;
use super::pool::name;
use super::retire::GIVEN;
use super::thread::bucket;
use super::wheel::{self, SPAN};
use super::{Core, NEVER, WINDOW};
use crate::core::Class;

impl Core<'_> {
    /// A branch executes: fetch goes on where it was mispredicted.
    #[inline(always)]
    pub(super) fn resolve(&mut self, thread: usize, index: usize) {
        let state = &self.threads[thread];
        if state.astray() && state.mispredicted == state.number(index) {
            self.squash(thread);
            let state = &mut self.threads[thread];
            state.mispredicted = NEVER;
            state.begin_trace();
            // Fetched then, renamed one cycle later, issued two cycles later.
            let refill = u64::from(self.preset.front_end.mispredict_cycles).saturating_sub(2);
            state.fetch_at = self.cycle + refill;
            let recovered = self.cycle + refill.min(u64::from(self.preset.recovery_cycles));
            self.recovered_at = self.recovered_at.max(recovered);
        }
    }

    /// Drops what is behind the thread's mispredicted branch.
    #[inline(never)]
    fn squash(&mut self, thread: usize) {
        let state = &self.threads[thread];
        let (end, keep) = (state.renamed, state.mispredicted + 1);
        let queued = (state.fetched - end) as u16;
        self.pools.give(name::UOP_QUEUE, thread, queued);
        self.pools.give(name::REORDER_BUFFER, thread, (end - keep) as u16);
        let (mut given, mut stores) = ([0; GIVEN.len()], 0);
        for number in keep..end {
            let state = &mut self.threads[thread];
            let index = state.place(number);
            let slot = state.slots[index];
            for (byte, given) in given.iter_mut().enumerate() {
                *given += (slot.gives >> (8 * byte) & 0xff) as u16;
            }
            if slot.class == Class::Store {
                stores += 1;
                state.store_buckets[bucket(slot.address >> 3)] -= 1;
            }
            if slot.complete != NEVER {
                continue;
            }
            state.waiting -= 1;
            if slot.pending == 0 && !state.withdraw(index, usize::from(slot.group)) {
                self.unschedule(thread, index);
            }
            let scheduler = usize::from(self.tables.scheduler[slot.class as usize]);
            self.pools.give(scheduler, thread, 1);
            self.binding.leave(usize::from(slot.group), &self.tables);
        }
        for (pool, given) in GIVEN.into_iter().zip(given) {
            self.pools.give(pool, thread, given);
        }
        let state = &mut self.threads[thread];
        state.stores_renamed = state.stores_renamed.wrapping_sub(stores);
        (state.renamed, state.fetched) = (keep, keep);
        state.cleared = state.cleared.min(keep);
        state.forget_consumers();
        self.replays.drop_from(thread, keep);
    }

    /// Takes a slot's event out of the wheel.
    fn unschedule(&mut self, thread: usize, index: usize) {
        let event = (thread << SLOT_BITS | index) as u16;
        let at = self.threads[thread].slots[index].ready % SPAN;
        // One that waits in the last bucket is somewhere else.
        let _ = self.unlink(at, event) || (0..SPAN).any(|bucket| self.unlink(bucket, event));
    }

    fn unlink(&mut self, bucket: u64, event: u16) -> bool {
        let slot = |event: u16| (usize::from(event >> SLOT_BITS), usize::from(event) % WINDOW);
        let (thread, index) = slot(event);
        let next = self.threads[thread].slots[index].event;
        let mut link = self.wheel.head(bucket);
        if link == event {
            self.wheel.drop_head(bucket, next);
            return true;
        }
        while link != wheel::NONE {
            let (thread, index) = slot(link);
            let linked = &mut self.threads[thread].slots[index];
            link = linked.event;
            if link == event {
                linked.event = next;
                self.wheel.done();
                return true;
            }
        }
        false
    }
}

impl super::thread::Thread<'_> {
    /// Takes those that are no longer in the window off the lists of consumers: they are the youngest, and
    /// stand first.
    fn forget_consumers(&mut self) {
        for number in self.retired..self.renamed {
            let place = self.place(number);
            if self.slots[place].complete != NEVER {
                continue;
            }
            let mut link = self.slots[place].consumers;
            while link != u16::MAX && self.number(usize::from(link >> 2)) >= self.renamed {
                link = self.slots[usize::from(link >> 2) % WINDOW].next[usize::from(link & 3) % 3];
            }
            self.slots[place].consumers = link;
        }
    }
}
