//! The listener that keeps what is measured: readings in the journal, the machine in
//! `environment.json`.

use coretwin_lab::event::{Event, Listener};
use coretwin_store::{Bundle, ENVIRONMENT, Journal};

/// Writes into a study's folder.
pub(crate) struct Keeper<'a> {
    pub(crate) bundle: &'a Bundle,
    pub(crate) journal: Journal,
}

impl Listener for Keeper<'_> {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        match event {
            Event::Started { plan, .. } => {
                let cells = plan.rows.len() * plan.arms.len() * plan.rules.repeats as usize;
                self.journal.expect(u64::from(plan.blocks_min()) * cells as u64);
            }
            // The reading that names a moment must never be there before the moment.
            Event::ArmPrepared { environment, .. } => {
                self.bundle.write_json(ENVIRONMENT, environment)?;
            }
            Event::ReadingTaken(reading) => self.journal.append(reading)?,
            Event::BlockEnded { .. } | Event::Ended(_) => self.journal.sync()?,
            _ => {}
        }
        Ok(())
    }
}
