//! The program of a thread, executed: phase after phase, over and over.
//!
//! Only outcomes of branches and random addresses are drawn at execution, from counter-based streams,
//! so a thread's stream is independent of its sibling and of batch sizes.

use super::layout::{self, Draw, Program, lay_out};
use super::statistical::{Lock, Phase, REGIONS_MAX};
use super::{DATA_BASE, Seat, cut_sources};
use crate::core::{Class, Effect, KERNEL_DATA, Stream, Touched, Uop};
use crate::numbers::Numbers;

/// Slots executed in a row before hot and cold code can change places.
const SEGMENT: usize = 64;

/// What lies ahead within a phase.
#[derive(Clone, Copy)]
struct Ahead {
    phase_uops: u64,
    pause_uops: u64,
    lock_uops: u64,
    holding: bool,
    halt_cycles: u64,
}

/// The phases of a thread, over and over.
pub(super) struct ProgramStream {
    programs: Vec<Program>,
    current: usize,
    ahead: Ahead,
    /// Next slot, and the slots left of its segment.
    at: usize,
    left: usize,
    walks: [u64; REGIONS_MAX],
    numbers: Numbers,
    /// Where the words of the program's locks lie.
    locks: u64,
    emitted: u64,
}

/// Locks lie so far before the data.
const LOCKS_BELOW: u64 = 8192;

/// A phase's number: phases of one name are the same code, on other data.
fn number(phases: &[Phase], phase: &Phase) -> usize {
    phases.iter().position(|other| other.name == phase.name).unwrap_or(0)
}

/// What the phases touch again and again.
pub(super) fn touched(phases: &[Phase], seat: Seat) -> Vec<Touched> {
    phases.iter().flat_map(|phase| layout::touched(phase, number(phases, phase), seat)).collect()
}

/// The stream of these phases for one thread.
pub(super) fn stream(phases: &[Phase], fused: bool, seat: Seat) -> ProgramStream {
    let programs: Vec<Program> =
        phases.iter().map(|phase| lay_out(phase, number(phases, phase), fused, seat)).collect();
    let ahead = programs[0].start();
    ProgramStream {
        programs,
        current: 0,
        ahead,
        at: 0,
        left: 0,
        walks: [0; REGIONS_MAX],
        numbers: seat.draws,
        locks: seat.base - LOCKS_BELOW,
        emitted: 0,
    }
}

impl Program {
    fn start(&self) -> Ahead {
        Ahead {
            phase_uops: self.length,
            pause_uops: if self.pause_every == 0 { u64::MAX } else { self.pause_every },
            lock_uops: self.lock.map_or(u64::MAX, |lock| lock.every_uops),
            holding: false,
            halt_cycles: self.halt_cycles,
        }
    }
}

impl ProgramStream {
    /// Something that happens between micro-operations of the program, if it is due.
    fn event(&mut self) -> Option<Uop> {
        let program = &self.programs[self.current];
        let code = program.slots[0].uop.code;
        if self.ahead.pause_uops == 0 {
            self.ahead.pause_uops = program.pause_every;
            return Some(Uop::new(Class::Nop, code).with(Effect::Pause));
        }
        if let (0, Some(lock)) = (self.ahead.lock_uops, program.lock) {
            return Some(self.lock_event(lock, code));
        }
        if self.ahead.phase_uops > 0 {
            return None;
        }
        if let (true, Some(lock)) = (self.ahead.holding, program.lock) {
            return Some(self.lock_event(lock, code));
        }
        if self.ahead.halt_cycles > 0 {
            let cycles = std::mem::take(&mut self.ahead.halt_cycles);
            return Some(Uop::new(Class::Nop, code).with(Effect::Halt).at(cycles));
        }
        let kernel = program.kernel;
        self.current = (self.current + 1) % self.programs.len();
        let next = &self.programs[self.current];
        self.ahead = next.start();
        self.left = 0;
        match (kernel, next.kernel) {
            (true, false) => Some(Uop::new(Class::Nop, code).with(Effect::LeaveKernel)),
            (false, true) => Some(Uop::new(Class::Nop, code).with(Effect::EnterKernel)),
            _ => None,
        }
    }

    fn lock_event(&mut self, lock: Lock, code: u32) -> Uop {
        let locks = match self.programs[self.current].kernel {
            true => (DATA_BASE - LOCKS_BELOW) | KERNEL_DATA,
            false => self.locks,
        };
        let word = locks + u64::from(lock.number) * 128;
        let (class, effect) = match (self.ahead.holding, lock.pausing) {
            (true, _) => (Class::Store, Effect::Release),
            (false, true) => (Class::Atomic, Effect::AcquirePausing),
            (false, false) => (Class::Atomic, Effect::Acquire),
        };
        self.ahead.lock_uops = if self.ahead.holding { lock.every_uops } else { lock.hold_uops };
        self.ahead.holding = !self.ahead.holding;
        Uop { argument: lock.number, ..Uop::new(class, code).at(word).with(effect) }
    }

    /// The next segment: usually the hot part's next, else a cold one at random.
    fn next_segment(&mut self) {
        let program = &mut self.programs[self.current];
        let slots = program.slots.len();
        let hot = program.hot_slots >= slots || self.numbers.below(1 << 32) < program.hot_of_2_32;
        if hot {
            self.at = program.hot_next;
            let end = (self.at + SEGMENT).min(program.hot_slots);
            self.left = end - self.at;
            program.hot_next = if end == program.hot_slots { 0 } else { end };
        } else {
            let cold = (slots - program.hot_slots).div_ceil(SEGMENT) as u64;
            self.at = program.hot_slots + self.numbers.below(cold) as usize * SEGMENT;
            self.left = SEGMENT.min(slots - self.at);
        }
    }

    fn execute(&mut self, batch: &mut [Uop]) {
        let slots = &mut self.programs[self.current].slots[self.at..self.at + batch.len()];
        for (out, slot) in batch.iter_mut().zip(slots) {
            *out = slot.uop;
            match &mut slot.draw {
                Draw::Nothing => {}
                Draw::Random { bytes } => out.address += self.numbers.below(*bytes) & !7,
                Draw::Near { bytes, near, share } => {
                    let is_near = self.numbers.below(1 << 32) < *share;
                    out.address += self.numbers.below(if is_near { *near } else { *bytes }) & !7;
                }
                Draw::Walk { region, step, bytes } => {
                    let walk = &mut self.walks[usize::from(*region)];
                    out.address += *walk;
                    *walk += *step;
                    if *walk >= *bytes {
                        *walk = 0;
                    }
                }
                Draw::OwnWalk { at, step, bytes } => {
                    out.address += *at;
                    *at = (*at + *step) % *bytes;
                }
                Draw::Chance { taken } => {
                    let is_taken = self.numbers.below(1 << 32) < *taken;
                    out.effect = if is_taken { Effect::Taken } else { Effect::None };
                }
            }
        }
    }
}

impl Stream for ProgramStream {
    fn fill(&mut self, batch: &mut [Uop]) {
        let mut done = 0;
        while done < batch.len() {
            if let Some(uop) = self.event() {
                batch[done] = uop;
                done += 1;
                continue;
            }
            if self.left == 0 {
                self.next_segment();
            }
            let due = self.ahead.phase_uops.min(self.ahead.pause_uops).min(self.ahead.lock_uops);
            let count = (due.min(self.left as u64) as usize).min(batch.len() - done);
            self.execute(&mut batch[done..done + count]);
            done += count;
            self.at += count;
            self.left -= count;
            for ahead in
                [&mut self.ahead.phase_uops, &mut self.ahead.pause_uops, &mut self.ahead.lock_uops]
            {
                *ahead -= count as u64;
            }
        }
        if self.emitted < 1 << 16 {
            cut_sources(batch, self.emitted);
        }
        self.emitted += batch.len() as u64;
    }
}
