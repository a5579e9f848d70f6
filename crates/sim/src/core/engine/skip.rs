//! Cycles in which nothing can happen are jumped over. What each thread waits for stays the same
//! until the next event, so its slots are charged as they would have been, cycle by cycle.

use super::{Core, MAX_STORES, NEVER, WATCH_EVERY};
use crate::core::outcome::Component;

impl Core<'_> {
    /// Jumps to the next cycle in which something can happen; `false` where there is none.
    pub(super) fn skip(&mut self, bound: u64) -> bool {
        let Some(next) = self.next_event() else { return false };
        let next = next.min(bound);
        if next <= self.cycle {
            return true;
        }
        let idle = next - self.cycle;
        let width = u64::from(self.preset.rename.width);
        let tick = self.cycle * self.ticks_per_cycle;
        for thread in 0..self.ways {
            if !self.awake[thread] {
                self.charge(thread, Component::Halt, width * idle);
            } else if let Some(block) = self.block(thread) {
                self.charge_block(thread, block, width * idle, tick);
            }
        }
        let watched = (next - 1) / WATCH_EVERY - (self.cycle - 1) / WATCH_EVERY;
        if watched > 0 {
            self.watch_occupancy(tick, watched);
        }
        self.cycle = next;
        true
    }

    /// The first cycle from now on in which something happens. `self.cycle` is the cycle that
    /// would run next.
    fn next_event(&self) -> Option<u64> {
        let mut next = NEVER;
        let mut at = |cycle: u64| {
            if cycle >= self.cycle {
                next = next.min(cycle);
            }
        };
        let last_tick = self.cycle * self.ticks_per_cycle - 1;
        if let Some(tick) = self.wheel.next(last_tick) {
            at(tick / self.ticks_per_cycle);
        }
        if let Some(tick) = self.memory.next_served(last_tick) {
            at(tick.div_ceil(self.ticks_per_cycle));
        }
        for (thread, state) in self.threads.iter().enumerate() {
            at(state.wake_at);
            if !self.awake[thread] {
                continue;
            }
            at(state.fetch_at);
            at(state.rename_at);
            if state.retired != state.renamed {
                let complete = state.slots[state.place(state.retired)].complete;
                at(complete.div_ceil(self.ticks_per_cycle));
            }
            if state.written != state.stores_retired {
                let ready = state.stores[state.written as usize % MAX_STORES].line_ready;
                at(ready.div_ceil(self.ticks_per_cycle));
            }
        }
        (next != NEVER).then_some(next)
    }
}
