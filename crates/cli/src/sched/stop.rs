//! `coretwin sched stop`.

use crate::exit::DONE;
use crate::out;
use anyhow::{Result, anyhow};
use coretwin_base::arm::KERNEL;
use coretwin_base::core_queue::NAME;
use coretwin_host::root::Root;
use coretwin_host::sched_ext::record::{self, Record};
use coretwin_host::sched_ext::{State, keeper};
use std::process::ExitCode;

/// Runs the verb.
pub(super) fn run(root: &Root) -> Result<ExitCode> {
    let scheduler = State::in_charge(root);
    let record = record::read(root)?.filter(|record| record.is_kept(root));
    match (scheduler.as_str(), record) {
        (KERNEL, _) => {
            out::text("nothing is to be stopped: the kernel's own scheduler is in charge\n")?;
        }
        // Also on its way in or out.
        (name, Some(record)) if name.starts_with(NAME) => {
            let process = keeper_of(&record)?;
            keeper::stop(root, &record)?;
            out::text(&format!(
                "{NAME} is unloaded (process {process} has ended); the kernel's own scheduler is in \
                 charge\n"
            ))?;
        }
        (name, None) if name.starts_with(NAME) => {
            return Err(anyhow!(
                "{NAME} is loaded, but not by a process that is known here (/{} tells of none): it \
                 may have been loaded from another container; end the program that loaded it",
                record::FILE
            ));
        }
        (name, _) => {
            return Err(anyhow!(
                "the scheduler in charge is {name}, which coretwin has not loaded and does not stop; \
                 stop the program or the service that did"
            ));
        }
    }
    Ok(ExitCode::from(DONE))
}

/// The process that holds it, unless a study needs it.
fn keeper_of(record: &Record) -> Result<u32> {
    match &record.study {
        None => Ok(record.keeper.process),
        Some(study) => Err(anyhow!(
            "{NAME} was loaded for the study of process {} ({}); stop the study, which unloads it",
            study.process,
            study.command_line
        )),
    }
}
