//! Protocols: which visits a study makes, in which order, and when it has made enough.

mod article2003;
mod blocks;
mod boots;
mod set_up;

use crate::boots::BootVisit;
use crate::engine::visits::Engine;
use crate::error::Error;
use coretwin_base::study::plan::Protocol;
use coretwin_base::study::summary::StoppedBecause;

/// Makes the visits of the plan's protocol; where boots are compared, those of this boot.
pub(crate) fn run(
    engine: &mut Engine<'_>,
    boot: Option<BootVisit>,
) -> Result<StoppedBecause, Error> {
    match (engine.plan.rules.protocol, boot) {
        (Protocol::Article2003, _) => article2003::run(engine),
        (_, Some(boot)) => boots::run(engine, boot),
        (_, None) => blocks::run(engine),
    }
}
