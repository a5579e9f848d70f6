//! Default length of a run: long enough for its slowest thread, not longer.
//!
//! Every thread must retire as many uops as the others before a measurement ends, so beside a thread
//! that waits for memory a fast one retires a hundred times as many. A run of fixed length in uops
//! would take a minute for such a pair and a blink for another.

use super::engine::simulate;
use super::profile::Profile;
use super::{Options, Preset, Stuck};
use std::hint::black_box;

/// How long a run is: cycles that its slowest thread would take alone, caches empty at first, and
/// uops at least and at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    warmup_cycles: f64,
    measure_cycles: f64,
    warmup_uops: [f64; 2],
    measure_uops: [f64; 2],
    /// Whether it goes on until the speeds are known, for at most [`SETTLE`] times as long.
    settles: bool,
}

/// How many times the length a run may take until its speeds are known.
const SETTLE: u64 = 4;

impl Length {
    /// While the caches of work on hundreds of KB still fill.
    const FILLING: Self = Self {
        warmup_cycles: 400_000.0,
        measure_cycles: 1_000_000.0,
        warmup_uops: [10_000.0, 200_000.0],
        measure_uops: [20_000.0, 1_000_000.0],
        settles: false,
    };

    /// For the article's benchmarks on this processor. A connection's buffers, tasks and stacks are some
    /// tens of MB for all of them together, of which a profile has one connection's part. Where the last
    /// cache holds them, they are there; where it does not (the article's Xeon: 1 MB), every connection
    /// comes from memory anew, and caches that are still filling are the nearer thing.
    pub fn of_benchmarks(preset: &Preset) -> Self {
        match preset.memory.outer.last().is_some_and(|last| last.bytes >= HOLDS_ALL_BYTES) {
            true => Self { settles: false, ..Self::STEADY },
            false => Self::FILLING,
        }
    }

    /// For work that goes on for long: the caches hold what they ever will. Threads with data in common
    /// fill them for each other, so measured before that two of them may do more than twice the work of
    /// one.
    pub const STEADY: Self = Self {
        warmup_cycles: 4_000_000.0,
        measure_cycles: 1_500_000.0,
        warmup_uops: [10_000.0, 1_000_000.0],
        measure_uops: [20_000.0, 500_000.0],
        settles: true,
    };

    /// The options with caches as its runs begin: warm where it settles.
    pub fn begin(self, options: &Options) -> Options {
        Options { warm: self.settles, ..*options }
    }
}

/// A last cache of this size holds what the article's benchmarks touch: an estimate.
const HOLDS_ALL_BYTES: u64 = 16 << 20;

/// Uops per cycle of a profile alone, roughly.
///
/// # Errors
/// [`Stuck`] as [`simulate`].
pub fn speed(preset: &Preset, profile: &Profile, options: &Options) -> Result<f64, Box<Stuck>> {
    let short = Options { warmup_uops: 10_000, measure_uops: 20_000, ..*options };
    let alone = simulate(preset, vec![profile.input(preset, options.seed, 0)], &short);
    Ok(alone?.uops_per_cycle(0))
}

/// Takes so many cycles on a real processor: operations of one cycle, each on the one before. For the
/// calibration of a clock; here, because this crate is optimised in tests too.
#[inline(never)]
pub fn chain(cycles: u64) -> u64 {
    let (add, flip) = (black_box(0x9E37_79B9_u64), black_box(0x5DEE_CE66_u64));
    (0..cycles / 2).fold(black_box(1_u64), |value, _| value.wrapping_add(add) ^ flip)
}

/// Instructions per cycle of a profile alone with warm caches, and its first-level misses per 1000
/// instructions.
///
/// # Errors
/// [`Stuck`] as [`simulate`].
pub fn alone(
    preset: &Preset,
    profile: &Profile,
    uops_per_instruction: f64,
) -> Result<(f64, f64), Box<Stuck>> {
    let options = Options {
        warmup_uops: 1_000_000,
        measure_uops: profile.round_uops(preset).max(1_000_000),
        warm: true,
        ..Options::default()
    };
    let outcome = simulate(preset, vec![profile.input(preset, 1, 0)], &options)?;
    let thread = &outcome.threads[0];
    let instructions = thread.uops as f64 * profile.unfused(preset) / uops_per_instruction;
    let misses = 1000.0 * thread.counts.first_level_misses as f64 / instructions;
    Ok((instructions / outcome.cycles as f64, misses))
}

/// The options for threads of these speeds.
pub fn fitted(length: Length, options: &Options, speeds: impl Iterator<Item = f64>) -> Options {
    let slowest = speeds.fold(f64::INFINITY, f64::min);
    let uops = |cycles: f64, [low, high]: [f64; 2]| (cycles * slowest).clamp(low, high) as u64;
    let measure_uops = uops(length.measure_cycles, length.measure_uops);
    Options {
        warmup_uops: uops(length.warmup_cycles, length.warmup_uops),
        measure_uops,
        settle_uops: if length.settles { SETTLE * measure_uops } else { 0 },
        ..length.begin(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_thread_decides_within_bounds() {
        let of = |speeds: &[f64]| {
            let options = fitted(Length::FILLING, &Options::default(), speeds.iter().copied());
            (options.warmup_uops, options.measure_uops)
        };
        assert_eq!(of(&[2.0, 3.0]), (200_000, 1_000_000));
        assert_eq!(of(&[2.0, 0.1]), (40_000, 100_000));
        assert_eq!(of(&[0.0001]), (10_000, 20_000));
    }
}
