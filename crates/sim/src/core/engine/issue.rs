//! Issue: the oldest micro-operations whose sources are there, on the ports that are free.

use super::memory::Access;
use super::thread::{SPIN_ROUND, bucket, mark};
use super::{Core, MAX_STORES, MAX_THREADS, NEVER, WINDOW, wheel};
use crate::core::uop::{Class, Effect};

/// An event of the wheel is a thread and a slot.
const SLOT_BITS: u32 = WINDOW.trailing_zeros();

impl Core<'_> {
    /// Lets a slot wake at a tick after `now`.
    #[inline(always)]
    pub(super) fn schedule(&mut self, thread: usize, slot: usize, at: u64, now: u64) {
        let event = (thread << SLOT_BITS | slot) as u16;
        self.threads[thread].slots[slot].event = self.wheel.push(now, at.max(now + 1), event);
    }

    /// Marks those ready whose time has come.
    #[inline(always)]
    fn wake(&mut self, tick: u64) {
        let mut event = self.wheel.take(tick);
        while event != wheel::NONE {
            let (thread, index) = (usize::from(event >> SLOT_BITS), usize::from(event) % WINDOW);
            let state = &mut self.threads[thread];
            let slot = &state.slots[index];
            let (next, at) = (slot.event, slot.ready);
            self.wheel.done();
            if at > tick {
                self.schedule(thread, index, at, tick);
            } else {
                let group = usize::from(self.tables.group[slot.class as usize]);
                state.set_ready(index, group);
            }
            self.busy = true;
            event = next;
        }
    }

    /// Issues what can issue at this tick on these ports.
    pub(super) fn issue(&mut self, tick: u64, ports: u16) {
        self.wake(tick);
        let mut groups = self.open_groups(tick, ports);
        let mut free = ports;
        let mut candidates = [NEVER; MAX_THREADS];
        let mut any = false;
        for (state, candidate) in self.threads.iter().zip(&mut candidates) {
            if state.ready_count > 0 {
                self.busy = true;
                *candidate = state.oldest_ready(state.retired, groups).unwrap_or(NEVER);
                any |= *candidate != NEVER;
            }
        }
        while any {
            let thread = self.older(&candidates);
            let number = candidates[thread];
            let slot = &self.threads[thread].slots[number as usize % WINDOW];
            let group = usize::from(self.tables.group[slot.class as usize]);
            if groups >> group & 1 == 1 {
                let usable = self.tables.group_ports[group] & free;
                let port = usable.trailing_zeros();
                free &= !(1 << port);
                self.execute(thread, number as usize % WINDOW, group, tick);
                groups = self.still_open(groups, group, port, free);
            }
            let state = &self.threads[thread];
            candidates[thread] = state.oldest_ready(number + 1, groups).unwrap_or(NEVER);
            any = candidates[..self.ways].iter().any(|candidate| *candidate != NEVER);
        }
    }

    /// The thread whose candidate was dispatched first.
    #[inline(always)]
    fn older(&self, candidates: &[u64; MAX_THREADS]) -> usize {
        let mut oldest = MAX_THREADS;
        let mut age = 0;
        for (thread, &candidate) in candidates[..self.ways].iter().enumerate() {
            if candidate != NEVER {
                let stamp = self.threads[thread].slots[candidate as usize % WINDOW].stamp;
                let this = self.stamp.wrapping_sub(stamp);
                if oldest == MAX_THREADS || this > age {
                    (oldest, age) = (thread, this);
                }
            }
        }
        oldest
    }

    /// Groups that have a free port and a free unit.
    #[inline(always)]
    fn open_groups(&self, tick: u64, ports: u16) -> u16 {
        let mut groups = 0;
        for group in 0..self.tables.group_count {
            let open =
                self.tables.group_ports[group] & ports != 0 && self.unit_free_at[group] <= tick;
            groups |= u16::from(open) << group;
        }
        groups
    }

    /// The groups that stay open after `port` was taken by `group`.
    #[inline(always)]
    fn still_open(&self, groups: u16, group: usize, port: u32, free: u16) -> u16 {
        let mut groups = groups;
        if self.tables.single_units >> group & 1 == 1 {
            groups &= !(1 << group);
        }
        let mut touched = self.tables.port_groups[port as usize & 15] & groups;
        while touched != 0 {
            let other = touched.trailing_zeros() as usize;
            if self.tables.group_ports[other] & free == 0 {
                groups &= !(1 << other);
            }
            touched &= touched - 1;
        }
        groups
    }

    /// Executes one micro-operation, or puts a load off that finds no miss buffer.
    #[inline(always)]
    fn execute(&mut self, thread: usize, index: usize, group: usize, tick: u64) {
        let state = &mut self.threads[thread];
        state.clear_ready(index, group);
        let slot = &mut state.slots[index];
        let class = slot.class;
        let complete = match class {
            Class::Load | Class::Atomic => {
                let Some(complete) = self.execute_load(thread, index, tick) else { return };
                complete
            }
            Class::Store => {
                self.ask_for_line(thread, index, tick);
                tick + self.tables.latency[class as usize]
            }
            Class::Branch => {
                self.resolve(thread, index);
                tick + self.tables.latency[class as usize]
            }
            _ => tick + self.tables.latency[class as usize],
        };
        if self.tables.interval[class as usize] != 0 {
            self.unit_free_at[group] = tick + self.tables.interval[class as usize];
        }
        let state = &mut self.threads[thread];
        state.waiting -= 1;
        self.pools.give(usize::from(self.tables.scheduler[class as usize]), thread, 1);
        let slot = &mut state.slots[index];
        slot.complete = complete;
        let mut link = std::mem::replace(&mut slot.consumers, u16::MAX);
        while link != u16::MAX {
            let (consumer, source) = (usize::from(link >> 2) % WINDOW, usize::from(link & 3) % 3);
            let slot = &mut self.threads[thread].slots[consumer];
            link = slot.next[source];
            slot.ready = slot.ready.max(complete);
            slot.pending -= 1;
            if slot.pending == 0 {
                let at = slot.ready;
                self.schedule(thread, consumer, at, tick);
            }
        }
    }

    /// A load or locked operation; `None` where it has to come again.
    #[inline(always)]
    fn execute_load(&mut self, thread: usize, index: usize, tick: u64) -> Option<u64> {
        let state = &mut self.threads[thread];
        let slot = state.slots[index];
        let mut extra = 0;
        if slot.marks & (mark::FORWARDED | mark::BLOCKED) != 0 && state.in_buffer(slot.store) {
            let memory = &self.preset.memory;
            if slot.marks & mark::FORWARDED != 0 {
                state.counts.loads += 1;
                state.counts.forwarded_loads += 1;
                state.slots[index].served = 1;
                return Some(tick + u64::from(memory.forward_cycles) * self.ticks_per_cycle);
            }
            extra = u64::from(memory.forward_blocked_cycles) * self.ticks_per_cycle;
        }
        let access =
            self.memory.load(thread, slot.address, tick, &mut self.pools, &mut state.counts);
        let (ready, served) = match access {
            Access::At(ready, served) => (ready, served),
            Access::Retry(at) => {
                state.slots[index].ready = at;
                self.schedule(thread, index, at, tick);
                return None;
            }
        };
        state.counts.loads += 1;
        state.counts.memory_loads += u64::from(served == super::memory::Served::Memory);
        state.slots[index].served = served as u8;
        if self.spaces_shared {
            self.watch_load(thread, index);
        }
        let complete = ready + extra;
        if slot.class == Class::Atomic {
            let complete = complete.max(tick + self.tables.latency[Class::Atomic as usize]);
            self.execute_atomic(thread, index, complete);
            return Some(complete);
        }
        if slot.effect != Effect::None && slot.argument != SPIN_ROUND {
            self.read_lock_word(thread, slot.argument, complete);
        }
        Some(complete)
    }

    /// Notes a load that a sibling's store could undo.
    fn watch_load(&mut self, thread: usize, index: usize) {
        let state = &mut self.threads[thread];
        let number = state.number(index);
        let line = self.memory.line(thread, state.slots[index].address);
        let place = &mut state.load_lines[bucket(u64::from(line))];
        if number >= state.cleared && *place < u8::MAX {
            *place += 1;
            state.slots[index].marks |= mark::WATCHED;
        }
    }

    /// A store knows its address: its line is asked for ahead of time.
    fn ask_for_line(&mut self, thread: usize, index: usize, tick: u64) {
        let state = &mut self.threads[thread];
        let store = state.slots[index].store;
        let address = state.slots[index].address;
        let asked =
            self.memory.ask_for_store(thread, address, tick, &mut self.pools, &mut state.counts);
        let entry = &mut state.stores[store as usize % MAX_STORES];
        entry.line = self.memory.line(thread, address);
        (entry.line_ready, entry.requested) = match asked {
            Access::At(ready, _) => (ready, true),
            Access::Retry(at) => (at, false),
        };
    }

    /// A branch executes: fetch goes on where it was mispredicted.
    #[inline(always)]
    fn resolve(&mut self, thread: usize, index: usize) {
        let state = &mut self.threads[thread];
        if state.mispredicted != NEVER && state.mispredicted == state.number(index) {
            state.mispredicted = NEVER;
            // Fetched then, renamed one cycle later, issued two cycles later.
            let refill = u64::from(self.preset.front_end.mispredict_cycles).saturating_sub(2);
            state.fetch_at = self.cycle + refill;
        }
    }
}
