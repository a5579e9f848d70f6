//! The article's questions put to the simulated core, as records.

use super::run::stuck;
use crate::error::Error;
use crate::parallel;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::{
    CoreEnhancement, CoreNote, CoreNoteChange, CoreNoteMachine, CorePrediction, CorePublished,
    CorePublishedRange, CoreSievePages,
};
use coretwin_sim::core::experiments::note::{
    CHANGES, Change, DATA, ERROR_MAX, FITTED, MACHINES, Machine, beside_spinner,
};
use coretwin_sim::core::experiments::published::{self, ROWS, Row};
use coretwin_sim::core::experiments::{Enhancement, enhancements, sieve_pages};
use coretwin_sim::core::length::Length;
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Comparison, Options, Preset};
use std::collections::BTreeMap;

type Named = (&'static str, &'static str);

pub const SIEVE_PAGES: Named =
    ("sieve-pages", "AIM9's sieve on many page maps: the article's 15 and 24 sieves per second");

pub const NOTE: Named =
    ("note", "gzip -9 beside a spinner on the note's four machines, predicted and measured");

/// Name of the experiment with published pairs.
pub const PUBLISHED: Named =
    ("published", "published yields of pairs, predicted beside measured and beside a constant");

const MAPS: u64 = 40;

pub fn experiments() -> Vec<Named> {
    let named = |one: &Enhancement| (one.name, one.title);
    [NOTE, PUBLISHED, SIEVE_PAGES].into_iter().chain(enhancements::ALL.iter().map(named)).collect()
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

/// Runs the pairs of these of the published rows, and the note's; other rows keep what is known of them. `done` hears how many runs of how many are done.
pub fn published(
    seed: u64,
    chosen: impl Fn(&Row) -> bool,
    mut done: impl FnMut(usize, usize),
) -> Result<CorePublished, Error> {
    let options = Options { seed, ..Options::default() };
    let count = |row: &Row| row.profiles.len() * (row.profiles.len() + 1) / 2;
    let pairs = |row: &Row| count(row) * row.recoveries().len().max(1);
    let all = ROWS.iter().filter(|row| chosen(row)).map(pairs).sum();
    let mut before = 0;
    let mut predicted = BTreeMap::new();
    for row in ROWS.iter().filter(|row| chosen(row) && !row.profiles.is_empty()) {
        let (preset, profiles) = built_in(row.preset, row.profiles)?;
        let recoveries = row.recoveries().iter().map(|one| Some(*one));
        let alone = row.recoveries().is_empty().then_some(None);
        for recovery in recoveries.chain(alone) {
            let machine = row.machine(&preset, recovery);
            let length = Some(Length::STEADY);
            let told = |count, _| done(before + count, all);
            let matrix = super::matrix(&machine, &profiles, &options, length, None, told)?;
            let yields = matrix.throughput.iter().enumerate().flat_map(|(a, of)| &of[a..]);
            let mean = yields.sum::<f64>() / count(row) as f64;
            predicted.entry(row.what).or_insert_with(Vec::new).push(mean);
            before += count(row);
        }
    }
    let rows = published::rows(|row| predicted.get(row.what).map_or(row.predicted, Vec::as_slice));
    let ranges = (0..MACHINES.len()).map(|machine| {
        let part = |data: &&'static str| Part { machine, data, change: &CHANGES[0], seed };
        let parts: Vec<Part> = DATA[1..].iter().map(part).collect();
        let found =
            parallel::map(&parts, run, |_| {}).into_iter().collect::<Result<Vec<_>, _>>()?;
        let Machine { preset, measured, .. } = MACHINES[machine];
        let predicted = range(found.iter().map(|found| found.slowdown(0)));
        Ok(CorePublishedRange { preset: preset.to_owned(), measured, predicted })
    });
    Ok(CorePublished { schema: SCHEMA, rows, ranges: ranges.collect::<Result<_, Error>>()?, seed })
}

/// The least and the greatest.
fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, 0.0], |[low, high], value| [value.min(low), value.max(high)])
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

/// A built-in preset, and built-in profiles.
fn built_in(preset: &str, profiles: &[&str]) -> Result<(Preset, Vec<Profile>), Error> {
    let missing = |name: &str| Error::NotPossible(format!("{name} is not built in"));
    let profile = |name: &&str| Profile::named(name).ok_or_else(|| missing(name));
    let preset = Preset::named(preset).ok_or_else(|| missing(preset))?;
    Ok((preset, profiles.iter().map(profile).collect::<Result<_, _>>()?))
}

fn run(part: &Part) -> Result<Comparison, Error> {
    let (mut preset, both) = built_in(MACHINES[part.machine].preset, &[part.data, "perl-loop"])?;
    (part.change.apply)(&mut preset);
    let options = Options {
        warmup_uops: 100_000,
        measure_uops: 400_000,
        seed: part.seed,
        ..Options::default()
    };
    beside_spinner(&preset, &both[0], &both[1], &options).map_err(stuck)
}

fn prediction(profile: &str, seeds: &[Comparison], measured: f64) -> CorePrediction {
    let slowdowns: Vec<f64> = seeds.iter().map(|found| found.slowdown(0)).collect();
    let mean = slowdowns.iter().sum::<f64>() / slowdowns.len().max(1) as f64;
    CorePrediction {
        profile: profile.to_owned(),
        slowdown: mean,
        range: range(slowdowns.iter().copied()),
        error: mean - measured,
        alone_ipc: seeds.first().map_or(0.0, |found| found.alone[0].uops_per_cycle(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::simulation::core_run::CorePublishedRow;

    fn held(chosen: impl Fn(&Row) -> bool) {
        let found = published(1, &chosen, |_, _| {}).expect("the runs end");
        let value = |rows: &[CorePublishedRow]| -> Vec<String> {
            let told = |row: &CorePublishedRow| {
                format!("{} {:.3}", row.what, row.predicted.unwrap_or(0.0))
            };
            rows.iter().map(told).collect()
        };
        assert_eq!(
            value(&published::rows(|row| row.predicted)),
            value(&found.rows),
            "left: written down"
        );
    }

    #[test]
    fn what_is_written_down_of_published_rows_is_what_the_model_gives() {
        held(|row| row.profiles.len() == 1);
    }

    #[test]
    #[ignore = "minutes: for check-all"]
    fn so_it_is_of_the_suites_pairs() {
        held(|row| row.profiles.len() > 1);
    }
}
