//! The article's questions put to the simulated core, as records.

use crate::error::Error;
use crate::parallel;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::{CoreEnhancement, CoreEnhancementSide, CoreSievePages};
use coretwin_sim::core::experiments::{Enhancement, enhancements, sieve_pages};
use coretwin_sim::core::{Options, Preset};

/// An experiment's name and what it is.
type Named = (&'static str, &'static str);

/// Name of the experiment with page maps.
pub const SIEVE_PAGES: Named =
    ("sieve-pages", "AIM9's sieve on many page maps: the article's 15 and 24 sieves per second");

/// Name of the experiment with the note's four machines.
pub const NOTE: Named =
    ("note", "gzip -9 beside a spinner on the note's four machines, predicted and measured");

/// Page maps of that experiment.
const MAPS: u64 = 40;

/// Every experiment with what it is.
pub fn experiments() -> Vec<Named> {
    let named = |one: &Enhancement| (one.name, one.title);
    [NOTE, SIEVE_PAGES].into_iter().chain(enhancements::ALL.iter().map(named)).collect()
}

/// Runs the enhancements of these names, side by side.
///
/// # Errors
/// [`Error::Usage`] for a preset with one thread; [`Error::NotPossible`] where a run does not end.
pub fn enhancements(
    preset: &Preset,
    names: &[&str],
    options: &Options,
) -> Result<Vec<CoreEnhancement>, Error> {
    super::run::check(preset, 2)?;
    let chosen: Vec<&Enhancement> =
        enhancements::ALL.iter().filter(|one| names.contains(&one.name)).collect();
    let results = parallel::map(&chosen, |one| (*one, one.run(preset, options)), |_| {});
    results
        .into_iter()
        .map(|(one, comparison)| {
            let comparison = comparison.map_err(|error| Error::NotPossible(error.to_string()))?;
            let ratios: Vec<f64> =
                (0..comparison.sides.len()).map(|side| comparison.gain(side)).collect();
            let sides =
                comparison.sides.into_iter().zip(ratios).map(|(side, ratio)| CoreEnhancementSide {
                    label: side.label.to_owned(),
                    ipc: side.speed,
                    ratio,
                    machine_clears_per_1000: side.clears_per_thousand,
                    alias_evictions_per_1000: side.alias_per_thousand,
                });
            Ok(CoreEnhancement {
                schema: SCHEMA,
                name: one.name.to_owned(),
                about: one.title.to_owned(),
                preset: comparison.preset,
                sides: sides.collect(),
                seed: options.seed,
            })
        })
        .collect()
}

/// Runs the experiment with page maps.
///
/// # Errors
/// [`Error::NotPossible`] where a run does not end.
pub fn sieve_pages(preset: &Preset, seed: u64) -> Result<CoreSievePages, Error> {
    let pages = sieve_pages::run(preset, seed, MAPS)
        .map_err(|error| Error::NotPossible(error.to_string()))?;
    let last = |map: &sieve_pages::PageMap| map.misses.levels.last().copied().unwrap_or(0);
    Ok(CoreSievePages {
        schema: SCHEMA,
        explanation: pages.explanation(),
        preset: pages.preset,
        ideal_per_s: pages.ideal.rate,
        random_per_s: pages.maps.iter().map(|map| map.rate).collect(),
        quartiles_per_s: pages.quartiles,
        last_level_misses_ideal: last(&pages.ideal),
        last_level_misses: pages.maps.iter().map(last).collect(),
        article_per_s: sieve_pages::ARTICLE,
        seed,
    })
}
