//! Cycles in which nothing can happen are jumped over. What each thread waits for stays the same
//! until the next event, so its slots are charged as they would have been, cycle by cycle.
//!
//! Loads that find no miss buffer come again and again until one is free. Meanwhile the other
//! stages rest: only issue runs, and a cycle costs no more than what is put off in it.

use super::rename::Block;
use super::{Core, MAX_STORES, MAX_THREADS, NEVER, WATCH_EVERY};
use crate::core::Component;

/// Why a thread cannot rename, and what its slots are charged to meanwhile.
type Waits = [Option<(Block, Component)>; MAX_THREADS];

/// Whether a cause depends on which ports siblings take, which are others in each cycle.
fn is_by_ports(cause: Component) -> bool {
    matches!(cause, Component::Execution | Component::SiblingPorts)
}

impl Core<'_> {
    /// After a cycle in which nothing happened: goes on to where something does, or to `limit`.
    /// `false` where nothing will ever happen; nothing is awaited beyond `bound`.
    pub(super) fn rest(&mut self, limit: u64, bound: u64) -> bool {
        if self.none_ready() {
            return self.skip(bound);
        }
        let until = self.next_outside_issue().min(limit);
        let tick = self.cycle * self.ticks_per_cycle;
        let waits: Waits = std::array::from_fn(|thread| {
            let awake = thread < self.ways && self.awake[thread];
            let block = if awake { self.block(thread) } else { None };
            block.map(|block| (block, self.cause(thread, block, tick)))
        });
        let by_ports = waits.iter().flatten().any(|(_, cause)| is_by_ports(*cause));
        while self.cycle < until {
            let tick = self.cycle * self.ticks_per_cycle;
            let put_off = if by_ports { 0 } else { self.put_off_on_end(until) };
            if put_off > 0 {
                self.charge_waits(&waits, put_off, tick);
                self.pass(put_off, tick);
                if self.none_ready() {
                    return self.skip(bound);
                }
                continue;
            }
            self.issue_cycle(tick);
            if self.busy {
                // What issued can let rename go on, and that fetch.
                self.end_cycle(tick);
                return true;
            }
            self.charge_waits(&waits, 1, tick);
            self.pass(1, tick);
            if self.none_ready() {
                return self.skip(bound);
            }
        }
        true
    }

    fn none_ready(&self) -> bool {
        self.threads.iter().all(|thread| thread.ready_groups == 0)
    }

    /// Lets cycles go by that have been charged.
    #[inline(always)]
    fn pass(&mut self, cycles: u64, tick: u64) {
        let next = self.cycle + cycles;
        let watched = (next - 1) / WATCH_EVERY - (self.cycle - 1) / WATCH_EVERY;
        if watched > 0 {
            self.watch_occupancy(tick, watched);
        }
        self.cycle = next;
    }

    /// Charges the slots of cycles in which no thread renames.
    #[inline(always)]
    fn charge_waits(&mut self, waits: &Waits, cycles: u64, tick: u64) {
        let width = cycles * u64::from(self.preset.rename.width);
        for (thread, waits) in waits.iter().enumerate().take(self.ways) {
            match *waits {
                None => self.charge(thread, Component::Halt, width),
                Some((block, cause)) if is_by_ports(cause) => {
                    self.charge_block(thread, block, width, tick);
                }
                Some((block, cause)) => self.charge_cause(thread, block, cause, width),
            }
        }
    }

    /// Jumps to the next cycle in which something can happen; `false` where there is none.
    fn skip(&mut self, bound: u64) -> bool {
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
        self.pass(idle, tick);
        true
    }

    /// The first cycle from now on in which something happens. `self.cycle` is the cycle that
    /// would run next.
    fn next_event(&self) -> Option<u64> {
        let mut next = self.next_outside_issue();
        let mut at = |cycle: u64| {
            if cycle >= self.cycle {
                next = next.min(cycle);
            }
        };
        let last_tick = self.cycle * self.ticks_per_cycle - 1;
        if let Some(tick) = self.wheel.next(last_tick) {
            at(tick / self.ticks_per_cycle);
        }
        if self.put_off_until != NEVER {
            at(self.put_off_until / self.ticks_per_cycle);
        }
        if let Some(tick) = self.memory.next_served(last_tick) {
            at(self.cycles_to(tick));
        }
        (next != NEVER).then_some(next)
    }

    /// The same but for what issues, and for misses, which no other stage waits for.
    fn next_outside_issue(&self) -> u64 {
        let mut next = NEVER;
        let mut at = |cycle: u64| {
            if cycle >= self.cycle {
                next = next.min(cycle);
            }
        };
        for (thread, state) in self.threads.iter().enumerate() {
            at(state.wake_at);
            if !self.awake[thread] {
                continue;
            }
            at(state.fetch_at);
            at(state.rename_at);
            if state.retired != state.renamed {
                let complete = state.slots[state.place(state.retired)].complete;
                at(self.cycles_to(complete));
            }
            if state.written != state.stores_retired {
                let ready = state.stores[state.written as usize % MAX_STORES].line_ready;
                at(self.cycles_to(ready));
            }
            if self.tables.asks_ahead > 0 && state.stores_asked != state.stores_retired {
                let ready = state.stores[state.stores_asked as usize % MAX_STORES].line_ready;
                at(self.cycles_to(ready));
            }
        }
        next
    }
}
