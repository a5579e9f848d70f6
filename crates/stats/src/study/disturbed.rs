//! The answer of a study of which others left nothing.

use super::blocks::Blocks;
use coretwin_base::study::disturbance::Disturbances;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use std::collections::BTreeSet;

/// That the machine was too busy, with the most frequent cause; `None` if a block was kept, or none
/// was set aside.
pub fn too_busy(plan: &Plan, readings: &[Reading]) -> Option<String> {
    let blocks = Blocks::new(plan, readings);
    if !blocks.analysed.is_empty() {
        return None;
    }
    // A study may not come beyond its screening, which is protected likewise.
    let is_study = readings.iter().any(|reading| reading.phase == Phase::Study);
    let phase = if is_study { Phase::Study } else { Phase::Screen };
    let disturbed = readings
        .iter()
        .filter(|reading| reading.phase == phase && reading.status == Status::SetAside);
    let mut counted = BTreeSet::new();
    let mut all = Disturbances::default();
    for reading in disturbed {
        if counted.insert((reading.block, reading.attempt)) {
            all.note(reading.cause.as_deref().unwrap_or("no cause was recorded"));
        }
    }
    let cause = all.mostly()?;
    let set_aside = all.count();
    let attempts = blocks.attempts.max(set_aside);
    let (attempts, were) = match attempts {
        1 => ("1 attempt".to_owned(), "was"),
        attempts => (format!("{attempts} attempts"), "were"),
    };
    Some(format!(
        "This machine is too busy to say: {set_aside} of {attempts} at a block {were} set aside \
         because {cause}."
    ))
}
