//! The article's questions put to the simulated core, as records.

use super::run::stuck;
use crate::error::Error;
use crate::parallel;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::{
    CoreEnhancement, CoreNote, CoreNoteChange, CoreNoteMachine, CorePrediction, CoreSievePages,
};
use coretwin_sim::core::experiments::note::{
    CHANGES, Change, DATA, ERROR_MAX, FITTED, MACHINES, beside_spinner,
};
use coretwin_sim::core::experiments::{Enhancement, enhancements, sieve_pages};
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Comparison, Options, Preset};

type Named = (&'static str, &'static str);

pub const SIEVE_PAGES: Named =
    ("sieve-pages", "AIM9's sieve on many page maps: the article's 15 and 24 sieves per second");

pub const NOTE: Named =
    ("note", "gzip -9 beside a spinner on the note's four machines, predicted and measured");

const MAPS: u64 = 40;

pub fn experiments() -> Vec<Named> {
    let named = |one: &Enhancement| (one.name, one.title);
    [NOTE, SIEVE_PAGES].into_iter().chain(enhancements::ALL.iter().map(named)).collect()
}

/// Runs the enhancements of these names, side by side. Errors: [`Error::Usage`] for a preset with
/// one thread; [`Error::NotPossible`] where a run does not end.
pub fn enhancements(
    preset: &Preset,
    names: &[&str],
    options: &Options,
) -> Result<Vec<CoreEnhancement>, Error> {
    super::run::check(preset, 2)?;
    let chosen: Vec<&Enhancement> =
        enhancements::ALL.iter().filter(|one| names.contains(&one.name)).collect();
    let results = parallel::map(&chosen, |one| one.run(preset, options), |_| {});
    results.into_iter().map(|result| result.map_err(endless)).collect()
}

/// Runs the experiment with page maps. Errors: [`Error::NotPossible`] where a run does not end.
pub fn sieve_pages(preset: &Preset, seed: u64) -> Result<CoreSievePages, Error> {
    sieve_pages::run(preset, seed, MAPS).map_err(endless)
}

fn endless(error: coretwin_sim::Error) -> Error {
    Error::NotPossible(error.to_string())
}

const SEEDS: u64 = 10;

/// One run: a machine, what is compressed, what is changed, a seed.
struct Part {
    machine: usize,
    data: &'static str,
    change: &'static Change,
    seed: u64,
}

/// Runs the note's experiment. `done` hears how many runs of how many are done. Errors:
/// [`Error::NotPossible`] where a run does not end.
pub fn note(seed: u64, mut done: impl FnMut(usize, usize)) -> Result<CoreNote, Error> {
    let machines = 0..MACHINES.len();
    let predictions = machines.clone().flat_map(|machine| {
        DATA.iter().flat_map(move |data| {
            (0..SEEDS).map(move |index| Part {
                machine,
                data,
                change: &CHANGES[0],
                seed: seed.wrapping_add(index),
            })
        })
    });
    let changes = CHANGES.iter().flat_map(|change| {
        machines.clone().map(move |machine| Part { machine, data: DATA[0], change, seed })
    });
    let parts: Vec<Part> = predictions.chain(changes).collect();
    let found = parallel::map(&parts, run, |count| done(count, parts.len()));
    let found: Vec<Comparison> = found.into_iter().collect::<Result<_, _>>()?;
    let (predictions, changes) = found.split_at(MACHINES.len() * DATA.len() * SEEDS as usize);
    let machines = MACHINES.iter().zip(predictions.chunks(DATA.len() * SEEDS as usize)).map(
        |(machine, found)| CoreNoteMachine {
            preset: machine.preset.to_owned(),
            measured: machine.measured,
            source: machine.source.to_owned(),
            predicted: DATA
                .iter()
                .zip(found.chunks(SEEDS as usize))
                .map(|(data, seeds)| prediction(data, seeds, machine.measured))
                .collect(),
        },
    );
    let sensitivity =
        CHANGES.iter().zip(changes.chunks(MACHINES.len())).map(|(change, found)| CoreNoteChange {
            change: change.name.to_owned(),
            slowdown: found.iter().map(|found| found.slowdown(0)).collect(),
        });
    Ok(CoreNote {
        schema: SCHEMA,
        machines: machines.collect(),
        sensitivity: sensitivity.collect(),
        fitted_to_co_runs: 0,
        fitted_to_single_threads: FITTED.to_owned(),
        error_max: ERROR_MAX,
        seeds: SEEDS as u32,
        seed,
    })
}

fn run(part: &Part) -> Result<Comparison, Error> {
    let missing = |name: &str| Error::NotPossible(format!("{name} is not built in"));
    let name = MACHINES[part.machine].preset;
    let mut preset = Preset::named(name).ok_or_else(|| missing(name))?;
    let work = Profile::named(part.data).ok_or_else(|| missing(part.data))?;
    let spinner = Profile::named("perl-loop").ok_or_else(|| missing("perl-loop"))?;
    (part.change.apply)(&mut preset);
    let options = Options {
        warmup_uops: 100_000,
        measure_uops: 400_000,
        seed: part.seed,
        ..Options::default()
    };
    beside_spinner(&preset, &work, &spinner, &options).map_err(stuck)
}

fn prediction(profile: &str, seeds: &[Comparison], measured: f64) -> CorePrediction {
    let slowdowns: Vec<f64> = seeds.iter().map(|found| found.slowdown(0)).collect();
    let mean = slowdowns.iter().sum::<f64>() / slowdowns.len().max(1) as f64;
    CorePrediction {
        profile: profile.to_owned(),
        slowdown: mean,
        range: [
            slowdowns.iter().copied().fold(f64::INFINITY, f64::min),
            slowdowns.iter().copied().fold(0.0, f64::max),
        ],
        error: mean - measured,
        alone_ipc: seeds.first().map_or(0.0, |found| found.alone[0].uops_per_cycle(0)),
    }
}
