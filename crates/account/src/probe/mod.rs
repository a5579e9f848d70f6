//! Which CPUs share a core, or in time a physical CPU, by contention.
//!
//! Data flow: [`find`] lets a [`meter::Meter`] measure rounds ([`field`] repeats those that others
//! disturb): group testing, in which [`mod@search`] sees who is slowed and by whom, then
//! direct tests of disjoint pairs ([`verify`]), weighed by [`evidence`]; [`grouping`] does both until
//! nobody is slowed any more → [`Findings`].
//!
//! Invariants:
//! * what is found of cores never depends on what is found of caches;
//! * no group without a direct test of its CPUs, and none closed while a CPU of it is slowed;
//! * rounds grow with the logarithm of the number of CPUs;
//! * a CPU on which others are at work is given up, never explained by sharing: of one that was
//!   disturbed in most rounds nothing is said, whatever the few others show.

mod caches;
mod evidence;
mod field;
mod grouping;
pub mod meter;
mod search;
mod turns;
mod verify;

use coretwin_base::account::probe::{Contention, Pair, Shared, Sharing};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::random::Stream;
use evidence::CONFIDENCE_MAX;
use field::{End, Field};
use grouping::Grouping;
use meter::{Meter, MeterError};
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub cpus: CpuSet,
    /// Most time, in seconds of the meter's clock.
    pub budget_s: f64,
    pub caches: bool,
    pub seed: u64,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Findings {
    pub pairs: Vec<Pair>,
    pub groups: Vec<CpuSet>,
    pub alone: CpuSet,
    pub undecided: CpuSet,
    pub shared: Vec<Shared>,
    /// Least probability of all that is said of cores; 0 where nothing is.
    pub confidence: f64,
    /// CPUs that others kept busy, with the share of rounds in which they did, 0 to 1, and whether
    /// that was too much for anything to be said.
    pub disturbed: Vec<(CpuId, f64, bool)>,
    pub rounds: u32,
    /// Rounds discarded because others ran.
    pub rounds_disturbed: u32,
    /// From when to when it was true, in seconds of the meter's clock.
    pub valid_s: Option<(f64, f64)>,
    /// Whether the budget ended before all was known.
    pub out_of_time: bool,
}

/// Finds out who shares a core with whom. `progress` hears the meter's clock after each round. Errors:
/// [`MeterError`]: the meter gave up, or was stopped.
pub fn find(
    meter: &mut dyn Meter,
    options: &Options,
    progress: &mut dyn FnMut(f64),
) -> Result<Findings, MeterError> {
    let random = Stream::new(options.seed, "probe", 0);
    let mut field = Field::new(meter, &options.cpus, options.budget_s, random, progress);
    let mut known = Known::default();
    let out_of_time = match known.search(&mut field, options.caches) {
        Ok(()) | Err(End::TooFew) => false,
        Err(End::OutOfTime) => true,
        Err(End::Meter(error)) => return Err(error),
    };
    Ok(findings(&field, known, out_of_time))
}

#[derive(Debug, Default)]
struct Known {
    cores: Grouping,
    /// Who takes turns on one physical CPU.
    turns: Grouping,
    /// Which cores share a second-level cache.
    second: Grouping,
    /// Which cores share a last-level cache.
    last: Vec<(BTreeSet<usize>, f64)>,
}

impl Known {
    fn search(&mut self, field: &mut Field<'_>, caches: bool) -> Result<(), End> {
        self.cores = Grouping::new(&(0..field.cpus.len()).collect::<Vec<_>>());
        self.cores.search(field, Contention::Ports)?;
        every_pair(field, &mut self.cores)?;
        let Grouping { groups, alone, .. } = &self.cores;
        self.turns = turns::turns(field, groups)?;
        let one_of = |(group, _): &(BTreeSet<usize>, f64)| group.first().copied();
        let single: Vec<usize> =
            groups.iter().filter_map(one_of).chain(alone.keys().copied()).collect();
        if caches && single.len() > 1 {
            self.second = Grouping::new(&single);
            self.second.search(field, Contention::L2)?;
            self.last = caches::classes(field, &single)?;
        }
        Ok(())
    }
}

/// About how many rounds a probe of so many CPUs takes where cores have one or two of them and
/// nobody disturbs.
pub fn rounds_expected(cpus: usize, caches: bool) -> u32 {
    let direct = 3 * verify::REPEATS_MIN as u32;
    let few = if cpus <= FEW { (cpus * cpus.saturating_sub(1) / 2) as u32 } else { 1 };
    let more = if caches { search::rounds(cpus) + caches::ROUNDS } else { 0 };
    search::rounds(cpus) + direct * few + search::rounds(cpus / 2) + more
}

/// Of so few CPUs every pair is tested directly, so that there is an interval for each.
const FEW: usize = 4;

/// Tests the pairs that the search had no reason to, where there are few.
fn every_pair(field: &mut Field<'_>, cores: &mut Grouping) -> Result<(), End> {
    let count = field.cpus.len();
    if count > FEW {
        return Ok(());
    }
    for a in 0..count {
        for b in a + 1..count {
            let given_up = field.tallies[a].given_up || field.tallies[b].given_up;
            if !given_up && !cores.pairs.contains_key(&(a, b)) {
                cores.test(field, Contention::Ports, &[(a, b)], true)?;
            }
        }
    }
    Ok(())
}

/// The most of the rounds in which a CPU may be disturbed, if anything is to be said of it, 0 to 1.
const DISTURBED_ROUNDS_MAX: f64 = 0.5;

/// What is known of CPUs that others kept busy in most rounds, and of whoever is in a group with one:
/// nothing.
fn forget_busy(field: &Field<'_>, grouping: &mut Grouping) {
    let most = f64::from(field.attempts) * DISTURBED_ROUNDS_MAX;
    let is_busy = |place: &usize| f64::from(field.tallies[*place].disturbed) > most;
    let Grouping { groups, alone, open, .. } = grouping;
    let busy = groups.extract_if(.., |(group, _)| group.iter().any(is_busy));
    let parts = open.extract_if(.., |(group, _)| group.len() > 1 && group.iter().any(is_busy));
    let mut places: BTreeSet<usize> = busy.chain(parts).flat_map(|(group, _)| group).collect();
    places.extend(alone.keys().copied().filter(is_busy));
    alone.retain(|place, _| !places.contains(place));
    open.extend(places.into_iter().map(|place| ([place].into_iter().collect(), 0.0)));
}

fn findings(field: &Field<'_>, known: Known, out_of_time: bool) -> Findings {
    let Known { mut cores, mut turns, mut second, mut last } = known;
    for grouping in [&mut cores, &mut turns, &mut second] {
        forget_busy(field, grouping);
    }
    let quiet = |(group, _): &(BTreeSet<usize>, f64)| {
        group.iter().all(|place| !cores.open.iter().any(|(open, _)| open.contains(place)))
    };
    last.retain(quiet);
    let named = |places: &BTreeSet<usize>| -> CpuSet {
        places.iter().map(|place| field.cpus[*place]).collect()
    };
    // What passed a direct test stands, also if more might belong to it.
    let (partial, single): (Vec<_>, Vec<_>) =
        cores.open.iter().partition(|(group, _)| group.len() > 1);
    let by_turns: Vec<&BTreeSet<usize>> = turns.groups.iter().map(|(group, _)| group).collect();
    let of = |what: Sharing, (group, confidence): &(BTreeSet<usize>, f64)| Shared {
        what,
        cpus: named(group),
        confidence: confidence.min(CONFIDENCE_MAX),
    };
    // One CPU of a core was measured; its siblings share what it shares.
    let with_siblings = |(group, confidence): &(BTreeSet<usize>, f64)| {
        let core = |place: &usize| {
            let core = cores.groups.iter().find(|(core, _)| core.contains(place));
            core.map_or_else(|| [*place].into_iter().collect(), |(core, _)| core.clone())
        };
        (group.iter().flat_map(core).collect::<BTreeSet<usize>>(), *confidence)
    };
    let groups = || cores.groups.iter().chain(partial.iter().copied());
    let siblings = groups().filter(|(group, _)| !by_turns.contains(&group));
    let mut shared: Vec<Shared> = siblings
        .map(|group| of(Sharing::Core, group))
        .chain(turns.groups.iter().map(|group| of(Sharing::Time, group)))
        .chain(second.groups.iter().map(|group| of(Sharing::L2, &with_siblings(group))))
        .chain(last.iter().map(|group| of(Sharing::LastLevel, &with_siblings(group))))
        .collect();
    shared.sort_by(|a, b| (&a.cpus, a.what).cmp(&(&b.cpus, b.what)));
    let mut sets: Vec<CpuSet> = groups().map(|(group, _)| named(group)).collect();
    sets.sort();
    let attempts = f64::from(field.attempts.max(1));
    let disturbed = field.cpus.iter().zip(&field.tallies).filter(|(_, tally)| tally.disturbed > 0);
    let of_cores = shared.iter().filter(|one| matches!(one.what, Sharing::Core | Sharing::Time));
    let alone = cores.alone.values().map(|confidence| confidence.min(CONFIDENCE_MAX));
    let sure = of_cores.map(|one| one.confidence).chain(alone);
    Findings {
        groups: sets,
        alone: cores.alone.keys().map(|place| field.cpus[*place]).collect(),
        undecided: single.iter().flat_map(|(group, _)| group).map(|p| field.cpus[*p]).collect(),
        confidence: sure.reduce(f64::min).unwrap_or(0.0),
        shared,
        pairs: [&cores.pairs, &turns.pairs, &second.pairs]
            .into_iter()
            .flat_map(|pairs| pairs.values().cloned())
            .collect(),
        disturbed: disturbed
            .map(|(cpu, tally)| {
                let share = f64::from(tally.disturbed) / attempts;
                (*cpu, share, tally.given_up || share > DISTURBED_ROUNDS_MAX)
            })
            .collect(),
        rounds: field.rounds,
        rounds_disturbed: field.rounds_disturbed,
        valid_s: field.valid_s,
        out_of_time,
    }
}
