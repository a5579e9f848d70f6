//! Every unordered pair of some profiles on one simulated core.

use super::cache::Cache;
use super::run;
use crate::error::Error;
use crate::parallel;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::CoreMatrix;
use coretwin_sim::core::interval::{self, Summary};
use coretwin_sim::core::length::{self, Length};
use coretwin_sim::core::profile::{Profile, copies};
use coretwin_sim::core::{Options, Preset, Stretch, simulate, simulate_stretches};

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

struct Pair {
    /// Uops per cycle of each alone.
    alone: [f64; 2],
    together: [f64; 2],
    cached: bool,
}

/// A run of two profiles together; what each does alone over the same work is not known yet.
struct Together {
    speeds: [f64; 2],
    work: [Stretch; 2],
    options: Options,
}

enum Found {
    Kept(Pair),
    Run(Together),
}

/// Runs all pairs and each of their threads alone, side by side, for as long as the options say or,
/// with a length, for as long as that is for the slower of a pair. `done` hears how many runs of
/// how many are done. Errors: [`Error::Usage`] for a preset with one thread per core;
/// [`Error::NotPossible`] where a run does not end within its bound.
pub fn matrix(
    preset: &Preset,
    profiles: &[Profile],
    options: &Options,
    length: Option<Length>,
    cache: Option<&Cache>,
    mut done: impl FnMut(usize, usize),
) -> Result<CoreMatrix, Error> {
    run::check(preset, 2)?;
    let count = profiles.len();
    let speeds = parallel::map(
        profiles,
        |one| length::speed(preset, one, options).map_err(run::stuck),
        |_| {},
    );
    let speeds: Vec<f64> = speeds.into_iter().collect::<Result<_, _>>()?;
    // Alone and together begin with the same caches.
    let options = &length.map_or(*options, |length| length.begin(options));
    let pairs: Vec<(usize, usize)> =
        (0..count).flat_map(|a| (a..count).map(move |b| (a, b))).collect();
    let found = parallel::map(
        &pairs,
        |(a, b)| {
            let speeds = [speeds[*a], speeds[*b]].into_iter();
            let fitted = |length| length::fitted(length, options, speeds);
            let options = length.map_or(*options, fitted);
            let kept = cache.and_then(|cache| {
                Cache::get(&cache.file(preset, [&profiles[*a], &profiles[*b]], &options))
            });
            match kept {
                Some([a, b, beside_b, beside_a]) => Ok(Found::Kept(Pair {
                    alone: [a, b],
                    together: [beside_b, beside_a],
                    cached: true,
                })),
                None => together(preset, [&profiles[*a], &profiles[*b]], options).map(Found::Run),
            }
        },
        |finished| done(finished, pairs.len()),
    );
    let found: Vec<Found> = found.into_iter().collect::<Result<_, _>>()?;
    let results = with_alone(preset, profiles, &pairs, found, options, cache)?;
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

fn together(preset: &Preset, pair: [&Profile; 2], options: Options) -> Result<Together, Error> {
    let inputs = pair.iter().zip(copies(pair));
    let inputs = inputs.map(|(one, copy)| one.input(preset, options.seed, copy)).collect();
    let outcome = simulate(preset, inputs, &options).map_err(run::stuck)?;
    let of = |thread: usize| &outcome.threads[thread];
    Ok(Together {
        speeds: [0, 1].map(|thread| outcome.uops_per_cycle(thread)),
        work: [0, 1].map(|thread| Stretch {
            warmup_uops: of(thread).warmup_uops,
            measure_uops: of(thread).uops.max(1),
        }),
        options,
    })
}

/// Measures every profile alone over the work it did in each of its pairs. A program is the same in
/// all of them, so one run for each profile has all of its stretches; one more has the second copy
/// that a profile met beside itself.
fn with_alone(
    preset: &Preset,
    profiles: &[Profile],
    pairs: &[(usize, usize)],
    found: Vec<Found>,
    options: &Options,
    cache: Option<&Cache>,
) -> Result<Vec<Pair>, Error> {
    let programs: Vec<(usize, u16)> =
        (0..profiles.len()).flat_map(|profile| [(profile, 0), (profile, 1)]).collect();
    // The copies that the threads of a pair are: equal names are one program.
    let program = |(a, b): (usize, usize)| {
        let copies = copies([&profiles[a], &profiles[b]]);
        [(a, copies[0]), (b, copies[1])]
    };
    let alone = parallel::map(
        &programs,
        |one| {
            let runs = pairs.iter().zip(&found).filter_map(|(pair, found)| match found {
                Found::Kept(_) => None,
                Found::Run(together) => Some((program(*pair), together)),
            });
            let stretches: Vec<Stretch> = runs
                .flat_map(|(programs, together)| programs.into_iter().zip(together.work))
                .filter_map(|(program, work)| (program == *one).then_some(work))
                .collect();
            if stretches.is_empty() {
                return Ok(Vec::new().into_iter());
            }
            let input = profiles[one.0].input(preset, options.seed, one.1);
            simulate_stretches(preset, input, &stretches, options).map(Vec::into_iter)
        },
        |_| {},
    );
    let mut alone: Vec<std::vec::IntoIter<f64>> =
        alone.into_iter().collect::<Result<_, _>>().map_err(run::stuck)?;
    let mut next = |(profile, copy): (usize, u16)| {
        alone[2 * profile + usize::from(copy)].next().unwrap_or_default()
    };
    let finish = |(pair, found): (&(usize, usize), Found)| match found {
        Found::Kept(pair) => pair,
        Found::Run(Together { speeds, options, .. }) => {
            let alone = program(*pair).map(&mut next);
            if let Some(cache) = cache {
                let file = cache.file(preset, [&profiles[pair.0], &profiles[pair.1]], &options);
                Cache::put(&file, [alone[0], alone[1], speeds[0], speeds[1]]);
            }
            Pair { alone, together: speeds, cached: false }
        }
    };
    Ok(pairs.iter().zip(found).map(finish).collect())
}
