//! What a study uses: the state is saved once, the switch is moved between arms, and the end puts
//! everything back.

use super::guard::{Guardian, wait_for_undo};
use super::kernel::Kernel;
use super::restore::Restored;
use super::saved::{self, SavedState, Slot, Stored};
use super::switch::{self, Applied};
use super::target::Target;
use super::{SwitchError, capture, restore, writer};
use crate::root::Root;

/// The use of the switch by one study. Dropping it restores, as [`Session::close`] does, but tells
/// nobody.
pub struct Session {
    root: Root,
    kernel: Box<dyn Kernel>,
    guardian: Box<dyn Guardian>,
    stored: Stored,
    open: bool,
}

impl Session {
    /// Saves the machine for this process and starts the guard. Nothing is changed yet. Errors:
    /// [`SwitchError::NotSwitchable`]; [`SwitchError::InUse`] or [`SwitchError::LeftBehind`] if the
    /// slot is not empty; those of [`saved::read`]; [`SwitchError::Save`]; [`SwitchError::Guard`];
    /// [`SwitchError::Lock`]; [`SwitchError::Host`].
    pub fn open(
        root: &Root,
        kernel: Box<dyn Kernel>,
        mut guardian: Box<dyn Guardian>,
    ) -> Result<Self, SwitchError> {
        switch::check_possible(root)?;
        wait_for_undo(root, Slot::Study);
        let stored = {
            let _writer = writer::wait(root)?;
            refuse_if_used(root, Slot::Study)?;
            // The guard waits for the state: whenever we die, it knows what to do.
            guardian.ensure(root, Slot::Study)?;
            saved::write(root, Slot::Study, capture::capture(root)?)?
        };
        Ok(Self { root: root.clone(), kernel, guardian, stored, open: true })
    }

    pub fn saved(&self) -> &SavedState {
        &self.stored
    }

    /// In what the guard is weaker than it should be, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        self.guardian.warnings()
    }

    /// Moves the switch, after making sure that the state is on disk and that a guard lives. On
    /// failure the machine is as it was found, or the error tells what is left to do.
    pub fn apply(&mut self, target: Target) -> Result<Applied, SwitchError> {
        let writer = writer::wait(&self.root)?;
        // In this order, so that a guard that is about to end finds the state.
        switch::keep_durable(&self.root, &self.stored)?;
        self.guardian.ensure(&self.root, Slot::Study)?;
        switch::apply(&writer, &self.root, &*self.kernel, &self.stored, target)
    }

    /// Puts the machine back as it was found; the session goes on.
    pub fn as_found(&mut self) -> Result<Restored, SwitchError> {
        restore::restore(&writer::wait(&self.root)?, &self.root, &*self.kernel, &self.stored)
    }

    /// Puts the machine back as it was found and empties the slot, upon which the guard ends. If
    /// something is left to do the state stays, for `coretwin smt restore`.
    pub fn close(mut self) -> Result<Restored, SwitchError> {
        self.end()
    }

    /// From memory: the file may have been removed, the machine must be put back all the same.
    fn end(&mut self) -> Result<Restored, SwitchError> {
        self.open = false;
        let writer = writer::wait(&self.root)?;
        let restored = restore::restore(&writer, &self.root, &*self.kernel, &self.stored)?;
        if restored.is_complete() {
            saved::remove(&self.root, Slot::Study)?;
        }
        Ok(restored)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.open {
            let _ = self.end();
        }
    }
}

/// Refuses a slot that holds a state, saying whose it is.
pub(super) fn refuse_if_used(root: &Root, slot: Slot) -> Result<(), SwitchError> {
    let Some(stored) = saved::read(root, slot)? else { return Ok(()) };
    stored.check_machine(root, slot)?;
    let (process, command_line) = (stored.holder.process, stored.holder.command_line.clone());
    Err(if capture::is_alive(root, &stored.holder) {
        SwitchError::InUse { slot, process, command_line }
    } else {
        SwitchError::LeftBehind { slot, process, command_line }
    })
}
