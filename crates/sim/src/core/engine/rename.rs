//! Rename: from the queues into the windows, and the account of every slot.

use super::pool::name;
use super::thread::{SPIN_ROUND, StoreEntry, bucket, mark};
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
        let mut left = width;
        let mut served = 0;
        for thread in order {
            if !self.awake[thread] {
                self.charge(thread, Component::Halt, width);
                continue;
            }
            if let Some(block) = self.block(thread) {
                self.charge_block(thread, block, width, tick);
                continue;
            }
            if served == description.threads_per_cycle || left == 0 {
                self.charge(thread, Component::SiblingSlots, width);
                continue;
            }
            let by_siblings = width - left;
            let (renamed, block) = self.rename_thread(thread, left, tick);
            self.busy = true;
            left -= renamed;
            served += 1;
            self.turn[stage::RENAME] = thread;
            self.charge(thread, Component::SiblingSlots, by_siblings);
            if let Some(block) = block {
                self.charge_block(thread, block, left, tick);
            }
        }
    }

    /// What keeps the thread from renaming its next micro-operation.
    #[inline(always)]
    pub(super) fn block(&self, thread: usize) -> Option<Block> {
        let state = &self.threads[thread];
        if state.rename_at > self.cycle {
            return Some(Block::Wait(state.rename_cause));
        }
        if state.renamed == state.fetched {
            return Some(Block::Supply);
        }
        let uop = &state.queue[state.queue_place(state.renamed)];
        let class = uop.class as usize;
        for &pool in &self.tables.pools[class][..usize::from(self.tables.pool_count[class] & 3) + 1]
        {
            if !self.pools.has_room(usize::from(pool), thread) {
                return Some(Block::Pool(usize::from(pool)));
            }
        }
        if uop.effect == Effect::None || uop.effect == Effect::Taken {
            return None;
        }
        serialised(state, uop.effect)
    }

    /// Charges slots to what kept them empty.
    pub(super) fn charge_block(&mut self, thread: usize, block: Block, slots: u64, tick: u64) {
        let component = match block {
            Block::Supply => {
                let state = &mut self.threads[thread];
                if matches!(state.supply, Component::Mispredict | Component::CodeMiss) {
                    // A larger window would have run into the same break: it gained nothing.
                    state.lead = 0;
                }
                state.supply
            }
            Block::Wait(component) => component,
            Block::Pool(pool) => {
                let withheld = self.withheld_slots(thread, pool, slots);
                self.charge(thread, Component::SiblingEntries, withheld);
                let component = self.behind(thread, pool, tick);
                self.charge(thread, component, slots - withheld);
                return;
            }
        };
        self.charge(thread, component, slots);
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
    fn rename_thread(&mut self, thread: usize, width: u64, tick: u64) -> (u64, Option<Block>) {
        let mut renamed = 0;
        let mut spinning = 0;
        let mut block = None;
        while renamed < width {
            let state = &self.threads[thread];
            let uop = state.queue[state.queue_place(state.renamed)];
            spinning += u64::from(is_spin(&uop));
            self.enter_window(thread, &uop, tick);
            renamed += 1;
            if uop.effect != Effect::None || uop.class == Class::Atomic {
                self.after_rename(thread, &uop);
            }
            if renamed < width {
                block = self.block(thread);
                if block.is_some() {
                    break;
                }
            }
        }
        self.pools.give(name::UOP_QUEUE, thread, renamed as u16);
        self.charge(thread, Component::Base, renamed - spinning);
        if spinning > 0 {
            self.charge(thread, Component::Lock, spinning);
        }
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
    fn enter_window(&mut self, thread: usize, uop: &Uop, tick: u64) {
        let class = uop.class as usize;
        for &pool in &self.tables.pools[class][..usize::from(self.tables.pool_count[class] & 3) + 1]
        {
            self.pools.take(usize::from(pool), thread, 1);
        }
        self.stamp = self.stamp.wrapping_add(1);
        let state = &mut self.threads[thread];
        let number = state.renamed;
        let index = state.place(number);
        state.renamed += 1;
        let (mut pending, mut ready, mut next) = (0, 0, [u16::MAX; 3]);
        if uop.class != Class::Nop {
            state.waiting += 1;
            for (source, &distance) in uop.sources.iter().enumerate() {
                let distance = u64::from(distance);
                if distance != 0 && distance <= number {
                    let link = index << 2 | source;
                    next[source] = state.depend(link, number - distance, &mut pending, &mut ready);
                }
            }
        }
        let (mut marks, mut store) = (0, 0);
        match uop.class {
            Class::Load => {
                if let Some(tie) = state.tie_to_store(uop.address, number) {
                    (store, marks) = (tie.store, tie.mark);
                    if let Some(producer) = tie.producer {
                        next[2] = state.depend(index << 2 | 2, producer, &mut pending, &mut ready);
                    }
                }
            }
            Class::Store => store = state.add_store(index, uop),
            Class::Atomic => {
                pending += 1;
                marks = mark::OLDEST;
            }
            _ => {}
        }
        let nop = uop.class == Class::Nop;
        // `event` is set when it is needed.
        let slot = &mut state.slots[index];
        slot.complete = if nop { tick } else { NEVER };
        slot.ready = ready;
        slot.address = uop.address;
        slot.stamp = self.stamp;
        slot.store = store;
        slot.consumers = u16::MAX;
        slot.next = next;
        slot.argument = uop.argument;
        slot.pending = pending;
        slot.marks = marks | effect_marks(uop);
        slot.gives = self.tables.gives[class];
        slot.served = 0;
        slot.class = uop.class;
        slot.group = self.tables.group[class];
        slot.effect = uop.effect;
        if pending == 0 && !nop {
            if ready <= tick + self.ticks_per_cycle {
                // Issue has had its turn in this cycle: the bit is seen in the next.
                state.set_ready(index, usize::from(self.tables.group[class]));
            } else {
                self.schedule(thread, index, ready, tick + self.ticks_per_cycle - 1);
            }
        }
    }
}

#[inline(never)]
fn serialised(state: &super::thread::Thread<'_>, effect: Effect) -> Option<Block> {
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

impl super::thread::Thread<'_> {
    /// Ties `link` (a slot and a source of it) to the micro-operation that produces the source;
    /// gives the link that follows it in the producer's list.
    #[inline(always)]
    fn depend(&mut self, link: usize, producer: u64, pending: &mut u8, ready: &mut u64) -> u16 {
        if producer < self.retired {
            return u16::MAX;
        }
        let place = self.place(producer);
        let producer = &mut self.slots[place];
        if producer.complete == NEVER {
            *pending += 1;
            return std::mem::replace(&mut producer.consumers, link as u16);
        }
        *ready = (*ready).max(producer.complete);
        u16::MAX
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

    fn add_store(&mut self, index: usize, uop: &Uop) -> u32 {
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
        store
    }
}
