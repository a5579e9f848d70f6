//! What the interval formula needs to know of a profile, taken once from a piece of its stream.

use crate::core::preset::Predictor;
use crate::core::profile::Profile;
use crate::core::{Class, Effect, Preset, Uop};

/// Length of the piece. What it does not touch twice counts as missing every cache.
const UOPS: usize = 262_144;

/// Windows for which parallelism is computed; between them it is interpolated.
const WINDOWS: [usize; 6] = [16, 32, 64, 128, 256, 512];

/// Capacities for which misses are counted: 2^10 to 2^27 bytes.
const CAPACITIES: std::ops::Range<u32> = 10..28;

/// A profile on a preset, in the formula's numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Loads per micro-operation.
    pub loads: f64,
    /// Stores per micro-operation.
    pub stores: f64,
    /// Mispredicted branches per micro-operation, by two-bit counters per site.
    pub mispredicts: f64,
    /// Share of the loads whose address comes from a load not far before.
    pub chained: f64,
    parallelism: [f64; WINDOWS.len()],
    resolution: [f64; WINDOWS.len()],
    /// Loads per micro-operation that miss a cache of 2^10, 2^11, … bytes.
    misses: Vec<f64>,
    lines: f64,
}

impl Summary {
    /// Takes the numbers from the first micro-operations of thread 0.
    pub fn of(profile: &Profile, preset: &Preset, seed: u64) -> Self {
        let mut piece = vec![Uop::new(Class::Nop, 0); UOPS];
        profile.stream(preset, seed, 0).fill(&mut piece);
        let per_uop = |count: usize| count as f64 / UOPS as f64;
        let class = |class| per_uop(piece.iter().filter(|uop| uop.class == class).count());
        let latency = |uop: &Uop| latency(preset, uop);
        let width = f64::from(preset.rename.width);
        let flows = WINDOWS.map(|window| flow(&piece, window, width, latency));
        let (misses, lines) = misses(&piece, u64::from(preset.memory.line_bytes));
        Self {
            loads: class(Class::Load) + class(Class::Atomic),
            stores: class(Class::Store),
            mispredicts: per_uop(mispredicts(&piece, preset.front_end.predictor)),
            chained: chained(&piece),
            parallelism: flows.map(|(parallelism, _)| parallelism),
            resolution: flows.map(|(_, resolution)| resolution),
            misses,
            lines,
        }
    }

    /// Micro-operations per cycle that dependences allow within a window, all loads hitting.
    pub fn parallelism(&self, window: f64) -> f64 {
        interpolate(&self.parallelism, window)
    }

    /// Cycles from a mispredicted branch's entry into the window to its execution. The window
    /// behind the last misprediction is seldom full: it holds the half, or what came since.
    pub fn resolution(&self, window: f64) -> f64 {
        let since = 1.0 / self.mispredicts.max(1e-6);
        interpolate(&self.resolution, (window / 2.0).min(since / 2.0))
    }

    /// Loads per micro-operation that miss a cache of so many bytes.
    pub fn misses(&self, bytes: f64) -> f64 {
        let mut last = self.misses[0];
        let mut from = f64::from(1u32 << CAPACITIES.start);
        for misses in &self.misses[1..] {
            if bytes < 2.0 * from {
                let share = ((bytes - from) / from).max(0.0);
                return last + (misses - last) * share;
            }
            (last, from) = (*misses, 2.0 * from);
        }
        last
    }

    /// Lines per micro-operation that the thread brings into a small cache.
    pub fn lines_per_uop(&self) -> f64 {
        self.lines
    }
}

fn latency(preset: &Preset, uop: &Uop) -> f64 {
    if uop.class == Class::Load {
        return f64::from(preset.memory.first.load_cycles);
    }
    f64::from(preset.execution[uop.class as usize].latency_half_cycles) / 2.0
}

/// Between the powers of two in [`WINDOWS`], linearly; beyond them the last.
fn interpolate(values: &[f64; WINDOWS.len()], window: f64) -> f64 {
    let Some(upper) = WINDOWS.iter().position(|known| *known as f64 >= window) else {
        return values[WINDOWS.len() - 1];
    };
    if upper == 0 {
        return values[0];
    }
    let (low, high) = (WINDOWS[upper - 1] as f64, WINDOWS[upper] as f64);
    values[upper - 1] + (values[upper] - values[upper - 1]) * (window - low) / (high - low)
}

/// Micro-operations per cycle, and the mean age of branches at execution, where only dependences,
/// the width and a window retired in order hold anything up.
fn flow(piece: &[Uop], window: usize, width: f64, latency: impl Fn(&Uop) -> f64) -> (f64, f64) {
    let mut ready = vec![0.0f64; piece.len()];
    let mut retired = vec![0.0f64; piece.len()];
    let (mut enters, mut ages, mut branches) = (0.0f64, 0.0, 0u32);
    for (place, uop) in piece.iter().enumerate() {
        enters += 1.0 / width;
        if place >= window {
            enters = enters.max(retired[place - window]);
        }
        let mut starts = enters;
        for source in uop.sources.into_iter().filter(|source| *source > 0) {
            starts = starts.max(ready[place - usize::from(source)]);
        }
        ready[place] = starts + latency(uop);
        let before = if place == 0 { 0.0 } else { retired[place - 1] };
        retired[place] = ready[place].max(before);
        if uop.class == Class::Branch {
            ages += ready[place] - enters;
            branches += 1;
        }
    }
    let end = retired.last().copied().unwrap_or(1.0).max(1.0);
    (piece.len() as f64 / end, ages / f64::from(branches.max(1)))
}

/// Branches that two-bit counters of sites get wrong, after a first eighth for learning; scaled.
fn mispredicts(piece: &[Uop], predictor: Predictor) -> usize {
    let mut counters = vec![2u8; predictor.entries as usize];
    let (mut wrong, learning) = (0, piece.len() / 8);
    for (place, uop) in piece.iter().enumerate().filter(|(_, uop)| uop.class == Class::Branch) {
        let entry = uop.code.wrapping_mul(0x9e37_79b1) >> 8 & (predictor.entries - 1);
        let counter = &mut counters[entry as usize];
        let taken = uop.effect == Effect::Taken;
        wrong += usize::from(place >= learning && (*counter >= 2) != taken);
        *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
    }
    wrong * 8 / 7
}

/// Share of the loads that get their address from a load within 16 micro-operations, through at
/// most four others.
fn chained(piece: &[Uop]) -> f64 {
    let (mut loads, mut chained) = (0u32, 0u32);
    for (place, _) in piece.iter().enumerate().filter(|(_, uop)| uop.class == Class::Load) {
        loads += 1;
        let mut at = place;
        for _ in 0..4 {
            let source = usize::from(piece[at].sources[0]);
            if source == 0 || source > at {
                break;
            }
            at -= source;
            if piece[at].class == Class::Load {
                chained += u32::from(place - at <= 64);
                break;
            }
        }
    }
    f64::from(chained) / f64::from(loads.max(1))
}

/// Loads per micro-operation that miss caches of growing capacity, and lines brought into one of
/// 8 KiB: direct-mapped arrays by hash, which err on the side of misses.
fn misses(piece: &[Uop], line_bytes: u64) -> (Vec<f64>, f64) {
    let mut result = Vec::new();
    let warm = piece.len() / 4 * 3;
    for bits in CAPACITIES {
        let sets = (1u64 << bits) / line_bytes / 4;
        let mut tags = vec![[u64::MAX; 4]; sets.max(1) as usize];
        let mut missed = 0u32;
        for (place, uop) in piece.iter().enumerate() {
            if !matches!(uop.class, Class::Load | Class::Store | Class::Atomic) {
                continue;
            }
            let line = uop.address / line_bytes;
            let set = &mut tags[(line % sets.max(1)) as usize];
            let hit = set.iter().position(|known| *known == line);
            if hit.is_none() && place >= warm && uop.class != Class::Store {
                missed += 1;
            }
            set[..=hit.unwrap_or(3)].rotate_right(1);
            set[0] = line;
        }
        result.push(f64::from(missed) / (piece.len() - warm) as f64);
    }
    let lines = result[3];
    (result, lines)
}
