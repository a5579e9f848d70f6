//! Puts a machine back as it was saved.

use super::SwitchError;
use super::kernel::Kernel;
use super::saved::{self, SavedState, Slot};
use super::switch::{Write, online_file};
use super::{CONTROL, capture, writer};
use crate::root::Root;
use coretwin_base::cpu_set::CpuSet;
use coretwin_base::topology::SmtControl;
use serde::Serialize;

/// Something that is not as it was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What, such as `cpu3`, `interrupt 24 (nvme0q3)`, `cpuset /sys/fs/cgroup/jobs`.
    pub what: String,
    /// How it was.
    pub saved: String,
    /// How it is.
    pub now: String,
    /// The kernel places it and takes no wish: nothing is to be done.
    pub managed: bool,
}

/// What restoring gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The control word before.
    pub control_before: Option<SmtControl>,
    /// The control word after.
    pub control_after: Option<SmtControl>,
    /// CPUs online before.
    pub online_before: CpuSet,
    /// CPUs online after.
    pub online_after: CpuSet,
    /// What is still not as it was saved.
    pub differences: Vec<Difference>,
    /// What must be done by hand, a sentence each, with what stood in the way. Empty: all is done.
    pub left_to_do: Vec<String>,
    /// What one should know, in sentences: CPUs that are new or gone, groups that were deleted.
    pub warnings: Vec<String>,
}

impl Restored {
    /// Whether nothing is left to do.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.left_to_do.is_empty()
    }

    /// What came of it, as the end of a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        if self.is_complete() {
            "everything was put back as it was".to_owned()
        } else {
            format!("what was changed could not all be put back: {}", self.left_to_do.join("; "))
        }
    }
}

/// What differs now from the saved state. Reads only.
///
/// # Errors
/// [`SwitchError::Host`] if the machine cannot be read.
pub fn differences(root: &Root, saved: &SavedState) -> Result<Vec<Difference>, SwitchError> {
    let now = capture::capture(root)?;
    let mut found = Vec::new();
    for cpu in saved.present.iter() {
        if saved.online.contains(cpu) != now.online.contains(cpu) {
            let word = |online: bool| if online { "online" } else { "offline" }.to_owned();
            found.push(Difference {
                what: format!("cpu{cpu}"),
                saved: word(saved.online.contains(cpu)),
                now: word(now.online.contains(cpu)),
                managed: false,
            });
        }
    }
    Ok(found)
}

/// The writes that restoring would do, in order.
///
/// # Errors
/// As [`restore`].
pub fn plan(root: &Root, saved: &SavedState) -> Result<Vec<Write>, SwitchError> {
    Ok(differences(root, saved)?
        .into_iter()
        .map(|difference| Write { path: difference.what, text: difference.saved, if_needed: true })
        .collect())
}

/// Restores the state in a slot and empties the slot, if nothing is left to do; else the state
/// stays, to be tried again. None if the slot is empty: somebody else restored it.
///
/// # Errors
/// As [`restore`], and those of [`saved::read`] and [`saved::remove`].
pub fn restore_slot(
    root: &Root,
    kernel: &dyn Kernel,
    slot: Slot,
) -> Result<Option<Restored>, SwitchError> {
    let writer = writer::wait(root)?;
    let Some(stored) = saved::read(root, slot)? else { return Ok(None) };
    stored.check_machine(root, slot)?;
    let restored = restore_as(&writer, root, kernel, &stored)?;
    if restored.is_complete() {
        saved::remove(root, slot)?;
    }
    Ok(Some(restored))
}

/// Restores a state: the control word first (while it is `off` the kernel refuses siblings), then
/// each CPU, CPU sets, interrupts, affinities. Goes on where it can, reads back, and tells what is
/// left.
///
/// # Errors
/// [`SwitchError::Lock`]; [`SwitchError::Host`] if the machine cannot be read.
pub fn restore(
    root: &Root,
    kernel: &dyn Kernel,
    saved: &SavedState,
) -> Result<Restored, SwitchError> {
    restore_as(&writer::wait(root)?, root, kernel, saved)
}

/// [`restore`] for one who may write already.
pub(super) fn restore_as(
    _writer: &writer::Writer,
    root: &Root,
    kernel: &dyn Kernel,
    saved: &SavedState,
) -> Result<Restored, SwitchError> {
    let before = capture::capture(root)?;
    let mut left_to_do = Vec::new();
    if let Some(control) =
        saved.control.as_ref().filter(|word| Some(*word) != before.control.as_ref())
        && let Err(error) = kernel.write(CONTROL, &control.word())
    {
        left_to_do.push(error.to_string());
    }
    for cpu in saved.present.iter() {
        let online = saved.online.contains(cpu);
        let now = root.number::<u8>(&online_file(cpu)).map(|word| word != 0);
        if now.is_some_and(|now| now != online)
            && let Err(error) = kernel.write(&online_file(cpu), if online { "1" } else { "0" })
        {
            left_to_do.push(format!("cpu{cpu}: {error}"));
        }
    }
    let after = capture::capture(root)?;
    Ok(Restored {
        control_before: before.control,
        control_after: after.control,
        online_before: before.online,
        online_after: after.online,
        differences: differences(root, saved)?,
        left_to_do,
        warnings: Vec::new(),
    })
}
