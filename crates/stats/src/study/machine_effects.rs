//! What one machine's study brings into a fleet: mean and standard error of the differences of its
//! blocks, by row and arm, as the study's own report has them.

use super::blocks::Blocks;
use super::rows::Differences;
use crate::welch::Estimate;
use coretwin_base::fleet::Effect;
use coretwin_base::shared_text::SharedText;
use coretwin_base::study::plan::{Plan, Protocol};
use coretwin_base::study::reading::Reading;

/// Effects of a study, and the rows that could not be compared, each with its arm.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct MachineEffects {
    /// One for each row and arm other than the reference with a block that can be compared.
    pub effects: Vec<Effect>,
    /// The others that are planned, by row and arm.
    pub uncompared: Vec<(SharedText, SharedText)>,
}

pub fn machine_effects(plan: &Plan, readings: &[Reading]) -> MachineEffects {
    let blocks = match plan.rules.protocol {
        Protocol::Article2003 => Blocks::default(),
        Protocol::Modern | Protocol::Fixed | Protocol::Quick => Blocks::new(plan, readings),
    };
    let reference = plan.reference_index();
    let mut found = MachineEffects::default();
    for arm in (0..plan.arms.len()).filter(|&arm| arm != reference) {
        let reference = plan.base_index(arm);
        for (index, row) in plan.rows.iter().enumerate() {
            let labels = [&plan.arms[reference].label, &plan.arms[arm].label];
            if !labels.iter().all(|label| row.runs_in(label)) {
                continue;
            }
            let comparison = Differences::new(plan, &blocks, &blocks.analysed, index, arm);
            let ([Some(value_reference), Some(value_arm)], Some(paired)) =
                (comparison.values, comparison.paired)
            else {
                found.uncompared.push((row.id.as_str().into(), labels[1].into()));
                continue;
            };
            let spread = Estimate::of(&paired, comparison.widening).spread;
            found.effects.push(Effect {
                row: row.id.as_str().into(),
                workload: row.workload.as_str().into(),
                arm: labels[1].into(),
                reference: labels[0].into(),
                unit: row.unit.as_str().into(),
                better: row.better,
                scale: row.scale,
                blocks: paired.blocks,
                mean: paired.mean,
                standard_error: spread.map_or(0.0, |spread| spread.standard_error),
                degrees: spread.map_or(0.0, |spread| spread.degrees),
                value_reference,
                value_arm,
            });
        }
    }
    found
}
