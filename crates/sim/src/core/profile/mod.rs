//! What a thread does, as data: exact kernels, bodies written uop by uop, and statistical profiles.
//!
//! Data flow: text → [`Profile::read`] → [`Profile::stream`] → the
//! core. A stream depends on the profile, the preset's way to fuse, the seed and which copy of the
//! profile it is, and on nothing else: not on the hardware thread, not on the sibling.
//!
//! Micro-operations are counted unfused. A preset that fuses a compare with the branch behind it
//! sees the pair as one; NetBurst sees two.

mod body;
pub mod import;
mod layout;
mod program;
mod read;
mod sieve;
mod statistical;
pub mod table;

pub use body::Body;
pub use sieve::{Access, Sieve};
pub use statistical::{Branches, Code, Lock, Mix, Pattern, Phase, Region, Sources};

use super::preset::Provenance;
use super::{Placement, Preset, Stream, ThreadInput, Touched, Uop};
use crate::numbers::Numbers;
use coretwin_base::random;

/// What a thread does.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Its id: `gzip`.
    pub name: String,
    /// One line for lists.
    pub title: String,
    /// Whether threads of this profile share their data (threads of one process).
    pub shares_data: bool,
    /// Size of its data pages in bytes.
    pub page_bytes: u64,
    /// Where its data pages lie.
    pub placement: Placement,
    /// The work itself.
    pub work: Work,
    /// How fast the real program is by itself, where that was measured.
    pub solo: Vec<Solo>,
    /// Where its numbers come from.
    pub provenance: Vec<Provenance>,
}

/// The real program alone on a processor, its sibling idle.
#[derive(Debug, Clone, PartialEq)]
pub struct Solo {
    /// The preset nearest to the processor.
    pub preset: String,
    /// Instructions per cycle: user time × a calibrated clock.
    pub instructions_per_cycle: f64,
    /// Unfused micro-operations of the profile for each instruction.
    pub uops_per_instruction: f64,
    /// Loads and stores that miss a first level of the preset's size, per 1000 instructions, by
    /// cachegrind's model.
    pub first_level_misses: Option<f64>,
    /// What ran.
    pub command: String,
    /// The day: `2026-11-23`.
    pub date: String,
}

/// The work of a profile.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// AIM9's integer sieve with its true addresses.
    Sieve(Sieve),
    /// A loop written down uop by uop.
    Body(Body),
    /// Phases with the statistics of real programs, one after the other, then from the start.
    Statistical(Vec<Phase>),
}

impl Profile {
    /// The micro-operations of a thread on this preset; `copy` as in [`Self::input`].
    pub fn stream(&self, preset: &Preset, seed: u64, copy: u16) -> Box<dyn Stream> {
        let fused = preset.fuses_compare_and_branch;
        let seat = Seat::of(&self.name, seed, copy);
        match &self.work {
            Work::Sieve(sieve) => Box::new(sieve.stream(fused)),
            Work::Body(body) => Box::new(body.stream(fused, seat)),
            Work::Statistical(phases) => Box::new(program::stream(phases, fused, seat)),
        }
    }

    /// What a thread touches again and again; `copy` as in [`Self::input`].
    fn touched(&self, seed: u64, copy: u16) -> Vec<Touched> {
        let seat = Seat::of(&self.name, seed, copy);
        match &self.work {
            Work::Sieve(sieve) => sieve.touched(),
            Work::Body(body) => body.touched(body.start(seat)),
            Work::Statistical(phases) => program::touched(phases, seat),
        }
    }

    /// Micro-operations of one round: of the whole sieve, of a body, or of all phases.
    pub fn round_uops(&self, preset: &Preset) -> u64 {
        let fused = preset.fuses_compare_and_branch;
        match &self.work {
            Work::Sieve(sieve) => sieve.round_uops(fused),
            Work::Body(body) => body.uops(fused) as u64,
            Work::Statistical(phases) => phases.iter().map(|phase| phase.uops).sum(),
        }
    }

    /// Unfused micro-operations for each of this preset's.
    pub fn unfused(&self, preset: &Preset) -> f64 {
        if !preset.fuses_compare_and_branch {
            return 1.0;
        }
        match &self.work {
            Work::Sieve(sieve) => sieve.round_uops(false) as f64 / sieve.round_uops(true) as f64,
            Work::Body(body) => body.uops(false) as f64 / body.uops(true) as f64,
            Work::Statistical(phases) => {
                let sum = |of: &dyn Fn(&Phase) -> f64| phases.iter().map(of).sum::<f64>();
                let uops = |phase: &Phase| phase.uops as f64;
                sum(&uops) / sum(&|phase| uops(phase) * phase.mix.fused_share())
            }
        }
    }

    /// The same as the input of a run. `copy` counts the threads of one name within a run, from 0:
    /// [`copies`] gives it.
    ///
    /// Which hardware thread it runs on is not asked: what a program is (its addresses, pages and
    /// draws) depends on its name, its copy and the seed, so that exchanging the threads of a run
    /// exchanges their results, and a program is the same in all runs it takes part in.
    pub fn input(&self, preset: &Preset, seed: u64, copy: u16) -> ThreadInput<'static> {
        let number = |what: &str, index: u16| {
            let name = format!("{what} of {}", self.name);
            random::Stream::new(0, &name, u64::from(index)).below(1 << 24) as u32
        };
        let data_space = match self.shares_data {
            true => number("shared data", 0),
            false => number("data", copy),
        };
        ThreadInput {
            stream: Some(self.stream(preset, seed, copy)),
            data_space,
            code_space: number("code", 0),
            page_bytes: self.page_bytes,
            placement: self.placement,
            round_uops: self.round_uops(preset),
            touched: self.touched(seed, copy),
        }
    }
}

/// For each of these profiles, how many before it have its name.
pub fn copies<'all>(profiles: impl IntoIterator<Item = &'all Profile>) -> Vec<u16> {
    let names: Vec<&str> = profiles.into_iter().map(|profile| profile.name.as_str()).collect();
    let before = |(place, name): (usize, &&str)| {
        names[..place].iter().filter(|earlier| *earlier == name).count() as u16
    };
    names.iter().enumerate().map(before).collect()
}

/// What sets one thread's program apart from those of other names, copies and seeds.
#[derive(Debug, Clone, Copy)]
struct Seat {
    /// Where the data of the program's first copy begins: whole pages from others', elsewhere for
    /// every seed, as loaders and heaps have it. (Where lines alias by their linear addresses, how
    /// two programs lie to each other matters.)
    base: u64,
    copy: u16,
    draws: Numbers,
}

impl Seat {
    fn of(name: &str, seed: u64, copy: u16) -> Self {
        /// 16 places modulo 64 KiB; so far apart that regions of kernel data do not meet.
        const GAP: u64 = 0x1_0000_3000;
        let place = random::Stream::new(seed, &format!("place of {name}"), 0).below(1 << 13);
        let mut draws = random::Stream::new(seed, &format!("draws of {name}"), u64::from(copy));
        Self { base: DATA_BASE + place * GAP, copy, draws: Numbers::new(draws.next_u64()) }
    }
}

/// Where data of a user program begins; real programs' data lies low, too.
const DATA_BASE: u64 = 0x1000_0000;

/// Where code of a user program begins.
const CODE_BASE: u32 = 0x0040_0000;

/// Bytes of code of one unfused micro-operation: 3.5 measured for x86-64, rounded to a power of 2.
const CODE_BYTES_PER_UOP: u32 = 4;

/// Forgets sources that lie before the stream's first micro-operation.
fn cut_sources(batch: &mut [Uop], emitted: u64) {
    for (offset, uop) in batch.iter_mut().enumerate() {
        for source in &mut uop.sources {
            if u64::from(*source) > emitted + offset as u64 {
                *source = 0;
            }
        }
    }
}
