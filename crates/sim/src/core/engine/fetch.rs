//! Fetch: from the streams, through the uop cache or the decoders, into the uop queues.

use super::pool::name;
use super::thread::{LOOK_BACK, Spin};
use super::{Core, NEVER, stage};
use crate::core::{Class, Component, Effect};

/// Whether fetch goes on behind a micro-operation.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Taken,
    Stop,
}

impl Core<'_> {
    #[inline(never)]
    pub(super) fn fetch(&mut self, tick: u64) {
        let description = self.preset.front_end.fetch;
        let order = self.order(description.select, stage::FETCH);
        let mut left = description.width;
        let mut served = 0;
        for thread in order {
            if !self.can_fetch(thread) {
                continue;
            }
            if left == 0 || served == description.threads_per_cycle {
                if !self.threads[thread].astray() {
                    self.threads[thread].supply = Component::SiblingSlots;
                }
                continue;
            }
            self.busy = true;
            let state = &mut self.threads[thread];
            left -= match (std::mem::take(&mut state.trace_turn), state.astray()) {
                // The second turn of a trace line that the first has emptied.
                (true, _) => 0,
                (false, true) => self.fetch_astray(thread, left),
                (false, false) => self.fetch_thread(thread, left, tick),
            };
            served += 1;
            self.turn[stage::FETCH] = thread;
        }
    }

    #[inline(always)]
    fn can_fetch(&self, thread: usize) -> bool {
        self.threads[thread].fetch_at <= self.cycle
            && self.awake[thread]
            && self.pools.has_room(name::UOP_QUEUE, thread)
    }

    /// Fetches up to `width` micro-operations of one thread; gives how many.
    fn fetch_thread(&mut self, thread: usize, width: u8, tick: u64) -> u8 {
        let room = self.pools.room(name::UOP_QUEUE, thread);
        let mut limit = u16::from(width).min(room) as u8;
        let may_cross = self.preset.front_end.taken_branches_per_cycle;
        self.threads[thread].supply = Component::Fetch;
        let mut fetched = 0;
        let mut taken = 0;
        let mut block = None;
        let trace_line = self.preset.front_end.uop_cache.and_then(|cache| cache.trace_line);
        while fetched < limit {
            let state = &mut self.threads[thread];
            let wanted = if state.decoding { limit.min(self.decode_width) } else { limit };
            let line = state.code_line;
            let most = trace_line.map_or(u8::MAX, |(uops, _)| uops - state.trace.0);
            let plain = state.fetch_plain(most.min(wanted.saturating_sub(fetched)), |code| {
                let this = code >> self.block_bits;
                code >> self.code_line_bits == line && *block.get_or_insert(this) == this
            });
            if plain > 0 {
                (fetched, limit) = (fetched + plain, wanted);
                if trace_line.is_some_and(|line| state.extend_trace_plain(plain, line)) {
                    break;
                }
                continue;
            }
            let code = state.peek().code;
            let this = code >> self.block_bits;
            if block.is_some_and(|block| block != this) {
                break;
            }
            block = Some(this);
            let line = code >> self.code_line_bits;
            if line != state.code_line && !self.enter_code(thread, line, code, tick) {
                break;
            }
            let state = &mut self.threads[thread];
            if state.decoding {
                limit = limit.min(self.decode_width);
                if fetched >= limit {
                    break;
                }
            }
            fetched += 1;
            let (class, effect) = state.move_to_queue();
            let line_ends = trace_line.is_some_and(|line| state.extend_trace(class, line));
            if line_ends {
                limit = fetched;
            }
            if class != Class::Branch && effect == Effect::None {
                continue;
            }
            match self.flow(thread, class, effect) {
                Flow::On => {}
                Flow::Taken => {
                    taken += 1;
                    if taken == may_cross {
                        break;
                    }
                }
                Flow::Stop => {
                    // What follows is another path, and its line begins there.
                    self.threads[thread].begin_trace();
                    break;
                }
            }
        }
        self.pools.take(name::UOP_QUEUE, thread, u16::from(fetched));
        fetched
    }

    /// Fetches behind a mispredicted branch, on the wrong path: what was fetched [`LOOK_BACK`] ago. It ends
    /// where work would have to be the oldest, or has an effect beyond its thread.
    fn fetch_astray(&mut self, thread: usize, width: u8) -> u8 {
        let front_end = &self.preset.front_end;
        let trace_line = front_end.uop_cache.and_then(|cache| cache.trace_line);
        let limit = u16::from(width).min(self.pools.room(name::UOP_QUEUE, thread)) as u8;
        let state = &mut self.threads[thread];
        let limit = if state.decoding { limit.min(self.decode_width) } else { limit };
        let (mut fetched, mut taken, mut block) = (0, 0, None);
        while fetched < limit {
            let uop = state.queue[state.queue_place(state.fetched.wrapping_sub(LOOK_BACK))];
            let (class, effect, this) = (uop.class, uop.effect, uop.code >> self.block_bits);
            let jumps = effect == Effect::Taken;
            if class == Class::Atomic || (effect != Effect::None && !jumps) || uop.argument != 0 {
                state.fetch_at = NEVER;
                break;
            }
            if *block.get_or_insert(this) != this {
                break;
            }
            let place = state.queue_place(state.fetched);
            state.queue[place] = uop;
            state.fetched += 1;
            fetched += 1;
            taken += u8::from(jumps);
            let line_ends = trace_line.is_some_and(|line| state.extend_trace(class, line));
            if line_ends || (jumps && taken == front_end.taken_branches_per_cycle) {
                break;
            }
        }
        self.pools.take(name::UOP_QUEUE, thread, u16::from(fetched));
        fetched
    }

    /// Turns to another stretch of code; `false` where it is not there yet. Fetch comes back to
    /// the same micro-operation, and then the stretch is there.
    #[inline(never)]
    fn enter_code(&mut self, thread: usize, line: u32, code: u32, tick: u64) -> bool {
        let entering = &mut self.threads[thread];
        entering.code_line = line;
        let line = self.memory.code_key(thread, code, self.code_line_bits);
        let mut wait = 0;
        if let (Some(tags), Some(cache)) = (&mut self.uop_cache, self.preset.front_end.uop_cache) {
            if tags.touch(thread, line) {
                entering.decoding = false;
                return true;
            }
            entering.counts.code_misses += 1;
            let _ = tags.insert(thread, line, false);
            if !entering.decoding {
                entering.decoding = true;
                wait = u64::from(cache.switch_cycles) * self.ticks_per_cycle;
            }
        }
        // The line of the code cache is kept while decoding stays in it.
        let bits = u32::from(self.preset.memory.line_bytes).trailing_zeros();
        let cache_line = code >> bits;
        if cache_line != entering.code_cache_line {
            entering.code_cache_line = cache_line;
            let code_ticks = self.memory.code(thread, code, tick);
            if code_ticks > 0 && self.uop_cache.is_none() {
                entering.counts.code_misses += 1;
            }
            wait = wait.max(code_ticks);
        }
        if wait == 0 {
            return true;
        }
        entering.fetch_at = self.cycle + wait.div_ceil(self.ticks_per_cycle);
        entering.supply = Component::CodeMiss;
        false
    }

    /// What the micro-operation just fetched means for fetch.
    #[inline(always)]
    fn flow(&mut self, thread: usize, class: Class, effect: Effect) -> Flow {
        let fetching = &mut self.threads[thread];
        if class == Class::Branch {
            return self.branch(thread, effect == Effect::Taken);
        }
        match effect {
            Effect::Acquire | Effect::AcquirePausing if class == Class::Atomic => {
                // Whether the thread goes on or spins is known when the acquire has executed.
                let acquire = fetching.queue[fetching.queue_place(fetching.fetched - 1)];
                fetching.spin = Some(Spin { acquire, step: 0, leaving: false });
                fetching.fetch_at = NEVER;
                fetching.supply = Component::Lock;
                Flow::Stop
            }
            Effect::Halt => {
                fetching.fetch_at = NEVER;
                fetching.supply = Component::Halt;
                Flow::Stop
            }
            _ => Flow::On,
        }
    }

    #[inline(always)]
    fn branch(&mut self, thread: usize, taken: bool) -> Flow {
        let fetching = &mut self.threads[thread];
        if fetching.spin.is_some() {
            return Flow::Taken;
        }
        let number = fetching.fetched - 1;
        let site = fetching.queue[fetching.queue_place(number)].code;
        fetching.counts.branches += 1;
        if !self.predictor.predict(thread, self.memory.data_space(thread), site, taken) {
            fetching.counts.mispredicts += 1;
            fetching.mispredicted = number;
            fetching.supply = Component::Mispredict;
            return Flow::Stop;
        }
        if taken { Flow::Taken } else { Flow::On }
    }
}
