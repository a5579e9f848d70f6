//! The effect of an arm on one row.

use super::blocks::{Attempt, Blocks, Cell};
use crate::paired::Paired;
use crate::{paired, stopping, verdict};
use coretwin_base::plan::{Plan, PlanRow, Protocol, Scale};
use coretwin_base::reading::Better;
use coretwin_base::summary::Verdict;

/// Differences of one row between an arm and the reference.
pub(crate) struct Comparison {
    /// Signed differences by analysed block, above 0 better in the arm; none where a cell failed.
    pub(crate) differences: Vec<Option<f64>>,
    /// The blocks that have one.
    pub(crate) paired: Option<Paired>,
    /// Mean in the reference arm, and in the arm, in the row's unit (geometric on the ratio scale),
    /// over the compared blocks; where there is none, over the blocks where that arm did not fail.
    pub(crate) values: [Option<f64>; 2],
}

impl Comparison {
    /// Compares over these attempts.
    pub(crate) fn new(
        plan: &Plan,
        blocks: &Blocks,
        attempts: &[Attempt],
        row: usize,
        arm: usize,
    ) -> Self {
        let reference = plan.reference_index();
        let rule = &plan.rows[row];
        let mut both = [Mean::default(); 2];
        let mut each = [Mean::default(); 2];
        let mut differences = Vec::with_capacity(attempts.len());
        for attempt in attempts {
            let cells = [reference, arm].map(|arm| blocks.cell(attempt, arm, row));
            for (mean, cell) in each.iter_mut().zip(cells) {
                if let Cell::Value(value) = cell {
                    mean.add(value);
                }
            }
            let difference = match cells {
                [Cell::Value(base), Cell::Value(value)] => {
                    both[0].add(base);
                    both[1].add(value);
                    Some(if rule.better == Better::Higher { value - base } else { base - value })
                }
                _ => None,
            };
            differences.push(difference);
        }
        let present: Vec<f64> = differences.iter().flatten().copied().collect();
        let means = if present.is_empty() { each } else { both };
        let values = means.map(|mean| Some(from_scale(mean.get()?, rule.scale)));
        Self { differences, paired: Paired::new(&present), values }
    }

    /// Hodges–Lehmann estimate of the effect, as shown.
    pub(super) fn hodges_lehmann(&self, scale: Scale) -> Option<f64> {
        let present: Vec<f64> = self.differences.iter().flatten().copied().collect();
        Some(from_scale(paired::hodges_lehmann(&present)?, scale))
    }

    /// Effect and interval, as shown.
    pub(super) fn shown(&self, scale: Scale, widening: f64) -> [Option<f64>; 3] {
        let interval =
            self.paired.and_then(|paired| paired.interval(stopping::CONFIDENCE, widening));
        [self.paired.map(|paired| paired.mean), interval.map(|i| i.0), interval.map(|i| i.1)]
            .map(|value| Some(from_scale(value?, scale)))
    }

    /// The margin on the scale of the differences: ±ln(1 + margin), or that share of the
    /// reference's mean on the raw scale.
    fn margin(&self, plan: &Plan, row: &PlanRow) -> f64 {
        match row.scale {
            Scale::Ratio => libm::log1p(plan.rules.margin),
            Scale::Raw => plan.rules.margin * libm::fabs(self.values[0].unwrap_or(0.0)),
        }
    }

    /// Verdict and blocks needed, where the protocol gives any.
    pub(super) fn verdict(&self, plan: &Plan, row: &PlanRow) -> (Option<Verdict>, Option<u32>) {
        match self.paired {
            Some(paired) if gives_verdicts(plan) => {
                let margin = self.margin(plan, row);
                let widening = widening(plan);
                (
                    verdict::decide(&paired, margin, widening),
                    verdict::blocks_needed(&paired, margin, widening),
                )
            }
            _ => (None, None),
        }
    }
}

/// Whether this protocol ends in verdicts: a screening does not, and the article's had none.
pub(crate) fn gives_verdicts(plan: &Plan) -> bool {
    matches!(plan.rules.protocol, Protocol::Modern | Protocol::Fixed)
}

/// The factor on the half-widths of this study.
pub(crate) fn widening(plan: &Plan) -> f64 {
    match plan.rules.protocol {
        Protocol::Modern => stopping::widening(&plan.rules.looks),
        Protocol::Fixed | Protocol::Quick | Protocol::Article2003 => 1.0,
    }
}

/// From the scale of the analysis to what is shown: a ratio, or the row's unit.
pub(crate) fn from_scale(value: f64, scale: Scale) -> f64 {
    match scale {
        // The interval of few blocks far apart may reach beyond what a number can say.
        Scale::Ratio => libm::exp(value.clamp(-700.0, 700.0)),
        Scale::Raw => value,
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}
