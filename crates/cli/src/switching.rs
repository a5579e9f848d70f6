//! The SMT switch and the schedulers of a study or a run: whether they can be had here, the user's word
//! first, the session, and what is said when the machine was put back.

use crate::exit::NotRestored;
#[cfg(feature = "sched")]
use crate::verb::sched::doctor::refusal;
use crate::{consent, out};
use anyhow::Result;
use coretwin_base::machine::scheduler::name_of;
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::arm::KERNEL;
use coretwin_base::study::plan::Plan;
use coretwin_base::warning::Warning;
use coretwin_host::root::Root;
use coretwin_host::smt::guard::Launch;
use coretwin_host::smt::kernel::SystemKernel;
use coretwin_host::smt::session::Session;
use coretwin_host::smt::target::Target;
use coretwin_lab::Error;
use coretwin_lab::host_machine::HostMachine;
use coretwin_lab::switching::{Scheduling, Switching};

/// Takes the switch, once the user has given his word; `None` if he did not. Nothing is changed yet.
pub(crate) fn take(root: &Root, topology: &Topology, yes: bool) -> Result<Option<Switching>> {
    if !topology.smt.switchable {
        return Err(consent::not_switchable(topology));
    }
    if !consent::ask(root, topology, Target::Off, yes)? {
        return Ok(None);
    }
    let kernel = Box::new(SystemKernel(root.clone()));
    let session = Session::open(root, kernel, Box::new(Launch::ourselves()))
        .map_err(|error| Error::NotPossible(error.to_string()))?;
    for warning in session.warnings() {
        out::news(&warning);
    }
    Ok(Some(Switching::new(session)))
}

/// Puts the machine back, says how that went, and gives what a reader of the result must know. A
/// warning of the kind [`NOT_RESTORED`] means that something is left to do.
pub(crate) fn restore(machine: &mut HostMachine) -> Vec<Warning> {
    let remedy = "look at `coretwin smt status`, and run `coretwin smt restore` as root";
    let unloaded = machine.unload().err().map(|error| {
        let remedy = "unload it, by hand if need be: coretwin sched status";
        Warning::new(NOT_RESTORED, error.to_string(), remedy)
    });
    let mut restored: Vec<Warning> = match machine.restore() {
        None if unloaded.is_none() => return Vec::new(),
        None => Vec::new(),
        Some(Err(error)) => vec![Warning::new(NOT_RESTORED, error.to_string(), remedy)],
        Some(Ok(restored)) => {
            let mut warnings: Vec<Warning> = restored
                .warnings
                .iter()
                .map(|text| Warning::new("smt-restored", text, "see whether that matters to you"))
                .collect();
            if !restored.is_complete() {
                warnings.push(Warning::new(NOT_RESTORED, restored.sentence(), remedy));
            }
            warnings
        }
    };
    restored.extend(unloaded);
    for warning in &restored {
        out::news(&format!("{}; {}", warning.text, warning.remedy));
    }
    if is_restored(&restored) {
        out::news("the machine is as it was found");
    }
    restored
}

/// Whether these warnings of [`restore`] leave nothing to do.
pub(crate) fn is_restored(warnings: &[Warning]) -> bool {
    warnings.iter().all(|warning| warning.kind != NOT_RESTORED)
}

/// An error, which counts less than a machine that is not as it was found.
pub(crate) fn with_machine(error: anyhow::Error, is_restored: bool) -> anyhow::Error {
    if is_restored { error } else { error.context(NotRestored) }
}

/// The kind of a warning that the machine is not as it was found.
const NOT_RESTORED: &str = "smt-not-restored";

/// This program, also when its file was replaced since it started.
pub(crate) const OURSELVES: &str = "/proc/self/exe";

/// Without the verb that loads schedulers none can be loaded.
#[cfg(not(feature = "sched"))]
fn refusal(_: &Root) -> Option<String> {
    Some(crate::exit::NotBuilt("sched").to_string())
}

/// Refuses a plan whose schedulers cannot be loaded here, before anything is changed. Errors: what
/// stands in the way.
pub(crate) fn can_load(plan: &Plan, root: &Root) -> Result<(), Error> {
    let loaded = plan.arms.iter().find(|arm| arm.scheduler != KERNEL);
    match loaded.filter(|_| plan.changes_scheduler()).zip(refusal(root)) {
        Some((arm, why)) => {
            let name = name_of(&arm.scheduler);
            Err(Error::NotPossible(format!("{name} cannot be loaded here: {why}")))
        }
        None => Ok(()),
    }
}

pub(crate) fn fit(machine: HostMachine, plan: &Plan, root: &Root) -> HostMachine {
    match plan.changes_scheduler() {
        true => machine.with_scheduling(Scheduling::new(root.clone(), OURSELVES.into())),
        false => machine,
    }
}

pub(crate) fn foretell(plan: &Plan, root: &Root) -> String {
    let own = plan.arms.iter().filter(|arm| arm.scheduler != KERNEL);
    let labels: Vec<&str> = own.map(|arm| arm.label.as_str()).collect();
    let can = match refusal(root) {
        Some(why) => format!("it cannot be loaded here: {why}"),
        None => "nothing is known to stand in the way".to_owned(),
    };
    format!(
        "Scheduler    loaded for each visit to {}, and unloaded after it; {can}\n",
        labels.join(", ")
    )
}
