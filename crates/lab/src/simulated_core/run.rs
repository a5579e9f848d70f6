//! Some threads on one simulated core: together, and each alone with its siblings halted.

use super::{length, parallel};
use crate::error::Error;
use coretwin_base::core_run::{CoreOccupancy, CoreRun, CoreSide, CoreSpread, CoreThread};
use coretwin_base::schema::SCHEMA;
use coretwin_sim::core::interval::{self, Summary};
use coretwin_sim::core::outcome::{Component, Counts};
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Options, Outcome, Preset, simulate};

/// What to run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The processor.
    pub preset: Preset,
    /// What its hardware threads do, in their order; at least one, at most the preset's ways.
    pub profiles: Vec<Profile>,
    /// Lengths and seed.
    pub options: Options,
    /// Whether the lengths are chosen here instead, for the slowest thread.
    pub fit_length: bool,
    /// How many seeds are run, from that of the options upwards; 1 for no spread.
    pub seeds: u32,
}

/// Runs it, parts side by side. `done` hears how many parts of how many are done.
///
/// # Errors
/// [`Error::Usage`] for more threads than the preset has, or none; [`Error::NotPossible`] with what
/// waits on what, where a run does not end within its bound.
pub fn run(request: &Request, mut done: impl FnMut(usize, usize)) -> Result<CoreRun, Error> {
    let count = request.profiles.len();
    check(&request.preset, count)?;
    let options = match request.fit_length {
        true => {
            let speed = |profile| length::speed(&request.preset, profile, &request.options);
            let speeds: Vec<f64> = request.profiles.iter().map(speed).collect::<Result<_, _>>()?;
            length::fitted(&request.options, speeds.into_iter())
        }
        false => request.options,
    };
    let threads: Vec<Numbered<'_>> = request.profiles.iter().zip(0..).collect();
    let seeds: Vec<Options> = (0..u64::from(request.seeds.max(1)))
        .map(|seed| Options { seed: options.seed.wrapping_add(seed), ..options })
        .collect();
    let parts = seeds.len() * (1 + count);
    let together = parallel::map(
        &seeds,
        |options| simulate_numbered(&request.preset, &threads, options),
        |count| done(count, parts),
    );
    let together: Vec<Outcome> = together.into_iter().collect::<Result<_, _>>()?;
    let alone: Vec<(&Options, &Outcome, Numbered<'_>)> = seeds
        .iter()
        .zip(&together)
        .flat_map(|(options, outcome)| threads.iter().map(move |one| (options, outcome, *one)))
        .collect();
    let alone = parallel::map(
        &alone,
        |(options, outcome, one)| simulate_alone(&request.preset, *one, options, outcome),
        |count| done(seeds.len() + count, parts),
    );
    let alone: Vec<Outcome> = alone.into_iter().collect::<Result<_, _>>()?;
    let seeds: Vec<Seed<'_>> = together
        .iter()
        .zip(alone.chunks(count))
        .map(|(together, alone)| Seed { together, alone })
        .collect();
    Ok(record(request, &options, &seeds))
}

pub(super) fn check(preset: &Preset, threads: usize) -> Result<(), Error> {
    match threads {
        0 => Err(Error::Usage("name what runs, with --thread PROFILE".to_owned())),
        _ if threads > usize::from(preset.ways) => Err(Error::Usage(format!(
            "{} has {} hardware threads per core, and {threads} profiles were given; leave out some",
            preset.name, preset.ways
        ))),
        _ => Ok(()),
    }
}

/// A profile and the number of the hardware thread that runs it.
pub(super) type Numbered<'a> = (&'a Profile, u16);

/// Simulates profiles as threads of these numbers.
pub(super) fn simulate_numbered(
    preset: &Preset,
    threads: &[Numbered<'_>],
    options: &Options,
) -> Result<Outcome, Error> {
    let inputs = threads
        .iter()
        .map(|(profile, thread)| profile.input(preset, options.seed, *thread))
        .collect();
    simulate(preset, inputs, options).map_err(|stuck| Error::NotPossible(stuck.to_string()))
}

/// Simulates a thread alone over the same stretch of its work as together: a thread that warmed up
/// for longer, or was measured over another stretch, would be another thread. It keeps its number,
/// and with it its stream and its pages.
pub(super) fn simulate_alone(
    preset: &Preset,
    one: Numbered<'_>,
    options: &Options,
    together: &Outcome,
) -> Result<Outcome, Error> {
    let beside = &together.threads[usize::from(one.1)];
    let options =
        Options { warmup_uops: beside.warmup_uops, measure_uops: beside.uops, ..*options };
    simulate_numbered(preset, &[one], &options)
}

/// The outcomes of one seed: together, and each thread alone.
struct Seed<'a> {
    together: &'a Outcome,
    alone: &'a [Outcome],
}

impl Seed<'_> {
    fn slowdown(&self, thread: usize) -> f64 {
        self.alone[thread].uops_per_cycle(0) / self.together.uops_per_cycle(thread)
    }

    fn throughput(&self) -> f64 {
        (0..self.alone.len()).map(|thread| 1.0 / self.slowdown(thread)).sum()
    }
}

fn record(request: &Request, options: &Options, seeds: &[Seed<'_>]) -> CoreRun {
    let preset = &request.preset;
    let first = &seeds[0];
    let by_formula = by_formula(preset, &request.profiles, options.seed);
    let threads: Vec<CoreThread> = request
        .profiles
        .iter()
        .enumerate()
        .map(|(thread, profile)| CoreThread {
            profile: profile.name.clone(),
            beside: side(first.together, thread),
            slowdown: first.slowdown(thread),
            slowdown_by_formula: by_formula.map(|both| both[thread]),
            alone: side(&first.alone[thread], 0),
        })
        .collect();
    let antt =
        threads.iter().map(|thread| thread.slowdown).sum::<f64>() / threads.len().max(1) as f64;
    CoreRun {
        schema: SCHEMA,
        preset: preset.name.clone(),
        about: preset.title.clone(),
        clock_ghz: f64::from(preset.clock_mhz) / 1000.0,
        width: first.together.width,
        throughput: first.throughput(),
        antt,
        occupancy: occupancy(first),
        seed: request.options.seed,
        spread: (seeds.len() > 1).then(|| spread(seeds, threads.len())),
        warmup_uops: options.warmup_uops,
        measure_uops: options.measure_uops,
        threads,
    }
}

/// The interval formula's slowdowns, which it has for pairs.
fn by_formula(preset: &Preset, profiles: &[Profile], seed: u64) -> Option<[f64; 2]> {
    let [a, b] = profiles else { return None };
    let [a, b] = [a, b].map(|profile| Summary::of(profile, preset, seed));
    Some(interval::pair(preset, [&a, &b]).map(|estimate| estimate.slowdown()))
}

fn side(outcome: &Outcome, thread: usize) -> CoreSide {
    let counts = &outcome.threads[thread];
    let width = f64::from(outcome.width);
    CoreSide {
        uops: counts.uops,
        cycles: outcome.cycles,
        ipc: outcome.uops_per_cycle(thread),
        cpi: Component::ALL
            .iter()
            .map(|component| {
                let slots = counts.slots[*component as usize];
                (component.name().to_owned(), slots as f64 / width)
            })
            .collect(),
        events: events(&counts.counts),
    }
}

fn events(counts: &Counts) -> std::collections::BTreeMap<String, u64> {
    [
        ("branches", counts.branches),
        ("mispredicts", counts.mispredicts),
        ("loads", counts.loads),
        ("first_level_misses", counts.first_level_misses),
        ("memory_loads", counts.memory_loads),
        ("translation_misses", counts.translation_misses),
        ("code_misses", counts.code_misses),
        ("forwarded_loads", counts.forwarded_loads),
        ("alias_evictions", counts.alias_evictions),
        ("machine_clears", counts.machine_clears),
        ("contended_acquires", counts.contended_acquires),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .into()
}

fn occupancy(seed: &Seed<'_>) -> Vec<CoreOccupancy> {
    let mean = |outcome: &Outcome, thread: usize, resource: usize| {
        outcome.threads[thread].entry_cycles[resource] as f64 / outcome.cycles.max(1) as f64
    };
    let threads = 0..seed.alone.len();
    seed.together
        .resources
        .iter()
        .enumerate()
        .map(|(resource, (name, entries))| CoreOccupancy {
            resource: name.clone(),
            entries: u32::from(*entries),
            beside: threads.clone().map(|thread| mean(seed.together, thread, resource)).collect(),
            alone: threads.clone().map(|thread| mean(&seed.alone[thread], 0, resource)).collect(),
        })
        .collect()
}

fn spread(seeds: &[Seed<'_>], threads: usize) -> CoreSpread {
    let range = |value: &dyn Fn(&Seed<'_>) -> f64| {
        seeds.iter().map(value).fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
            [low.min(value), high.max(value)]
        })
    };
    CoreSpread {
        seeds: seeds.len() as u32,
        slowdown: (0..threads).map(|thread| range(&|seed| seed.slowdown(thread))).collect(),
        throughput: range(&|seed| seed.throughput()),
    }
}
