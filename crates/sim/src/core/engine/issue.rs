//! Issue: the oldest micro-operations whose sources are there, on the ports that are free.

use super::memory::Access;
use super::thread::{Thread, bucket, mark};
use super::{Core, MAX_STORES, MAX_THREADS, NEVER, WINDOW, wheel};
use crate::core::{Class, Effect};

/// An event of the wheel is a thread and a slot.
const SLOT_BITS: u32 = WINDOW.trailing_zeros();

/// A thread's place among those of its micro-operations that are ready, oldest first.
#[derive(Clone, Copy, Default)]
struct Cursor {
    /// The word of the window being looked at, by number, and what is left of it.
    word: u64,
    bits: u64,
    /// The candidate: its slot and stamp.
    slot: usize,
    stamp: u32,
    live: bool,
}

impl Cursor {
    /// Before the oldest.
    #[inline(always)]
    fn at(state: &Thread<'_>) -> Self {
        let word = state.retired / 64;
        let bits = state.ready_word(word) & u64::MAX << (state.retired % 64);
        Self { word, bits, ..Self::default() }
    }

    /// Goes on to the next candidate outside the closed groups; `false` at the end.
    #[inline(always)]
    fn advance(&mut self, state: &Thread<'_>, closed: u16) -> bool {
        loop {
            if self.bits == 0 {
                self.word += 1;
                if self.word * 64 >= state.renamed {
                    self.live = false;
                    return false;
                }
                self.bits = state.ready_word(self.word);
                continue;
            }
            let number = self.word * 64 + u64::from(self.bits.trailing_zeros());
            if number >= state.renamed {
                // The ring's other end: what is left of this word was looked at first.
                self.live = false;
                return false;
            }
            let slot = state.place(number);
            let candidate = &state.slots[slot];
            let group = usize::from(candidate.group);
            if closed >> group & 1 == 1 {
                // All of the group at once: it will not open again in this tick.
                self.bits &= !state.ready_group(self.word, group);
                continue;
            }
            self.bits &= self.bits - 1;
            (self.slot, self.stamp, self.live) = (slot, candidate.stamp, true);
            return true;
        }
    }
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
            self.busy = true;
            event = next;
        }
    }

    /// Issues what can issue at this tick on these ports.
    #[inline(never)]
    pub(super) fn issue(&mut self, tick: u64, ports: u16) {
        self.wake(tick);
        if self.threads.iter().all(|thread| thread.ready_count == 0) {
            return;
        }
        self.busy = true;
        let busy_units = self.busy_units(tick);
        let mut closed = self.tables.closed[usize::from(ports)] | busy_units;
        let mut free = ports;
        let mut cursors = [Cursor::default(); MAX_THREADS];
        let mut left = 0;
        for (state, cursor) in self.threads.iter().zip(&mut cursors) {
            if state.ready_count > 0 {
                *cursor = Cursor::at(state);
                left += u32::from(cursor.advance(state, closed));
            }
        }
        while left > 0 {
            let thread = self.older(&cursors, left);
            let cursor = &mut cursors[thread % MAX_THREADS];
            let state = &self.threads[thread];
            let group = usize::from(state.slots[cursor.slot % WINDOW].group);
            if closed >> group & 1 == 0 {
                let port = (self.tables.group_ports[group % Class::COUNT] & free).trailing_zeros();
                free &= !(1 << port);
                self.taken_ports[thread % MAX_THREADS] |= 1 << port;
                let slot = cursor.slot;
                self.execute(thread, slot, tick);
                closed = self.tables.closed[usize::from(free)]
                    | closed & self.tables.single_units
                    | self.tables.single_units & 1 << group;
                if free == 0 {
                    return;
                }
            }
            left -= u32::from(!cursor.advance(&self.threads[thread], closed));
        }
    }

    /// Whether the oldest of the thread's micro-operations that are ready and have not issued could
    /// have gone to a port that a sibling took in this cycle.
    pub(super) fn port_taken_by_sibling(&self, thread: usize) -> bool {
        let state = &self.threads[thread];
        if self.awake_count < 2 || state.ready_count == 0 {
            return false;
        }
        let siblings = (0..self.ways).filter(|other| *other != thread);
        let taken = siblings.fold(0, |ports, other| ports | self.taken_ports[other % MAX_THREADS]);
        if taken == 0 {
            return false;
        }
        let mut cursor = Cursor::at(state);
        if !cursor.advance(state, 0) {
            return false;
        }
        let group = usize::from(state.slots[cursor.slot % WINDOW].group);
        self.tables.group_ports[group % Class::COUNT] & taken != 0
    }

    /// The thread whose candidate was dispatched first; `left` threads have one.
    #[inline(always)]
    fn older(&self, cursors: &[Cursor; MAX_THREADS], left: u32) -> usize {
        let mut oldest = MAX_THREADS;
        let mut age = 0;
        for (thread, cursor) in cursors[..self.ways].iter().enumerate() {
            if cursor.live {
                if left == 1 {
                    return thread;
                }
                let this = self.stamp.wrapping_sub(cursor.stamp);
                if oldest == MAX_THREADS || this > age {
                    (oldest, age) = (thread, this);
                }
            }
        }
        oldest
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
        let (class, group) = (slot.class, usize::from(slot.group));
        state.clear_ready(index, group);
        let mut complete = tick + self.tables.latency[class as usize];
        match class {
            Class::Load | Class::Atomic => match self.execute_load(thread, index, tick) {
                Some(at) => complete = at,
                None => return,
            },
            Class::Store => self.ask_for_line(thread, index, tick),
            Class::Branch => self.resolve(thread, index),
            _ => {}
        }
        let interval = self.tables.interval[class as usize];
        if interval != 0 {
            self.unit_free_at[group] = tick + interval;
            self.units_free_at = self.units_free_at.max(tick + interval);
        }
        self.pools.give(usize::from(self.tables.scheduler[class as usize]), thread, 1);
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
        let access = self.memory.load(thread, address, tick, &mut self.pools, &mut state.counts);
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
