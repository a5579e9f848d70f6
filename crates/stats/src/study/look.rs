//! A look at a running study: how wide the intervals are, whether that is enough, and how many
//! blocks it will take.

use super::blocks::Blocks;
use super::rows::{Differences, blocks_for, from_scale};
use super::suites;
use crate::confidence;
use crate::load::{Capacities, CapacityLook};
use crate::paired::Paired;
use crate::{sequence, verdict};
use coretwin_base::study::plan::{Plan, Rule, Scale};
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::Verdict;

#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Blocks complete and not set aside.
    pub blocks_complete: u32,
    pub cells: Vec<LookCell>,
    /// Whether the interval of every primary row is narrow enough. Primary are the rows compared by
    /// their ratio, in every arm where they can be compared at all. By [`Rule::Verdict`], whether
    /// every arm's sequence decides.
    pub satisfied: bool,
    /// Whether the plan lets the study stop after this many complete blocks; only then does
    /// `satisfied` count.
    pub due: bool,
    /// The planned look at which the study will probably be satisfied; `None` while it cannot be told.
    /// At most the last one.
    pub blocks_needed: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LookCell {
    pub row: String,
    pub arm: String,
    /// Effect so far, as [`coretwin_base::study::summary::RowEffect::ratio`].
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Half-width as a share (0.01 is 1 %); in the row's unit on the raw scale.
    pub half_width: Option<f64>,
}

pub fn look(plan: &Plan, readings: &[Reading]) -> Look {
    if let Some(capacities) = Capacities::new(plan, readings) {
        return of_capacity(plan, &capacities);
    }
    let blocks = Blocks::new(plan, readings);
    let blocks_complete = blocks.complete;
    let target = libm::log1p(plan.rules.target);
    let mut cells = Vec::new();
    let (mut primary, mut narrow) = (0u32, 0u32);
    let mut needed = Some(blocks_complete);
    let until = plan.rules.until;
    let mut decided = true;
    for arm in (0..plan.arms.len()).filter(|&arm| arm != plan.reference_index()) {
        let comparisons: Vec<Differences> = (0..plan.rows.len())
            .map(|row| Differences::new(plan, &blocks, &blocks.analysed, row, arm))
            .collect();
        if until == Rule::Verdict {
            let (is_decided, blocks) = sequence_of(plan, &comparisons, arm);
            decided &= is_decided;
            needed = needed.zip(blocks).map(|(a, b)| a.max(b));
        }
        for (row, comparison) in plan.rows.iter().zip(&comparisons) {
            let half = |of: fn(&Paired, f64, f64) -> Option<f64>| {
                of(&comparison.paired?, confidence::CONFIDENCE, comparison.widening)
            };
            let [ratio, low, high] = comparison.shown(row.scale);
            // A row that fails will not become narrow, however long the study waits for it.
            let can_be_compared = blocks_complete == 0 || comparison.paired.is_some();
            if row.scale == Scale::Ratio && can_be_compared && until == Rule::Width {
                primary += 1;
                // What rounding adds stays, however long the study waits.
                let half = half(Paired::half_width_of_spread);
                narrow += u32::from(half.is_some_and(|half| half <= target));
                let forecast = comparison.paired.filter(|_| half.is_some());
                let forecast = forecast.map(|paired| blocks_for(plan, paired.deviation, target));
                needed = needed.zip(forecast).map(|(a, b)| a.max(b));
            }
            cells.push(LookCell {
                row: row.id.clone(),
                arm: plan.arms[arm].label.clone(),
                ratio,
                low,
                high,
                half_width: half(Paired::half_width).map(|half| match row.scale {
                    Scale::Ratio => from_scale(half, Scale::Ratio) - 1.0,
                    Scale::Raw => half,
                }),
            });
        }
    }
    Look {
        blocks_complete,
        cells,
        satisfied: match until {
            Rule::Width => primary > 0 && primary == narrow,
            Rule::Verdict => decided,
        },
        due: plan.rules.looks.contains(&blocks_complete),
        blocks_needed: needed
            .filter(|_| primary > 0 || until == Rule::Verdict)
            .and_then(|blocks| next_look(plan, blocks)),
    }
}

fn next_look(plan: &Plan, blocks: u32) -> Option<u32> {
    let looks = &plan.rules.looks;
    looks.iter().copied().find(|&look| look >= blocks).or(looks.last().copied())
}

/// The look of a load curve with an objective, which is decided by the capacity there alone.
fn of_capacity(plan: &Plan, capacities: &Capacities<'_>) -> Look {
    let others = (0..plan.arms.len()).filter(|&arm| arm != plan.reference_index());
    let looks: Vec<CapacityLook> = others.map(|arm| capacities.look(arm)).collect();
    let complete = capacities.complete();
    let needed = looks.iter().try_fold(complete, |most, look| Some(look.blocks_needed?.max(most)));
    Look {
        blocks_complete: complete,
        satisfied: !looks.is_empty() && looks.iter().all(|look| look.is_satisfied),
        due: plan.rules.looks.contains(&complete),
        blocks_needed: needed.and_then(|blocks| next_look(plan, blocks)),
        cells: looks.into_iter().map(cell).collect(),
    }
}

fn cell(CapacityLook { effect, half_width, .. }: CapacityLook) -> LookCell {
    LookCell {
        row: effect.suite,
        arm: effect.arm,
        ratio: effect.ratio,
        low: effect.low,
        high: effect.high,
        half_width: half_width.map(libm::expm1),
    }
}

/// Whether an arm's sequence decides, and after how many blocks it will: that of its suite over
/// everything, else of its first row that can be compared. An arm of which nothing can be compared
/// is not waited for.
fn sequence_of(plan: &Plan, comparisons: &[Differences], arm: usize) -> (bool, Option<u32>) {
    let suite = suites::effects(plan, comparisons, arm).pop().filter(|suite| suite.ratio.is_some());
    let (ends, margin, needed) = match suite {
        Some(suite) => {
            let ends = suite.low.zip(suite.high).map(|(a, b)| (libm::log(a), libm::log(b)));
            (ends, libm::log1p(plan.rules.margin), suite.blocks_needed)
        }
        None => {
            let of_row = |row: &Differences| Some((row.paired?, row.values[0].unwrap_or(0.0)));
            let Some((paired, value)) = comparisons.iter().find_map(of_row) else {
                return (!comparisons.iter().all(|row| row.differences.is_empty()), None);
            };
            let margin = verdict::margin(plan.rules.margin, Scale::Raw, value);
            (sequence::interval(&paired, confidence::LEVEL), margin, None)
        }
    };
    let said = ends.map(|ends| sequence::verdict(ends, margin));
    let is_decided = said.is_some_and(|said| said != Verdict::Inconclusive);
    (is_decided, if is_decided { Some(0) } else { needed })
}
