//! The plan of a study on a simulated machine, and its arms: booted with SMT or without it, under any
//! policy.

use super::Described;
use crate::error::Error;
use crate::planning::{Parts, assemble};
use crate::request::{Request, Subject};
use crate::rows::{self, Names};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::placement::Placement;
use coretwin_base::origin::Origin;
use coretwin_base::parameters::ParamValue;
use coretwin_base::simulation::Simulation;
use coretwin_base::study::arm::{ArmSpec, ArmState, KERNEL};
use coretwin_base::study::plan::{Plan, PlanArm, PlanRow, Protocol};
use coretwin_base::warning::Warning;
use coretwin_sim::policies::Settings;
use std::collections::BTreeSet;

/// Blocks where nothing else is asked for: enough to show that the seed matters little.
const BLOCKS: u32 = 3;

/// Rows that the article printed for its older kernel only, by family.
const OLDER_KERNEL_ONLY: [&str; 2] = ["lmbench", "aim9"];

/// The parameter of dbench and tbench that says when a run ends, and the value the models know.
const MODE: &str = "mode";
const ONE_PASS: &str = "classic";

pub trait Known {
    /// Whether a workload has a model. Errors: why it has none.
    fn has_model(&self, workload: &str) -> Result<(), String>;

    /// What of a workload's own figure was fitted, so that it says nothing; none: it is predicted.
    fn fitted(&self, workload: &str) -> Option<String>;
}

/// Draws the plan. Errors: as [`crate::planning::draw`]; [`Error::Usage`] for a user's command, for
/// placements, and for a workload that has no model, with the reason.
pub fn draw(
    request: &Request,
    machine: &Described,
    mut simulation: Simulation,
    known: &dyn Known,
) -> Result<Plan, Error> {
    let Subject::Workloads(specs) = &request.subject else {
        return Err(Error::Usage(
            "a simulated machine runs models of workloads, not commands; coretwin list names them. A model \
             of a command for one simulated core: coretwin simulate profile -- CMD"
                .to_owned(),
        ));
    };
    if request.placements.iter().any(|placement| *placement != Placement::Free) {
        return Err(Error::Usage(
            "on a simulated machine the policy of an arm places the tasks; leave out --placement"
                .to_owned(),
        ));
    }
    let typed: BTreeSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let default = request.arms.is_empty();
    let mut arm_specs = if default { default_arms(machine) } else { request.arms.clone() };
    if default && request.split {
        arm_specs.truncate(2);
    }
    let (arms, split) = crate::arms::split(resolve_arms(&arm_specs, machine)?, request.split)?;
    let asked = rows::asked(&of_rows(request, machine), Names::Suites, &machine.topology)?;
    let rows = asked.placed(&arms, &machine.topology)?;
    let (mut rows, left_out) = with_models(rows, &typed, known)?;
    if !specs.iter().any(|spec| spec.params.contains_key(MODE)) {
        in_one_pass(&mut rows);
    }
    if default && machine.is_articles {
        on_older_kernel_only(&mut rows, &arms);
    }
    let parts = Parts { arms, rows, left_out, split };
    let request = settled(request);
    let mut plan = assemble(&request, parts, &machine.name, &machine.topology)?;
    // A budget of waiting time would make the journal a matter of the host's speed.
    plan.rules.budget_s = None;
    let fitted = |row: &PlanRow| Some((row.id.clone(), known.fitted(&row.workload)?));
    simulation.fitted_rows = plan.rows.iter().filter_map(fitted).collect();
    plan.simulation = Some(Box::new(simulation));
    plan.origin = Some(Origin::Simulated);
    match plan.arms.as_slice() {
        [arm] => Err(Error::Usage(format!(
            "there is one arm only ({}), and a study compares two or more; name another with --arm",
            arm.about
        ))),
        _ => Ok(plan),
    }
}

/// The request as far as rows go: the article's machine has the article's sizes.
fn of_rows(request: &Request, machine: &Described) -> Request {
    let article = machine.is_articles && request.protocol != Protocol::Quick;
    Request {
        protocol: if article { Protocol::Article2003 } else { request.protocol },
        placements: vec![Placement::Free],
        ..request.clone()
    }
}

/// The request as far as its rules go: nothing has to be warmed, to settle or to be waited for, and
/// nobody else uses the machine.
fn settled(request: &Request) -> Request {
    let fixed = request.protocol == Protocol::Modern;
    Request {
        protocol: if fixed { Protocol::Fixed } else { request.protocol },
        blocks: request.blocks.or(fixed.then_some(BLOCKS)),
        warmup: false,
        settle_s: 0.0,
        ..request.clone()
    }
}

/// The rows that have a model. One that was asked for by name must have one; of a suite's rows those
/// without are left out.
fn with_models(
    rows: Vec<PlanRow>,
    typed: &BTreeSet<&str>,
    known: &dyn Known,
) -> Result<(Vec<PlanRow>, Option<Warning>), Error> {
    let mut kept = Vec::new();
    let mut left_out: Vec<String> = Vec::new();
    for row in rows {
        match known.has_model(&row.workload) {
            Ok(()) => kept.push(row),
            Err(why) if typed.contains(row.workload.as_str()) => {
                return Err(Error::Usage(format!("{} has no model: {why}", row.workload)));
            }
            Err(why) => left_out.push(format!("{} ({why})", row.workload)),
        }
    }
    if kept.is_empty() {
        let why = format!("no row is left, for these have no model: {}", left_out.join("; "));
        return Err(Error::Usage(why));
    }
    let warning = Warning::new(
        "left-out",
        format!("left out, for they have no model: {}", left_out.join("; ")),
        "to measure them, study a host",
    );
    Ok((kept, (!left_out.is_empty()).then_some(warning)))
}

/// The models do the whole load of a client once, as the programs of 2003 did, and not by the clock.
fn in_one_pass(rows: &mut [PlanRow]) {
    for mode in rows.iter_mut().filter_map(|row| row.params.get_mut(MODE)) {
        *mode = ParamValue::parse(ONE_PASS);
    }
}

/// The article's Tables 1 and 2 are of its older kernel, which is that of the first arms.
fn on_older_kernel_only(rows: &mut [PlanRow], arms: &[PlanArm]) {
    let Some(first) = arms.first() else { return };
    let older = arms.iter().filter(|arm| arm.scheduler == first.scheduler);
    let labels: Vec<String> = older.map(|arm| arm.label.clone()).collect();
    for row in rows.iter_mut().filter(|row| OLDER_KERNEL_ONLY.contains(&row.family.as_str())) {
        row.arms.clone_from(&labels);
    }
}

/// The arms of a study that names none. On the article's machine both boots under each of its
/// policies; on others the boot without SMT under the first policy, and that with SMT under each.
fn default_arms(machine: &Described) -> Vec<ArmSpec> {
    let typed = |state: ArmState, policy: &String| ArmSpec {
        label: format!("{state}@{policy}"),
        state,
        scheduler: policy.clone(),
    };
    let has_siblings = machine.topology.has_usable_siblings();
    let mut arms = Vec::new();
    for (place, policy) in machine.policies.iter().enumerate() {
        if has_siblings && (machine.is_articles || place == 0) {
            arms.push(typed(ArmState::Off, policy));
        }
        arms.push(typed(ArmState::On, policy));
    }
    arms
}

/// Resolves the arms on that machine. Errors: [`Error::Usage`] for two arms of one label and for
/// policies that there are not; [`Error::NotPossible`] for states that this machine cannot have.
fn resolve_arms(specs: &[ArmSpec], machine: &Described) -> Result<Vec<PlanArm>, Error> {
    crate::arms::check_labels(specs.iter().map(|spec| &spec.label))?;
    specs.iter().map(|spec| resolve_one(spec, machine)).collect()
}

fn resolve_one(spec: &ArmSpec, machine: &Described) -> Result<PlanArm, Error> {
    let first = machine.policies.first().map_or("fair", String::as_str);
    let policy = if spec.scheduler == KERNEL { first } else { &spec.scheduler };
    let policy = Settings::parse(policy)
        .map_err(|why| Error::Usage(format!("arm {}: {why}", spec.label)))?;
    let topology = &machine.topology;
    let cores = topology.usable_cores();
    let has_siblings = topology.has_usable_siblings();
    let refused = |why: String| Err(Error::NotPossible(format!("arm {}: {why}", spec.label)));
    let cpus: CpuSet = match &spec.state {
        ArmState::On => topology.allowed.clone(),
        ArmState::Off if has_siblings => {
            cores.iter().filter_map(|(_, cpus)| cpus.first()).collect()
        }
        ArmState::Off => {
            return refused(format!(
                "{} has no siblings that could be off; compare policies instead, like --arm on@fair \
                 --arm on@core-queue",
                machine.name
            ));
        }
        ArmState::OnePerCore => {
            return refused(
                "on a simulated machine one task per core is a policy; write on@one-per-core"
                    .to_owned(),
            );
        }
        other => {
            return refused(format!(
                "a simulated machine is booted with SMT or without it: on@POLICY or off@POLICY, not \
                 {other}"
            ));
        }
    };
    let smt = spec.state == ArmState::On && has_siblings;
    let about = format!(
        "{} CPU{} on {} core{}{}, under {}",
        cpus.len(),
        if cpus.len() == 1 { "" } else { "s" },
        cores.len(),
        if cores.len() == 1 { "" } else { "s" },
        match (has_siblings, smt) {
            (false, _) => "",
            (true, false) => ", SMT off",
            (true, true) => ", SMT on",
        },
        policy.text()
    );
    Ok(PlanArm {
        label: spec.label.clone(),
        state: spec.state.clone(),
        scheduler: policy.text(),
        cores: cores.len() as u32,
        threads: cpus.len() as u32,
        smt: Some(smt),
        cpus,
        about,
        ..PlanArm::default()
    })
}
