//! The scheduler of a machine under study: every visit to an arm loads its own, or leaves the kernel's
//! own in charge.
//!
//! It is held by a process of its own, which ends when this one does, however that comes; the kernel's
//! own scheduler is in charge then.

use coretwin_base::simulation::core_queue::{NAME, Options};
use coretwin_base::study::arm::KERNEL;
use coretwin_host::root::Root;
use coretwin_host::sched_ext::keeper::{self, Keeper, KeeperError};
use coretwin_host::sched_ext::{State, record};
use std::path::PathBuf;

/// What loads schedulers for a study. Dropping it leaves the kernel's own in charge.
#[derive(Debug)]
pub struct Scheduling {
    root: Root,
    program: PathBuf,
    keeper: Option<Keeper>,
}

impl Scheduling {
    /// Schedulers are loaded by that program, which must understand `sched keep`.
    pub fn new(root: Root, program: PathBuf) -> Self {
        Self { root, program, keeper: None }
    }

    pub fn leave(&mut self) -> Result<(), KeeperError> {
        match self.keeper.take() {
            Some(keeper) => keeper.unload(&self.root),
            None => Ok(()),
        }
    }

    /// Puts an arm's scheduler in charge; the one before has been left. Errors: why it cannot be
    /// loaded, or is not in charge.
    pub fn enter(&mut self, scheduler: &str) -> Result<(), String> {
        let options = Options::of_scheduler(scheduler)?;
        if let Some(options) = &options {
            let mut command = keeper::command(&self.program, options, Some(std::process::id()));
            self.keeper = Some(Keeper::start(&mut command).map_err(|error| error.to_string())?);
        }
        let expected = if options.is_some() { NAME } else { KERNEL };
        let now = State::in_charge(&self.root);
        match now == expected {
            true => Ok(()),
            false => Err(format!("the scheduler in charge is {now}, not {expected}")),
        }
    }

    /// Why the scheduler of this visit is not there any more, in words; `None` if that is not told.
    pub fn ending(&self) -> Option<String> {
        let keeper = self.keeper.as_ref()?;
        let record = record::read(&self.root).ok()??;
        let is_its = record.keeper.process == keeper.process();
        record.ending.filter(|_| is_its).map(|ending| ending.explanation)
    }
}
