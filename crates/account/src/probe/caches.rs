//! Which cores share a cache.
//!
//! A second-level cache of several cores is found as cores are, by walks that fit into it one by
//! one and not together. A last-level cache is too large for that in a short round; there a cache
//! line that goes to and fro tells near from far. Nearness is an equivalence, so not all pairs are
//! needed: classes are merged or told apart by pairs of any of their members, and as many pairs as
//! there are free CPUs play at a time (Devanny, Goodrich & Jetviroj, *Parallel equivalence class
//! sorting*, SPAA 2016). Rounds grow with the number of caches and the logarithm of that of CPUs.

use super::field::{End, Field};
use coretwin_base::random::Stream;
use std::collections::BTreeSet;

/// Rounds of random pairs from which near and far are learnt.
const SAMPLE_ROUNDS: usize = 6;
/// Plays of each pair: others and interrupts only ever delay, so the shortest counts.
const PLAYS: usize = 3;
/// Rounds that a handful of caches takes.
pub(super) const ROUNDS: u32 = (2 * SAMPLE_ROUNDS * PLAYS) as u32;
/// Far takes at least this many times as long as near.
const GAP: f64 = 1.4;
/// Uncertainty of the log of a round trip: the way through a cache differs from core to core.
const DEVIATION: f64 = 0.1;

/// Places by nearest last-level cache, in classes of two and more with their probability; none at
/// all where all are as near as far.
pub(super) fn classes(
    field: &mut Field<'_>,
    places: &[usize],
) -> Result<Vec<(BTreeSet<usize>, f64)>, End> {
    let mut sample = Vec::new();
    for _ in 0..SAMPLE_ROUNDS {
        let mut order = places.to_vec();
        field.random.shuffle(&mut order);
        let pairs: Vec<(usize, usize)> =
            order.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        sample.extend(play(field, &pairs)?.into_iter().flatten());
    }
    let Some(border) = border(sample) else { return Ok(Vec::new()) };
    let mut classes = Classes::new(places);
    loop {
        let pairs = classes.open_pairs(&mut field.random);
        if pairs.is_empty() {
            return Ok(classes.large());
        }
        for (pair, time) in pairs.iter().zip(play(field, &pairs)?) {
            // Logistic for normal: Haley, Stanford technical report 15 (1952).
            let z = time.map_or(0.0, |time| (time - border) / DEVIATION);
            let far = 1.0 / (1.0 + (-1.702 * z).exp());
            classes.learn(*pair, far);
        }
    }
}

/// Logs of the round trips of pairs, each the shortest of some plays.
fn play(field: &mut Field<'_>, pairs: &[(usize, usize)]) -> Result<Vec<Option<f64>>, End> {
    let mut best: Vec<Option<f64>> = vec![None; pairs.len()];
    for _ in 0..PLAYS {
        for (best, time) in best.iter_mut().zip(field.exchange(pairs)?) {
            *best = match (*best, time) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
    Ok(best)
}

/// What parts near from far: the middle of the lowest wide gap between logs of round trips.
fn border(mut sample: Vec<f64>) -> Option<f64> {
    sample.sort_by(f64::total_cmp);
    let gap = sample.windows(2).find(|pair| pair[1] - pair[0] > GAP.ln())?;
    Some(f64::midpoint(gap[0], gap[1]))
}

struct Classes {
    members: Vec<Vec<usize>>,
    /// Least probability of all that made the class.
    confidence: Vec<f64>,
    /// Pairs of classes that are far apart, lower index first.
    apart: BTreeSet<(usize, usize)>,
}

impl Classes {
    fn new(places: &[usize]) -> Self {
        Self {
            members: places.iter().map(|place| vec![*place]).collect(),
            confidence: vec![1.0; places.len()],
            apart: BTreeSet::new(),
        }
    }

    /// Disjoint pairs of places whose classes are not compared yet, at most one per two classes.
    fn open_pairs(&self, random: &mut Stream) -> Vec<(usize, usize)> {
        let mut free: Vec<(usize, usize)> = self
            .members
            .iter()
            .enumerate()
            .flat_map(|(class, members)| members.iter().map(move |place| (class, *place)))
            .collect();
        random.shuffle(&mut free);
        let (mut pairs, mut asked) = (Vec::new(), BTreeSet::new());
        while let Some((class, place)) = free.pop() {
            let is_open = |(other, _): &(usize, usize)| {
                let key = (class.min(*other), class.max(*other));
                class != *other && !self.apart.contains(&key) && !asked.contains(&key)
            };
            if let Some(at) = free.iter().position(is_open) {
                let (other, partner) = free.swap_remove(at);
                asked.insert((class.min(other), class.max(other)));
                pairs.push((place, partner));
            }
        }
        pairs
    }

    fn of(&self, place: usize) -> Option<usize> {
        self.members.iter().position(|members| members.contains(&place))
    }

    fn learn(&mut self, (a, b): (usize, usize), far: f64) {
        let (Some(a), Some(b)) = (self.of(a), self.of(b)) else { return };
        // Merged meanwhile, over others.
        if a == b {
            return;
        }
        let (low, high) = (a.min(b), a.max(b));
        let sure = far.max(1.0 - far);
        if far >= 0.5 {
            self.apart.insert((low, high));
            self.confidence[low] = self.confidence[low].min(sure);
            self.confidence[high] = self.confidence[high].min(sure);
            return;
        }
        let moved = std::mem::take(&mut self.members[high]);
        self.members[low].extend(moved);
        self.confidence[low] = self.confidence[low].min(self.confidence[high]).min(sure);
        let renamed = |class: usize| if class == high { low } else { class };
        let apart = std::mem::take(&mut self.apart);
        self.apart = apart
            .into_iter()
            .map(|(x, y)| (renamed(x), renamed(y)))
            .filter(|(x, y)| x != y)
            .map(|(x, y)| (x.min(y), x.max(y)))
            .collect();
    }

    fn large(self) -> Vec<(BTreeSet<usize>, f64)> {
        let classes = self.members.into_iter().zip(self.confidence);
        let large = classes.filter(|(members, _)| members.len() > 1);
        large.map(|(members, sure)| (members.into_iter().collect(), sure)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_wide_gap_is_the_border() {
        let logs = |times: &[f64]| times.iter().map(|time: &f64| time.ln()).collect::<Vec<f64>>();
        let found = border(logs(&[250.0, 44.0, 40.0, 95.0, 100.0, 260.0])).expect("a border");
        assert!(found > 44_f64.ln() && found < 95_f64.ln());
        assert_eq!(border(logs(&[40.0, 44.0, 50.0, 60.0])), None);
        assert_eq!(border(Vec::new()), None);
    }

    #[test]
    fn classes_need_few_rounds() {
        // 256 CPUs below 8 caches.
        let places: Vec<usize> = (0..256).collect();
        let (mut classes, mut rounds) = (Classes::new(&places), 0);
        let mut random = Stream::new(1, "classes", 0);
        loop {
            let pairs = classes.open_pairs(&mut random);
            if pairs.is_empty() {
                break;
            }
            rounds += 1;
            for (a, b) in pairs {
                classes.learn((a, b), if a % 8 == b % 8 { 0.01 } else { 0.99 });
            }
        }
        let large = classes.large();
        assert_eq!(large.len(), 8);
        assert!(
            large.iter().all(|(class, _)| class
                .iter()
                .all(|p| class.first().is_some_and(|f| p % 8 == f % 8)))
        );
        assert!(rounds < 60, "{rounds} rounds");
    }
}
