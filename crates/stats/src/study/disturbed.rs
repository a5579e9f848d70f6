//! The answer of a study of which others left nothing.

use super::blocks::Blocks;
use coretwin_base::disturbance::Disturbances;
use coretwin_base::plan::Plan;
use coretwin_base::reading::{Phase, Reading, Status};
use std::collections::BTreeSet;

/// That the machine was too busy, with the most frequent cause; `None` if a block was kept, or none
/// was set aside.
#[must_use]
pub fn too_busy(plan: &Plan, readings: &[Reading]) -> Option<String> {
    let blocks = Blocks::new(plan, readings);
    if !blocks.analysed.is_empty() {
        return None;
    }
    let disturbed = readings
        .iter()
        .filter(|reading| reading.phase == Phase::Study && reading.status == Status::SetAside);
    let mut counted = BTreeSet::new();
    let mut all = Disturbances::default();
    for reading in disturbed {
        if counted.insert((reading.block, reading.attempt)) {
            all.note(reading.cause.as_deref().unwrap_or("no cause was recorded"));
        }
    }
    let cause = all.mostly()?;
    let (attempts, set_aside) = (blocks.attempts, all.count());
    let (attempts, were) = match attempts {
        1 => ("1 attempt".to_owned(), "was"),
        attempts => (format!("{attempts} attempts"), "were"),
    };
    Some(format!(
        "This machine is too busy to say: {set_aside} of {attempts} at a block {were} set aside \
         because {cause}."
    ))
}
