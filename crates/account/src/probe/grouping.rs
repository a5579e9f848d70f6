//! The search as a whole: stages until nobody is slowed by anybody any more.
//!
//! A stage finds the likely partners of each slowed CPU, tests these pairs directly, and puts
//! together those that pass. Of each group one CPU goes on to the next stage. What remains at last
//! is one CPU of each group, all free of each other when all are active: which is the proof that no
//! group misses anybody.

use super::field::{End, Field};
use super::search::{Parts, Stage};
use super::verify::verify;
use coretwin_base::account::probe::{Contention, Pair};
use std::collections::{BTreeMap, BTreeSet};

/// Stages that may find nothing before the search is given up.
const FRUITLESS_MAX: u32 = 3;
/// Matchings tried in a stage.
const MATCHINGS: u32 = 8;

/// What is known so far; holds when the budget ends, too.
#[derive(Debug, Default, Clone)]
pub(super) struct Grouping {
    /// Groups of two and more, by place: each with its probability.
    pub(super) groups: Vec<(BTreeSet<usize>, f64)>,
    /// Places that are free of all others, with the probability of that.
    pub(super) alone: BTreeMap<usize, f64>,
    pub(super) pairs: BTreeMap<(usize, usize), Pair>,
    /// Groups of which it is not known whether they miss somebody, single places among them.
    pub(super) open: Vec<(BTreeSet<usize>, f64)>,
}

impl Grouping {
    pub(super) fn new(places: &[usize]) -> Self {
        let single = |place: &usize| ([*place].into_iter().collect(), 1.0);
        Self { open: places.iter().map(single).collect(), ..Self::default() }
    }

    pub(super) fn search(&mut self, field: &mut Field<'_>, kind: Contention) -> Result<(), End> {
        let mut fruitless = 0;
        while fruitless < FRUITLESS_MAX {
            let pool = self.representatives(field);
            if pool.is_empty() {
                break;
            }
            let merged = if pool.len() == 1 {
                // Nobody is left who could be in its way.
                self.close(pool[0], 1.0);
                true
            } else {
                self.stage(field, kind, &pool)?
            };
            fruitless = if merged { 0 } else { fruitless + 1 };
        }
        Ok(())
    }

    /// One CPU of each open group that can be measured.
    fn representatives(&self, field: &mut Field<'_>) -> Vec<usize> {
        let Field { tallies, random, .. } = field;
        let one_of = |(group, _): &(BTreeSet<usize>, f64)| {
            let usable: Vec<usize> =
                group.iter().copied().filter(|place| !tallies[*place].given_up).collect();
            let pick = random.below(usable.len().max(1) as u64) as usize;
            usable.get(pick).copied()
        };
        self.open.iter().filter_map(one_of).collect()
    }

    /// One stage; false: it told nothing new.
    fn stage(
        &mut self,
        field: &mut Field<'_>,
        kind: Contention,
        pool: &[usize],
    ) -> Result<bool, End> {
        let stage = Stage::measure(field, kind, pool)?;
        let Parts { free, slowed, .. } = stage.part();
        for (place, probability) in &free {
            self.close(*place, *probability);
        }
        let likely = stage.partners(&slowed);
        let (mut left, mut merged) = (likely.clone(), BTreeSet::new());
        for _ in 0..MATCHINGS {
            let pairs = matching(&mut left, &likely);
            if pairs.is_empty() {
                break;
            }
            let passed = self.test(field, kind, &pairs, false)?;
            let passed = pairs.iter().zip(passed).filter(|(_, passed)| *passed);
            merged.extend(passed.flat_map(|((a, b), _)| [*a, *b]));
            // Whether these are in the way of more is seen in the next stage, without the mates
            // that are known now.
            left.retain(|(a, b)| !merged.contains(a) && !merged.contains(b));
        }
        Ok(!merged.is_empty() || !free.is_empty())
    }

    /// Tests disjoint pairs, notes what came of each, and puts together those that pass.
    pub(super) fn test(
        &mut self,
        field: &mut Field<'_>,
        kind: Contention,
        pairs: &[(usize, usize)],
        thorough: bool,
    ) -> Result<Vec<bool>, End> {
        let compared = verify(field, kind, pairs, thorough)?;
        let mut passed = Vec::new();
        for ((a, b), compared) in pairs.iter().zip(compared) {
            let (a, b) = (*a.min(b), *a.max(b));
            let pair = compared.describe([a, b].map(|place| field.cpus[place]), kind);
            let is_one = compared.evidence > 0.0 && compared.len() > 0;
            if is_one {
                self.merge(a, b, pair.confidence);
            }
            if compared.len() > 0 {
                self.pairs.insert((a, b), pair);
            }
            passed.push(is_one);
        }
        Ok(passed)
    }

    fn open_group(&self, place: usize) -> Option<usize> {
        self.open.iter().position(|(group, _)| group.contains(&place))
    }

    fn merge(&mut self, a: usize, b: usize, confidence: f64) {
        let groups = (self.open_group(a), self.open_group(b));
        let (Some(at), Some(other)) = groups else { return };
        if at == other {
            return;
        }
        let (members, probability) = self.open.swap_remove(at.max(other));
        let group = &mut self.open[at.min(other)];
        group.0.extend(members);
        group.1 = group.1.min(probability).min(confidence);
    }

    /// The open group of a place misses nobody.
    fn close(&mut self, place: usize, confidence: f64) {
        let Some(at) = self.open_group(place) else { return };
        let (group, probability) = self.open.swap_remove(at);
        let probability = probability.min(confidence);
        match group.len() {
            1 => drop(self.alone.insert(place, probability)),
            _ => self.groups.push((group, probability)),
        }
    }
}

/// Takes pairs, best first, out of a list. Of no two of them is a CPU a likely partner of one of
/// the other: they would be tested side by side, and siblings of both would blur the result.
fn matching(pairs: &mut Vec<(usize, usize)>, likely: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut partners: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (a, b) in likely {
        partners.entry(*a).or_default().push(*b);
        partners.entry(*b).or_default().push(*a);
    }
    let mut blocked = BTreeSet::new();
    let (now, later) = pairs.iter().partition(|(a, b)| {
        let is_free = !blocked.contains(a) && !blocked.contains(b);
        if is_free {
            blocked.extend([a, b].into_iter().flat_map(|place| &partners[place]).copied());
            blocked.extend([*a, *b]);
        }
        is_free
    });
    *pairs = later;
    now
}
