//! Issue: the oldest micro-operations whose sources are there, on the ports that are free.

use super::memory::Access;
use super::tables::MAX_PORTS;
use super::thread::{Thread, bucket, mark};
use super::{Core, MAX_STORES, MAX_THREADS, WINDOW, wheel};
use crate::core::{Class, Counts, Effect};

/// An event of the wheel is a thread and a slot.
pub(super) const SLOT_BITS: u32 = WINDOW.trailing_zeros();

/// A thread's place among those of its micro-operations that are ready, oldest first.
#[derive(Clone, Copy, Default)]
pub(super) struct Cursor {
    /// The word of the window being looked at, by number, and what is left of it.
    word: u64,
    bits: u64,
    /// The candidate: its slot and group.
    pub(super) slot: usize,
    group: usize,
}

impl Cursor {
    /// Before the oldest.
    #[inline(always)]
    pub(super) fn at(state: &Thread<'_>) -> Self {
        let word = state.retired / 64;
        let bits = state.ready_word(word) & u64::MAX << (state.retired % 64);
        Self { word, bits, ..Self::default() }
    }

    /// Goes on to the next candidate outside the closed groups; gives its stamp.
    #[inline(always)]
    pub(super) fn advance(&mut self, state: &Thread<'_>, closed: u16) -> Option<u32> {
        if state.ready_groups & !closed == 0 {
            return None;
        }
        loop {
            if self.bits == 0 {
                self.word += 1;
                if self.word * 64 >= state.renamed {
                    return None;
                }
                self.bits = state.ready_word(self.word);
                continue;
            }
            let number = self.word * 64 + u64::from(self.bits.trailing_zeros());
            if number >= state.renamed {
                // The ring's other end: what is left of this word was looked at first.
                return None;
            }
            let slot = state.place(number);
            let candidate = &state.slots[slot];
            let group = usize::from(candidate.group % 16);
            if closed >> group & 1 == 1 {
                // All of the group at once: it will not open again in this tick.
                self.bits &= !state.ready_group(self.word, group);
                continue;
            }
            self.bits &= self.bits - 1;
            (self.slot, self.group) = (slot, group);
            return Some(candidate.stamp);
        }
    }
}

/// How long ago a candidate was dispatched; 0 where there is none.
#[inline(always)]
pub(super) fn age(stamp: Option<u32>, now: u32) -> u32 {
    stamp.map_or(0, |stamp| now.wrapping_sub(stamp).wrapping_add(1))
}

/// The thread of the greatest age.
#[inline(always)]
pub(super) fn oldest(ages: &[u32; MAX_THREADS], ways: usize) -> usize {
    if ways <= 2 {
        return usize::from(ages[1] > ages[0]);
    }
    let older = |one: usize, other: usize| if ages[other] > ages[one] { other } else { one };
    older(older(0, 1), older(2, 3))
}

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
                let group = usize::from(slot.group);
                state.set_ready(index, group);
            }
            event = next;
        }
    }

    /// Issues what can issue at this tick on these ports.
    #[inline(never)]
    pub(super) fn issue(&mut self, tick: u64, ports: u16) {
        self.wake(tick);
        if self.put_off_until <= tick {
            self.come_again();
        }
        let groups = self.threads.iter().fold(0, |all, thread| all | thread.ready_groups);
        if groups == 0 {
            return;
        }
        let ports = if self.replays.any() { self.replay(tick, ports) } else { ports };
        let busy_units = self.busy_units(tick);
        let mut closed = self.tables.closed[usize::from(ports)] | busy_units;
        let mut free = ports;
        let mut cursors = [Cursor::default(); MAX_THREADS];
        // How long ago each thread's candidate was dispatched, 0 where it has none.
        let mut ages = [0; MAX_THREADS];
        for (thread, state) in self.threads.iter().enumerate() {
            if state.ready_groups & !closed != 0 {
                let cursor = &mut cursors[thread % MAX_THREADS];
                *cursor = Cursor::at(state);
                ages[thread % MAX_THREADS] = age(cursor.advance(state, closed), self.stamp);
            }
        }
        // The oldest candidate's thread is kept apart from the others, as it often has the next one, too.
        let mut thread = oldest(&ages, self.ways);
        let mut cursor = cursors[thread];
        let mut oldest_age = std::mem::take(&mut ages[thread]);
        loop {
            let rival = oldest(&ages, self.ways);
            if ages[rival] > oldest_age {
                (cursors[thread], ages[thread]) = (cursor, oldest_age);
                (thread, cursor) = (rival, cursors[rival]);
                oldest_age = std::mem::take(&mut ages[rival]);
            }
            if oldest_age == 0 {
                return;
            }
            let Cursor { slot, group, .. } = cursor;
            if closed >> group & 1 == 0 {
                let port = (self.tables.group_ports[group % MAX_PORTS] & free).trailing_zeros();
                free &= !(1 << port);
                self.taken_ports[thread] |= 1 << port;
                self.execute(thread, slot, tick);
                if free == 0 {
                    return;
                }
                closed = self.tables.closed[usize::from(free)]
                    | closed & self.tables.single_units
                    | self.tables.single_units & 1 << group;
            }
            oldest_age = age(cursor.advance(&self.threads[thread], closed), self.stamp);
        }
    }

    /// Whether the oldest of the thread's micro-operations that are ready and have not issued could
    /// have gone to a port that a sibling took in this cycle.
    pub(super) fn port_taken_by_sibling(&self, thread: usize) -> bool {
        let state = &self.threads[thread];
        if self.awake_count < 2 || state.ready_groups == 0 {
            return false;
        }
        let siblings = (0..self.ways).filter(|other| *other != thread);
        let taken = siblings.fold(0, |ports, other| ports | self.taken_ports[other % MAX_THREADS]);
        if taken == 0 {
            return false;
        }
        let mut group = state.ready_groups.trailing_zeros() as usize;
        if self.tables.binds || !state.ready_groups.is_power_of_two() {
            let mut cursor = Cursor::at(state);
            if cursor.advance(state, 0).is_none() {
                return false;
            }
            let choices = self.tables.choices[state.slots[cursor.slot].class as usize];
            if choices != 0 {
                // The one that it is bound to is one of several that siblings keep busy.
                return choices & taken != 0;
            }
            group = cursor.group;
        }
        self.tables.group_ports[group % MAX_PORTS] & taken != 0
    }

    /// Groups whose one unit is busy.
    #[inline(always)]
    fn busy_units(&self, tick: u64) -> u16 {
        let mut busy = 0;
        let mut units = if self.units_free_at > tick { self.tables.single_units } else { 0 };
        while units != 0 {
            let group = units.trailing_zeros() as usize % 16;
            busy |= u16::from(self.unit_free_at[group] > tick) << group;
            units &= units - 1;
        }
        busy
    }

    /// Executes one micro-operation, or puts a load off that finds no miss buffer.
    #[inline(always)]
    fn execute(&mut self, thread: usize, index: usize, tick: u64) {
        let state = &mut self.threads[thread];
        let slot = &mut state.slots[index % WINDOW];
        let (class, group, marks) = (slot.class, usize::from(slot.group), slot.marks);
        if let Some(at) = self.memory.retries(thread, slot.missed, tick, &self.pools) {
            self.put_off(thread, index, at, tick);
            return;
        }
        state.clear_ready(index, group);
        let mut complete = tick + self.tables.latency[class as usize];
        match class {
            Class::Load | Class::Atomic => match self.execute_load(thread, index, tick) {
                Some(at) => complete = at,
                None => return,
            },
            Class::Store if marks & mark::ASTRAY == 0 => self.ask_for_line(thread, index, tick),
            Class::Branch => self.resolve(thread, index),
            _ => {}
        }
        self.busy = true;
        let interval = self.tables.interval[class as usize];
        if interval != 0 {
            self.unit_free_at[group] = tick + interval;
            self.units_free_at = self.units_free_at.max(tick + interval);
        }
        self.pools.give(usize::from(self.tables.scheduler[class as usize]), thread, 1);
        if self.tables.binds {
            self.binding.leave(group, &self.tables);
        }
        let state = &mut self.threads[thread];
        state.waiting -= 1;
        let slot = &mut state.slots[index % WINDOW];
        slot.complete = complete;
        let mut link = slot.consumers;
        while link != u16::MAX {
            let (consumer, source) = (usize::from(link >> 2) % WINDOW, usize::from(link & 3) % 3);
            let slot = &mut state.slots[consumer];
            link = slot.next[source];
            slot.ready = slot.ready.max(complete);
            slot.pending -= 1;
            if slot.pending == 0 {
                let at = slot.ready.max(tick + 1);
                let event = (thread << SLOT_BITS | consumer) as u16;
                slot.event = self.wheel.push(tick, at, event);
            }
        }
    }

    /// A load or locked operation; `None` where it has to come again.
    #[inline(always)]
    fn execute_load(&mut self, thread: usize, index: usize, tick: u64) -> Option<u64> {
        let state = &mut self.threads[thread];
        let slot = &state.slots[index];
        let (address, class, effect) = (slot.address, slot.class, slot.effect);
        let astray = slot.marks & mark::ASTRAY != 0;
        let mut extra = 0;
        if slot.marks & (mark::FORWARDED | mark::BLOCKED) != 0 && state.in_buffer(slot.store) {
            let memory = &self.preset.memory;
            if slot.marks & mark::FORWARDED != 0 {
                state.counts.loads += u64::from(!astray);
                state.counts.forwarded_loads += u64::from(!astray);
                state.slots[index].served = 1;
                return Some(tick + u64::from(memory.forward_cycles) * self.ticks_per_cycle);
            }
            extra = u64::from(memory.forward_blocked_cycles) * self.ticks_per_cycle;
        }
        let mut uncounted = Counts::default();
        let counts = if astray { &mut uncounted } else { &mut state.counts };
        self.busy = true;
        let access = self.memory.load(thread, address, tick, &mut self.pools, counts);
        let (ready, served) = match access {
            Access::At(ready, served) => (ready, served),
            Access::Retry(at) => {
                let missed = self.memory.missed(thread, address);
                let slot = &mut state.slots[index];
                (slot.ready, slot.missed) = (at, missed);
                self.schedule(thread, index, at, tick);
                return None;
            }
        };
        state.counts.loads += u64::from(!astray);
        let from_memory = served == super::memory::Served::Memory;
        state.counts.memory_loads += u64::from(from_memory && !astray);
        state.slots[index].served = served as u8;
        if self.spaces_shared && !astray {
            self.watch_load(thread, index);
        }
        let complete = ready + extra;
        if self.replays.any() && class == Class::Load {
            let assumed = tick + self.tables.latency[Class::Load as usize];
            self.goes_round(thread, index, assumed, complete);
        }
        if class == Class::Atomic {
            let complete = complete.max(tick + self.tables.latency[Class::Atomic as usize]);
            self.execute_atomic(thread, index, complete);
            return Some(complete);
        }
        if effect != Effect::None {
            self.read_lock_word(thread, index, complete);
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
}
