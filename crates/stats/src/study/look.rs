//! A look at a running study: how wide the intervals are, whether that is enough, and how many
//! blocks it will take.

use super::blocks::Blocks;
use super::rows::{Differences, from_scale, widening};
use crate::confidence;
use crate::paired::Paired;
use crate::{stopping, student};
use coretwin_base::study::plan::{Plan, Scale};
use coretwin_base::study::reading::Reading;

#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Blocks complete and not set aside.
    pub blocks_complete: u32,
    pub cells: Vec<LookCell>,
    /// Whether the interval of every primary row is narrow enough. Primary are the rows compared by
    /// their ratio, in every arm where they can be compared at all.
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
    let blocks = Blocks::new(plan, readings);
    let blocks_complete = blocks.analysed.len() as u32;
    let target = libm::log1p(plan.rules.target);
    let mut cells = Vec::new();
    let (mut primary, mut narrow) = (0u32, 0u32);
    let mut needed = Some(blocks_complete);
    for arm in (0..plan.arms.len()).filter(|&arm| arm != plan.reference_index()) {
        for (index, row) in plan.rows.iter().enumerate() {
            let comparison = Differences::new(plan, &blocks, &blocks.analysed, index, arm);
            let half = |of: fn(&Paired, f64, f64) -> Option<f64>| {
                of(&comparison.paired?, confidence::CONFIDENCE, comparison.widening)
            };
            let [ratio, low, high] = comparison.shown(row.scale);
            // A row that fails will not become narrow, however long the study waits for it.
            let can_be_compared = blocks_complete == 0 || comparison.paired.is_some();
            if row.scale == Scale::Ratio && can_be_compared {
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
    let next_look = |blocks: u32| {
        let looks = &plan.rules.looks;
        looks.iter().copied().find(|&look| look >= blocks).or(looks.last().copied())
    };
    Look {
        blocks_complete,
        cells,
        satisfied: primary > 0 && primary == narrow,
        due: plan.rules.looks.contains(&blocks_complete),
        blocks_needed: if primary > 0 { needed.and_then(next_look) } else { None },
    }
}

/// Blocks after which the interval will be that narrow, if the spread stays what it is.
fn blocks_for(plan: &Plan, deviation: f64, target: f64) -> u32 {
    let is_narrow = |blocks: u32| {
        let critical = student::critical(confidence::CONFIDENCE, f64::from(blocks - 1));
        let widening = widening(plan, blocks as usize);
        widening * critical * deviation / libm::sqrt(f64::from(blocks)) <= target
    };
    stopping::fewest_blocks(is_narrow).unwrap_or(stopping::FORECAST_MAX)
}
