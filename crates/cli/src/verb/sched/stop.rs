//! `coretwin sched stop`.

use crate::exit::DONE;
use crate::out;
use anyhow::{Result, anyhow};
use coretwin_base::simulation::live::Policy;
use coretwin_base::study::arm::KERNEL;
use coretwin_host::root::Root;
use coretwin_host::sched_ext::record::{self, Record};
use coretwin_host::sched_ext::{State, keeper};

pub(super) fn run(root: &Root) -> Result<u8> {
    let scheduler = State::in_charge(root);
    let record = record::read(root)?.filter(|record| record.is_kept(root));
    // Also on its way in or out.
    let ours = scheduler.split(' ').next().filter(|name| Policy::find(name).is_ok());
    match (scheduler.as_str(), record) {
        (KERNEL, _) => {
            out::text("nothing is to be stopped: the kernel's own scheduler is in charge\n")?;
        }
        (_, Some(record)) if let Some(name) = ours => {
            let process = keeper_of(&record)?;
            keeper::stop(root, &record)?;
            out::text(&format!(
                "{name} is unloaded (process {process} has ended); the kernel's own scheduler is in \
                 charge\n"
            ))?;
        }
        (_, None) if let Some(name) = ours => {
            return Err(anyhow!(
                "{name} is loaded, but not by a process that is known here (/{} tells of none): it \
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
    Ok(DONE)
}

/// The process that holds it, unless a study needs it.
fn keeper_of(record: &Record) -> Result<u32> {
    match &record.study {
        None => Ok(record.keeper.process),
        Some(study) => Err(anyhow!(
            "{} was loaded for the study of process {} ({}); stop the study, which unloads it",
            record.options.policy().name,
            study.process,
            study.command_line
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::simulation::core_queue::OPS_NAME;
    use coretwin_base::simulation::live::Options;
    use coretwin_host::fake::sched_ext::{install, put};

    fn refused(ops: &str, record: bool) -> String {
        let folder = tempfile::tempdir().expect("folder");
        let root = Root::at(folder.path());
        install(&root, "enabled", Some(ops)).expect("installed");
        if record {
            let own = std::process::id();
            let stat = format!("proc/{own}/stat");
            put(&root, &stat, &std::fs::read(format!("/{stat}")).expect("own")).expect("written");
            let record = Record::new(&root, Options::default(), Some(7), "T".to_owned());
            record::write(&root, &record).expect("written");
        }
        run(&root).expect_err("refused").to_string()
    }

    #[test]
    fn what_is_not_ours_is_not_stopped() {
        let error = refused("lavd_1.0", false);
        assert!(error.contains("lavd_1.0, which coretwin has not loaded"), "{error}");
        let error = refused("lavd_1.0", true);
        assert!(error.contains("lavd_1.0, which coretwin has not loaded"), "{error}");
        let error = refused(OPS_NAME, false);
        assert!(error.contains("not by a process that is known here"), "{error}");
        let error = refused(OPS_NAME, true);
        assert!(error.contains("for the study of process 7"), "{error}");
    }
}
