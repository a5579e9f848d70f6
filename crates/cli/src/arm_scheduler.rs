//! The schedulers of a plan's arms: whether they can be loaded here, and what loads them.

#[cfg(feature = "sched")]
use crate::verb::sched::doctor::refusal;
use coretwin_base::simulation::core_queue::NAME;
use coretwin_base::study::arm::KERNEL;
use coretwin_base::study::plan::Plan;
use coretwin_host::root::Root;
use coretwin_lab::Error;
use coretwin_lab::host_machine::HostMachine;
use coretwin_lab::switching::Scheduling;

/// This program, also when its file was replaced since it started.
pub(crate) const OURSELVES: &str = "/proc/self/exe";

/// Without the verb that loads schedulers none can be loaded.
#[cfg(not(feature = "sched"))]
fn refusal(_: &Root) -> Option<String> {
    Some(crate::exit::NotBuilt("sched").to_string())
}

/// Refuses a plan whose schedulers cannot be loaded here, before anything is changed. Errors: what
/// stands in the way.
pub(crate) fn possible(plan: &Plan, root: &Root) -> Result<(), Error> {
    match refusal(root).filter(|_| plan.changes_scheduler()) {
        Some(why) => Err(Error::NotPossible(format!("{NAME} cannot be loaded here: {why}"))),
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
        "Scheduler    {NAME} is loaded for each visit to {} and unloaded after it; {can}\n",
        labels.join(", ")
    )
}
