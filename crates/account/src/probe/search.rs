//! One stage of the search: who is slowed at all, and by whom most likely.
//!
//! All CPUs of a pool are measured in rounds of about half of them ([`Codes`]), and now and
//! then all together. Whoever is slower with all than in its best rounds has somebody in the pool
//! that is in its way. Who that is shows in the rounds: a CPU is slower in those in which the other
//! is active, and the other likewise.

use super::evidence::{probability, weight};
use super::field::{End, Field};
use coretwin_base::account::probe::Contention;
use coretwin_base::random::Stream;
use std::collections::BTreeSet;

/// Letters in which any two words differ at least. Three, so that one outlier does not matter.
const APART: u32 = 3;
/// Letters beyond log₂ of the number of words.
const MORE_LETTERS: u32 = 12;
/// Words drawn anew before a letter is added.
const REDRAWS: u32 = 64;
/// Rounds with all CPUs of the pool.
const ALL_ROUNDS: u32 = 6;
/// Partners of each CPU that are thought of: seven siblings, and one too many.
const PARTNERS: usize = 8;
/// Logs are cut here, so that one outlier does not make a partner.
const CUT: (f64, f64) = (-1.8, 0.1);
/// A partner makes at least this difference, in log …
const DIFFERENCE: f64 = -0.08;
/// … and at least this share of what the likeliest makes: siblings of a core are much alike.
const OF_LIKELIEST: f64 = 0.7;

pub(super) fn rounds(cpus: usize) -> u32 {
    if cpus < 2 { 0 } else { 2 * letters(cpus) + ALL_ROUNDS }
}

/// One round: who of the pool was active, and what was measured, both by index into the pool.
struct Observation {
    is_all: bool,
    active: Vec<bool>,
    logs: Vec<Option<f64>>,
}

pub(super) struct Stage {
    /// The pool, by place in the field.
    pool: Vec<usize>,
    observations: Vec<Observation>,
    /// The speed of each when nobody is in its way, in log.
    free: Vec<Option<f64>>,
}

impl Stage {
    pub(super) fn measure(
        field: &mut Field<'_>,
        kind: Contention,
        pool: &[usize],
    ) -> Result<Self, End> {
        let codes = Codes::draw(pool.len(), &mut field.random);
        let mut stage = Self { pool: pool.to_vec(), observations: Vec::new(), free: Vec::new() };
        let all_every = codes.letters.div_ceil(ALL_ROUNDS).max(1);
        let mut all_rounds = 0;
        for letter in 0..codes.letters {
            for side in [true, false] {
                let active: Vec<bool> =
                    (0..pool.len()).map(|index| codes.letter(index, letter) == side).collect();
                stage.observe(field, kind, active)?;
            }
            if letter % all_every == 0 {
                stage.observe(field, kind, vec![true; pool.len()])?;
                all_rounds += 1;
            }
        }
        for _ in all_rounds..ALL_ROUNDS {
            stage.observe(field, kind, vec![true; pool.len()])?;
        }
        stage.free = (0..pool.len()).map(|index| stage.free_of(index)).collect();
        Ok(stage)
    }

    fn observe(
        &mut self,
        field: &mut Field<'_>,
        kind: Contention,
        active: Vec<bool>,
    ) -> Result<(), End> {
        let places: Vec<usize> =
            self.pool.iter().zip(&active).filter(|(_, active)| **active).map(|(p, _)| *p).collect();
        if places.is_empty() {
            return Ok(());
        }
        let measured = field.round(kind, &places)?;
        let logs = self.pool.iter().map(|place| measured[*place]).collect();
        self.observations.push(Observation {
            is_all: places.len() == self.pool.len(),
            active,
            logs,
        });
        Ok(())
    }

    /// The second best of its rounds with some others: one outlier may be above the truth.
    fn free_of(&self, index: usize) -> Option<f64> {
        let some = self.observations.iter().filter(|observation| !observation.is_all);
        let mut logs: Vec<f64> = some.filter_map(|observation| observation.logs[index]).collect();
        logs.sort_by(|a, b| b.total_cmp(a));
        logs.get(1).or(logs.first()).copied()
    }

    /// Evidence that somebody of the pool is in the way of this one, in nats; `None` if it could not
    /// be measured.
    fn slowed(&self, index: usize) -> Option<f64> {
        let free = self.free[index]?;
        let all = self.observations.iter().filter(|observation| observation.is_all);
        let logs = all.filter_map(|observation| observation.logs[index]);
        logs.map(|log| weight(log - free)).reduce(|sum, weight| sum + weight)
    }

    /// The pool parted: places that are free of all others with the probability of that; places
    /// that are slowed, by index; places that could not be measured.
    pub(super) fn part(&self) -> Parts {
        let mut parts = Parts::default();
        for (index, place) in self.pool.iter().enumerate() {
            match self.slowed(index) {
                Some(evidence) if evidence > 0.0 => parts.slowed.push(index),
                Some(evidence) => parts.free.push((*place, probability(-evidence))),
                None => parts.unknown.push(*place),
            }
        }
        parts
    }

    pub(super) fn place(&self, index: usize) -> usize {
        self.pool[index]
    }

    /// Likely partners among the slowed, best first, as pairs of places.
    pub(super) fn partners(&self, slowed: &[usize]) -> Vec<(usize, usize)> {
        let differences = self.differences(slowed);
        let count = slowed.len();
        let mut pairs = BTreeSet::new();
        let both = |a: usize, b: usize| {
            Some((differences[a * count + b]? + differences[b * count + a]?) / 2.0)
        };
        for a in 0..count {
            let mut partners: Vec<(f64, usize)> = (0..count)
                .filter(|b| *b != a)
                .filter_map(|b| Some((both(a, b)?, b)))
                .filter(|(difference, _)| *difference < DIFFERENCE)
                .collect();
            partners.sort_by(|a, b| a.0.total_cmp(&b.0));
            let likeliest = partners.first().map_or(0.0, |(difference, _)| *difference);
            let alike = |(difference, _): &&(f64, usize)| *difference <= likeliest * OF_LIKELIEST;
            let partners = partners.iter().take(PARTNERS).take_while(alike);
            pairs.extend(partners.map(|(_, b)| (a.min(*b), a.max(*b))));
        }
        let mut ranked: Vec<(f64, (usize, usize))> =
            pairs.into_iter().filter_map(|(a, b)| Some((both(a, b)?, (a, b)))).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let places = |(a, b): (usize, usize)| (self.place(slowed[a]), self.place(slowed[b]));
        ranked.into_iter().map(|(_, pair)| places(pair)).collect()
    }

    /// For every two of the slowed: mean log of the first with the second active, less that without.
    fn differences(&self, slowed: &[usize]) -> Vec<Option<f64>> {
        let count = slowed.len();
        let mut differences = vec![None; count * count];
        let (mut sums, mut counts) = (vec![[0.0; 2]; count], vec![[0_u32; 2]; count]);
        for (row, index) in slowed.iter().enumerate() {
            sums.fill([0.0; 2]);
            counts.fill([0; 2]);
            let Some(free) = self.free[*index] else { continue };
            for observation in &self.observations {
                let Some(log) = observation.logs[*index] else { continue };
                let log = (log - free).clamp(CUT.0, CUT.1);
                for (column, other) in slowed.iter().enumerate() {
                    let side = usize::from(observation.active[*other]);
                    sums[column][side] += log;
                    counts[column][side] += 1;
                }
            }
            for column in (0..count).filter(|column| *column != row) {
                let mean = |side: usize| {
                    let count = counts[column][side];
                    (count > 0).then(|| sums[column][side] / f64::from(count))
                };
                differences[row * count + column] =
                    mean(1).zip(mean(0)).map(|(with, without)| with - without);
            }
        }
        differences
    }
}

#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Places, and the probability that they are free of all others of the pool.
    pub(super) free: Vec<(usize, f64)>,
    pub(super) slowed: Vec<usize>,
    pub(super) unknown: Vec<usize>,
}

/// Which CPUs are active in which round of group testing.
///
/// Every CPU has a code word. For each letter there are two rounds: one with the CPUs whose letter
/// is 1, one with the others. So each CPU is active once per letter, and shares the round with
/// another exactly if their letters are equal. Any two words differ in [`APART`] letters at least:
/// so often every CPU is measured without any given other. Random words of about log₂ n + 12
/// letters have that property after few redraws (Gilbert, *A comparison of signalling alphabets*,
/// Bell System Technical Journal 31, 1952), and beyond it they make the rounds of two strangers
/// as different as chance does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Codes {
    /// Letters of each word, at most 64.
    letters: u32,
    words: Vec<u64>,
}

impl Codes {
    fn draw(count: usize, random: &mut Stream) -> Self {
        let mut letters = letters(count);
        let mut words: Vec<u64> = Vec::with_capacity(count);
        while words.len() < count {
            let drawn = (0..REDRAWS)
                .map(|_| random.next_u64() & mask(letters))
                .find(|word| words.iter().all(|other| (word ^ other).count_ones() >= APART));
            match drawn {
                Some(word) => words.push(word),
                None if letters < u64::BITS => letters += 1,
                None => words.push(random.next_u64()),
            }
        }
        Self { letters, words }
    }

    fn letter(&self, word: usize, letter: u32) -> bool {
        self.words[word] >> letter & 1 == 1
    }
}

/// Letters of the words of so many CPUs. Two have nobody else to be told apart from: for them
/// rounds alone and together are what counts.
fn letters(count: usize) -> u32 {
    let more = if count <= 2 { 5 } else { MORE_LETTERS };
    count.max(2).next_power_of_two().ilog2() + more
}

fn mask(letters: u32) -> u64 {
    if letters >= u64::BITS { u64::MAX } else { (1 << letters) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_apart_and_grow_with_the_logarithm() {
        let mut lengths = Vec::new();
        for count in [1, 2, 3, 16, 64, 256, 1024] {
            let codes = Codes::draw(count, &mut Stream::new(1, "codes", count as u64));
            assert_eq!(codes.words.len(), count);
            for (index, a) in codes.words.iter().enumerate() {
                assert!(codes.words[..index].iter().all(|b| (a ^ b).count_ones() >= APART));
            }
            lengths.push(codes.letters);
        }
        assert_eq!(lengths, [6, 6, 14, 16, 18, 20, 22]);
    }
}
