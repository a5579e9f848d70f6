//! How long a run is where nobody said: long enough for its slowest thread, not longer.
//!
//! Every thread must retire as many uops as the others before a measurement ends, so beside a thread
//! that waits for memory a fast one retires a hundred times as many. A run of fixed length in uops
//! would take a minute for such a pair and a blink for another.

use super::engine::simulate;
use super::outcome::Stuck;
use super::preset::Preset;
use super::profile::Profile;
use super::stream::Options;

/// Cycles that the slowest thread of a run would take alone, for warm-up and measurement.
const WARMUP_CYCLES: f64 = 400_000.0;
const MEASURE_CYCLES: f64 = 1_000_000.0;
/// Uops of warm-up and measurement, at least and at most.
const WARMUP_UOPS: [f64; 2] = [10_000.0, 200_000.0];
const MEASURE_UOPS: [f64; 2] = [20_000.0, 1_000_000.0];

/// Uops per cycle of a profile alone, roughly.
///
/// # Errors
/// [`Stuck`] as [`simulate`].
pub fn speed(preset: &Preset, profile: &Profile, options: &Options) -> Result<f64, Box<Stuck>> {
    let short = Options { warmup_uops: 10_000, measure_uops: 20_000, ..*options };
    let alone = simulate(preset, vec![profile.input(preset, options.seed, 0)], &short);
    Ok(alone?.uops_per_cycle(0))
}

/// The options for threads of these speeds.
#[must_use]
pub fn fitted(options: &Options, speeds: impl Iterator<Item = f64>) -> Options {
    let slowest = speeds.fold(f64::INFINITY, f64::min);
    let uops = |cycles: f64, [low, high]: [f64; 2]| (cycles * slowest).clamp(low, high) as u64;
    Options {
        warmup_uops: uops(WARMUP_CYCLES, WARMUP_UOPS),
        measure_uops: uops(MEASURE_CYCLES, MEASURE_UOPS),
        ..*options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_thread_decides_within_bounds() {
        let of = |speeds: &[f64]| {
            let options = fitted(&Options::default(), speeds.iter().copied());
            (options.warmup_uops, options.measure_uops)
        };
        assert_eq!(of(&[2.0, 3.0]), (200_000, 1_000_000));
        assert_eq!(of(&[2.0, 0.1]), (40_000, 100_000));
        assert_eq!(of(&[0.0001]), (10_000, 20_000));
    }
}
