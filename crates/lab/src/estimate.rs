//! How long things take: foretold from the plan, then learned from the runs so far, for the time
//! left and the budget.

use crate::history::History;
use crate::run_order;
use coretwin_base::study::plan::{Plan, PlanRow, Protocol};
use coretwin_base::study::reading::Phase;
use std::collections::BTreeMap;

/// About how long a study takes, in seconds: what comes before the first block, and the fewest blocks
/// after which it may end. None for a command, of which nothing is known before it was run, and on a
/// simulated machine. Rests after switches are in it, switches and boots are not.
pub fn foretold_s(plan: &Plan) -> Option<f64> {
    if plan.simulation.is_some() {
        return None;
    }
    let reference = &plan.arms[plan.reference_index()];
    let takes_of = |row: &PlanRow| {
        Some(coretwin_workloads::table::find(&row.workload)?.takes_s(&row.params_in(reference)))
    };
    let takes: Option<Vec<f64>> = plan.rows.iter().map(takes_of).collect();
    let takes = takes?;
    let visit_s = |block: u32, arm: usize| {
        let cells = run_order::cells(plan, Phase::Study, block, arm, &BTreeMap::new());
        let discarded = run_order::discarded(plan, &cells);
        let runs = cells.iter().chain(&discarded).map(|cell| takes[cell.row]);
        plan.rules.settle_s + runs.sum::<f64>()
    };
    let block_s = |block: u32| (0..plan.arms.len()).map(|arm| visit_s(block, arm)).sum::<f64>();
    let warmup_s = f64::from(plan.rules.warmup_runs) * takes.iter().sum::<f64>();
    let warms = plan.rules.warmup && !plan.reboots() && plan.saturation_row().is_none();
    let before_s = if warms { warmup_s } else { 0.0 };
    let blocks_s = match plan.rules.protocol {
        Protocol::Article2003 => (0..plan.blocks_max()).map(block_s).sum(),
        Protocol::Modern | Protocol::Fixed | Protocol::Quick => {
            f64::from(plan.blocks_min()) * block_s(0)
        }
    };
    let saturation_s = plan.saturation_row().and_then(takes_of).unwrap_or(0.0);
    let runs = plan.load.as_ref().map_or(0, |load| load.blocks * plan.arms.len() as u32);
    Some(before_s + f64::from(runs) * saturation_s + blocks_s)
}

/// About how many attempts at blocks are still to come, of which `done` need no more, until as many
/// are kept as the last look asked for. Blocks are taken to be kept as often as so far.
pub(crate) fn attempts_left(plan: &Plan, history: &History, done: u32, needed: Option<u32>) -> f64 {
    let (fewest, most) = (plan.blocks_min(), plan.blocks_max());
    let (attempts, kept) = history.attempts_and_kept(plan);
    // Once the fewest are kept, at least the block that is being run is still to come.
    let running = (kept + 1).min(most);
    let wanted = needed.unwrap_or(0).clamp(fewest, most).max(running);
    let attempts_a_kept = match (attempts, kept) {
        (0, _) => 1.0,
        // Nothing says when the first will be kept.
        (_, 0) => f64::INFINITY,
        (attempts, kept) => f64::from(attempts) / f64::from(kept),
    };
    // A block that is lost for good is not made up for beyond the last.
    let planned = f64::from(most.saturating_sub(done)) * history.attempts_a_block();
    (f64::from(wanted.saturating_sub(kept)) * attempts_a_kept).min(planned)
}

/// Mean duration of each row in each arm, overhead included.
#[derive(Debug, Default)]
pub(crate) struct Estimate {
    runs: BTreeMap<(usize, usize), (f64, u32)>,
    /// Sum and number of what came before the first run of a visit: switching, resting, a
    /// discarded run.
    openings: (f64, u32),
}

impl Estimate {
    pub(crate) fn note(&mut self, arm: usize, row: usize, seconds: f64) {
        let entry = self.runs.entry((arm, row)).or_default();
        entry.0 += seconds;
        entry.1 += 1;
    }

    pub(crate) fn note_opening(&mut self, seconds: f64) {
        self.openings.0 += seconds;
        self.openings.1 += 1;
    }

    fn run_s(&self, arm: usize, row: usize) -> Option<f64> {
        let mean = |(sum, count): &(f64, u32)| sum / f64::from(*count);
        // An arm not yet measured is taken to be like the others.
        self.runs.get(&(arm, row)).map(mean).or_else(|| {
            let others: Vec<f64> = self
                .runs
                .iter()
                .filter(|((_, r), _)| *r == row)
                .map(|(_, run)| mean(run))
                .collect();
            (!others.is_empty()).then(|| others.iter().sum::<f64>() / others.len() as f64)
        })
    }

    /// Length of a block, in seconds, once every row was run in some arm.
    pub(crate) fn block_s(&self, plan: &Plan) -> Option<f64> {
        let (openings_s, openings) = self.openings;
        let mut sum = openings_s / f64::from(openings.max(1)) * plan.arms.len() as f64;
        for (row, rule) in plan.rows.iter().enumerate() {
            let arms = (0..plan.arms.len()).filter(|arm| rule.runs_in(&plan.arms[*arm].label));
            for arm in arms {
                sum += self.run_s(arm, row)? * f64::from(plan.rules.repeats);
            }
        }
        Some(sum)
    }
}
