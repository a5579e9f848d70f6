//! The guard: a process that restores a study's changes when the study dies.

use super::saved::Slot;
use crate::root::Root;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Why there is no guard.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The program cannot be started.
    #[error("{}: {cause}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
}

/// A guard that was started.
#[derive(Debug)]
pub struct Guard {
    child: Child,
}

impl Guard {
    /// Whether it lives.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

/// Starts `program smt guard --slot SLOT`.
///
/// # Errors
/// [`GuardError::Start`].
pub fn start(_root: &Root, slot: Slot, program: &Path) -> Result<Guard, GuardError> {
    let child = Command::new(program)
        .args(["smt", "guard", "--slot", slot.name()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|cause| GuardError::Start { program: program.to_owned(), cause })?;
    Ok(Guard { child })
}

/// What sees to it that a guard lives: asked before each change.
pub trait Guardian: Send {
    /// Makes sure that a guard of this slot lives, starting one if not.
    ///
    /// # Errors
    /// [`GuardError`]; then nothing is changed.
    fn ensure(&mut self, root: &Root, slot: Slot) -> Result<(), GuardError>;
}

/// The guard of a real machine: `coretwin` itself, in another process.
#[derive(Debug)]
pub struct Launch {
    program: PathBuf,
    guard: Option<Guard>,
}

impl Launch {
    /// A guard that is started from this program.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self { program, guard: None }
    }
}

impl Guardian for Launch {
    fn ensure(&mut self, root: &Root, slot: Slot) -> Result<(), GuardError> {
        if !self.guard.as_mut().is_some_and(Guard::is_alive) {
            self.guard = Some(start(root, slot, &self.program)?);
        }
        Ok(())
    }
}
