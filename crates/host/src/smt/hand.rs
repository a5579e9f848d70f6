//! A change by hand: kept until it is undone by hand.

use super::guard::{Guardian, wait_for_undo};
use super::kernel::Kernel;
use super::saved::{self, SavedState, Slot};
use super::session::refuse_if_used;
use super::switch::{self, Applied};
use super::target::Target;
use super::{SwitchError, capture, restore, writer};
use crate::root::Root;

fn keep(state: SavedState) -> SavedState {
    SavedState { kept: true, ..state }
}

/// Without the advice for one who has changed nothing yet.
fn cause(error: SwitchError) -> String {
    match error {
        SwitchError::Save { path, cause } => format!("{}: {cause}", path.display()),
        error => error.to_string(),
    }
}

/// Switches by hand, under a guard while it is being done, and keeps the state before it for
/// `coretwin smt restore`. A second change keeps the first state, so the undo goes back to the
/// machine as it was before the first; a change that leads back there keeps nothing. Errors:
/// [`SwitchError::InUse`] or [`SwitchError::LeftBehind`]; those of [`switch::apply`]; after a
/// failure the machine is as it was before this change, or the error tells what is left to do.
pub fn change(
    root: &Root,
    kernel: &dyn Kernel,
    guardian: &mut dyn Guardian,
    target: Target,
) -> Result<Applied, SwitchError> {
    switch::check_possible(root)?;
    Slot::ALL.into_iter().for_each(|slot| wait_for_undo(root, slot));
    let writer = writer::wait(root)?;
    refuse_if_used(root, Slot::Study)?;
    let first = saved::read(root, Slot::Hand)?;
    match &first {
        Some(first) if first.kept => first.check_machine(root, Slot::Hand)?,
        _ => refuse_if_used(root, Slot::Hand)?,
    }
    let first = first.map(|first| SavedState::clone(&first));
    let state = match &first {
        // While it is being changed it is ours, and the guard restores it if we die.
        Some(first) => SavedState {
            holder: capture::holder(root, std::process::id()),
            kept: false,
            ..first.clone()
        },
        None => capture::capture(root)?,
    };
    // The guard waits for the state: whenever we die, it knows what to do.
    guardian.ensure(root, Slot::Hand)?;
    let stored = saved::write(root, Slot::Hand, state.clone())?;
    let give_up = || match &first {
        Some(first) => saved::write(root, Slot::Hand, first.clone()).map(|_| ()),
        None => saved::remove(root, Slot::Hand),
    };
    match switch::apply(&writer, root, kernel, &stored, target) {
        Ok(mut applied) => {
            if restore::differences(root, &stored)?.is_empty() {
                saved::remove(root, Slot::Hand)?;
            } else if let Err(error) = saved::write(root, Slot::Hand, keep(state)) {
                // What could not be undone later is undone now.
                let restored = Box::new(restore::restore_stored(&writer, root, kernel, &stored)?);
                let why = format!("its undo cannot be kept: {}", cause(error));
                return Err(SwitchError::Refused { target, why, restored });
            }
            applied.warnings.extend(guardian.warnings());
            Ok(applied)
        }
        Err(error) => {
            // What could not be put back stays for the guard and for `coretwin smt restore`.
            if left_nothing(&error) {
                give_up()?;
            }
            Err(error)
        }
    }
}

/// Whether a change that failed wrote nothing, or all it wrote was put back. If nobody knows, it
/// was not.
fn left_nothing(error: &SwitchError) -> bool {
    match error {
        SwitchError::Refused { restored, .. } => restored.is_complete(),
        error => matches!(error, SwitchError::NotSwitchable { .. } | SwitchError::Save { .. }),
    }
}
