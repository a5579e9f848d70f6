//! Puts a machine back as it was saved.

use super::gaps::{Gap, Remedy, gaps};
use super::kernel::{Kernel, Write};
use super::refusal;
use super::restore_order::Step;
use super::saved::{self, SavedState, Slot, Stored};
use super::{SwitchError, capture, writer};
use crate::{Error, root::Root};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::SmtControl;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often everything is tried: what is busy may not be a moment later, and what failed because
/// something before it failed may succeed.
const PASSES: u32 = 3;

/// The pause between two passes if something was busy, or if CPU sets lag behind (kernels before
/// 6.10 adjust them a moment after the CPU).
const PAUSE: Duration = Duration::from_millis(50);

pub use super::gaps::Difference;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    pub control_before: Option<SmtControl>,
    pub control_after: Option<SmtControl>,
    pub online_before: CpuSet,
    pub online_after: CpuSet,
    pub differences: Vec<Difference>,
    /// What must be done by hand, a sentence each, with what stood in the way. Empty: all is done.
    pub left_to_do: Vec<String>,
    /// What one should know, in sentences: CPUs that are new or gone, groups that were deleted.
    pub warnings: Vec<String>,
}

impl Restored {
    pub fn is_complete(&self) -> bool {
        self.left_to_do.is_empty()
    }

    pub fn sentence(&self) -> String {
        if self.is_complete() {
            "everything was put back as it was".to_owned()
        } else {
            format!("what was changed could not all be put back: {}", self.left_to_do.join("; "))
        }
    }
}

/// What differs now from the saved state. Reads only.
pub fn differences(root: &Root, saved: &SavedState) -> Result<Vec<Difference>, Error> {
    Ok(all_gaps(root, saved)?.into_iter().map(|gap| gap.difference).collect())
}

fn all_gaps(root: &Root, saved: &SavedState) -> Result<Vec<Gap>, Error> {
    let steps = Step::ALL.into_iter().map(|step| gaps(root, saved, step));
    Ok(steps.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The writes that restoring would do, in order. Those after the control word are done only if it
/// did not bring them about.
pub fn plan(root: &Root, saved: &SavedState) -> Result<Vec<Write>, Error> {
    let after_word = !gaps(root, saved, Step::Control)?.is_empty();
    let mut writes = Vec::new();
    for step in Step::ALL {
        writes.extend(gaps(root, saved, step)?.into_iter().filter_map(|gap| match gap.remedy {
            Remedy::Write { path, text } => {
                let if_needed = after_word && step == Step::Cpus;
                Some(Write { path: format!("/{path}"), text, if_needed })
            }
            Remedy::Affinity { task, cpus } => Some(Write {
                path: format!("sched_setaffinity({task})"),
                text: cpus.to_string(),
                if_needed: false,
            }),
            Remedy::None(_) | Remedy::Follows => None,
        }));
        // A word that goes from off to on wakes CPUs that were offline by hand.
        if step == Step::Cpus && after_word && saved.control != Some(SmtControl::Off) {
            let online = capture::present_and_online(root)?.1;
            let asleep = saved.present.difference(&saved.online).difference(&online);
            writes.extend(asleep.iter().map(Write::offline_if_needed));
        }
    }
    Ok(writes)
}

/// Restores the state in a slot and empties the slot, if nothing is left to do; else the state
/// stays, to be tried again. `None` if the slot is empty: somebody else restored it. Errors: as
/// [`restore`], and those of [`saved::read`], [`SavedState::check_machine`] and [`saved::remove`].
pub fn restore_slot(
    root: &Root,
    kernel: &dyn Kernel,
    slot: Slot,
) -> Result<Option<Restored>, SwitchError> {
    let writer = writer::wait(root)?;
    let Some(stored) = saved::read(root, slot)? else { return Ok(None) };
    restore_stored(&writer, root, kernel, &stored).map(Some)
}

/// [`restore_slot`] for one who may write already and has read the state.
pub(super) fn restore_stored(
    writer: &writer::Writer,
    root: &Root,
    kernel: &dyn Kernel,
    stored: &Stored,
) -> Result<Restored, SwitchError> {
    stored.check_machine(root, stored.slot())?;
    let restored = restore(writer, root, kernel, stored)?;
    if restored.is_complete() {
        saved::remove(root, stored.slot())?;
    }
    Ok(restored)
}

/// Restores a state, step by step (`restore_order`). Goes on where it can, reads back, and tells
/// what is left. Errors: [`SwitchError::Host`] if the machine cannot be read.
pub(super) fn restore(
    _writer: &writer::Writer,
    root: &Root,
    kernel: &dyn Kernel,
    saved: &SavedState,
) -> Result<Restored, SwitchError> {
    let control_before = capture::control(root);
    let online_before = capture::present_and_online(root)?.1;
    let mut refusals = BTreeMap::new();
    let mut left = Vec::new();
    for pass in 1..=PASSES {
        refusals.clear();
        let mut busy = false;
        for step in Step::ALL {
            for gap in gaps(root, saved, step)? {
                if let Err(error) = close(root, kernel, &gap) {
                    busy |= refusal::may_pass(&error);
                    refusals.insert(gap.difference.what, error);
                }
            }
        }
        left = all_gaps(root, saved)?;
        let to_do = left.iter().any(|gap| gap.is_to_do());
        let lags = left.iter().any(Gap::may_lag);
        if !to_do && !lags {
            break;
        }
        if pass < PASSES && (busy || lags) {
            std::thread::sleep(PAUSE);
        }
    }
    let online_after = capture::present_and_online(root)?.1;
    let (differences, left_to_do, warnings) = in_words(root, left, &refusals);
    let control_after = capture::control(root);
    Ok(Restored {
        control_before,
        control_after,
        online_before,
        online_after,
        differences,
        left_to_do,
        warnings,
    })
}

fn close(root: &Root, kernel: &dyn Kernel, gap: &Gap) -> std::io::Result<()> {
    match &gap.remedy {
        Remedy::Write { path, text } if gap.step == Step::Control => {
            write_word(root, kernel, path, text)
        }
        Remedy::Write { path, text } => kernel.write(path, text),
        Remedy::Affinity { task, cpus } => kernel.set_affinity(*task, cpus),
        Remedy::None(_) | Remedy::Follows => Ok(()),
    }
}

/// Writes a control word so that it takes effect. Since 6.6 the kernel compares levels, and after
/// an `off` that failed half-way it believes that it is off already: the same word again does
/// nothing, and one must go by `on`, whether that succeeds or not.
pub(super) fn write_word(
    root: &Root,
    kernel: &dyn Kernel,
    path: &str,
    text: &str,
) -> std::io::Result<()> {
    if capture::control(root) == Some(SmtControl::Threads(1)) && matches!(text, "off" | "1") {
        let _ = kernel.write(path, "on");
    }
    kernel.write(path, text)
}

impl Gap {
    fn is_to_do(&self) -> bool {
        matches!(self.remedy, Remedy::Write { .. } | Remedy::Affinity { .. })
    }

    /// Whether it may close by itself in a moment, or be another: the kernel brings tasks in line with
    /// their CPU set after the set. A group that was deleted does not come back.
    fn may_lag(&self) -> bool {
        let is_told = matches!(self.remedy, Remedy::None(_));
        (self.step == Step::Cpusets && !is_told) || (self.step == Step::Tasks && is_told)
    }

    fn by_hand(&self) -> String {
        match &self.remedy {
            Remedy::Write { path, text } => format!("echo {text} > /{path}"),
            Remedy::Affinity { task, cpus } => format!("taskset -pc {cpus} {task}"),
            Remedy::None(text) => text.clone(),
            Remedy::Follows => String::new(),
        }
    }
}

/// What is left: the differences, what is to be done, what one should know.
fn in_words(
    root: &Root,
    left: Vec<Gap>,
    refusals: &BTreeMap<String, std::io::Error>,
) -> (Vec<Difference>, Vec<String>, Vec<String>) {
    let mut differences = Vec::new();
    let mut left_to_do = Vec::new();
    let mut warnings = Vec::new();
    // CPUs with the same fate share a sentence.
    let mut cpus: BTreeMap<(String, String), CpuSet> = BTreeMap::new();
    for mut gap in left {
        let what = gap.difference.what.clone();
        let refusal = refusals.get(&what);
        if refusal.is_some_and(|error| refusal::is_managed(gap.step, error)) {
            gap.difference.managed = true;
            gap.remedy = Remedy::Follows;
        }
        let why = refusal.map_or_else(
            || "it was written and did not stay so".to_owned(),
            |error| refusal::sentence(root, gap.step, error),
        );
        let or_none =
            |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
        let (was, is) = (or_none(&gap.difference.saved), or_none(&gap.difference.now));
        match (&gap.remedy, gap.step) {
            (Remedy::Write { text, .. }, Step::Cpus) => {
                let cpu = what.trim_start_matches("cpu").parse().map(CpuId);
                let set = cpus.entry((text.clone(), why)).or_default();
                cpu.into_iter().for_each(|cpu| set.insert(cpu));
            }
            (Remedy::Write { .. } | Remedy::Affinity { .. }, _) => {
                let by_hand = gap.by_hand();
                left_to_do.push(format!("{what} is {is} and was {was} ({why}): {by_hand}"));
            }
            (Remedy::None(text), _) => warnings.push(text.clone()),
            (Remedy::Follows, _) => {}
        }
        differences.push(gap.difference);
    }
    let grouped = cpus.into_iter().map(|((text, why), cpus)| {
        let was = if text == "1" { "online" } else { "offline" };
        format!(
            "CPUs that were {was}: {cpus} ({why}); for each: \
             echo {text} > /sys/devices/system/cpu/cpuN/online"
        )
    });
    // In the order of the steps: the control word stands before the CPUs.
    let at = usize::from(differences.first().is_some_and(|first| first.what == "smt/control"));
    let at = at.min(left_to_do.len());
    left_to_do.splice(at..at, grouped.collect::<Vec<_>>());
    (differences, left_to_do, warnings)
}
