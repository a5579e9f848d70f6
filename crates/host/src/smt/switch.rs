//! Changes the switch, after the state before it is on disk.

use super::kernel::{Kernel, Write, online_file};
use super::restore::{self, write_word};
use super::restore_order::Step;
use super::saved::{self, SavedState, Slot, Stored};
use super::target::Target;
use super::{CONTROL, SwitchError, capture, gaps, refusal, writer};
use crate::{Error, root::Root, topology};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::SmtControl;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    pub control_before: Option<SmtControl>,
    pub control_after: Option<SmtControl>,
    pub online_before: CpuSet,
    pub online_after: CpuSet,
    /// What one should know, in sentences.
    pub warnings: Vec<String>,
}

/// Whether the switch can be used here at all. Errors: [`SwitchError::NotSwitchable`] with what
/// would help; [`SwitchError::Host`].
pub(crate) fn check_possible(root: &Root) -> Result<(), SwitchError> {
    let smt = topology::read(root)?.smt;
    if smt.switchable { Ok(()) } else { Err(SwitchError::NotSwitchable { why: smt.why }) }
}

/// The writes of a change from the machine as it is now, in order. `saved`: the state to which the
/// undo goes, which need not be on disk yet.
pub fn plan(root: &Root, saved: &SavedState, target: Target) -> Result<Vec<Write>, Error> {
    if target == Target::On && is_on(saved) {
        return restore::plan(root, saved);
    }
    if is_there(root, target) {
        return Ok(Vec::new());
    }
    let mut writes =
        vec![Write { path: format!("/{CONTROL}"), text: target.word(), if_needed: false }];
    let online = capture::present_and_online(root)?.1;
    if is_on(saved) && target != Target::Off {
        let asleep = saved.present.difference(&saved.online).difference(&online);
        writes.extend(asleep.iter().map(Write::offline_if_needed));
    }
    Ok(writes)
}

fn is_there(root: &Root, target: Target) -> bool {
    let is_word = !matches!(target, Target::Level(_));
    is_word && capture::control(root).is_some_and(|word| target.reached(&word))
}

/// Switches. `on` brings back the CPUs that were online when the state was saved; if SMT was off
/// then, every thread of each core that was in use. On failure the machine is put back: as saved
/// for a study, as it was before this change for one by hand. Errors: [`SwitchError::Refused`] with
/// what the kernel said and what putting back gave; [`SwitchError::NotSwitchable`];
/// [`SwitchError::Save`] if the state has vanished and cannot be written again;
/// [`SwitchError::Host`].
pub fn apply(
    writer: &writer::Writer,
    root: &Root,
    kernel: &dyn Kernel,
    stored: &Stored,
    target: Target,
) -> Result<Applied, SwitchError> {
    check_possible(root)?;
    keep_durable(root, stored)?;
    let before = match stored.slot() {
        Slot::Study => None,
        Slot::Hand => Some(capture::capture(root)?),
    };
    let control_before = capture::control(root);
    let online_before = capture::present_and_online(root)?.1;
    let done = if target == Target::On && is_on(stored) {
        let restored = restore::restore(writer, root, kernel, stored)?;
        if !restored.is_complete() && before.is_none() {
            let why = "not every CPU and what hangs on it came back".to_owned();
            return Err(SwitchError::Refused { target, why, restored: Box::new(restored) });
        }
        if restored.is_complete() { Ok(()) } else { Err(restored.left_to_do.join("; ")) }
    } else {
        change(root, kernel, stored, target).and_then(|()| check(root, stored, target))
    };
    if let Err(why) = done {
        let undo = before.as_ref().unwrap_or(stored);
        let restored = Box::new(restore::restore(writer, root, kernel, undo)?);
        return Err(SwitchError::Refused { target, why, restored });
    }
    let online_after = capture::present_and_online(root)?.1;
    Ok(Applied {
        control_before,
        control_after: capture::control(root),
        warnings: lost_cores(stored, &online_after),
        online_before,
        online_after,
    })
}

/// Nothing is written to the machine unless the state is on disk, even if somebody removed it.
pub(super) fn keep_durable(root: &Root, stored: &Stored) -> Result<(), SwitchError> {
    if !root.exists(&stored.slot().file()) {
        saved::write(root, stored.slot(), SavedState::clone(stored))?;
    }
    Ok(())
}

fn is_on(saved: &SavedState) -> bool {
    saved.control.as_ref().is_some_and(gaps::was_on)
}

/// Writes the word, and takes CPUs that were offline by hand offline again.
fn change(
    root: &Root,
    kernel: &dyn Kernel,
    saved: &SavedState,
    target: Target,
) -> Result<(), String> {
    let said = |step, path: &str, text: &str, error: std::io::Error| {
        format!("writing {text} to /{path} failed: {}", refusal::sentence(root, step, &error))
    };
    let word = target.word();
    if !is_there(root, target) {
        write_word(root, kernel, CONTROL, &word)
            .map_err(|error| said(Step::Control, CONTROL, &word, error))?;
    }
    let online = online(root)?;
    for cpu in asleep(root, saved).intersection(&online).iter() {
        let path = online_file(cpu);
        kernel.write(&path, "0").map_err(|error| said(Step::Cpus, &path, "0", error))?;
    }
    Ok(())
}

fn online(root: &Root) -> Result<CpuSet, String> {
    Ok(capture::present_and_online(root).map_err(|error: Error| error.to_string())?.1)
}

/// CPUs that the switch must not wake. If SMT was on: those that were offline. If it was off, or at
/// a level, one cannot tell a thread that waits for the switch from one that was taken offline by
/// hand; but a core without any CPU online was put aside as a whole.
fn asleep(root: &Root, saved: &SavedState) -> CpuSet {
    let offline = saved.present.difference(&saved.online);
    if is_on(saved) {
        return offline;
    }
    let in_use = capture::cores(root)
        .into_iter()
        .filter(|core| !core.intersection(&saved.online).is_empty())
        .fold(CpuSet::new(), |all, core| all.union(&core));
    offline.difference(&in_use)
}

/// Whether the machine is as asked for: the kernel's word alone is not enough.
fn check(root: &Root, saved: &SavedState, target: Target) -> Result<(), String> {
    let control = capture::control(root);
    let word = control.as_ref().map_or_else(|| "missing".to_owned(), SmtControl::word);
    let beside = "another program may be switching; look who writes it and try again";
    if !control.is_some_and(|control| target.reached(&control)) {
        return Err(format!(
            "the kernel accepted '{target}', but smt/control reads '{word}'; {beside}"
        ));
    }
    let online = online(root)?;
    let threads_max = match target {
        Target::Off => 1,
        Target::Level(threads) => threads as usize,
        Target::On => usize::MAX,
    };
    let wide: Vec<String> = capture::cores(root)
        .iter()
        .filter(|core| core.len() > threads_max)
        .map(CpuSet::to_string)
        .collect();
    if !wide.is_empty() {
        return Err(format!(
            "the kernel says '{word}', but more CPUs than asked for are online on the cores {}; \
             {beside}",
            wide.join(" ")
        ));
    }
    let missing = saved.online.intersection(&saved.present).difference(&online);
    if target == Target::On && !missing.is_empty() {
        return Err(format!("the kernel says '{word}', but CPUs {missing} are offline; {beside}"));
    }
    let awake = asleep(root, saved).intersection(&online);
    if !awake.is_empty() {
        return Err(format!("CPUs {awake} were offline by hand and came online; {beside}"));
    }
    Ok(())
}

/// Cores that had a CPU online when the state was saved and have none now: `off` keeps the first
/// thread of each core, and that one was offline by hand.
fn lost_cores(saved: &SavedState, online: &CpuSet) -> Vec<String> {
    let lost = saved.cores.iter().filter(|core| core.intersection(online).is_empty());
    lost.map(|core| {
        format!(
            "the core of CPU {core} is out of use: its first thread was offline by hand, and SMT \
             off stops the others"
        )
    })
    .collect()
}
