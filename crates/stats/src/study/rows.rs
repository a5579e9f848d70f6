//! The effect of an arm on one row.

use super::blocks::{Attempt, Blocks, Cell};
use super::resolution::Resolution;
use crate::confidence;
use crate::paired::Paired;
use crate::{paired, sequence, stopping, student, verdict};
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::{Comparison, Plan, PlanArm, PlanRow, Protocol, Rule, Scale};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::Verdict;

/// Differences of one row between an arm and the reference.
pub(crate) struct Differences {
    /// Signed differences by analysed block, above 0 better in the arm; `None` where a cell failed.
    pub(crate) differences: Vec<Option<f64>>,
    /// The blocks that have one.
    pub(crate) paired: Option<Paired>,
    /// Factor on its half-widths.
    pub(crate) widening: f64,
    /// Mean in the reference arm, and in the arm, in the row's unit (geometric on the ratio scale),
    /// over the compared blocks; where there is none, over the blocks where that arm did not fail.
    pub(crate) values: [Option<f64>; 2],
}

impl Differences {
    pub(crate) fn new(
        plan: &Plan,
        blocks: &Blocks,
        attempts: &[Attempt],
        row: usize,
        arm: usize,
    ) -> Self {
        let reference = plan.base_index(arm);
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
        let resolutions = [reference, arm].map(|arm| blocks.resolution(arm, row));
        let rounding = resolutions.iter().map(|one| one.error).sum::<f64>();
        let paired = Paired::new(&present).map(|paired| {
            let hidden = match plan.rules.until {
                Rule::Width => 0.0,
                Rule::Verdict => hidden(plan, &paired, Resolution::least_deviation(resolutions)),
            };
            Paired { rounding: rounding + hidden, ..paired }
        });
        let counted = match plan.rules.until {
            Rule::Width => differences.len(),
            Rule::Verdict => present.len(),
        };
        Self { paired, widening: widening(plan, counted), differences, values }
    }

    /// How much more this effect is than another, block by block.
    pub(super) fn beyond(&self, other: &Self) -> Self {
        self.with(other, -1.0)
    }

    /// This effect and another, so often, block by block.
    pub(super) fn with(&self, other: &Self, times: f64) -> Self {
        let blocks = self.differences.iter().zip(&other.differences);
        let sum = |(a, b): (&Option<f64>, &Option<f64>)| Some((*a)? + times * (*b)?);
        let differences: Vec<Option<f64>> = blocks.map(sum).collect();
        let present: Vec<f64> = differences.iter().flatten().copied().collect();
        let rounding =
            [self, other].iter().filter_map(|one| one.paired).map(|one| one.rounding).sum();
        let paired = Paired::new(&present).map(|paired| Paired { rounding, ..paired });
        Self { paired, differences, values: [None; 2], ..*self }
    }

    pub(super) fn hodges_lehmann(&self, scale: Scale) -> Option<f64> {
        let present: Vec<f64> = self.differences.iter().flatten().copied().collect();
        Some(from_scale(paired::hodges_lehmann(&present)?, scale))
    }

    /// Effect and interval, as shown.
    pub(super) fn shown(&self, scale: Scale) -> [Option<f64>; 3] {
        let interval =
            self.paired.and_then(|paired| paired.interval(confidence::CONFIDENCE, self.widening));
        [self.paired.map(|paired| paired.mean), interval.map(|i| i.0), interval.map(|i| i.1)]
            .map(|value| Some(from_scale(value?, scale)))
    }

    /// The step between values, where that decides the width of the interval: where rounding makes
    /// more of it than the spread.
    pub(super) fn step_that_decides(
        &self,
        blocks: &Blocks,
        row: usize,
        arm: usize,
        reference: usize,
    ) -> Option<f64> {
        let paired = self.paired?;
        let spread = paired.half_width_of_spread(confidence::CONFIDENCE, self.widening)?;
        let steps = [arm, reference].map(|arm| blocks.resolution(arm, row).step);
        (paired.rounding > spread).then(|| steps[0].max(steps[1]))
    }

    /// Verdict and blocks needed, where the protocol gives any: HELPS and HURTS by the row's adjusted
    /// p-value, the forecast at the level that is left for one of `open` rows.
    pub(super) fn verdict(
        &self,
        plan: &Plan,
        row: &PlanRow,
        p_adjusted: f64,
        open: usize,
    ) -> (Option<Verdict>, Option<u32>) {
        let Some(paired) = self.paired.filter(|_| gives_verdicts(plan)) else {
            return (None, None);
        };
        let of = self.values[0].unwrap_or(0.0);
        let margin = verdict::margin(plan.rules.margin, row.scale, of);
        let rule = plan.rules.until;
        let verdict = match rule {
            Rule::Width => verdict::decide(&paired, margin, self.widening)
                .map(|verdict| verdict::adjusted(verdict, Some(p_adjusted))),
            // One of many rows is asked at its share of the level, for either word.
            Rule::Verdict => {
                sequence::interval(&paired, confidence::LEVEL / plan.rows.len() as f64)
                    .map(|ends| sequence::verdict(ends, margin))
            }
        };
        let needed = (verdict == Some(Verdict::Inconclusive)).then(|| {
            let level = confidence::LEVEL / open.max(1) as f64;
            let widening = |blocks| widening(plan, blocks as usize);
            verdict::blocks_needed(&paired, margin, level, rule, widening)
        });
        (verdict, needed.flatten())
    }
}

/// By how much a sequence is too narrow whose differences spread less than rounding alone makes them: it
/// may end with four blocks, and those can be alike by chance.
fn hidden(plan: &Plan, paired: &Paired, least: f64) -> f64 {
    let level = confidence::LEVEL / plan.rows.len() as f64;
    let missing = libm::fmax(least - paired.deviation, 0.0);
    match paired.blocks {
        0 | 1 => 0.0,
        // Below the first balanced set there is no sequence, and nothing to widen.
        blocks if missing == 0.0 || !sequence::critical(blocks, level).is_finite() => 0.0,
        blocks => sequence::critical(blocks, level) * missing / libm::sqrt(f64::from(blocks)),
    }
}

/// Whether this study ends in verdicts: a prediction is none, nor is what an emulator took.
pub(crate) fn gives_verdicts(plan: &Plan) -> bool {
    decides(plan) && plan.origin() == Origin::Measured
}

/// Whether this protocol decides: a screening does not, and the article's did not.
pub(crate) fn decides(plan: &Plan) -> bool {
    let protocol = plan.rules.protocol;
    matches!(protocol, Protocol::Modern | Protocol::Fixed) || plan.rules.until == Rule::Verdict
}

/// The factor on the half-widths of this study after so many analysed blocks.
pub(crate) fn widening(plan: &Plan, blocks: usize) -> f64 {
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    match plan.rules.protocol {
        _ if plan.rules.until == Rule::Verdict => sequence::widening(blocks),
        Protocol::Modern => stopping::widening(&plan.rules.looks, blocks),
        Protocol::Fixed | Protocol::Quick | Protocol::Article2003 => 1.0,
    }
}

/// Blocks after which the interval will be that narrow, if the spread stays what it is.
pub(crate) fn blocks_for(plan: &Plan, deviation: f64, target: f64) -> u32 {
    let is_narrow = |blocks: u32| {
        let critical = student::critical(confidence::CONFIDENCE, f64::from(blocks - 1));
        let widening = widening(plan, blocks as usize);
        widening * critical * deviation / libm::sqrt(f64::from(blocks)) <= target
    };
    stopping::fewest_blocks(is_narrow).unwrap_or(stopping::FORECAST_MAX)
}

/// From the scale of the analysis to what is shown: a ratio, or the row's unit.
pub(crate) fn from_scale(value: f64, scale: Scale) -> f64 {
    match scale {
        // The interval of few blocks far apart may reach beyond what a number can say.
        Scale::Ratio => libm::exp(value.clamp(-700.0, 700.0)),
        Scale::Raw => value,
    }
}

/// What this arm against the reference can say. A study may mix arms; only two that differ in
/// whether work may use siblings say something about SMT, whatever the other arms are.
pub fn pair_comparison(plan: &Plan, arm: &PlanArm) -> Comparison {
    let reference = plan.base_of(arm);
    // Under two schedulers a difference may be theirs.
    if plan.comparison == Comparison::None || arm.scheduler != reference.scheduler {
        return Comparison::None;
    }
    let states = [&arm.state, &reference.state];
    let one_is = |state: &ArmState| states.contains(&state);
    let one_uses_siblings = states.iter().any(|state| {
        matches!(state, ArmState::On | ArmState::OnCores | ArmState::CoreSched | ArmState::Packed)
    });
    let boots_differ = arm.smt.is_some() && reference.smt.is_some() && arm.smt != reference.smt;
    if (one_uses_siblings && one_is(&ArmState::Off)) || boots_differ {
        Comparison::Smt
    } else if one_uses_siblings && one_is(&ArmState::OnePerCore) {
        Comparison::StandIn
    } else {
        Comparison::None
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
