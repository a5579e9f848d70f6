//! Several commands beside each other: the slowdowns of both sides of each pair, and a placement of
//! them with what it costs to place them otherwise.

use super::{Block, estimate, slowdown};
use crate::placement::{Costs, Pairing};
use coretwin_base::account::cputime::pairs::{PairSlowdown, Pairs, Placement, Rivals};
use coretwin_base::account::cputime::result::{ConditionResult, Estimate};
use coretwin_base::account::cputime::{Condition, Experiment, Relation};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::study::plan::Plan;

/// Blocks that a placement has to have seen before it is tried on the next.
const SEEN_MIN: usize = 2;

type Matrix = Vec<Vec<f64>>;

/// `None` for an experiment that is beside spinners.
pub(super) fn pairs(
    plan: &Plan,
    experiment: &Experiment,
    blocks: &[Block<'_>],
    results: &[ConditionResult],
) -> Option<Pairs> {
    let count = experiment.commands.len();
    if count == 0 {
        return None;
    }
    let view = View { experiment, blocks, results };
    let numbers = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    Some(Pairs {
        commands: experiment.commands.clone(),
        pairs: numbers.filter_map(|(a, b)| view.pair(a, b)).collect(),
        placement: view.placement(plan),
    })
}

struct View<'a> {
    experiment: &'a Experiment,
    blocks: &'a [Block<'a>],
    results: &'a [ConditionResult],
}

impl View<'_> {
    fn condition(&self, a: usize, b: usize) -> Option<&Condition> {
        let mut conditions = self.experiment.conditions.iter();
        conditions.find(|condition| (condition.work, condition.beside) == (Some(a), Some(b)))
    }

    fn beside(&self, a: usize, b: usize) -> Option<Estimate> {
        let condition = self.condition(a, b)?;
        let result = self.results.iter().find(|result| result.name == condition.name)?;
        Some(Estimate { value: result.slowdown?, low: result.low, high: result.high })
    }

    fn pair(&self, a: usize, b: usize) -> Option<PairSlowdown> {
        let (of_a, of_b) = (self.beside(a, b)?, self.beside(b, a)?);
        let both = self.condition(a, b).zip(self.condition(b, a))?;
        let sum = |block: &Block<'_>| {
            let of = |condition| slowdown(self.experiment, condition, block);
            Some(1.0 / of(both.0)? + 1.0 / of(both.1)?)
        };
        Some(PairSlowdown {
            a,
            b,
            slowdown_a: of_a.value,
            low_a: of_a.low,
            high_a: of_a.high,
            slowdown_b: of_b.value,
            low_b: of_b.low,
            high_b: of_b.high,
            core_yield: estimate(self.blocks.iter().filter_map(sum).map(Some))?,
        })
    }

    /// All slowdowns, one of each pair; `None` if one is missing.
    fn matrix(&self, of: impl Fn(usize, usize) -> Option<f64>) -> Option<Matrix> {
        let count = self.experiment.commands.len();
        let cell = |a, b| if a == b { Some(1.0) } else { of(a, b) };
        (0..count).map(|a| (0..count).map(|b| cell(a, b)).collect()).collect()
    }

    fn placement(&self, plan: &Plan) -> Option<Placement> {
        let tasks = self.experiment.commands.len();
        let cores = self.experiment.cores.unwrap_or(tasks.div_ceil(2));
        let objective = self.experiment.objective;
        let costs = |of: &dyn Fn(usize, usize) -> Option<f64>| {
            Costs::new(&self.matrix(of)?, cores, objective)
        };
        let measured = costs(&|a, b| Some(self.beside(a, b)?.value))?;
        let chosen = measured.best();
        let low = costs(&|a, b| self.beside(a, b)?.low);
        let high = costs(&|a, b| self.beside(a, b)?.high);
        let beside = |seat: usize| (seat < tasks).then_some(seat);
        Some(Placement {
            objective,
            pairs: chosen.iter().map(|(a, b)| (*a, beside(*b))).collect(),
            cost: measured.total(&chosen),
            // What was chosen at its upper ends, and all else at its lower.
            regret: low.zip(high).map(|(low, high)| {
                let truth = low.with(&chosen, &high);
                (truth.total(&chosen) - truth.total(&truth.best())).max(0.0)
            }),
            rivals: Rivals {
                in_order: measured.in_order(),
                random: measured.random(plan.seed),
                worst: measured.worst(),
            },
            gain: self.gain(plan, cores),
            cores: seats(plan, &self.experiment.pair.relation, &chosen),
        })
    }

    /// What is chosen from the blocks before, against a random placement, at the costs of each block: its
    /// errors are then uncorrelated (Dawid, *The prequential approach*, 1984). Chosen and tried on the same
    /// blocks it would flatter itself; tried on each block but chosen from all others, which share what they
    /// were chosen from, it claimed a gain in 13 % of studies of commands that are all alike, at a level of 2.5 %.
    fn gain(&self, plan: &Plan, cores: usize) -> Option<Estimate> {
        let of = |block: &Block<'_>| {
            self.matrix(|a, b| slowdown(self.experiment, self.condition(a, b)?, block))
        };
        let blocks: Vec<Matrix> = self.blocks.iter().filter_map(of).collect();
        if blocks.len() <= SEEN_MIN {
            return None;
        }
        let objective = self.experiment.objective;
        let tried = |at: usize| {
            let before = |a: usize, b: usize| {
                let logs = blocks[..at].iter().map(|block| libm::log(block[a][b]));
                Some(libm::exp(logs.sum::<f64>() / at as f64))
            };
            let chosen = Costs::new(&self.matrix(before)?, cores, objective)?.best();
            let here = Costs::new(&blocks[at], cores, objective)?;
            Some(here.random(plan.seed) / here.total(&chosen))
        };
        estimate((SEEN_MIN..blocks.len()).map(tried))
    }
}

/// CPUs of a core for each pair, by the kernel's word; empty where it knows of too few.
fn seats(plan: &Plan, relation: &Relation, chosen: &Pairing) -> Vec<CpuSet> {
    let cores = plan.topology.usable_cores().into_iter().map(|(_, cpus)| cpus);
    let cores: Vec<CpuSet> = cores.filter(|cpus| cpus.len() > 1).take(chosen.len()).collect();
    let is_known = *relation == Relation::Siblings && cores.len() == chosen.len();
    if is_known { cores } else { Vec::new() }
}
