//! Under which scheduler a worker runs: what the kernel says is in charge, and what it says of the
//! worker itself.

use crate::Error;
use coretwin_base::machine::scheduler::{self, in_charge};
use coretwin_base::simulation::live::Policy;
use std::fs::read_to_string;
use std::path::Path;

pub(crate) const NOTE: &str = "scheduler";

/// The scheduler in charge, as an arm names it; none on a kernel without sched_ext, where it can only
/// be the kernel's own.
pub(crate) fn now(root: &Path) -> Option<String> {
    let file = |path: &str| read_to_string(root.join(path)).ok();
    let state = file(scheduler::STATE)?;
    Some(in_charge(Some(&state), file(scheduler::OPS).as_deref()))
}

/// An error if another scheduler than expected is in charge, of everybody or of this process.
pub(crate) fn verify(root: &Path, expected: &str) -> Result<(), Error> {
    let now = now(root).unwrap_or_else(|| coretwin_base::study::arm::KERNEL.to_owned());
    if now != expected {
        return Err(Error::failed(format!(
            "the scheduler in charge is {now}, not {expected} as the arm says"
        )));
    }
    let status = read_to_string(root.join("proc/self/sched")).unwrap_or_default();
    match is_extended(&status) {
        Some(false) if Policy::find(expected).is_ok() => Err(Error::failed(format!(
            "{expected} is loaded, but the kernel does not schedule this worker by it: its class is \
             not a normal one; start the study with the ordinary policy (chrt --other 0)"
        ))),
        _ => Ok(()),
    }
}

/// Whether this `/proc/PID/sched` is of a process that a loaded scheduler has; `None`: it does not say.
fn is_extended(sched: &str) -> Option<bool> {
    let line = sched.lines().find(|line| line.starts_with("ext.enabled"))?;
    let value = line.rsplit(':').next()?.trim();
    value.parse::<u64>().ok().map(|value| value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folders");
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    #[test]
    fn the_scheduler_in_charge_is_the_one_of_the_arm_or_the_run_fails() {
        let ours = [(scheduler::STATE, "enabled\n"), (scheduler::OPS, "coretwin_core_queue\n")];
        let folder = root(&ours);
        assert_eq!(now(folder.path()).as_deref(), Some("core-queue"));
        assert!(verify(folder.path(), "core-queue").is_ok());
        let error = verify(folder.path(), "kernel").expect_err("another").to_string();
        assert!(error.contains("in charge is core-queue, not kernel"), "{error}");
        let folder = root(&[(scheduler::STATE, "disabled\n")]);
        assert!(verify(folder.path(), "kernel").is_ok());
        assert!(verify(folder.path(), "core-queue").is_err());
        let folder = root(&[]);
        assert_eq!(now(folder.path()), None);
        assert!(verify(folder.path(), "kernel").is_ok());
    }

    #[test]
    fn a_worker_that_the_scheduler_does_not_have_is_told() {
        let told = |sched: &str| {
            let folder = root(&[
                (scheduler::STATE, "enabled"),
                (scheduler::OPS, "coretwin_core_queue"),
                ("proc/self/sched", sched),
            ]);
            verify(folder.path(), "core-queue")
        };
        assert!(told("sh (7, #threads: 1)\n----\next.enabled    :    1\n").is_ok());
        assert!(told("no such line").is_ok());
        let error =
            told("sh (7, #threads: 1)\n----\next.enabled    :    0\n").expect_err("not in it");
        assert!(error.to_string().contains("chrt"), "{error}");
    }
}
