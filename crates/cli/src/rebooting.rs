//! A study that compares boots: whether this boot may be used, and what to boot next.

use crate::study_args::Args;
use anyhow::Result;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::boot::Promise;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::NextBoot;
use coretwin_lab::Error;
use coretwin_lab::boots::{self, BootVisit};
use coretwin_lab::host_machine::HostMachine;
use coretwin_store::Bundle;

/// What this boot is good for.
pub(crate) enum Entry {
    /// It is the one that is due.
    Visit(BootVisit),
    /// It is another one; a new study waits.
    Wait,
    /// Nothing is left to be measured.
    Done,
}

/// Looks whether this boot is the one that is due, and keeps a record of it if so.
pub(crate) fn enter(
    args: &Args,
    bundle: &Bundle,
    plan: &Plan,
    machine: &HostMachine,
    environment: &mut Environment,
    readings: &[Reading],
) -> Result<Entry> {
    let Some(due) = boots::due(plan, &environment.boots, readings) else { return Ok(Entry::Done) };
    let said = args.boot.as_deref();
    match boots::admit(plan, due, &mut environment.boots, readings, &machine.boot(), said) {
        Ok(visit) => Ok(Entry::Visit(visit)),
        // A new study may well begin in another boot than its first.
        Err(_) if args.resume.is_none() && said.is_none() => Ok(Entry::Wait),
        Err(why) => match next(bundle, plan, environment, readings) {
            Some(next) => Err(Error::NotPossible(format!("{why}\n{}", sentence(&next))).into()),
            None => Err(Error::NotPossible(why).into()),
        },
    }
}

/// What to boot next; none if nothing is left to be measured.
pub(crate) fn next(
    bundle: &Bundle,
    plan: &Plan,
    environment: &Environment,
    readings: &[Reading],
) -> Option<NextBoot> {
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
        boot: boots::how(plan, due),
        block: due.block,
        boots_left: due.boots_left,
        resume,
    })
}

/// What to do now.
pub(crate) fn sentence(next: &NextBoot) -> String {
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
