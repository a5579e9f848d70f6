//! A loop written down uop by uop, in a small language of one line per micro-operation.
//!
//! ```text
//! load <3 @0x40             a load of offset 0x40 whose address comes from 3 uops back
//! load <1 @?65536           of a random place within 64 KiB
//! load <1 @0x1000?65536     the same, 4 KiB further on
//! load <1 @?65536:2048:5/8  the same, but five times in eight of the first 2 KiB
//! store <2 <1 @+64/8192     walking 8 KiB in steps of 64 bytes
//! load <1 @0x1000+64/8192   the same, 4 KiB further on
//! compare <1                an int_alu that fuses with the branch behind it
//! branch <1 taken           taken; `branch <1 1/8` is taken one time in eight, at random
//! nop pause                 effects: pause, halt N, kernel, user
//! atomic acquire 3 @0       takes lock 3 (`acquire_pausing`: with PAUSE while it waits)
//! store release 3 @0        gives it back
//! fp_add <2 x12             the same line twelve times
//! ```
//!
//! A `#` begins a comment. Sources count back across the loop's end.

use super::layout::{Draw, Slot, drop_compares};
use super::statistical::{Branches, Code, Mix};
use super::{CODE_BASE, CODE_BYTES_PER_UOP, Seat, cut_sources};
use crate::core::{Class, Effect, Stream, Touched, Uop};
use crate::numbers::Numbers;

const UOPS_MAX: usize = 65_536;

/// A loop of micro-operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The text it was read from.
    pub text: String,
    /// Bytes between the data of one copy and of the next, for threads that share a space.
    pub thread_offset: u64,
    lines: Vec<Line>,
}

/// One micro-operation of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    uop: Uop,
    compare: bool,
    place: Place,
}

/// Where an access goes, or whether a branch is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// As the template says.
    Fixed,
    Random {
        bytes: u64,
    },
    Near {
        bytes: u64,
        near: u64,
        share: u64,
    },
    Walk {
        step: u64,
        bytes: u64,
    },
    Chance {
        taken: u64,
    },
}

impl Body {
    /// Reads the language above.
    ///
    /// # Errors
    /// The line's number within the text, from 1, and what is wrong there.
    pub fn parse(text: &str, thread_offset: u64) -> Result<Self, (usize, String)> {
        let (mut lines, mut numbers) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (line, times) = parse_line(line).map_err(|problem| (number + 1, problem))?;
            if lines.len() + times > UOPS_MAX {
                return Err((number + 1, format!("makes the body longer than {UOPS_MAX} uops")));
            }
            lines.extend(std::iter::repeat_n(line, times));
            numbers.extend(std::iter::repeat_n(number + 1, times));
        }
        if lines.is_empty() {
            return Err((1, "has no micro-operation".to_owned()));
        }
        for (place, line) in lines.iter_mut().enumerate() {
            line.uop.code = CODE_BASE + place as u32 * CODE_BYTES_PER_UOP;
        }
        let body = Self { text: text.to_owned(), thread_offset, lines };
        match body.lonely_compare() {
            None => Ok(body),
            Some(at) => Err((numbers[at], "'compare' must stand before a branch".to_owned())),
        }
    }

    /// A compare that cannot fuse, because no branch stands behind it.
    fn lonely_compare(&self) -> Option<usize> {
        self.lines.iter().enumerate().position(|(place, line)| {
            let next = self.lines.get(place + 1);
            line.compare && next.is_none_or(|next| next.uop.class != Class::Branch)
        })
    }

    /// Micro-operations of one round where compares fuse, and where they do not.
    pub fn uops(&self, fused: bool) -> usize {
        self.lines.iter().filter(|line| !(fused && line.compare)).count()
    }

    /// Its lines, without compares where these fuse.
    fn fused(&self, fused: bool) -> Vec<Line> {
        let compares: Vec<bool> = self.lines.iter().map(|line| fused && line.compare).collect();
        drop_compares(&self.lines, &compares, self.lines.len(), |line| &mut line.uop)
    }

    /// As the code of a phase: its data begins at `data`, its code at `code`.
    pub(super) fn slots(&self, fused: bool, data: u64, code: u32) -> Vec<Slot> {
        let slot = |line: Line| {
            let mut uop = line.uop;
            uop.code = uop.code - CODE_BASE + code;
            if matches!(uop.class, Class::Load | Class::Store | Class::Atomic) {
                uop.address += data;
            }
            let draw = match line.place {
                Place::Random { bytes } => Draw::Random { bytes },
                Place::Near { bytes, near, share } => Draw::Near { bytes, near, share },
                Place::Walk { step, bytes } => Draw::OwnWalk { at: 0, step, bytes },
                Place::Chance { taken } => Draw::Chance { taken },
                Place::Fixed => Draw::Nothing,
            };
            Slot { uop, draw }
        };
        self.fused(fused).into_iter().map(slot).collect()
    }

    /// What a phase cannot have: locks and other effects.
    pub(super) fn unfit_for_a_phase(&self) -> bool {
        self.lines.iter().any(|line| !matches!(line.uop.effect, Effect::None | Effect::Taken))
    }

    /// Its classes, branches and code, as a statistical phase states them.
    pub(super) fn statistics(&self) -> (Mix, Branches, Code) {
        let count = self.lines.len() as f64;
        let mut share = [0.0; Class::COUNT];
        for line in &self.lines {
            share[line.uop.class as usize] += 1.0 / count;
        }
        let branches = self.lines.iter().filter(|line| line.uop.class == Class::Branch);
        let taken: Vec<f64> = branches
            .map(|line| match line.place {
                Place::Chance { taken } => taken as f64 / 4_294_967_296.0,
                _ => f64::from(u8::from(line.uop.effect == Effect::Taken)),
            })
            .collect();
        let each = 1.0 / taken.len().max(1) as f64;
        let compares = self.lines.iter().filter(|line| line.compare).count() as f64;
        let bytes = self.lines.len() as u64 * u64::from(CODE_BYTES_PER_UOP);
        let branches = Branches {
            taken: taken.iter().filter(|taken| **taken > 0.5).count() as f64 * each,
            on_loads: 0.0,
            share: vec![each; taken.len()],
            bias: taken.into_iter().map(|taken| taken.max(1.0 - taken)).collect(),
        };
        let code = Code { bytes, hot_bytes: bytes, hot_share: 1.0 };
        (Mix { share, compared: compares * each }, branches, code)
    }

    /// Where the data of a seat's copy begins.
    pub(super) fn start(&self, seat: Seat) -> u64 {
        seat.base + u64::from(seat.copy) * self.thread_offset
    }

    /// What it touches again and again, as data from `start` on.
    pub(super) fn touched(&self, start: u64) -> Vec<Touched> {
        let place = |line: &Line| match line.place {
            Place::Random { bytes } | Place::Near { bytes, .. } | Place::Walk { bytes, .. } => {
                Some(Touched { code: false, start: start + line.uop.address, bytes })
            }
            Place::Fixed | Place::Chance { .. } => None,
        };
        let mut all: Vec<Touched> = self.lines.iter().filter_map(place).collect();
        all.sort_by_key(|one| (one.start, one.bytes));
        all.dedup();
        all
    }

    pub(super) fn stream(&self, fused: bool, seat: Seat) -> BodyStream {
        let start = self.start(seat);
        let mut lines = self.fused(fused);
        for line in &mut lines {
            let accesses = matches!(line.uop.class, Class::Load | Class::Store | Class::Atomic);
            let shared = matches!(
                line.uop.effect,
                Effect::Acquire | Effect::AcquirePausing | Effect::Release
            );
            if accesses {
                line.uop.address += if shared { seat.base } else { start };
            }
        }
        BodyStream { lines, next: 0, emitted: 0, round: 0, numbers: seat.draws }
    }
}

fn parse_line(text: &str) -> Result<(Line, usize), String> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let class = match name {
        "compare" => Class::IntAlu,
        _ => Class::ALL.into_iter().find(|class| class.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Class::ALL.iter().map(|class| class.name()).collect();
            coretwin_base::suggest::unknown("micro-operation", name, &names)
        })?,
    };
    let mut line =
        Line { uop: Uop::new(class, 0), compare: name == "compare", place: Place::Fixed };
    let (mut sources, mut times, mut addressed) = (0, 1, false);
    while let Some(word) = words.next() {
        if let Some(source) = word.strip_prefix('<') {
            if sources == 2 {
                return Err("has more than two sources".to_owned());
            }
            line.uop.sources[sources] = number(source, 1, 65_535)? as u16;
            sources += 1;
        } else if let Some(place) = word.strip_prefix('@') {
            addressed = true;
            (line.uop.address, line.place) = parse_place(place)?;
        } else if let Some(count) = word.strip_prefix('x') {
            times = number(count, 1, 10_000)? as usize;
        } else if let Some(share) = word.split_once('/') {
            line.place = Place::Chance { taken: chance(share)? };
        } else {
            parse_effect(word, &mut words, &mut line.uop)?;
        }
    }
    let accesses = matches!(class, Class::Load | Class::Store | Class::Atomic);
    if accesses != addressed {
        let problem = if accesses { "needs an address, like @0x40" } else { "takes no address" };
        return Err(format!("'{name}' {problem}"));
    }
    if accesses && line.uop.effect == Effect::Halt {
        return Err(format!("'{name}' cannot halt: write 'nop halt N'"));
    }
    let chance = matches!(line.place, Place::Chance { .. }) || line.uop.effect == Effect::Taken;
    if chance && class != Class::Branch {
        return Err(format!("'{name}' cannot be taken: only branches are"));
    }
    Ok((line, times))
}

fn parse_place(text: &str) -> Result<(u64, Place), String> {
    const REACH: u64 = 1 << 40;
    if let Some((start, bytes)) = text.split_once('?') {
        let start = if start.is_empty() { 0 } else { number(start, 0, REACH)? };
        let Some((bytes, near)) = bytes.split_once(':') else {
            return Ok((start, Place::Random { bytes: number(bytes, 64, REACH)? }));
        };
        let bytes = number(bytes, 64, REACH)?;
        let (near, share) = near.split_once(':').ok_or("reach is written @?BYTES:NEAR:M/N")?;
        let share = share.split_once('/').ok_or("reach is written @?BYTES:NEAR:M/N")?;
        return Ok((
            start,
            Place::Near { bytes, near: number(near, 64, bytes)?, share: chance(share)? },
        ));
    }
    if let Some((start, walk)) = text.split_once('+') {
        let start = if start.is_empty() { 0 } else { number(start, 0, REACH)? };
        let (step, bytes) = walk.split_once('/').ok_or("a walk is written @+STEP/BYTES")?;
        let bytes = number(bytes, 1, 1 << 32)?;
        return Ok((start, Place::Walk { step: number(step, 1, bytes)?, bytes }));
    }
    Ok((number(text, 0, REACH)?, Place::Fixed))
}

/// So often of 2^32 times.
fn chance((times, of): (&str, &str)) -> Result<u64, String> {
    let of = number(of, 1, 1 << 20)?;
    Ok((number(times, 0, of)? << 32) / of)
}

fn parse_effect<'text>(
    word: &str,
    rest: &mut impl Iterator<Item = &'text str>,
    uop: &mut Uop,
) -> Result<(), String> {
    let mut argument = |least, most| match rest.next() {
        Some(text) => number(text, least, most),
        None => Err(format!("'{word}' needs a number behind it")),
    };
    uop.effect = match word {
        "taken" => Effect::Taken,
        "pause" => Effect::Pause,
        "kernel" => Effect::EnterKernel,
        "user" => Effect::LeaveKernel,
        "halt" => {
            uop.address = argument(1, 1 << 40)?;
            Effect::Halt
        }
        "acquire" | "acquire_pausing" | "release" => {
            let wanted = if word == "release" { Class::Store } else { Class::Atomic };
            if uop.class != wanted {
                return Err(format!("'{word}' belongs to '{}'", wanted.name()));
            }
            uop.argument = argument(0, 15)? as u16;
            match word {
                "acquire" => Effect::Acquire,
                "acquire_pausing" => Effect::AcquirePausing,
                _ => Effect::Release,
            }
        }
        _ => {
            let known = [
                "taken",
                "pause",
                "halt",
                "kernel",
                "user",
                "acquire",
                "acquire_pausing",
                "release",
            ];
            return Err(coretwin_base::suggest::unknown("effect", word, &known));
        }
    };
    Ok(())
}

fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => text.parse(),
    };
    match parsed {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("'{text}' must be a whole number from {least} to {most}")),
    }
}

pub(super) struct BodyStream {
    lines: Vec<Line>,
    next: usize,
    emitted: u64,
    round: u64,
    numbers: Numbers,
}

impl Stream for BodyStream {
    fn fill(&mut self, batch: &mut [Uop]) {
        for slot in batch.iter_mut() {
            let line = &self.lines[self.next];
            *slot = line.uop;
            match line.place {
                Place::Fixed => {}
                Place::Random { bytes } => slot.address += self.numbers.below(bytes / 8) * 8,
                Place::Near { bytes, near, share } => {
                    let is_near = self.numbers.below(1 << 32) < share;
                    slot.address += self.numbers.below(if is_near { near } else { bytes }) & !7;
                }
                Place::Walk { step, bytes } => slot.address += self.round * step % bytes,
                Place::Chance { taken } => {
                    let taken = self.numbers.below(1 << 32) < taken;
                    slot.effect = if taken { Effect::Taken } else { Effect::None };
                }
            }
            self.next += 1;
            if self.next == self.lines.len() {
                self.next = 0;
                self.round += 1;
            }
        }
        if self.emitted < 1 << 16 {
            cut_sources(batch, self.emitted);
        }
        self.emitted += batch.len() as u64;
    }
}
