//! Why the switch was not used, or not as asked. Each message says what to do.

use super::guard::GuardError;
use super::restore::Restored;
use super::saved::Slot;
use super::target::Target;
use coretwin_base::schema::NewerSchema;
use std::path::PathBuf;

/// A failure to switch, to save or to restore.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The machine cannot be read.
    #[error(transparent)]
    Host(#[from] crate::Error),
    /// The kernel has no switch, or takes no wish here.
    #[error("SMT cannot be switched here: {why}")]
    NotSwitchable {
        /// Why, and what would help.
        why: String,
    },
    /// The state cannot be made durable.
    #[error(
        "the state of the machine cannot be saved in {}: {cause}; nothing was changed; run it as \
         root, on a machine whose /run can be written",
        path.display()
    )]
    Save {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A saved state is there and cannot be read.
    #[error("the saved state {} cannot be read: {cause}; run it as root", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A saved state is damaged.
    #[error(
        "the saved state {0} is damaged ({why}), so nothing is restored from it; look at \
         `coretwin smt status`, put CPUs back by hand where needed, and remove {0}",
        path.display()
    )]
    Torn {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A saved state was written by a newer version.
    #[error("the saved state {}: {newer}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The versions.
        newer: NewerSchema,
    },
    /// A saved state is of another machine.
    #[error(
        "the saved state {0} is of the machine '{saved}', and this is '{here}'; nothing is \
         restored from it; remove {0}",
        path.display()
    )]
    OtherHost {
        /// The file.
        path: PathBuf,
        /// The saved host name.
        saved: String,
        /// The name of this host.
        here: String,
    },
    /// A saved state is from before the last boot.
    #[error(
        "the saved state {0}, taken at {taken_utc}, is from an earlier boot, which undid every \
         change by itself; nothing is restored from it; remove {0}",
        path.display()
    )]
    OtherBoot {
        /// The file.
        path: PathBuf,
        /// When it was taken.
        taken_utc: String,
    },
    /// A saved state cannot be removed after it was restored.
    #[error("the machine is restored, but {} cannot be removed: {cause}; remove it", path.display())]
    Forget {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A change of somebody who lives has not been undone.
    #[error(
        "process {process} ({command_line}) uses the SMT switch; wait for it, or stop it: it puts \
         everything back when it ends"
    )]
    InUse {
        /// Whose.
        slot: Slot,
        /// The holder.
        process: u32,
        /// Its command line.
        command_line: String,
    },
    /// A change of somebody who died has not been undone.
    #[error(
        "process {process} ({command_line}) switched SMT and ended without putting the machine \
         back; run `coretwin smt restore` first"
    )]
    LeftBehind {
        /// Whose.
        slot: Slot,
        /// The dead holder.
        process: u32,
        /// Its command line.
        command_line: String,
    },
    /// The file that lets one write at a time cannot be had.
    #[error("{} cannot be locked: {cause}; run it as root", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The guard cannot be started.
    #[error("no guard can be started, so nothing was changed: {0}")]
    Guard(#[from] GuardError),
    /// The kernel refused, or did something else; what it did was undone.
    #[error("SMT could not be switched to {target}: {why}; {}", restored.sentence())]
    Refused {
        /// What was asked for.
        target: Target,
        /// What the kernel said, and what to do.
        why: String,
        /// What putting everything back gave.
        restored: Box<Restored>,
    },
}
