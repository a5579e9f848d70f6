//! How long things take, learned from the runs so far, for the time left and the budget.

use coretwin_base::plan::Plan;
use std::collections::BTreeMap;

/// Mean duration of each row in each arm, overhead included.
#[derive(Debug, Default)]
pub(crate) struct Estimate {
    runs: BTreeMap<(usize, usize), (f64, u32)>,
    /// Sum and number of what came before the first run of a visit: switching, resting, a run in
    /// vain.
    openings: (f64, u32),
}

impl Estimate {
    /// Takes note of a run.
    pub(crate) fn note(&mut self, arm: usize, row: usize, seconds: f64) {
        let entry = self.runs.entry((arm, row)).or_default();
        entry.0 += seconds;
        entry.1 += 1;
    }

    /// Takes note of how long a visit took before its first run.
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
        for row in 0..plan.rows.len() {
            for arm in 0..plan.arms.len() {
                sum += self.run_s(arm, row)? * f64::from(plan.rules.repeats);
            }
        }
        Some(sum)
    }
}
