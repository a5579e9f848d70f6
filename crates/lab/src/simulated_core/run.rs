//! Some threads on one simulated core: together, and each alone with its siblings halted.

use crate::error::Error;
use crate::parallel;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::{
    CoreOccupancy, CoreRun, CoreSide, CoreSpread, CoreThread, CoreTooGood,
};
use coretwin_sim::core::interval::{self, Summary};
use coretwin_sim::core::length::{self, Length};
use coretwin_sim::core::outcome::{Component, Counts};
use coretwin_sim::core::profile::{Profile, copies};
use coretwin_sim::core::{Comparison, Options, Outcome, Preset, Stuck, compare};

#[derive(Debug, Clone)]
pub struct Request {
    pub preset: Preset,
    /// What its hardware threads do, in their order; at least one, at most the preset's ways.
    pub profiles: Vec<Profile>,
    pub options: Options,
    /// Whether the lengths are chosen here instead, for the slowest thread.
    pub fit_length: bool,
    /// How many seeds are run, from that of the options upwards; 1 for no spread.
    pub seeds: u32,
}

/// Runs it, seeds side by side. `done` hears how many of how many are done. Errors:
/// [`Error::Usage`] for more threads than the preset has, or none; [`Error::NotPossible`] with what
/// waits on what, where a run does not end within its bound.
pub fn run(request: &Request, mut done: impl FnMut(usize, usize)) -> Result<CoreRun, Error> {
    let count = request.profiles.len();
    check(&request.preset, count)?;
    let options = match request.fit_length {
        true => {
            let speed =
                |profile| length::speed(&request.preset, profile, &request.options).map_err(stuck);
            let speeds: Vec<f64> = request.profiles.iter().map(speed).collect::<Result<_, _>>()?;
            length::fitted(Length::STEADY, &request.options, speeds.into_iter())
        }
        false => request.options,
    };
    let seeds: Vec<Options> = (0..u64::from(request.seeds.max(1)))
        .map(|seed| Options { seed: options.seed.wrapping_add(seed), ..options })
        .collect();
    let copies = copies(&request.profiles);
    let input = |options: &Options, thread: usize| {
        request.profiles[thread].input(&request.preset, options.seed, copies[thread])
    };
    let comparisons = parallel::map(
        &seeds,
        |options| compare(&request.preset, count, &|thread| input(options, thread), options),
        |finished| done(finished, seeds.len()),
    );
    let comparisons: Vec<Comparison> =
        comparisons.into_iter().collect::<Result<_, _>>().map_err(stuck)?;
    Ok(record(request, &options, &comparisons))
}

/// A run that does not end cannot be had here.
pub(super) fn stuck(stuck: Box<Stuck>) -> Error {
    Error::NotPossible(stuck.to_string())
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

fn record(request: &Request, options: &Options, seeds: &[Comparison]) -> CoreRun {
    let preset = &request.preset;
    let first = &seeds[0];
    let by_formula = by_formula(preset, &request.profiles, options.seed);
    let threads: Vec<CoreThread> = request
        .profiles
        .iter()
        .enumerate()
        .map(|(thread, profile)| CoreThread {
            profile: profile.name.clone(),
            beside: side(&first.together, thread),
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
        too_good: first.too_good().map(|(thread, component)| CoreTooGood {
            thread,
            component: component.name().to_owned(),
        }),
        speed_error: first.together.speed_error,
        occupancy: occupancy(first),
        seed: request.options.seed,
        spread: (seeds.len() > 1).then(|| spread(seeds, threads.len())),
        warmup_uops: options.warmup_uops,
        measure_uops: options.measure_uops,
        threads,
    }
}

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

fn occupancy(seed: &Comparison) -> Vec<CoreOccupancy> {
    let mean = |outcome: &Outcome, thread: usize, resource: usize| {
        outcome.threads[thread].entry_cycles[resource] as f64 / outcome.cycles.max(1) as f64
    };
    let threads = 0..seed.alone.len();
    seed.together
        .resources
        .iter()
        .enumerate()
        // Without entries it is not modelled: nothing of it can be held.
        .filter(|(_, (_, entries))| *entries > 0)
        .map(|(resource, (name, entries))| CoreOccupancy {
            resource: name.clone(),
            entries: u32::from(*entries),
            beside: threads.clone().map(|thread| mean(&seed.together, thread, resource)).collect(),
            alone: threads.clone().map(|thread| mean(&seed.alone[thread], 0, resource)).collect(),
        })
        .collect()
}

fn spread(seeds: &[Comparison], threads: usize) -> CoreSpread {
    let range = |value: &dyn Fn(&Comparison) -> f64| {
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
