//! A study that compares boots: whether this boot may be used, and what to boot next.

use crate::session::Session;
use anyhow::Result;
use coretwin_base::study::boot::Promise;
use coretwin_base::study::summary::{NextBoot, StoppedBecause};
use coretwin_lab::Error;
use coretwin_lab::boots::{self, BootVisit};
use coretwin_lab::host_machine::HostMachine;

pub(super) enum Entry {
    /// For measuring; where boots are compared, for this visit.
    Visit(Option<BootVisit>),
    /// For nothing: another one is due, for which a new study waits, or everything is measured.
    Idle(StoppedBecause),
}

/// Looks whether this boot is the one that is due, and keeps a record of it if so. `said` is what the
/// user says that was booted.
pub(super) fn enter(
    said: Option<&str>,
    is_new: bool,
    session: &mut Session,
    machine: &HostMachine,
) -> Result<Entry> {
    let Session { plan, environment, readings, .. } = session;
    if !plan.reboots() {
        return Ok(Entry::Visit(None));
    }
    let entry = match boots::due(plan, &environment.boots, readings) {
        None => Entry::Idle(StoppedBecause::Blocks),
        Some(due) => {
            match boots::admit(plan, due, &mut environment.boots, readings, &machine.boot(), said) {
                Ok(visit) => Entry::Visit(Some(visit)),
                // A new study may well begin in another boot than its first.
                Err(_) if is_new && said.is_none() => Entry::Idle(StoppedBecause::Reboot),
                Err(why) => {
                    let next = next(session).map(|next| format!("\n{}", sentence(&next)));
                    let why = why + &next.unwrap_or_default();
                    return Err(Error::NotPossible(why).into());
                }
            }
        }
    };
    // A boot that is let in tells what its arm is.
    session.plan = session.plan.clone().with_boots(&session.environment.boots);
    Ok(entry)
}

/// What to boot next; `None` if nothing is left to be measured.
pub(super) fn next(session: &Session) -> Option<NextBoot> {
    let Session { bundle, plan, environment, readings, .. } = session;
    let due = boots::due(plan, &environment.boots, readings)?;
    let name = boots::name(plan, due);
    // After a reboot nobody is in the folder where this was typed.
    let folder = bundle.folder().canonicalize().unwrap_or_else(|_| bundle.folder().to_owned());
    let mut resume: Vec<String> =
        ["coretwin", "study", "--resume", &folder.to_string_lossy()].map(str::to_owned).into();
    if !Promise::of(name).can_be_checked() {
        resume.extend(["--boot".to_owned(), name.to_owned()]);
    }
    Some(NextBoot {
        arm: plan.arms[due.arm].label.clone(),
        boot: Promise::of(name).how(),
        block: due.block,
        boots_left: due.boots_left,
        resume,
    })
}

pub(super) fn sentence(next: &NextBoot) -> String {
    let left = match next.boots_left {
        1 => "the last boot".to_owned(),
        left => format!("{left} boots to come"),
    };
    format!(
        "boot {} (arm {}, block {}; {left}), and go on with: {}",
        next.boot,
        next.arm,
        next.block + 1,
        coretwin_report::shell_line(&next.resume)
    )
}
