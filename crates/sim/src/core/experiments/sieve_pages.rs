//! AIM9's sieve and its page frames: the article saw 15 sieves a second without and 24 with
//! Hyper-Threading, in a program of one thread.
//!
//! The table has a million bytes and the third level of that Xeon a mebibyte, indexed by physical
//! address. Where the frames happen to fall evenly on the sets the table fits, else part of every
//! scan goes to memory; two boots are two draws.

use crate::Result;
use crate::core::engine::Walk;
use crate::core::profile::{Access, Profile, Work};
use crate::core::{Options, Placement, Preset, simulate};
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::CoreSievePages;

/// The article's rates, without and with Hyper-Threading, in sieves per second (Table 2).
const ARTICLE: [f64; 2] = [15.0, 24.0];

/// Where the sieve's table begins in the address space of the walk.
const TABLE: u64 = 0x1000_0000;

/// What the experiment explains, in two sentences, and what it does not; rates are sieves per second.
fn explanation(ideal: f64, slowest: f64) -> String {
    let fold = ideal / slowest;
    let [without, with] = ARTICLE;
    let article = with / without;
    let enough = if fold >= article {
        "so two boots with different page maps are enough for that, without any Hyper-Threading"
    } else {
        "so page maps alone do not explain that on this processor"
    };
    let offset = if slowest > with {
        "; the model's rates themselves lie above both"
    } else if ideal < without {
        "; the model's rates themselves lie below both"
    } else {
        ""
    };
    format!(
        "The sieve's table of 1,000,000 bytes has about the size of the last cache of the \
         article's processor, which is indexed by physical address, so which page frames the \
         kernel hands out decides how much of each pass goes to memory: from the slowest random \
         map to pages in order the rate rises {fold:.2}-fold, with one thread. The article's \
         {without} and {with} differ {article:.2}-fold, {enough}{offset}."
    )
}

/// Runs the experiment with `count` maps, at least 2, numbered from `seed`.
///
/// The walk through the caches counts misses on every map; the event-driven core runs a whole sieve
/// on the ideal map and on those with the fewest and the most misses of the last level, and the
/// others lie on the lines between.
///
/// # Errors
/// [`crate::Error::Stuck`] where a run of the core does not end.
///
/// # Panics
/// If the built-in sieve were not one.
pub fn run(preset: &Preset, seed: u64, count: u64) -> Result<CoreSievePages> {
    let profile = Profile::named("sieve").expect("the sieve is built in");
    let Work::Sieve(sieve) = profile.work else { unreachable!("the sieve is a sieve") };
    let accesses: Vec<Access> = sieve.accesses().collect();
    let misses = |placement, seed| misses(preset, &accesses, placement, seed);
    let mut maps: Vec<(u64, u64)> = (seed..seed.saturating_add(count.max(2)))
        .map(|seed| (seed, misses(Placement::Random, seed)))
        .collect();
    maps.sort_by_key(|(seed, misses)| (std::cmp::Reverse(*misses), *seed));
    let cycles = |placement, seed| cycles(preset, &profile, placement, seed);
    let (worst, best) = (maps[0], maps[maps.len() - 1]);
    let known = [
        (best.1, cycles(Placement::Random, best.0)?),
        (worst.1, cycles(Placement::Random, worst.0)?),
    ];
    let rate = |cycles: f64| f64::from(preset.clock_mhz) * 1e6 / cycles;
    let ideal_per_s = rate(cycles(Placement::Contiguous, seed)?);
    let random_per_s: Vec<f64> =
        maps.iter().map(|(_, misses)| rate(between(known, *misses))).collect();
    let mut rates = random_per_s.clone();
    rates.sort_by(f64::total_cmp);
    let quartiles_per_s = [0, 1, 2, 3, 4].map(|quarter| quantile(&rates, quarter));
    Ok(CoreSievePages {
        schema: SCHEMA,
        preset: preset.name.clone(),
        ideal_per_s,
        random_per_s,
        quartiles_per_s,
        last_level_misses_ideal: misses(Placement::Contiguous, seed),
        last_level_misses: maps.iter().map(|(_, misses)| *misses).collect(),
        article_per_s: ARTICLE,
        explanation: explanation(ideal_per_s, quartiles_per_s[0]),
        seed,
    })
}

/// Misses of the last level in one sieve behind one that warmed the caches.
fn misses(preset: &Preset, accesses: &[Access], placement: Placement, seed: u64) -> u64 {
    let mut walk = Walk::new(preset, seed, placement);
    let mut round = || {
        for access in accesses {
            let store = matches!(access, Access::Fill(_) | Access::Strike(_));
            walk.access(TABLE + u64::from(access.offset()), store);
        }
        walk.misses
    };
    let cold = round();
    round() - cold
}

/// Cycles of one sieve in the event-driven core.
fn cycles(preset: &Preset, profile: &Profile, placement: Placement, seed: u64) -> Result<f64> {
    let uops = profile.round_uops(preset);
    let options = Options { warmup_uops: uops / 8, measure_uops: uops, seed, ..Options::default() };
    let mut input = profile.input(preset, seed, 0);
    input.placement = placement;
    // The space of the walk: maps depend on it.
    input.data_space = 1;
    let outcome = simulate(preset, vec![input], &options)?;
    Ok(outcome.cycles as f64 / outcome.threads[0].uops as f64 * uops as f64)
}

/// The cycles for so many misses, on the line through two known points.
fn between([(less, fast), (more, slow)]: [(u64, f64); 2], misses: u64) -> f64 {
    if more == less {
        return (fast + slow) / 2.0;
    }
    fast + (misses as f64 - less as f64) * (slow - fast) / (more - less) as f64
}

/// The so-manieth quarter of ascending numbers, between neighbours.
fn quantile(ascending: &[f64], quarter: usize) -> f64 {
    let place = (ascending.len() - 1) as f64 * quarter as f64 / 4.0;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    ascending[low] + (ascending[high] - ascending[low]) * place.fract()
}
