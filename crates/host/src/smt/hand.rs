//! A change by hand: kept until it is undone by hand.

use super::guard::Guardian;
use super::kernel::Kernel;
use super::saved::{self, SavedState, Slot};
use super::session::refuse_if_used;
use super::switch::{self, Applied};
use super::target::Target;
use super::{SwitchError, capture, writer};
use crate::root::Root;

/// Switches by hand, under a guard while it is being done, and keeps the state before it for
/// `coretwin smt restore`. A second change keeps the first state, so the undo goes back to the
/// machine as it was before the first.
///
/// # Errors
/// [`SwitchError::InUse`] or [`SwitchError::LeftBehind`] of a study; those of [`switch::apply`].
pub fn change(
    root: &Root,
    kernel: &dyn Kernel,
    guardian: &mut dyn Guardian,
    target: Target,
) -> Result<Applied, SwitchError> {
    let writer = writer::wait(root)?;
    refuse_if_used(root, Slot::Study)?;
    let first = saved::read(root, Slot::Hand)?;
    if let Some(first) = &first {
        first.check_machine(root, Slot::Hand)?;
    }
    let state = match &first {
        Some(first) => SavedState { kept: first.kept, ..SavedState::clone(first) },
        None => capture::capture(root)?,
    };
    let stored = saved::write(root, Slot::Hand, state)?;
    guardian.ensure(root, Slot::Hand)?;
    let applied = switch::apply_as(&writer, root, kernel, &stored, target)?;
    saved::write(root, Slot::Hand, SavedState { kept: true, ..SavedState::clone(&stored) })?;
    Ok(applied)
}
