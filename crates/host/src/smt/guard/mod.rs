//! The guard: two processes that put the machine back when the one that switched SMT dies.
//!
//! `coretwin smt guard` runs as two processes ([`watch`]). The *leader* holds a lock ([`lock`]) and
//! watches the holder, which is the study; the *understudy* waits for the lock. A leader that loses
//! its understudy starts another; an understudy that gets the lock is the leader. So the holder may
//! be killed, and either of the two, and the holder asks before each change that a guard stands
//! ([`Guardian::ensure`]). Both live where nobody takes them along ([`shelter`]): in sessions of
//! their own, outside the job's control groups, out of the OOM killer's reach, and where systemd
//! runs in a unit that is started again ([`launch`]). What can still end all of it at one moment: a
//! SIGKILL to all three where no systemd runs, and the end of a container with everything in it. The
//! state is on disk then, and `coretwin smt restore` does what the guard would have done.
//!
//! The guard is started before the state is written, and waits for it. It restores when the holder
//! is gone and the state is still there, is the holder's, and is not kept; it ends when the state is
//! gone. Nothing wakes it before that, so it does not disturb what is measured.

mod identity;
mod launch;
mod lock;
mod shelter;
mod watch;

pub(crate) use identity::Life;
pub use identity::{BadIdentity, Identity};
pub use launch::Launch;
pub(super) use launch::wait_for_undo;
pub(crate) use shelter::is_contained;
pub use watch::{Ended, Start, run};

use super::saved::Slot;
use crate::root::Root;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    #[error("{} cannot be started: {cause}", program.display())]
    Start { program: PathBuf, cause: std::io::Error },
    #[error(
        "the guard was started and did not report within {seconds} s; look for its messages in \
         the kernel log (dmesg), and try again on a machine that is less busy"
    )]
    NotReady { seconds: u64 },
    #[error(
        "the guard of an earlier change (process {leader}) has not ended; wait until it has put \
         the machine back, and try again"
    )]
    Busy { leader: u32 },
    #[error("{} cannot be used: {cause}; run it as root", path.display())]
    Lock { path: PathBuf, cause: std::io::Error },
    /// It was started where the holder's number means another process.
    #[error("the guard runs in another pid namespace than the process that it should guard")]
    Namespace,
}

/// What sees to it that a guard lives: asked before each change.
pub trait Guardian: Send {
    /// Makes sure that a guard of this slot stands for this process, starting one if not. Errors:
    /// [`GuardError`]; then nothing is changed.
    fn ensure(&mut self, root: &Root, slot: Slot) -> Result<(), GuardError>;

    /// In what the guard is weaker than it should be, a sentence each; known once it stands.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
