//! Comparing boots: a session is the one visit that its boot is for.

use super::set_up::set_up;
use crate::boots::{BootVisit, due};
use crate::engine::visits::Engine;
use crate::error::Error;
use crate::event::Event;
use crate::schedule;
use coretwin_base::study::reading::Phase;
use coretwin_base::study::summary::StoppedBecause;

/// Everything that this boot is for. What is left of the study needs other boots.
pub(super) fn run(engine: &mut Engine<'_>, boot: BootVisit) -> Result<StoppedBecause, Error> {
    let BootVisit { block, arm, switch, done } = boot;
    engine.switch = switch;
    // How long somebody takes to reboot is not ours to guess.
    engine.foretells = false;
    set_up(engine, arm)?;
    engine.tell(&Event::BlockStarted { phase: Phase::Study, block, attempt: 0 })?;
    let mut cells = schedule::cells(engine.plan, Phase::Study, block, arm, &engine.chosen);
    cells.drain(..done.min(cells.len()));
    engine.visit(Phase::Study, block, 0, arm, &cells)?;
    if schedule::arm_order(engine.plan, Phase::Study, block).last() == Some(&arm) {
        engine.block_ended(Phase::Study, block)?;
    }
    let left = due(engine.plan, &engine.environment.boots, &engine.history.readings);
    Ok(if left.is_some() { StoppedBecause::Reboot } else { StoppedBecause::Blocks })
}
