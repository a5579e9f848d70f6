//! Which of several tasks share a core of two siblings: minimum-weight perfect matching, exact, by dynamic
//! programming over sets of tasks (Held & Karp, *A dynamic programming approach to sequencing
//! problems*, 1962): the first task that has no place yet is put beside every other one.

use coretwin_base::account::cputime::pairs::{Objective, SEATS_MAX};
use coretwin_base::random::Stream;

/// A task alone is not slowed.
const ALONE: f64 = 1.0;

/// Random placements whose mean stands for all, where the objective has no closed form.
const DRAWS: u64 = 4096;

/// Two seats that share a core. Seats from the number of tasks on stay empty.
pub type Pairing = Vec<(usize, usize)>;

/// What it costs to put two tasks on a core, by seat. Every core has a task: idle cores come first.
#[derive(Debug, Clone)]
pub struct Costs {
    tasks: usize,
    seats: usize,
    objective: Objective,
    by_pair: Vec<f64>,
}

impl Costs {
    /// `slowdowns[a][b]` is that of a beside b; the diagonal is not looked at. `None` if there are
    /// more than two tasks a core, or more seats than [`SEATS_MAX`].
    pub fn new(slowdowns: &[Vec<f64>], cores: usize, objective: Objective) -> Option<Self> {
        let tasks = slowdowns.len();
        let seats = 2 * cores.min(tasks);
        if tasks == 0 || seats < tasks || seats > SEATS_MAX {
            return None;
        }
        let of = |a: usize, b: usize| match (a < tasks, b < tasks) {
            (true, true) => match objective {
                Objective::Sum => slowdowns[a][b] + slowdowns[b][a],
                Objective::Worst => slowdowns[a][b].max(slowdowns[b][a]),
            },
            (false, false) => f64::INFINITY,
            _ => ALONE,
        };
        let by_pair = (0..seats * seats).map(|at| of(at / seats, at % seats)).collect();
        Some(Self { tasks, seats, objective, by_pair })
    }

    fn of(&self, a: usize, b: usize) -> f64 {
        self.by_pair[a * self.seats + b]
    }

    /// The same with these pairs at what they cost there.
    #[must_use]
    pub fn with(mut self, pairing: &[(usize, usize)], there: &Self) -> Self {
        let seats = self.seats;
        for &(a, b) in pairing {
            self.by_pair[a * seats + b] = there.of(a, b);
            self.by_pair[b * seats + a] = there.of(a, b);
        }
        self
    }

    pub fn total(&self, pairing: &[(usize, usize)]) -> f64 {
        let each = pairing.iter().map(|&(a, b)| self.of(a, b));
        match self.objective {
            Objective::Sum => each.sum(),
            Objective::Worst => each.fold(0.0, f64::max),
        }
    }

    /// The pairs of least cost; among those whose largest is least, the ones of least sum.
    pub fn best(&self) -> Pairing {
        match self.objective {
            Objective::Sum => self.matching(|a, b, rest| self.of(a, b) + rest),
            Objective::Worst => {
                let largest = self.total(&self.matching(|a, b, rest| self.of(a, b).max(rest)));
                self.matching(|a, b, rest| match self.of(a, b) {
                    cost if cost > largest => f64::INFINITY,
                    cost => cost + rest,
                })
            }
        }
    }

    /// Placed in the order in which they are numbered.
    pub fn in_order(&self) -> f64 {
        let tasks: Vec<usize> = (0..self.tasks).collect();
        self.total(&self.seated(&tasks))
    }

    /// Mean over all placements, or over many drawn from that seed.
    pub fn random(&self, seed: u64) -> f64 {
        let shared = (self.tasks - self.seats / 2) as f64;
        let pairs = (0..self.tasks).flat_map(|a| (0..a).map(move |b| (a, b)));
        match self.objective {
            Objective::Sum => {
                let count = (self.tasks * (self.tasks - 1) / 2).max(1) as f64;
                let mean = pairs.map(|(a, b)| self.of(a, b)).sum::<f64>() / count;
                shared * mean + (self.tasks as f64 - 2.0 * shared) * ALONE
            }
            Objective::Worst => {
                let drawn = |index| {
                    let mut tasks: Vec<usize> = (0..self.tasks).collect();
                    Stream::new(seed, "placement", index).shuffle(&mut tasks);
                    self.total(&self.seated(&tasks))
                };
                (0..DRAWS).map(drawn).sum::<f64>() / DRAWS as f64
            }
        }
    }

    /// What the placement that costs most costs.
    pub fn worst(&self) -> f64 {
        let empty = |a: usize, b: usize| a >= self.tasks && b >= self.tasks;
        let least = self.matching(|a, b, rest| match (empty(a, b), self.objective) {
            (true, _) => f64::INFINITY,
            (false, _) if rest == f64::INFINITY => rest,
            (false, Objective::Sum) => rest - self.of(a, b),
            (false, Objective::Worst) => rest.min(-self.of(a, b)),
        });
        self.total(&least)
    }

    /// Tasks in that order, two a core until the others have a core each.
    fn seated(&self, tasks: &[usize]) -> Pairing {
        let shared = 2 * (self.tasks - self.seats / 2);
        let (together, alone) = tasks.split_at(shared);
        let pairs = together.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        pairs.chain(alone.iter().copied().zip(self.tasks..)).collect()
    }

    /// The perfect matching whose cost, joined pair by pair, is least.
    fn matching(&self, join: impl Fn(usize, usize, f64) -> f64) -> Pairing {
        let all = 1usize << self.seats;
        // Of each set: the least cost, and the one beside its first.
        let (mut least, mut beside) = (vec![0.0f64; all], vec![0u8; all]);
        for set in (1..all).filter(|set| set.count_ones() % 2 == 0) {
            let first = set.trailing_zeros() as usize;
            let mut found: Option<(f64, usize)> = None;
            for other in (first + 1..self.seats).filter(|other| set & 1 << other != 0) {
                let joined = join(first, other, least[set & !(1 << first | 1 << other)]);
                // Of equal ones the first, so that equal matrices give equal placements.
                if found.is_none_or(|(cost, _)| joined < cost) {
                    found = Some((joined, other));
                }
            }
            let (cost, other) = found.unwrap_or_default();
            (least[set], beside[set]) = (cost, other as u8);
        }
        let (mut set, mut pairs) = (all - 1, Vec::new());
        while set > 0 {
            let (first, other) = (set.trailing_zeros() as usize, usize::from(beside[set]));
            pairs.push((first, other));
            set &= !(1 << first | 1 << other);
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(tasks: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut draws = Stream::new(seed, "slowdowns", 0);
        (0..tasks).map(|_| (0..tasks).map(|_| 1.0 + draws.unit()).collect()).collect()
    }

    /// What every way to seat them costs.
    fn all_ways(costs: &Costs, left: &[usize]) -> Vec<f64> {
        let Some((&first, rest)) = left.split_first() else { return vec![0.0] };
        let beside = |other: usize| {
            let others: Vec<usize> = rest.iter().copied().filter(|it| *it != other).collect();
            let cost = costs.of(first, other);
            let join = move |rest| match costs.objective {
                Objective::Sum => cost + rest,
                Objective::Worst => cost.max(rest),
            };
            all_ways(costs, &others).into_iter().map(join)
        };
        rest.iter().copied().flat_map(beside).filter(|cost| cost.is_finite()).collect()
    }

    #[test]
    fn it_is_the_best_of_all_ways_in_200_drawn_matrices() {
        let spares = [0, 1].into_iter();
        let cases = spares.flat_map(|spare| Objective::ALL.map(|objective| (spare, objective)));
        for (spare, objective) in cases {
            for seed in 0..200 {
                let tasks = 2 + (seed % (7 - spare)) as usize;
                let cores = tasks.div_ceil(2) + spare as usize;
                let costs = Costs::new(&drawn(tasks, seed), cores, objective).expect("costs");
                let all = all_ways(&costs, &(0..costs.seats).collect::<Vec<_>>());
                let (least, most) = all
                    .iter()
                    .fold((f64::MAX, 0.0), |(least, most), cost| (cost.min(least), cost.max(most)));
                let mean = all.iter().sum::<f64>() / all.len() as f64;
                let best = costs.best();
                assert!((costs.total(&best) - least).abs() < 1e-12, "{seed} {objective}");
                assert!((costs.worst() - most).abs() < 1e-12, "{seed} {objective}");
                let exact = if objective == Objective::Sum { 1e-9 } else { 0.02 };
                let random = costs.random(seed);
                assert!((random - mean).abs() < exact, "{seed} {objective}: {random} {mean}");
                assert!((least..=most).contains(&costs.in_order()), "{seed} {objective}");
                let mut placed: Vec<usize> = best.into_iter().flat_map(|(a, b)| [a, b]).collect();
                placed.sort_unstable();
                assert_eq!(placed, (0..costs.seats).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn who_does_not_fit_is_not_placed_and_whoever_has_room_is_alone() {
        let costs = |tasks, cores| Costs::new(&drawn(tasks, 1), cores, Objective::Sum);
        assert!(costs(3, 1).is_none() && costs(0, 1).is_none() && costs(21, 11).is_none());
        let roomy = costs(3, 8).expect("costs");
        assert_eq!((roomy.total(&roomy.best()), roomy.in_order(), roomy.worst()), (3.0, 3.0, 3.0));
        assert_eq!(costs(3, 2).expect("costs").best().len(), 2);
        assert_eq!(costs(20, 10).expect("costs").best().len(), 10);
    }
}
