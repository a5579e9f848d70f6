//! Why the switch was not used, or not as asked. Each message says what to do.

use super::guard::GuardError;
use super::restore::Restored;
use super::saved::Slot;
use super::target::Target;
use coretwin_base::schema::NewerSchema;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    #[error(transparent)]
    Host(#[from] crate::Error),
    #[error("SMT cannot be switched here: {why}")]
    NotSwitchable { why: String },
    #[error(
        "the state of the machine cannot be saved in {}: {cause}; nothing was changed; run it as \
         root, on a machine whose /run can be written",
        path.display()
    )]
    Save { path: PathBuf, cause: std::io::Error },
    #[error("the saved state {} cannot be read: {cause}; run it as root", path.display())]
    Unreadable { path: PathBuf, cause: std::io::Error },
    #[error(
        "the saved state {0} is damaged ({why}), so nothing is restored from it; look at \
         `coretwin smt status`, put CPUs back by hand where needed, and remove {0}",
        path.display()
    )]
    Torn { path: PathBuf, why: String },
    #[error("the saved state {}: {newer}", path.display())]
    Newer { path: PathBuf, newer: NewerSchema },
    #[error(
        "the saved state {0} is of the machine '{saved}', and this is '{here}'; nothing is \
         restored from it; remove {0}",
        path.display()
    )]
    OtherHost { path: PathBuf, saved: String, here: String },
    #[error(
        "the saved state {0}, taken at {taken_utc}, is from an earlier boot, which undid every \
         change by itself; nothing is restored from it; remove {0}",
        path.display()
    )]
    OtherBoot { path: PathBuf, taken_utc: String },
    #[error("the machine is restored, but {} cannot be removed: {cause}; remove it", path.display())]
    Forget { path: PathBuf, cause: std::io::Error },
    #[error(
        "process {process} ({command_line}) uses the SMT switch; wait for it, or stop it: it puts \
         everything back when it ends"
    )]
    InUse { slot: Slot, process: u32, command_line: String },
    #[error(
        "process {process} ({command_line}) switched SMT and ended without putting the machine \
         back; run `coretwin smt restore` first"
    )]
    LeftBehind { slot: Slot, process: u32, command_line: String },
    #[error("{} cannot be locked: {cause}; run it as root", path.display())]
    Lock { path: PathBuf, cause: std::io::Error },
    #[error("no guard can be started, so nothing was changed: {0}")]
    Guard(#[from] GuardError),
    #[error("SMT could not be switched to {target}: {why}; {}", restored.sentence())]
    Refused { target: Target, why: String, restored: Box<Restored> },
}
