//! What belongs to one hardware thread: its queue, its part of the window, its stores.

use super::memory::Missed;
use super::{MAX_STORES, MAX_THREADS, NEVER, Preset, QUEUE, WINDOW};
use crate::core::{Class, Component, Counts, Effect, Stream, ThreadInput, Uop};
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Micro-operations taken from the stream at a time.
const BATCH: usize = 128;

/// The wrong path behind a branch is taken to be what the thread fetched so many micro-operations before:
/// code and data of its own that are nothing new to the caches. A power of two.
pub(super) const LOOK_BACK: u64 = 32;

/// Groups of ports, and the place of the map of all groups.
const GROUPS: usize = 16;
const ALL: usize = GROUPS - 1;

/// Buckets in which a thread's own stores and loads are counted, a power of two.
pub(super) const BUCKETS: usize = 256;

pub(super) mod mark {
    /// An older store supplies the data.
    pub(crate) const FORWARDED: u8 = 1;
    /// An older store overlaps and cannot supply the data.
    pub(crate) const BLOCKED: u8 = 2;
    /// Waits to be the oldest, and for older stores to be written.
    pub(crate) const OLDEST: u8 = 4;
    /// A round of a lock's spin: retired, but no work.
    pub(crate) const SPIN: u8 = 8;
    /// Counted in `load_lines`.
    pub(crate) const WATCHED: u8 = 16;
    /// Halts its thread when it retires.
    pub(crate) const HALT: u8 = 32;
    /// Behind a mispredicted branch: it will not retire.
    pub(crate) const ASTRAY: u8 = 64;
}

/// A micro-operation in the window. Times are ticks.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Slot {
    /// When the result is there; [`NEVER`] until it has issued.
    pub(super) complete: u64,
    /// When the sources known so far are there.
    pub(super) ready: u64,
    pub(super) address: u64,
    /// Order of dispatch among all threads.
    pub(super) stamp: u32,
    /// The number of its own store, or of the store that supplies it.
    pub(super) store: u32,
    /// First consumer that waits for it: slot and source; then each consumer's next, by source.
    pub(super) consumers: u16,
    pub(super) next: [u16; 3],
    /// The next event of its bucket in the wheel.
    pub(super) event: u16,
    pub(super) argument: u16,
    /// Sources that have not issued.
    pub(super) pending: u8,
    pub(super) marks: u8,
    /// What its retirement gives back, a byte each: loads, stores, integers, floats.
    pub(super) gives: u32,
    /// Of a load that missed and found no buffer.
    pub(super) missed: Missed,
    /// 0, or how far out the load was served.
    pub(super) served: u8,
    pub(super) class: Class,
    /// The class's group of ports.
    pub(super) group: u8,
    pub(super) effect: Effect,
}

/// A store from rename until it is written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StoreEntry {
    pub(super) address: u64,
    /// Where in the window it is, while it is there.
    pub(super) slot: u16,
    /// The lock it gives back, or `u16::MAX`.
    pub(super) release: u16,
    pub(super) line: u32,
    /// When its line can be written; before `requested`, when to ask.
    pub(super) line_ready: u64,
    pub(super) requested: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Spin {
    /// The acquiring micro-operation, to be tried again.
    pub(super) acquire: Uop,
    /// Which micro-operation of the round is next.
    pub(super) step: u8,
    /// The word was seen free: the next micro-operation is the acquire itself.
    pub(super) leaving: bool,
}

/// An acquire that found its lock taken when it began, and has it if that is given back before it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Try {
    pub(super) lock: usize,
    pub(super) slot: usize,
    /// The cycle in which the locked operation ends.
    pub(super) until: u64,
}

pub(super) struct Thread<'stream> {
    pub(super) stream: Option<Box<dyn Stream + 'stream>>,
    pub(super) round_uops: u64,
    batch: Box<[Uop; BATCH]>,
    next_in_batch: usize,
    /// For each of the batch, how many from it on are plain and lie in the same stretch of code of
    /// so many bytes, as a power of two.
    plain_runs: Box<[u8; BATCH]>,
    run_bits: u32,
    pub(super) spin: Option<Spin>,
    pub(super) trying: Option<Try>,
    /// How often the lock that it spins for was given back meanwhile.
    pub(super) passed_over: u8,
    spin_uop: Uop,

    /// Micro-operations fetched, renamed and retired: the ends of the queue and of the window.
    pub(super) fetched: u64,
    pub(super) renamed: u64,
    pub(super) retired: u64,
    pub(super) queue: Box<[Uop; QUEUE]>,
    /// The cycle from which the thread may fetch, and what keeps its queue empty.
    pub(super) fetch_at: u64,
    pub(super) supply: Component,
    /// The stretch of code being fetched, and whether it is being decoded.
    pub(super) code_line: u32,
    pub(super) code_cache_line: u32,
    pub(super) decoding: bool,
    /// Micro-operations and branches fetched of the trace line.
    pub(super) trace: (u8, u8),
    /// Whether its line ended in the first of its two turns.
    pub(super) trace_turn: bool,
    /// The mispredicted branch that has not resolved.
    pub(super) mispredicted: u64,
    /// The cycle from which the thread may rename, and why not before.
    pub(super) rename_at: u64,
    pub(super) rename_cause: Component,
    /// Whether its next micro-operation was held up when it was last asked for room.
    pub(super) crowded: bool,
    /// Slots charged to withheld entries since the front end last broke off.
    pub(super) lead: u16,

    pub(super) slots: Box<[Slot; WINDOW]>,
    /// One less than the places of the window and of the queue that are used: what the preset
    /// needs, a power of two, so that the host's caches hold them.
    pub(super) window_mask: u64,
    pub(super) queue_mask: u64,
    /// By word of the window: which micro-operations could issue, by group of ports, and all of them.
    ready: Box<[[u64; GROUPS]; WINDOW / 64]>,
    ready_counts: [u16; GROUPS],
    /// Groups of which something could issue.
    pub(super) ready_groups: u16,
    /// The same for loads that were put off until [`super::Core::put_off_until`].
    put_off: Box<[[u64; GROUPS]; WINDOW / 64]>,
    put_off_counts: [u16; GROUPS],
    put_off_groups: u16,
    /// Renamed and not issued.
    pub(super) waiting: u32,

    /// Stores written, retired and renamed, by number.
    pub(super) written: u32,
    pub(super) stores_retired: u32,
    pub(super) stores_renamed: u32,
    /// The first retired store whose line may not have been asked for.
    pub(super) stores_asked: u32,
    pub(super) stores: Box<[StoreEntry; MAX_STORES]>,
    /// How many of the stores lie in each bucket of addresses.
    pub(super) store_buckets: Box<[u16; BUCKETS]>,
    /// How many of the window's issued loads lie in each bucket of lines, where it matters.
    pub(super) load_lines: Box<[u8; BUCKETS]>,
    /// Loads before this one were undone by a machine clear and are no longer watched.
    pub(super) cleared: u64,

    /// The cycle at which a halted thread wakes.
    pub(super) wake_at: u64,
    /// Retired micro-operations of the stream, from the start.
    pub(super) uops: u64,
    pub(super) target: u64,
    pub(super) last_progress: u64,
    pub(super) charged: [u64; Component::COUNT],
    pub(super) counts: Counts,
}

/// The threads of a core, as many as it has ways. There are always [`MAX_THREADS`] places, so that
/// a thread's number need not be checked.
pub(super) struct Threads<'stream> {
    places: [Thread<'stream>; MAX_THREADS],
    ways: usize,
}

impl<'stream> Threads<'stream> {
    pub(super) fn new(inputs: Vec<ThreadInput<'stream>>, preset: &Preset) -> Self {
        let ways = inputs.len();
        let mut inputs = inputs.into_iter();
        let places = std::array::from_fn(|_| {
            Thread::new(inputs.next().unwrap_or_else(ThreadInput::halted), preset)
        });
        Self { places, ways }
    }
}

impl<'stream> Deref for Threads<'stream> {
    type Target = [Thread<'stream>];

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.places[..self.ways]
    }
}

impl DerefMut for Threads<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.places[..self.ways]
    }
}

impl<'stream> Index<usize> for Threads<'stream> {
    type Output = Thread<'stream>;

    #[inline(always)]
    fn index(&self, thread: usize) -> &Self::Output {
        &self.places[thread % MAX_THREADS]
    }
}

impl IndexMut<usize> for Threads<'_> {
    #[inline(always)]
    fn index_mut(&mut self, thread: usize) -> &mut Self::Output {
        &mut self.places[thread % MAX_THREADS]
    }
}

impl<'stream> Thread<'stream> {
    fn new(input: ThreadInput<'stream>, preset: &Preset) -> Self {
        let mask = |entries: u16| u64::from(entries.next_power_of_two()) - 1;
        // A word of the map of those that are ready is not shared by two turns of the ring.
        let window_mask = mask(preset.reorder_buffer.entries).max(63);
        let queue_mask = mask(preset.front_end.uop_queue.entries).max(LOOK_BACK - 1);
        let nothing = Uop::new(Class::Nop, 0);
        Self {
            stream: input.stream,
            round_uops: input.round_uops,
            batch: Box::new([nothing; BATCH]),
            next_in_batch: BATCH,
            plain_runs: Box::new([0; BATCH]),
            run_bits: super::code_line_bits(preset).min(super::block_bits(preset)),
            spin: None,
            trying: None,
            passed_over: 0,
            spin_uop: nothing,
            fetched: 0,
            renamed: 0,
            retired: 0,
            queue: Box::new([nothing; QUEUE]),
            fetch_at: 0,
            supply: Component::Fetch,
            code_line: u32::MAX,
            code_cache_line: u32::MAX,
            decoding: false,
            trace: (0, 0),
            trace_turn: false,
            mispredicted: NEVER,
            rename_at: 0,
            rename_cause: Component::Halt,
            crowded: false,
            lead: 0,
            slots: Box::new([Slot::default(); WINDOW]),
            window_mask,
            queue_mask,
            ready: Box::new([[0; GROUPS]; WINDOW / 64]),
            ready_counts: [0; GROUPS],
            ready_groups: 0,
            put_off: Box::new([[0; GROUPS]; WINDOW / 64]),
            put_off_counts: [0; GROUPS],
            put_off_groups: 0,
            waiting: 0,
            written: 0,
            stores_retired: 0,
            stores_renamed: 0,
            stores_asked: 0,
            stores: Box::new([StoreEntry::default(); MAX_STORES]),
            store_buckets: Box::new([0; BUCKETS]),
            load_lines: Box::new([0; BUCKETS]),
            cleared: 0,
            wake_at: NEVER,
            uops: 0,
            target: 0,
            last_progress: 0,
            charged: [0; Component::COUNT],
            counts: Counts::default(),
        }
    }

    /// Whether it fetches behind a mispredicted branch.
    #[inline(always)]
    pub(super) fn astray(&self) -> bool {
        self.mispredicted != NEVER
    }

    /// The next micro-operation to fetch. It stays next until [`Self::move_to_queue`].
    #[inline(always)]
    pub(super) fn peek(&mut self) -> &Uop {
        if self.spin.is_some() {
            return self.peek_spin();
        }
        if self.next_in_batch == BATCH {
            self.refill();
        }
        &self.batch[self.next_in_batch % BATCH]
    }

    #[inline(never)]
    fn peek_spin(&mut self) -> &Uop {
        if let Some(spin) = &self.spin {
            self.spin_uop = spin.uop();
        }
        &self.spin_uop
    }

    #[inline(never)]
    fn refill(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.fill(&mut self.batch[..]);
        }
        self.next_in_batch = 0;
        let (mut run, mut stretch) = (0, u32::MAX);
        for (uop, length) in self.batch.iter().zip(self.plain_runs.iter_mut()).rev() {
            let this = uop.code >> self.run_bits;
            let goes_on = if this == stretch { run } else { 0 };
            let plain = uop.class != Class::Branch && uop.effect == Effect::None;
            run = if plain { goes_on + 1 } else { 0 };
            (*length, stretch) = (run, this);
        }
    }

    /// Moves up to `most` micro-operations without effect that are no branches to the queue, as far as
    /// the batch and a stretch of code last into which `may_enter`; gives how many.
    #[inline(always)]
    pub(super) fn fetch_plain(&mut self, most: u8, may_enter: impl FnOnce(u32) -> bool) -> u8 {
        if self.spin.is_some() || self.next_in_batch == BATCH {
            return 0;
        }
        let first = self.next_in_batch % BATCH;
        let run = self.plain_runs[first].min(most);
        if run == 0 || !may_enter(self.batch[first].code) {
            return 0;
        }
        for uop in &self.batch[first..(first + usize::from(run)).min(BATCH)] {
            let place = (self.fetched & self.queue_mask) as usize % QUEUE;
            self.queue[place] = *uop;
            self.fetched += 1;
        }
        self.next_in_batch += usize::from(run);
        run
    }

    /// Moves the next micro-operation to the queue; gives its class and effect.
    #[inline(always)]
    pub(super) fn move_to_queue(&mut self) -> (Class, Effect) {
        let place = self.queue_place(self.fetched);
        self.fetched += 1;
        if self.spin.is_some() {
            self.queue[place] = self.spin_uop;
            self.advance_spin();
        } else {
            self.queue[place] = self.batch[self.next_in_batch % BATCH];
            self.next_in_batch += 1;
        }
        (self.queue[place].class, self.queue[place].effect)
    }

    /// Adds a micro-operation to the trace line of so many, and so many branches; `true` at its end.
    #[inline(always)]
    pub(super) fn extend_trace(&mut self, class: Class, line: (u8, u8)) -> bool {
        let (uops, branches) = &mut self.trace;
        *uops += 1;
        *branches += u8::from(class == Class::Branch);
        let ends = *uops == line.0 || *branches == line.1;
        if ends {
            self.trace_turn = *uops <= line.0 / 2;
            self.trace = (0, 0);
        }
        ends
    }

    /// The same for so many that are no branches; they fit.
    #[inline(always)]
    pub(super) fn extend_trace_plain(&mut self, plain: u8, line: (u8, u8)) -> bool {
        self.trace.0 += plain;
        let ends = self.trace.0 == line.0;
        if ends {
            self.trace = (0, 0);
        }
        ends
    }

    pub(super) fn begin_trace(&mut self) {
        (self.trace, self.trace_turn) = ((0, 0), false);
    }

    #[inline(never)]
    fn advance_spin(&mut self) {
        match &mut self.spin {
            Some(spin) if !spin.leaving => spin.step = (spin.step + 1) % spin.round(),
            _ => self.spin = None,
        }
    }

    #[inline(always)]
    pub(super) fn set_ready(&mut self, slot: usize, group: usize) {
        let row = &mut self.ready[slot % WINDOW / 64];
        let bit = 1 << (slot % 64);
        row[ALL] |= bit;
        row[group % GROUPS] |= bit;
        self.ready_counts[group % GROUPS] += 1;
        self.ready_groups |= 1 << (group % GROUPS);
    }

    #[inline(always)]
    pub(super) fn clear_ready(&mut self, slot: usize, group: usize) {
        let row = &mut self.ready[slot % WINDOW / 64];
        let bit = 1 << (slot % 64);
        row[ALL] &= !bit;
        row[group % GROUPS] &= !bit;
        let count = &mut self.ready_counts[group % GROUPS];
        *count -= 1;
        self.ready_groups &= !(u16::from(*count == 0) << (group % GROUPS));
    }

    /// A slot that is no longer ready is put off.
    #[inline(always)]
    pub(super) fn put_off(&mut self, slot: usize, group: usize) {
        let row = &mut self.put_off[slot % WINDOW / 64];
        row[ALL] |= 1 << (slot % 64);
        row[group % GROUPS] |= 1 << (slot % 64);
        self.put_off_counts[group % GROUPS] += 1;
        self.put_off_groups |= 1 << (group % GROUPS);
    }

    /// All that was put off is ready again.
    pub(super) fn come_again(&mut self) {
        if self.put_off_groups == 0 {
            return;
        }
        let words = self.window_mask as usize / 64 + 1;
        for (ready, put_off) in self.ready.iter_mut().zip(self.put_off.iter_mut()).take(words) {
            if put_off[ALL] != 0 {
                for (ready, put_off) in ready.iter_mut().zip(put_off.iter()) {
                    *ready |= put_off;
                }
                *put_off = [0; GROUPS];
            }
        }
        for (ready, put_off) in self.ready_counts.iter_mut().zip(&mut self.put_off_counts) {
            *ready += std::mem::take(put_off);
        }
        self.ready_groups |= std::mem::take(&mut self.put_off_groups);
    }

    /// Takes back that a slot is ready, or put off; `false` where it is neither.
    pub(super) fn withdraw(&mut self, slot: usize, group: usize) -> bool {
        let (word, bit) = (slot % WINDOW / 64, 1 << (slot % 64));
        if self.ready[word][ALL] & bit != 0 {
            self.clear_ready(slot, group);
            return true;
        }
        if self.put_off[word][ALL] & bit == 0 {
            return false;
        }
        self.put_off[word][ALL] &= !bit;
        self.put_off[word][group % GROUPS] &= !bit;
        let count = &mut self.put_off_counts[group % GROUPS];
        *count -= 1;
        self.put_off_groups &= !(u16::from(*count == 0) << (group % GROUPS));
        true
    }

    /// What is ready in a word of the window, given by its number.
    #[inline(always)]
    pub(super) fn ready_word(&self, word: u64) -> u64 {
        self.ready[(word & self.window_mask >> 6) as usize % (WINDOW / 64)][ALL]
    }

    #[inline(always)]
    pub(super) fn ready_group(&self, word: u64, group: usize) -> u64 {
        self.ready[(word & self.window_mask >> 6) as usize % (WINDOW / 64)][group % GROUPS]
    }

    /// Where in the window a micro-operation is, by its number.
    #[inline(always)]
    pub(super) fn place(&self, number: u64) -> usize {
        (number & self.window_mask) as usize % WINDOW
    }

    /// Where in the queue a micro-operation is, by its number.
    #[inline(always)]
    pub(super) fn queue_place(&self, number: u64) -> usize {
        (number & self.queue_mask) as usize % QUEUE
    }

    /// The number of the micro-operation in a slot of the window.
    #[inline(always)]
    pub(super) fn number(&self, slot: usize) -> u64 {
        self.retired + ((slot as u64).wrapping_sub(self.retired) & self.window_mask)
    }

    /// The youngest store that overlaps the eight bytes around `address`, by number.
    #[inline(always)]
    pub(super) fn overlapping_store(&self, address: u64) -> Option<u32> {
        if self.store_buckets[bucket(address >> 3)] == 0 {
            return None;
        }
        let mut number = self.stores_renamed;
        while number != self.written {
            number = number.wrapping_sub(1);
            if self.stores[number as usize % MAX_STORES].address >> 3 == address >> 3 {
                return Some(number);
            }
        }
        None
    }

    /// Whether the store is still in the buffer.
    #[inline(always)]
    pub(super) fn in_buffer(&self, store: u32) -> bool {
        store.wrapping_sub(self.written) < self.stores_renamed.wrapping_sub(self.written)
    }
}

#[inline(always)]
pub(super) fn bucket(number: u64) -> usize {
    (number ^ number >> 8) as usize % BUCKETS
}

/// `argument` of the micro-operations of a spin: no stream's lock has this number.
pub(super) const SPIN_ROUND: u16 = u16::MAX;

impl Spin {
    fn round(&self) -> u8 {
        if self.acquire.effect == Effect::AcquirePausing { 4 } else { 3 }
    }

    /// Load the word, test it, branch back; with a PAUSE before it where the lock asks for one.
    /// The load carries the lock's effect, which is how issue knows what it reads.
    fn uop(&self) -> Uop {
        if self.leaving {
            return self.acquire;
        }
        let code = self.acquire.code;
        let mut uop = match self.step {
            0 => {
                let word = Uop::new(Class::Load, code).at(self.acquire.address);
                return Uop { argument: self.acquire.argument, ..word.with(Effect::Acquire) };
            }
            1 => Uop::new(Class::IntAlu, code).after(1, 0),
            2 => Uop::new(Class::Branch, code).after(1, 0).with(Effect::Taken),
            _ => Uop::new(Class::Nop, code).with(Effect::Pause),
        };
        uop.argument = SPIN_ROUND;
        uop
    }
}
