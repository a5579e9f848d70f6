//! Every unordered pair of some profiles on one simulated core.

use super::cache::Cache;
use super::{parallel, run};
use crate::error::Error;
use coretwin_base::core_run::CoreMatrix;
use coretwin_base::schema::SCHEMA;
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Options, Preset, simulate};

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

/// Runs all pairs and every profile alone, side by side. `done` hears how many runs of how many are
/// done.
///
/// # Errors
/// [`Error::Usage`] for a preset with one thread per core; [`Error::NotPossible`] where a run does
/// not end within its bound.
pub fn matrix(
    preset: &Preset,
    profiles: &[Profile],
    options: &Options,
    cache: Option<&Cache>,
    mut done: impl FnMut(usize, usize),
) -> Result<CoreMatrix, Error> {
    run::check(preset, 2)?;
    let count = profiles.len();
    // A thread keeps its number, and with it its pages, when it is alone.
    let alone = (0..count).flat_map(|profile| (0..2).map(move |thread| vec![(profile, thread)]));
    let pairs = (0..count).flat_map(|a| (a..count).map(move |b| vec![(a, 0), (b, 1)]));
    let runs: Vec<Vec<Numbered>> = pairs.chain(alone).collect();
    let results = parallel::map(
        &runs,
        |run| {
            let threads: Vec<(&Profile, u16)> =
                run.iter().map(|(profile, thread)| (&profiles[*profile], *thread)).collect();
            speeds(preset, &threads, options, cache)
        },
        |finished| done(finished, runs.len()),
    );
    let results: Vec<Speeds> = results.into_iter().collect::<Result<_, _>>()?;
    let (pairs, alone) = results.split_at(results.len() - 2 * count);
    let alone_of = |profile: usize, thread: usize| alone[2 * profile + thread].ipc[0];
    let mut slowdown = vec![vec![0.0; count]; count];
    let mut throughput = vec![vec![0.0; count]; count];
    for (run, speeds) in runs.iter().zip(pairs) {
        let (a, b) = (run[0].0, run[1].0);
        let [of_a, of_b] = [alone_of(a, 0) / speeds.ipc[0], alone_of(b, 1) / speeds.ipc[1]];
        slowdown[b][a] = of_b;
        // Of a profile beside itself both threads are the same question; their mean answers it.
        slowdown[a][b] = if a == b { f64::midpoint(of_a, of_b) } else { of_a };
        throughput[a][b] = 1.0 / of_a + 1.0 / of_b;
        throughput[b][a] = throughput[a][b];
    }
    Ok(CoreMatrix {
        schema: SCHEMA,
        preset: preset.name.clone(),
        profiles: profiles.iter().map(|profile| profile.name.clone()).collect(),
        alone_ipc: (0..count).map(|profile| alone_of(profile, 0)).collect(),
        slowdown,
        throughput,
        cached: pairs.iter().filter(|speeds| speeds.cached).count() as u32,
        seed: options.seed,
        warmup_uops: options.warmup_uops,
        measure_uops: options.measure_uops,
    })
}

/// A profile, by its place in the list, and the number of the hardware thread that runs it.
type Numbered = (usize, u16);

struct Speeds {
    ipc: Vec<f64>,
    cached: bool,
}

fn speeds(
    preset: &Preset,
    profiles: &[(&Profile, u16)],
    options: &Options,
    cache: Option<&Cache>,
) -> Result<Speeds, Error> {
    let file = cache.map(|cache| cache.file(preset, profiles, options));
    if let Some(ipc) = file.as_ref().and_then(|file| Cache::get(file, profiles.len())) {
        return Ok(Speeds { ipc, cached: true });
    }
    let inputs = profiles
        .iter()
        .map(|(profile, thread)| profile.input(preset, options.seed, *thread))
        .collect();
    let outcome =
        simulate(preset, inputs, options).map_err(|stuck| Error::NotPossible(stuck.to_string()))?;
    let ipc: Vec<f64> = (0..profiles.len()).map(|thread| outcome.uops_per_cycle(thread)).collect();
    if let Some(file) = &file {
        Cache::put(file, &ipc);
    }
    Ok(Speeds { ipc, cached: false })
}
