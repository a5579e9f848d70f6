//! Every unordered pair of some profiles on one simulated core.

use super::cache::Cache;
use super::{length, parallel, run};
use crate::error::Error;
use coretwin_base::core_run::CoreMatrix;
use coretwin_base::schema::SCHEMA;
use coretwin_sim::core::interval::{self, Summary};
use coretwin_sim::core::profile::{Profile, copies};
use coretwin_sim::core::{Options, Preset, compare};

/// The profiles of a matrix that names none: what fights for one resource each, and real work.
pub const PROFILES: [&str; 12] = [
    "spin",
    "spin-pause",
    "fadd-chain",
    "pointer-chase",
    "sieve",
    "stack-alias-64k",
    "gzip",
    "perl-loop",
    "syscall",
    "chat",
    "dbench",
    "tbench",
];

/// What the pair of two profiles gave.
struct Pair {
    /// Uops per cycle of each alone.
    alone: [f64; 2],
    together: [f64; 2],
    cached: bool,
}

/// Runs all pairs and each of their threads alone, side by side. `done` hears how many runs of how
/// many are done.
///
/// # Errors
/// [`Error::Usage`] for a preset with one thread per core; [`Error::NotPossible`] where a run does
/// not end within its bound.
pub fn matrix(
    preset: &Preset,
    profiles: &[Profile],
    options: &Options,
    fit_length: bool,
    cache: Option<&Cache>,
    mut done: impl FnMut(usize, usize),
) -> Result<CoreMatrix, Error> {
    run::check(preset, 2)?;
    let count = profiles.len();
    let speeds = parallel::map(profiles, |one| length::speed(preset, one, options), |_| {});
    let speeds: Vec<f64> = speeds.into_iter().collect::<Result<_, _>>()?;
    let pairs: Vec<(usize, usize)> =
        (0..count).flat_map(|a| (a..count).map(move |b| (a, b))).collect();
    let results = parallel::map(
        &pairs,
        |(a, b)| {
            let fitted = length::fitted(options, [speeds[*a], speeds[*b]].into_iter());
            let options = if fit_length { fitted } else { *options };
            pair(preset, [&profiles[*a], &profiles[*b]], &options, cache)
        },
        |finished| done(finished, pairs.len()),
    );
    let results: Vec<Pair> = results.into_iter().collect::<Result<_, _>>()?;
    let mut slowdown = vec![vec![0.0; count]; count];
    let mut throughput = vec![vec![0.0; count]; count];
    let mut alone_ipc = vec![0.0; count];
    for ((a, b), pair) in pairs.into_iter().zip(&results) {
        let [of_a, of_b] = [0, 1].map(|thread| pair.alone[thread] / pair.together[thread]);
        slowdown[b][a] = of_b;
        // Of a profile beside itself both threads are the same question; their mean answers it.
        slowdown[a][b] = if a == b { f64::midpoint(of_a, of_b) } else { of_a };
        throughput[a][b] = 1.0 / of_a + 1.0 / of_b;
        throughput[b][a] = throughput[a][b];
        if a == b {
            alone_ipc[a] = pair.alone[0];
        }
    }
    Ok(CoreMatrix {
        schema: SCHEMA,
        preset: preset.name.clone(),
        profiles: profiles.iter().map(|profile| profile.name.clone()).collect(),
        alone_ipc,
        slowdown,
        throughput,
        slowdown_by_formula: by_formula(preset, profiles, options.seed),
        cached: results.iter().filter(|pair| pair.cached).count() as u32,
        seed: options.seed,
        warmup_uops: options.warmup_uops,
        measure_uops: options.measure_uops,
    })
}

fn by_formula(preset: &Preset, profiles: &[Profile], seed: u64) -> Vec<Vec<f64>> {
    let summaries = parallel::map(profiles, |one| Summary::of(one, preset, seed), |_| {});
    let beside = |a, b| interval::pair(preset, [a, b])[0].slowdown();
    summaries.iter().map(|a| summaries.iter().map(|b| beside(a, b)).collect()).collect()
}

fn pair(
    preset: &Preset,
    profiles: [&Profile; 2],
    options: &Options,
    cache: Option<&Cache>,
) -> Result<Pair, Error> {
    let file = cache.map(|cache| cache.file(preset, profiles, options));
    if let Some(kept) = file.as_ref().and_then(|file| Cache::get(file)) {
        let [a, b, beside_b, beside_a] = kept;
        return Ok(Pair { alone: [a, b], together: [beside_b, beside_a], cached: true });
    }
    let copies = copies(profiles);
    let input = |thread: usize| profiles[thread].input(preset, options.seed, copies[thread]);
    let found = compare(preset, 2, &input, options).map_err(run::stuck)?;
    let alone = [0, 1].map(|thread| found.alone[thread].uops_per_cycle(0));
    let together = [0, 1].map(|thread| found.together.uops_per_cycle(thread));
    if let Some(file) = &file {
        Cache::put(file, [alone[0], alone[1], together[0], together[1]]);
    }
    Ok(Pair { alone, together, cached: false })
}
