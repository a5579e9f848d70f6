//! A study of this host: its plan, its lock, its SMT switch and scheduler.

use super::args::Args;
use super::describe::{foretell, headline};
use super::ready::{Asked, Ready, Studied, begin, resume};
use crate::exit::refuse_slips;
use crate::{consent, host, out, scheduling, switching};
use anyhow::Result;
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::Plan;
use coretwin_host::lock;
use coretwin_host::root::Root;
use coretwin_lab::host_machine::{HOST, HostMachine};
use coretwin_lab::request::Request;
use coretwin_lab::switching::{Switching, with_smt_on};
use coretwin_lab::{Error, planning, probe};
use coretwin_store::PLAN;

impl Studied for HostMachine {
    fn host(&mut self) -> Option<&mut HostMachine> {
        Some(self)
    }
}

/// The plan, for `--dry-run`.
pub(super) fn plan(request: &Request) -> Result<Plan> {
    let root = Root::system();
    let mut plan = planning::draw(request, HOST, &with_smt_on(host::topology(&root)?)?)?;
    tell_of_sharing(&root, &mut plan);
    Ok(plan)
}

/// What would be done to the host, for `--dry-run`.
pub(super) fn changes(plan: &Plan) -> Result<String> {
    let root = &Root::system();
    let mut text = String::new();
    if plan.switches_smt() {
        text += &consent::foretell(root, &host::topology(root)?);
    }
    if plan.changes_scheduler() {
        text += &scheduling::foretell(plan, root);
    }
    Ok(text)
}

/// Locks the host and takes what the plan needs of it. `None` if the user did not want that.
pub(super) fn ready(args: &Args, asked: Asked) -> Result<Option<Ready>> {
    let root = &Root::system();
    if let Asked::New(request) = &asked {
        refuse_slips(supposed(args, request, root))?;
    }
    // Before anything that counts is read of the machine: another study would change it.
    let lock = lock::acquire(root)?;
    coretwin_workloads::leftovers::sweep();
    match asked {
        Asked::New(request) => {
            let Some((mut plan, machine)) = new(args, &request, root)? else { return Ok(None) };
            if let Some(warning) = machine.loaded_before() {
                out::news(&format!("Note: {}; {}.", warning.text, warning.remedy));
                plan.warnings.push(warning);
            }
            // Limits that are too low are an error before anything is written.
            machine.check(&plan)?;
            tell_of_security(&plan, root);
            let session = begin(args, plan, root)?;
            Ok(Some(Ready { session, machine: Box::new(machine), lock: Some(lock) }))
        }
        Asked::Old(bundle, plan) => {
            let Some(machine) = old(args, &plan, root)? else { return Ok(None) };
            machine.check(&plan)?;
            tell_of_security(&plan, root);
            let session = resume(bundle, *plan, root)?;
            Ok(Some(Ready { session, machine: Box::new(machine), lock: Some(lock) }))
        }
    }
}

fn tell_of_security(plan: &Plan, root: &Root) {
    if plan.topology.has_usable_siblings() {
        let without = host::without_smt(root, &plan.topology);
        out::news(&format!("Security: {}; {}.", without.cost(), without.choice()));
    }
}

/// What would be run if the lock were ours: whether it makes sense is known before.
fn supposed(args: &Args, request: &Request, root: &Root) -> Result<Plan> {
    if let Some(folder) = args.out.clone().filter(|folder| folder.join(PLAN).exists()) {
        return Err(coretwin_store::Error::Occupied { folder }.into());
    }
    let now = host::topology(root)?;
    let topology = with_smt_on(now.clone()).unwrap_or(now);
    Ok(planning::draw(request, HOST, &topology)?)
}

/// Draws the plan of a new study, and makes the machine. Where SMT is to be switched and is off now, it
/// is switched on first: the plan is drawn for the machine as it is then.
fn new(args: &Args, request: &Request, root: &Root) -> Result<Option<(Plan, HostMachine)>> {
    let now = host::topology(root)?;
    let switches = request.arms.iter().any(|arm| arm.state == ArmState::Off);
    // What is wrong with the request is said before anybody is asked for a word. Siblings that are
    // not known yet are no fault of it.
    let topology = if switches { with_smt_on(now.clone()).ok() } else { Some(now.clone()) };
    let plan = topology.map(|topology| planning::draw(request, HOST, &topology)).transpose()?;
    match &plan {
        Some(plan) => {
            foretell(plan);
            scheduling::possible(plan, root)?;
        }
        None => out::news("SMT is off, and is switched on first to see which CPUs are siblings."),
    }
    let mut switching = None;
    if switches {
        switching = switching::take(root, &now, args.yes)?;
        if switching.is_none() {
            return Ok(None);
        }
    }
    let mut plan = match (plan, &mut switching) {
        (Some(plan), Some(switching)) if switching.found_on() => plan,
        (Some(plan), None) => plan,
        (_, switching) => {
            let visited = switching.as_mut().map_or(Ok(()), |switching| switching.visit(false));
            visited.map_err(|error| Error::NotPossible(error.to_string()))?;
            planning::draw(request, HOST, &host::topology(root)?)?
        }
    };
    if !switches {
        tell_of_sharing(root, &mut plan);
    }
    let machine = machine(&plan, plan.topology.clone(), switching, root)?;
    Ok(Some((plan, machine)))
}

/// The machine of a study that is resumed.
fn old(args: &Args, plan: &Plan, root: &Root) -> Result<Option<HostMachine>> {
    out::news(&headline(plan));
    scheduling::possible(plan, root)?;
    let topology = if plan.reboots() { host::topology(root)? } else { plan.topology.clone() };
    let mut switching = None;
    if plan.switches_smt() {
        switching = switching::take(root, &host::topology(root)?, args.yes)?;
        if switching.is_none() {
            return Ok(None);
        }
    }
    machine(plan, topology, switching, root).map(Some)
}

fn machine(
    plan: &Plan,
    topology: Topology,
    switching: Option<Switching>,
    root: &Root,
) -> Result<HostMachine> {
    let machine = HostMachine::new(root.clone(), topology)?;
    let machine = match switching {
        Some(switching) => machine.with_switch(switching),
        None => machine,
    };
    Ok(scheduling::fit(machine, plan, root))
}

/// Where no siblings show: whether that was probed, and what was found. It goes into the plan, for
/// the report, because a later probe says nothing of this study.
fn tell_of_sharing(root: &Root, plan: &mut Plan) {
    let probed = host::probed(root);
    if let Some(warning) = probe::warning(&plan.topology, probed.as_ref()) {
        out::news(&format!("Note: {}; {}.", warning.text, warning.remedy));
        plan.warnings.push(warning);
    }
    plan.topology = probe::judged(plan.topology.clone(), probed.as_ref());
}
