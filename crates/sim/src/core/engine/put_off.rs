//! Loads that miss and find no miss buffer are put off until one is free: all of them together, since
//! all wait for the same tick. Where nothing else can issue, whole stretches of cycles go by in which
//! the oldest of them try their ports in vain.

use super::issue::{Cursor, age, oldest};
use super::tables::MAX_PORTS;
use super::{Core, MAX_THREADS, NEVER};

/// Most ports of loads.
const PORTS: usize = 4;

impl Core<'_> {
    /// Puts off a load that is ready, until the tick `at`.
    #[inline(always)]
    pub(super) fn put_off(&mut self, thread: usize, index: usize, at: u64, tick: u64) {
        let state = &mut self.threads[thread];
        let slot = &mut state.slots[index];
        let group = usize::from(slot.group);
        slot.missed.again(&self.memory);
        slot.ready = at;
        state.clear_ready(index, group);
        if self.put_off_until == NEVER {
            self.put_off_until = at;
        }
        if self.put_off_until == at {
            state.put_off(index, group);
        } else {
            self.schedule(thread, index, at, tick);
        }
    }

    /// What was put off is ready again.
    #[inline(never)]
    pub(super) fn come_again(&mut self) {
        self.put_off_until = NEVER;
        for thread in self.threads.iter_mut() {
            thread.come_again();
        }
    }

    /// Puts off all loads whose turn comes before the cycle `until`, as long as nothing else can
    /// issue; gives how many cycles that takes.
    pub(super) fn put_off_on_end(&mut self, until: u64) -> u64 {
        let groups = self.threads.iter().fold(0, |all, thread| all | thread.ready_groups);
        let alone = groups.is_power_of_two() && groups & self.tables.single_units == 0;
        let group = groups.trailing_zeros() as usize % MAX_PORTS;
        let ports = self.tables.group_ports[group].count_ones() as usize;
        if !alone || ports > PORTS || self.ticks_per_cycle > 1 || self.replays.any() {
            return 0;
        }
        let now = self.cycle;
        let Some(served) = self.memory.next_served(now - 1) else { return 0 };
        let comes = self.wheel.next(now - 1).unwrap_or(NEVER).min(self.put_off_until).min(served);
        let until = until.min(comes);
        let (mut cursors, mut ages) = ([Cursor::default(); MAX_THREADS], [0; MAX_THREADS]);
        for (thread, state) in self.threads.iter().enumerate() {
            cursors[thread] = Cursor::at(state);
            ages[thread] = age(cursors[thread].advance(state, 0), self.stamp);
        }
        let mut cycle = now;
        while cycle < until {
            let (mut picked, mut count) = ([(0, 0); PORTS], 0);
            while count < ports {
                let thread = oldest(&ages, self.ways);
                if ages[thread] == 0 {
                    break;
                }
                let state = &self.threads[thread];
                let index = cursors[thread].slot;
                let missed = state.slots[index].missed;
                if self.memory.retries(thread, missed, cycle, &self.pools).is_none() {
                    return cycle - now;
                }
                picked[count] = (thread, index);
                count += 1;
                ages[thread] = age(cursors[thread].advance(state, 0), self.stamp);
            }
            if count == 0 {
                break;
            }
            for (thread, index) in &picked[..count] {
                self.put_off(*thread, *index, served, cycle);
            }
            cycle += 1;
        }
        cycle - now
    }
}
