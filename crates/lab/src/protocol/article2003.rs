//! The protocol of the 2003 article.

use crate::engine::visits::Engine;
use crate::error::Error;
use crate::schedule::{self, Cell};
use coretwin_base::study::reading::Phase;
use coretwin_base::study::summary::StoppedBecause;

/// The article's protocol: all runs of one arm, then all of the next.
pub(super) fn run(engine: &mut Engine<'_>) -> Result<StoppedBecause, Error> {
    for arm in 0..engine.plan.arms.len() {
        for block in 0..engine.plan.blocks_max() {
            let label = &engine.plan.arms[arm].label;
            let cells: Vec<Cell> =
                schedule::cells(engine.plan, Phase::Study, block, arm, &engine.chosen)
                    .into_iter()
                    .filter(|cell| {
                        !engine.history.has(block, label, &engine.plan.rows[cell.row].id)
                    })
                    .collect();
            if !cells.is_empty() {
                engine.visit(Phase::Study, block, 0, arm, &cells)?;
            }
        }
        engine.block_ended(Phase::Study, engine.plan.blocks_max().saturating_sub(1))?;
    }
    Ok(StoppedBecause::Blocks)
}
