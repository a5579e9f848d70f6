//! AIM9's sieve and its page frames: the article saw 15 sieves a second without and 24 with
//! Hyper-Threading, in a program of one thread.
//!
//! The table has a million bytes and the third level of that Xeon a mebibyte, indexed by physical
//! address. Where the frames happen to fall evenly on the sets the table fits, else part of every
//! scan goes to memory; two boots are two draws.

use crate::Result;
use crate::core::engine::{Misses, Walk};
use crate::core::profile::{Access, Profile, Work};
use crate::core::stream::{Options, Placement};
use crate::core::{Preset, simulate};

/// The article's rates, without and with Hyper-Threading, in sieves per second (Table 2).
pub const ARTICLE: [f64; 2] = [15.0, 24.0];

/// Where the sieve's table begins in the address space of the walk.
const TABLE: u64 = 0x1000_0000;

/// One page map.
#[derive(Debug, Clone, PartialEq)]
pub struct PageMap {
    /// Seed of the map; `None` for ideal colouring.
    pub seed: Option<u64>,
    /// Misses of one sieve with warm caches.
    pub misses: Misses,
    /// Sieves per second.
    pub rate: f64,
}

/// Rates over page maps.
#[derive(Debug, Clone, PartialEq)]
pub struct SievePages {
    /// The preset's name.
    pub preset: String,
    /// Frames in the order of the pages.
    pub ideal: PageMap,
    /// Random frames, from the slowest to the fastest.
    pub maps: Vec<PageMap>,
    /// Sieves per second: least, lower quartile, median, upper quartile, most.
    pub quartiles: [f64; 5],
}

impl SievePages {
    /// What the experiment explains, in two sentences, and what it does not.
    pub fn explanation(&self) -> String {
        let slowest = self.quartiles[0];
        let fold = self.ideal.rate / slowest;
        let [without, with] = ARTICLE;
        let article = with / without;
        let enough = if fold >= article {
            "so two boots with different page maps are enough for that, without any Hyper-Threading"
        } else {
            "so page maps alone do not explain that on this processor"
        };
        let offset = if slowest > with {
            "; the model's rates themselves lie above both"
        } else if self.ideal.rate < without {
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
pub fn run(preset: &Preset, seed: u64, count: u64) -> Result<SievePages> {
    let profile = Profile::named("sieve").expect("the sieve is built in");
    let Work::Sieve(sieve) = profile.work else { unreachable!("the sieve is a sieve") };
    let accesses: Vec<Access> = sieve.accesses().collect();
    let measure = |placement, seed| walk(preset, &accesses, placement, seed);
    let mut maps: Vec<(u64, Misses)> = (seed..seed.saturating_add(count.max(2)))
        .map(|seed| (seed, measure(Placement::Random, seed)))
        .collect();
    let last = |misses: &Misses| misses.levels.last().copied().unwrap_or(0);
    maps.sort_by_key(|(seed, misses)| (std::cmp::Reverse(last(misses)), *seed));
    let ideal_misses = measure(Placement::Contiguous, seed);
    let cycles = |placement, seed| cycles(preset, &profile, accesses.len(), placement, seed);
    let (worst, best) = (&maps[0], &maps[maps.len() - 1]);
    let known = [
        (last(&best.1), cycles(Placement::Random, best.0)?),
        (last(&worst.1), cycles(Placement::Random, worst.0)?),
    ];
    let rate = |cycles: f64| f64::from(preset.clock_mhz) * 1e6 / cycles;
    let ideal = PageMap {
        seed: None,
        rate: rate(cycles(Placement::Contiguous, seed)?),
        misses: ideal_misses,
    };
    let maps: Vec<PageMap> = maps
        .into_iter()
        .map(|(seed, misses)| {
            let cycles = between(known, last(&misses));
            PageMap { seed: Some(seed), rate: rate(cycles), misses }
        })
        .collect();
    let mut rates: Vec<f64> = maps.iter().map(|map| map.rate).collect();
    rates.sort_by(f64::total_cmp);
    let quartiles = [0, 1, 2, 3, 4].map(|quarter| quantile(&rates, quarter));
    Ok(SievePages { preset: preset.name.clone(), ideal, maps, quartiles })
}

/// Misses of one sieve behind one that warmed the caches.
fn walk(preset: &Preset, accesses: &[Access], placement: Placement, seed: u64) -> Misses {
    let mut walk = Walk::new(preset, seed, placement);
    let mut cold = Misses::default();
    for round in 0..2 {
        for access in accesses {
            let store = matches!(access, Access::Fill(_) | Access::Strike(_));
            walk.access(TABLE + u64::from(access.offset()), store);
        }
        if round == 0 {
            cold = walk.misses.clone();
        }
    }
    let levels = walk.misses.levels.iter().zip(&cold.levels).map(|(all, cold)| all - cold);
    Misses { levels: levels.collect(), translation: walk.misses.translation - cold.translation }
}

/// Cycles of one sieve in the event-driven core.
fn cycles(
    preset: &Preset,
    profile: &Profile,
    accesses: usize,
    placement: Placement,
    seed: u64,
) -> Result<f64> {
    let uops = profile.round_uops(preset, accesses);
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
