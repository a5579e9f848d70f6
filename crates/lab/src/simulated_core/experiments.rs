//! The article's questions put to the simulated core, as records.

use crate::error::Error;
use crate::parallel;
use coretwin_base::simulation::core_run::{CoreEnhancement, CoreSievePages};
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
    let results = parallel::map(&chosen, |one| one.run(preset, options), |_| {});
    results.into_iter().map(|result| result.map_err(endless)).collect()
}

/// Runs the experiment with page maps.
///
/// # Errors
/// [`Error::NotPossible`] where a run does not end.
pub fn sieve_pages(preset: &Preset, seed: u64) -> Result<CoreSievePages, Error> {
    sieve_pages::run(preset, seed, MAPS).map_err(endless)
}

fn endless(error: coretwin_sim::Error) -> Error {
    Error::NotPossible(error.to_string())
}
