//! The plan of a study on a simulated machine.

use super::{Described, arms};
use crate::error::Error;
use crate::planning::{Parts, assemble};
use crate::request::{Request, Subject};
use crate::rows::{self, Names};
use coretwin_base::machine::placement::Placement;
use coretwin_base::origin::Origin;
use coretwin_base::param::ParamValue;
use coretwin_base::simulation::Simulation;
use coretwin_base::study::plan::{Plan, PlanRow, Protocol};
use coretwin_base::warning::Warning;
use std::collections::BTreeSet;

/// Blocks where nothing else is asked for: enough to show that the seed matters little.
const BLOCKS: u32 = 3;

/// Rows that the article printed for its older kernel only, by family.
const OLDER_KERNEL_ONLY: [&str; 2] = ["lmbench", "aim9"];

/// The parameter of dbench and tbench that says when a run ends, and the value the models know.
const MODE: &str = "mode";
const ONE_PASS: &str = "classic";

/// What is known of the models before anything runs.
pub trait Known {
    /// Whether a workload has a model.
    ///
    /// # Errors
    /// Why it has none.
    fn has_model(&self, workload: &str) -> Result<(), String>;

    /// What of a workload's own figure was fitted, so that it says nothing; none: it is predicted.
    fn fitted(&self, workload: &str) -> Option<String>;
}

/// Draws the plan.
///
/// # Errors
/// As [`crate::planning::draw`]; [`Error::Usage`] for a user's command, for placements, and for a
/// workload that has no model, with the reason.
pub fn draw(
    request: &Request,
    machine: &Described,
    mut simulation: Simulation,
    known: &dyn Known,
) -> Result<Plan, Error> {
    let Subject::Workloads(specs) = &request.subject else {
        return Err(Error::Usage(
            "a simulated machine runs models of workloads, not commands; coretwin list names them"
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
    let arm_specs = if default { arms::default_arms(machine) } else { request.arms.clone() };
    let arms = arms::resolve(&arm_specs, machine)?;
    let asked = rows::asked(&of_rows(request, machine), Names::Suites, &machine.topology)?;
    let rows = asked.placed(&arms, &machine.topology)?;
    let (mut rows, left_out) = with_models(rows, &typed, known)?;
    if !specs.iter().any(|spec| spec.params.contains_key(MODE)) {
        in_one_pass(&mut rows);
    }
    if default && machine.is_articles {
        on_older_kernel_only(&mut rows, &arms);
    }
    let parts = Parts { arms, rows, left_out };
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
fn on_older_kernel_only(rows: &mut [PlanRow], arms: &[coretwin_base::study::plan::PlanArm]) {
    let Some(first) = arms.first() else { return };
    let older = arms.iter().filter(|arm| arm.scheduler == first.scheduler);
    let labels: Vec<String> = older.map(|arm| arm.label.clone()).collect();
    for row in rows.iter_mut().filter(|row| OLDER_KERNEL_ONLY.contains(&row.family.as_str())) {
        row.arms.clone_from(&labels);
    }
}
