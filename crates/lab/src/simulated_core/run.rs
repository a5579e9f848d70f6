//! Some threads on one simulated core: together, and each alone with its siblings halted.

use super::parallel;
use crate::error::Error;
use coretwin_base::core_run::{CoreOccupancy, CoreRun, CoreSide, CoreSpread, CoreThread};
use coretwin_base::schema::SCHEMA;
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
    /// How many seeds are run, from that of the options upwards; 1 for no spread.
    pub seeds: u32,
}

/// Which run of a request: of one seed, together or one thread alone.
#[derive(Debug, Clone, Copy)]
struct Part {
    seed: u64,
    alone: Option<usize>,
}

/// Runs it, parts side by side. `done` hears how many parts of how many are done.
///
/// # Errors
/// [`Error::Usage`] for more threads than the preset has, or none; [`Error::NotPossible`] with what
/// waits on what, where a run does not end within its bound.
pub fn run(request: &Request, mut done: impl FnMut(usize, usize)) -> Result<CoreRun, Error> {
    let threads = request.profiles.len();
    check(&request.preset, threads)?;
    let seeds = u64::from(request.seeds.max(1));
    let parts: Vec<Part> = (request.options.seed..request.options.seed.saturating_add(seeds))
        .flat_map(|seed| {
            let alone = (0..threads).map(move |thread| Part { seed, alone: Some(thread) });
            let together = (threads > 1).then_some(Part { seed, alone: None });
            together.into_iter().chain(alone)
        })
        .collect();
    let outcomes =
        parallel::map(&parts, |part| one(request, *part), |count| done(count, parts.len()));
    let outcomes: Vec<Outcome> = outcomes.into_iter().collect::<Result<_, _>>()?;
    let per_seed = parts.len() / seeds as usize;
    let seeds: Vec<Seed<'_>> =
        outcomes.chunks(per_seed).map(|outcomes| Seed::new(outcomes, threads)).collect();
    Ok(record(request, &seeds))
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

/// Simulates some of a request's threads. A thread alone keeps its own number, and with it its
/// stream and its pages.
fn one(request: &Request, part: Part) -> Result<Outcome, Error> {
    let options = Options { seed: part.seed, ..request.options };
    let inputs = request
        .profiles
        .iter()
        .enumerate()
        .filter(|(thread, _)| part.alone.is_none_or(|alone| alone == *thread))
        .map(|(thread, profile)| profile.input(&request.preset, part.seed, thread as u16))
        .collect();
    simulate(&request.preset, inputs, &options)
        .map_err(|stuck| Error::NotPossible(stuck.to_string()))
}

/// The outcomes of one seed: together first, where there are siblings, then each alone.
struct Seed<'a> {
    together: &'a Outcome,
    alone: &'a [Outcome],
}

impl<'a> Seed<'a> {
    fn new(outcomes: &'a [Outcome], threads: usize) -> Self {
        Self { together: &outcomes[0], alone: &outcomes[outcomes.len() - threads..] }
    }

    fn slowdown(&self, thread: usize) -> f64 {
        self.alone[thread].uops_per_cycle(0) / self.together.uops_per_cycle(thread)
    }

    fn throughput(&self) -> f64 {
        (0..self.alone.len()).map(|thread| 1.0 / self.slowdown(thread)).sum()
    }
}

fn record(request: &Request, seeds: &[Seed<'_>]) -> CoreRun {
    let preset = &request.preset;
    let first = &seeds[0];
    let threads: Vec<CoreThread> = request
        .profiles
        .iter()
        .enumerate()
        .map(|(thread, profile)| CoreThread {
            profile: profile.name.clone(),
            beside: side(first.together, thread),
            slowdown: first.slowdown(thread),
            slowdown_by_formula: None,
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
        warmup_uops: request.options.warmup_uops,
        measure_uops: request.options.measure_uops,
        threads,
    }
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
