//! Rename: from the queues into the windows, and the account of every slot.

use super::pool::name;
use super::thread::{SPIN_ROUND, Slot, StoreEntry, bucket, mark};
use super::{Core, MAX_STORES, NEVER, QUEUE, WINDOW, stage};
use crate::core::outcome::Component;
use crate::core::uop::{Class, Effect, Uop};

/// Why a thread cannot rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// Its queue is empty.
    Supply,
    /// It waits for a time, or for older work.
    Wait(Component),
    /// A pool has no room for it.
    Pool(usize),
}

impl Core<'_> {
    pub(super) fn rename(&mut self, tick: u64) {
        let description = self.preset.rename;
        let width = u64::from(description.width);
        let order = self.order(description.select, stage::RENAME);
        let mut left = width;
        let mut served = 0;
        for &thread in &order[..self.ways] {
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
        let uop = &state.queue[state.renamed as usize % QUEUE];
        if matches!(uop.effect, Effect::EnterKernel | Effect::LeaveKernel | Effect::Halt)
            && state.retired != state.renamed
        {
            let halts = uop.effect == Effect::Halt;
            return Some(Block::Wait(if halts { Component::Halt } else { Component::Kernel }));
        }
        let class = uop.class as usize;
        let needed = &self.tables.pools[class][..usize::from(self.tables.pool_count[class])];
        needed
            .iter()
            .find(|pool| !self.pools.has_room(usize::from(**pool), thread))
            .map(|pool| Block::Pool(usize::from(*pool)))
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
        let oldest = &state.slots[state.retired as usize % WINDOW];
        if state.retired == state.renamed || oldest.complete == NEVER || oldest.complete <= tick {
            let serialised = oldest.marks & mark::OLDEST != 0 && state.retired != state.renamed;
            return if serialised { Component::Lock } else { Component::Execution };
        }
        match oldest.served {
            1 => Component::FirstLevel,
            2 => Component::OuterLevel,
            3 => Component::Memory,
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
            let uop = state.queue[state.renamed as usize % QUEUE];
            spinning += u64::from(uop.argument == SPIN_ROUND);
            self.enter_window(thread, &uop, tick);
            self.after_rename(thread, &uop);
            renamed += 1;
            if renamed < width {
                block = self.block(thread);
                if block.is_some() {
                    break;
                }
            }
        }
        self.pools.give(name::UOP_QUEUE, thread, renamed as u16);
        self.charge(thread, Component::Base, renamed - spinning);
        self.charge(thread, Component::Lock, spinning);
        (renamed, block)
    }

    /// Effects that hold the thread's rename up.
    #[inline(always)]
    fn after_rename(&mut self, thread: usize, uop: &Uop) {
        if uop.effect == Effect::None && uop.class != Class::Atomic {
            return;
        }
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
        for place in 0..usize::from(self.tables.pool_count[class]) {
            self.pools.take(usize::from(self.tables.pools[class][place & 3]), thread);
        }
        let state = &mut self.threads[thread];
        let number = state.renamed;
        let index = number as usize % WINDOW;
        state.renamed += 1;
        self.stamp = self.stamp.wrapping_add(1);
        let mut slot = Slot {
            complete: NEVER,
            ready: 0,
            address: uop.address,
            stamp: self.stamp,
            store: 0,
            consumers: u16::MAX,
            next: [u16::MAX; 3],
            event: u16::MAX,
            argument: uop.argument,
            pending: 0,
            marks: if uop.argument == SPIN_ROUND { mark::SPIN } else { 0 },
            served: 0,
            class: uop.class,
            effect: uop.effect,
        };
        if uop.class == Class::Nop {
            slot.complete = tick;
            state.slots[index] = slot;
            return;
        }
        state.waiting += 1;
        for (source, &distance) in uop.sources.iter().enumerate() {
            let distance = u64::from(distance);
            if distance != 0 && distance <= number {
                state.depend(&mut slot, index, source, number - distance);
            }
        }
        match uop.class {
            Class::Load => state.tie_to_store(&mut slot, index, number),
            Class::Store => state.add_store(&mut slot, index, uop),
            Class::Atomic => {
                slot.pending += 1;
                slot.marks |= mark::OLDEST;
            }
            _ => {}
        }
        let ready_now = slot.pending == 0 && slot.ready <= tick + 1;
        let later = slot.pending == 0 && !ready_now;
        let at = slot.ready;
        state.slots[index] = slot;
        if ready_now {
            // Issue has had its turn in this cycle: the bit is seen in the next.
            state.set_ready(index, usize::from(self.tables.group[class]));
        } else if later {
            self.schedule(thread, index, at, tick + self.ticks_per_cycle - 1);
        }
    }
}

impl super::thread::Thread<'_> {
    /// Ties a slot to the micro-operation that produces one of its sources.
    #[inline(always)]
    fn depend(&mut self, slot: &mut Slot, index: usize, source: usize, producer: u64) {
        if producer < self.retired {
            return;
        }
        let place = &mut self.slots[producer as usize % WINDOW];
        if place.complete == NEVER {
            slot.next[source] = place.consumers;
            place.consumers = (index << 2 | source) as u16;
            slot.pending += 1;
        } else {
            slot.ready = slot.ready.max(place.complete);
        }
    }

    /// Ties a load to the older store that overlaps it, if there is one.
    #[inline(always)]
    fn tie_to_store(&mut self, slot: &mut Slot, index: usize, number: u64) {
        let Some(store) = self.overlapping_store(slot.address) else { return };
        let entry = self.stores[store as usize % MAX_STORES];
        slot.store = store;
        slot.marks |= if entry.address == slot.address { mark::FORWARDED } else { mark::BLOCKED };
        // The store is in the window, or retired, in which case its data is there.
        let behind = (number as usize + WINDOW - usize::from(entry.slot)) % WINDOW;
        let producer = number - behind as u64;
        if store.wrapping_sub(self.stores_retired) < MAX_STORES as u32 {
            self.depend(slot, index, 2, producer);
        }
    }

    fn add_store(&mut self, slot: &mut Slot, index: usize, uop: &Uop) {
        let store = self.stores_renamed;
        slot.store = store;
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
    }
}
