//! A study of this host: its plan, its lock, its SMT switch and scheduler.

use super::args::{Args, Line};
use super::describe::{foretell, headline};
use super::{Asked, Ready, Studied, begin, resume};
use crate::exit::refuse_slips;
use crate::{basis, consent, host, out, switching};
use anyhow::Result;
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::Plan;
use coretwin_base::units::human_seconds;
use coretwin_host::lock;
use coretwin_host::root::Root;
use coretwin_lab::host_machine::{HOST, HostMachine};
use coretwin_lab::request::Request;
use coretwin_lab::switching::{Switching, with_smt_on};
use coretwin_lab::{Error, estimate, planning, probe};
use coretwin_store::PLAN;

impl Studied for HostMachine {
    fn host(&mut self) -> Option<&mut HostMachine> {
        Some(self)
    }
}

pub(super) fn plan(request: &Request) -> Result<Plan> {
    let root = Root::system();
    let mut plan = planning::draw(request, HOST, &with_smt_on(host::topology(&root)?)?)?;
    tell_of_sharing(&root, &mut plan, true);
    Ok(plan)
}

/// What a study could do on this host, for one that names neither workload nor command.
pub(super) fn possible() -> Result<String> {
    let root = Root::system();
    let topology = with_smt_on(host::topology(&root)?)?;
    let plan = |words: &[&str]| -> Result<Plan> {
        let words = ["study"].iter().chain(words).map(|word| (*word).to_owned());
        let request = Line::read(words.collect())?.request()?;
        Ok(planning::draw(&request, HOST, &topology)?)
    };
    let [whole, quick] = [plan(&["chat"])?, plan(&["chat", "--quick"])?];
    let takes = |plan: &Plan| estimate::foretold_s(plan).map_or("?".to_owned(), human_seconds);
    let arms: Vec<&str> = whole.arms.iter().map(|arm| arm.label.as_str()).collect();
    let about = match whole.topology.has_usable_siblings() {
        true => "",
        false => "; no siblings visible, so nothing about SMT",
    };
    let budget = human_seconds(whole.rules.budget_s.unwrap_or_default());
    Ok(format!(
        "Name a workload or a command. On this machine:\n\
         \u{20} coretwin study -- ./mycmd {{threads}}\n\
         \u{20} coretwin study chat            about {}\n\
         \u{20} coretwin study chat --quick    about {}, no verdict\n\
         No study takes longer than {budget}; --budget says otherwise.\n\
         Arms: {}{about}.\n\
         More: coretwin study --help, coretwin list suites.\n",
        takes(&whole),
        takes(&quick),
        arms.join(", "),
    ))
}

pub(super) fn changes(plan: &Plan) -> Result<String> {
    let root = &Root::system();
    let mut text = String::new();
    if plan.switches_smt() {
        text += &consent::foretell(root, &host::topology(root)?);
    }
    if plan.changes_scheduler() {
        text += &switching::foretell(plan, root);
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
                if args.full {
                    out::news(&format!("Note: {}; {}.", warning.text, warning.remedy));
                }
                plan.warnings.push(warning);
            }
            // Limits that are too low are an error before anything is written.
            machine.check(&plan)?;
            tell_of_security(args, &plan, root);
            let session = begin(args, plan, root)?;
            Ok(Some(Ready { session, machine: Box::new(machine), lock: Some(lock) }))
        }
        Asked::Old(bundle, plan) => {
            let Some(machine) = old(args, &plan, root)? else { return Ok(None) };
            machine.check(&plan)?;
            tell_of_security(args, &plan, root);
            let session = resume(bundle, *plan, root)?;
            Ok(Some(Ready { session, machine: Box::new(machine), lock: Some(lock) }))
        }
    }
}

fn tell_of_security(args: &Args, plan: &Plan, root: &Root) {
    if args.full && plan.topology.has_usable_siblings() {
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
            foretell(plan, args.full);
            switching::can_load(plan, root)?;
        }
        None => out::news("SMT is off, and is switched on first to see which CPUs are siblings."),
    }
    let mut switching = if switches { switching::take(root, &now, args.yes)? } else { None };
    if switches && switching.is_none() {
        return Ok(None);
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
        tell_of_sharing(root, &mut plan, args.full);
    }
    let machine = machine(&plan, plan.topology.clone(), switching, root)?;
    Ok(Some((plan, machine)))
}

fn old(args: &Args, plan: &Plan, root: &Root) -> Result<Option<HostMachine>> {
    out::news(&headline(plan));
    switching::can_load(plan, root)?;
    let topology = if plan.reboots() { host::topology(root)? } else { plan.topology.clone() };
    let switching = match plan.switches_smt() {
        true => switching::take(root, &host::topology(root)?, args.yes)?,
        false => None,
    };
    if plan.switches_smt() && switching.is_none() {
        return Ok(None);
    }
    machine(plan, topology, switching, root).map(Some)
}

fn machine(
    plan: &Plan,
    topology: Topology,
    switching: Option<Switching>,
    root: &Root,
) -> Result<HostMachine> {
    let accounting = plan.load.as_ref().map(|_| basis::accounting(root, &topology)).transpose()?;
    let mut machine = HostMachine::new(root.clone(), topology)?;
    if let Some(accounting) = accounting {
        machine = machine.with_accounting(accounting);
    }
    let machine = match switching {
        Some(switching) => machine.with_switch(switching),
        None => machine,
    };
    Ok(switching::fit(machine, plan, root))
}

/// Where no siblings show: whether that was probed, and what was found. It goes into the plan, for
/// the report, because a later probe says nothing of this study.
fn tell_of_sharing(root: &Root, plan: &mut Plan, is_full: bool) {
    if plan.compares_commands_only() {
        return;
    }
    let probed = host::probed(root);
    if let Some(warning) = probe::warning(&plan.topology, probed.as_ref()) {
        if is_full {
            out::news(&format!("Note: {}; {}.", warning.text, warning.remedy));
        }
        plan.warnings.push(warning);
    }
    plan.topology = probe::judged(plan.topology.clone(), probed.as_ref());
}
