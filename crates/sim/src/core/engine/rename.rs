//! Rename: from the queues into the windows, and the account of every slot.

use super::pool::{Credits, name};
use super::thread::{SPIN_ROUND, StoreEntry, Thread, bucket, mark};
use super::{Core, MAX_STORES, NEVER, stage};
use crate::core::{Class, Component, Effect, Uop};

/// Why a thread cannot rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Supply,
    /// It waits for a time, or for older work.
    Wait(Component),
    Pool(usize),
}

impl Core<'_> {
    #[inline(never)]
    pub(super) fn rename(&mut self, tick: u64) {
        let description = self.preset.rename;
        let width = u64::from(description.width);
        let order = self.order(description.select, stage::RENAME);
        let taken = self.recovered_at > self.cycle || self.microcode_has_turn();
        let mut left = if taken { 0 } else { width };
        let mut served = 0;
        if self.tables.binds {
            self.binding.begin_cycle();
        }
        for thread in order {
            if !self.awake[thread] {
                self.charge(thread, Component::Halt, width);
                continue;
            }
            if let Some(block) = self.waits(thread).or_else(|| self.still_crowded(thread)) {
                self.charge_block(thread, block, width, tick);
                continue;
            }
            let room = self.pools.credits(thread);
            let block = self.crowded(thread, room);
            self.threads[thread].crowded = block.is_some();
            if let Some(block) = block {
                self.charge_block(thread, block, width, tick);
                continue;
            }
            if served == description.threads_per_cycle || left == 0 {
                // It goes on as soon as it is let.
                self.busy = true;
                self.charge_sibling(thread, width);
                continue;
            }
            let by_siblings = width - left;
            let (renamed, block) = self.rename_thread(thread, room, left, tick);
            self.busy = true;
            left -= renamed;
            served += 1;
            self.turn[stage::RENAME] = thread;
            self.charge_sibling(thread, by_siblings);
            if let Some(block) = block {
                self.charge_block(thread, block, left, tick);
            }
        }
    }

    /// Whether a thread that enters or leaves the kernel has this cycle: its microcode takes turns with
    /// siblings, every second cycle from the last of its own on.
    #[inline(always)]
    fn microcode_has_turn(&self) -> bool {
        if !self.preset.front_end.kernel_takes_turns || self.awake_count < 2 {
            return false;
        }
        let has = |state: &Thread<'_>| {
            state.rename_cause == Component::Kernel
                && state.rename_at > self.cycle
                && (state.rename_at - self.cycle) % 2 == 1
        };
        self.threads.iter().any(has)
    }

    /// What keeps the thread from renaming its next micro-operation.
    pub(super) fn block(&self, thread: usize) -> Option<Block> {
        self.waits(thread).or_else(|| self.crowded(thread, self.pools.credits(thread)))
    }

    /// Whether it waits for a time, or for fetch.
    #[inline(always)]
    fn waits(&self, thread: usize) -> Option<Block> {
        let state = &self.threads[thread];
        if state.rename_at > self.cycle {
            return Some(Block::Wait(state.rename_cause));
        }
        (state.renamed == state.fetched).then_some(Block::Supply)
    }

    /// Whether a thread that found no room still finds none: few pools have to be asked for that.
    #[inline(always)]
    fn still_crowded(&self, thread: usize) -> Option<Block> {
        let state = &self.threads[thread];
        if !state.crowded {
            return None;
        }
        let class = state.queue[state.queue_place(state.renamed)].class;
        let mut pools = self.tables.pools[class as usize].into_iter().map(usize::from);
        pools.find(|pool| !self.pools.has_room(*pool, thread)).map(Block::Pool)
    }

    /// Whether its next micro-operation finds no room, or has to wait for older work.
    #[inline(always)]
    fn crowded(&self, thread: usize, room: Credits) -> Option<Block> {
        let state = &self.threads[thread];
        let uop = &state.queue[state.queue_place(state.renamed)];
        if room.lacks(self.tables.takes[uop.class as usize]) {
            let pools = self.tables.pools[uop.class as usize].map(usize::from);
            return pools.into_iter().find(|pool| !room.has(*pool)).map(Block::Pool);
        }
        if uop.effect == Effect::None || uop.effect == Effect::Taken {
            return None;
        }
        serialised(state, uop.effect)
    }

    /// Charges slots that a sibling had; on the wrong path they are no loss of their own.
    #[inline(always)]
    fn charge_sibling(&mut self, thread: usize, slots: u64) {
        let astray = self.threads[thread].renames_astray();
        let component = if astray { Component::Mispredict } else { Component::SiblingSlots };
        self.charge(thread, component, slots);
    }

    /// Charges slots to what kept them empty.
    #[inline]
    pub(super) fn charge_block(&mut self, thread: usize, block: Block, slots: u64, tick: u64) {
        let cause = self.cause(thread, block, tick);
        self.charge_cause(thread, block, cause, slots);
    }

    /// What the slots of a thread that cannot rename are charged to, but for withheld entries.
    #[inline(always)]
    pub(super) fn cause(&self, thread: usize, block: Block, tick: u64) -> Component {
        let state = &self.threads[thread];
        match block {
            _ if state.renames_astray() => Component::Mispredict,
            Block::Supply => state.supply,
            Block::Wait(component) => component,
            Block::Pool(pool) => self.behind(thread, pool, tick),
        }
    }

    /// Charges slots to this cause.
    #[inline(always)]
    pub(super) fn charge_cause(
        &mut self,
        thread: usize,
        block: Block,
        cause: Component,
        slots: u64,
    ) {
        let state = &mut self.threads[thread];
        let mut slots = slots;
        match block {
            // A larger window would have run into the same break: it gained nothing.
            _ if state.renames_astray() => state.lead = 0,
            Block::Supply if matches!(cause, Component::Mispredict | Component::CodeMiss) => {
                state.lead = 0;
            }
            Block::Pool(pool) => {
                let withheld = self.withheld_slots(thread, pool, slots);
                self.charge(thread, Component::SiblingEntries, withheld);
                slots -= withheld;
            }
            _ => {}
        }
        self.charge(thread, cause, slots);
    }

    /// How many of these slots the thread lost to entries that sharing withholds: it could have
    /// renamed one micro-operation more for each such entry, once, before it stood where it
    /// stands now. The rest of its wait it owes to what its window waits for.
    fn withheld_slots(&mut self, thread: usize, pool: usize, slots: u64) -> u64 {
        if self.awake_count < 2 {
            return 0;
        }
        let withheld = self.pools.withheld(pool, thread);
        let state = &mut self.threads[thread];
        let slots = slots.min(u64::from(withheld.saturating_sub(state.lead)));
        state.lead += slots as u16;
        slots
    }

    /// What a full window waits for: its oldest micro-operation.
    fn behind(&self, thread: usize, pool: usize, tick: u64) -> Component {
        let state = &self.threads[thread];
        let writing = state.written != state.stores_retired;
        if pool == name::STORE_BUFFER && (writing || state.retired == state.renamed) {
            return Component::Stores;
        }
        let oldest = &state.slots[state.place(state.retired)];
        if state.retired == state.renamed || oldest.complete == NEVER || oldest.complete <= tick {
            let serialised = oldest.marks & mark::OLDEST != 0 && state.retired != state.renamed;
            return match serialised {
                true => Component::Lock,
                false if self.port_taken_by_sibling(thread) => Component::SiblingPorts,
                false => Component::Execution,
            };
        }
        match oldest.served {
            1 => Component::FirstLevel,
            2 => Component::OuterLevel,
            3 => Component::Memory,
            _ if self.port_taken_by_sibling(thread) => Component::SiblingPorts,
            _ => Component::Execution,
        }
    }

    /// Renames up to `width` micro-operations of one thread; gives how many, and what stopped it.
    #[inline(always)]
    fn rename_thread(
        &mut self,
        thread: usize,
        found: Credits,
        width: u64,
        tick: u64,
    ) -> (u64, Option<Block>) {
        let mut room = found;
        let (mut renamed, mut spinning) = (0, 0);
        let mut block = None;
        while renamed < width {
            let state = &self.threads[thread];
            let uop = state.queue[state.queue_place(state.renamed)];
            room.take(self.tables.takes[uop.class as usize]);
            let plain = is_plain(&uop);
            self.enter_window(thread, &uop, plain, tick);
            renamed += 1;
            if !plain || uop.class == Class::Atomic {
                spinning += u64::from(is_spin(&uop));
                self.after_rename(thread, &uop);
            }
            if renamed < width {
                block = self.waits(thread).or_else(|| self.crowded(thread, room));
                if block.is_some() {
                    break;
                }
            }
        }
        self.pools.take_all(thread, found, room);
        self.pools.give(name::UOP_QUEUE, thread, renamed as u16);
        let state = &self.threads[thread];
        let astray = if state.renames_astray() {
            renamed.min(state.renamed - (state.mispredicted + 1))
        } else {
            0
        };
        self.charge(thread, Component::Mispredict, astray);
        self.charge(thread, Component::Base, renamed - spinning - astray);
        self.charge(thread, Component::Lock, spinning);
        (renamed, block)
    }

    /// Effects that hold the thread's rename up.
    #[inline(never)]
    fn after_rename(&mut self, thread: usize, uop: &Uop) {
        let front_end = &self.preset.front_end;
        let (cycles, cause) = match uop.effect {
            Effect::Pause => (front_end.pause_cycles, Component::Pause),
            Effect::EnterKernel => (front_end.kernel_entry_cycles, Component::Kernel),
            Effect::LeaveKernel => (front_end.kernel_exit_cycles, Component::Kernel),
            _ if uop.class == Class::Atomic => {
                // Younger work waits for a locked operation; issue says until when.
                self.threads[thread].rename_at = NEVER;
                self.threads[thread].rename_cause = Component::Lock;
                return;
            }
            _ => return,
        };
        self.threads[thread].rename_at = self.cycle + u64::from(cycles);
        self.threads[thread].rename_cause = cause;
    }

    /// Puts one micro-operation into the window and ties it to its sources.
    #[inline(always)]
    fn enter_window(&mut self, thread: usize, uop: &Uop, plain: bool, tick: u64) {
        self.stamp = self.stamp.wrapping_add(1);
        let state = &mut self.threads[thread];
        let number = state.renamed;
        let index = state.place(number);
        let astray = number > state.mispredicted;
        state.renamed = number + 1;
        // `event` is set when it is needed.
        state.slots[index] = self.tables.slots[uop.class as usize];
        let slot = &mut state.slots[index];
        slot.stamp = self.stamp;
        slot.address = uop.address;
        slot.argument = uop.argument;
        slot.effect = uop.effect;
        if self.tables.binds && uop.class != Class::Nop {
            slot.group = self.binding.bind(uop.class, &self.tables);
        }
        let group = usize::from(slot.group);
        if !plain {
            slot.marks = effect_marks(uop);
        }
        slot.marks |= u8::from(astray) * mark::ASTRAY;
        let (mut pending, mut ready) = (0, 0);
        match uop.class {
            Class::Nop => {
                slot.complete = tick;
                return;
            }
            Class::Load => {
                if let Some(tie) = state.tie_to_store(uop.address, number) {
                    let slot = &mut state.slots[index];
                    (slot.store, slot.marks) = (tie.store, slot.marks | tie.mark);
                    if let Some(producer) = tie.producer {
                        state.depend(index, 2, producer, &mut pending, &mut ready);
                    }
                }
            }
            Class::Store => state.add_store(index, uop),
            Class::Atomic => {
                pending = 1;
                slot.marks |= mark::OLDEST;
            }
            _ => {}
        }
        state.waiting += 1;
        for (source, &distance) in uop.sources.iter().enumerate() {
            let distance = u64::from(distance);
            if distance != 0 && distance <= number {
                state.depend(index, source, number - distance, &mut pending, &mut ready);
            }
        }
        let slot = &mut state.slots[index];
        (slot.pending, slot.ready) = (pending, ready);
        if pending == 0 {
            if ready <= tick + self.ticks_per_cycle {
                // Issue has had its turn in this cycle: the bit is seen in the next.
                state.set_ready(index, group);
            } else {
                self.schedule(thread, index, ready, tick + self.ticks_per_cycle - 1);
            }
        }
    }
}

#[inline(never)]
fn serialised(state: &Thread<'_>, effect: Effect) -> Option<Block> {
    let cause = match effect {
        Effect::EnterKernel | Effect::LeaveKernel => Component::Kernel,
        Effect::Halt => Component::Halt,
        _ => return None,
    };
    let idle = state.retired == state.renamed && state.written == state.stores_renamed;
    (!idle).then_some(Block::Wait(cause))
}

/// Marks that follow from what a micro-operation does besides executing.
#[inline(always)]
fn effect_marks(uop: &Uop) -> u8 {
    let spins = if is_spin(uop) { mark::SPIN } else { 0 };
    let halts = if uop.effect == Effect::Halt { mark::HALT } else { 0 };
    spins | halts
}

/// Whether it is no part of a spin and has no effect but that of a branch.
#[inline(always)]
fn is_plain(uop: &Uop) -> bool {
    matches!(uop.effect, Effect::None | Effect::Taken) && uop.argument == 0
}

/// Whether this is part of a lock's spin, and no work: the load of the word carries the lock's
/// effect, the rest its own mark.
#[inline(always)]
fn is_spin(uop: &Uop) -> bool {
    uop.argument == SPIN_ROUND || (uop.class == Class::Load && uop.effect != Effect::None)
}

/// The older store that a load overlaps.
struct Tie {
    store: u32,
    mark: u8,
    /// The store's own number, while it is in the window.
    producer: Option<u64>,
}

impl Thread<'_> {
    /// Whether what it renames next is behind a mispredicted branch.
    #[inline(always)]
    pub(super) fn renames_astray(&self) -> bool {
        self.renamed > self.mispredicted
    }

    /// Ties a source of a slot to the micro-operation that produces it.
    #[inline(always)]
    fn depend(
        &mut self,
        index: usize,
        source: usize,
        producer: u64,
        pending: &mut u8,
        ready: &mut u64,
    ) {
        if producer < self.retired {
            return;
        }
        let place = self.place(producer);
        let producer = &mut self.slots[place];
        if producer.complete == NEVER {
            *pending += 1;
            let next = std::mem::replace(&mut producer.consumers, (index << 2 | source) as u16);
            self.slots[index].next[source] = next;
        } else {
            *ready = (*ready).max(producer.complete);
        }
    }

    /// The older store that overlaps a load, if there is one.
    #[inline(always)]
    fn tie_to_store(&self, address: u64, number: u64) -> Option<Tie> {
        let store = self.overlapping_store(address)?;
        let entry = &self.stores[store as usize % MAX_STORES];
        let mark = if entry.address == address { mark::FORWARDED } else { mark::BLOCKED };
        let behind = number.wrapping_sub(u64::from(entry.slot)) & self.window_mask;
        let in_window = store.wrapping_sub(self.stores_retired) < MAX_STORES as u32;
        Some(Tie { store, mark, producer: in_window.then(|| number - behind) })
    }

    fn add_store(&mut self, index: usize, uop: &Uop) {
        let store = self.stores_renamed;
        self.stores_renamed = store.wrapping_add(1);
        self.store_buckets[bucket(uop.address >> 3)] += 1;
        self.stores[store as usize % MAX_STORES] = StoreEntry {
            address: uop.address,
            slot: index as u16,
            release: if uop.effect == Effect::Release { uop.argument } else { u16::MAX },
            line: 0,
            line_ready: NEVER,
            requested: false,
        };
        self.slots[index].store = store;
    }
}
