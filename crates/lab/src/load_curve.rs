//! A load curve in a plan: a row for each rate, and the row that finds what the reference carries.

use crate::error::Error;
use crate::request::{LoadRequest, Request, Subject};
use crate::rows::{COMMAND, LATENCY};
use coretwin_base::parameters::{ParamValue, WorkloadSpec, label};
use coretwin_base::random::Stream;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::load::{RATE, Rate};
use coretwin_base::study::plan::{
    CopyRule, LoadPlan, Plan, PlanArm, PlanRow, Protocol, ThreadRule,
};
use coretwin_base::study::reading::Reading;
use coretwin_stats::{load, orders};
use coretwin_workloads::table;
use std::collections::BTreeMap;

const THROUGHPUT: &str = "service/throughput";
/// Parameter that says how long requests are offered.
const SECONDS: &str = "seconds";
/// Longest that a run is made so that enough requests lie beyond the objective's percentile, in seconds.
const SECONDS_MAX: f64 = 60.0;
const SATURATION: &str = "saturation";

/// The rows of the curve, and what the plan says of it. Without one the rows stay what they are. Errors:
/// if what is asked for beside it does not go with a load curve.
pub(crate) fn plan(
    request: &Request,
    rows: Vec<PlanRow>,
    arms: &[PlanArm],
) -> Result<(Vec<PlanRow>, Option<Box<LoadPlan>>), Error> {
    let Some(LoadRequest { rates, slo }) = &request.load else { return Ok((rows, None)) };
    let base = only(request, &rows, arms)?;
    let at = |rate: &Rate| {
        let mut params = base.params.clone();
        params.insert(RATE.to_owned(), ParamValue::parse(&rate.to_string()));
        let shown = match &request.subject {
            Subject::Workloads(specs) => specs.first().map(|spec| spec.params.clone()),
            Subject::Command { .. } => None,
        };
        let mut shown = shown.unwrap_or_default();
        shown.insert(RATE.to_owned(), ParamValue::parse(&rate.to_string()));
        PlanRow { id: label(&base.workload, &shown), params, ..base.clone() }
    };
    let curve = rates.iter().map(at).collect();
    let raised = base.workload == COMMAND;
    let has_shares = rates.iter().any(|rate| matches!(rate, Rate::Share(_)));
    let saturation = match (has_shares, raised) {
        (false, _) => None,
        (true, true) => Some(PlanRow { id: SATURATION.to_owned(), ..base.clone() }),
        (true, false) => Some(closed_loop(base)?),
    };
    let blocks = match (&saturation, raised) {
        (None, _) => 0,
        (Some(_), true) => load::RAISED_BLOCKS,
        (Some(_), false) => load::RUNS as u32,
    };
    let stream = &mut Stream::new(request.seed, "saturation-orders", 0);
    let orders = orders::balanced(arms.len(), blocks as usize, stream);
    // Without a screening the field of its blocks is 0, and nothing reads it.
    let load = LoadPlan { slo: *slo, saturation, raised, blocks: blocks.max(1), orders };
    Ok((curve, Some(Box::new(load))))
}

/// The one row that is offered requests.
fn only<'a>(
    request: &Request,
    rows: &'a [PlanRow],
    arms: &[PlanArm],
) -> Result<&'a PlanRow, Error> {
    let usage = |why: &str| Err(Error::Usage(why.to_owned()));
    let [row] = rows else {
        return usage(
            "--load-curve is of one service; leave out the other workloads, -L, -P and --copies",
        );
    };
    if row.workload != LATENCY && row.workload != COMMAND {
        return usage(
            "--load-curve offers requests at given rates; study service, or your own with --load",
        );
    }
    if row.threads == ThreadRule::Screened || row.copies != CopyRule::Fixed(1) {
        return usage("--load-curve screens rates; leave out --threads auto and --copies");
    }
    if request.protocol == Protocol::Article2003 {
        return usage("--protocol 2003 has no load curve; leave it out");
    }
    if arms.iter().any(|arm| matches!(arm.state, ArmState::Boot(_))) {
        return usage("--load-curve would need boots for its screening alone; compare other arms");
    }
    if let Subject::Command { spec, .. } = &request.subject
        && !spec.argv.iter().chain(&spec.prepare).any(|word| word.contains("{rate}"))
    {
        return usage(
            "--load-curve needs {rate} in the load, where requests a second are filled in",
        );
    }
    Ok(row)
}

/// The row of the same service that is driven as fast as it answers.
fn closed_loop(base: &PlanRow) -> Result<PlanRow, Error> {
    let usage = |error: coretwin_workloads::Error| Error::Usage(error.to_string());
    let mut params = base.params.clone();
    let facts = table::find(THROUGHPUT).map(|workload| workload.facts());
    let known = |name: &str| facts.iter().any(|it| it.params.iter().any(|one| one.name == name));
    params.retain(|name, _| known(name));
    let spec = WorkloadSpec { name: THROUGHPUT.to_owned(), params };
    let (workload, params) = table::resolve(&spec).map_err(usage)?;
    let facts = workload.facts();
    Ok(PlanRow {
        id: SATURATION.to_owned(),
        workload: facts.name.to_owned(),
        threads: ThreadRule::Fixed(workload.tasks(&params)),
        copies: workload.copies(&params),
        unit: facts.unit.to_owned(),
        better: facts.better,
        scale: facts.scale,
        params,
        ..base.clone()
    })
}

/// A row as it is run in an arm: its rate in requests a second. `found` is what each arm carries, as far
/// as that is known.
pub(crate) fn resolved(
    plan: &Plan,
    row: &PlanRow,
    (arm, block): (&str, u32),
    readings: &[Reading],
    found: &BTreeMap<String, f64>,
) -> PlanRow {
    let Some(load) = &plan.load else { return row.clone() };
    let Some(rate) = row.rate().filter(|_| row.id != SATURATION) else {
        return match load.raised {
            true => row.at(load::next_rate(plan, readings, arm, block)),
            false => row.clone(),
        };
    };
    let saturation = found.get(&plan.reference_arm).copied().unwrap_or_default();
    let rate = rate.per_second(saturation);
    let mut row = row.at(rate);
    if let (Some(slo), Some(seconds)) = (load.slo, row.params.get(SECONDS)) {
        // A tenth more: arrivals are random.
        let wanted = (slo.samples_min() * 1.1 / rate).ceil().min(SECONDS_MAX);
        if seconds.to_string().parse().is_ok_and(|seconds: f64| seconds < wanted) {
            row.params.insert(SECONDS.to_owned(), ParamValue::Int(wanted as i64));
        }
    }
    row
}

/// Why nothing can be offered: what the reference carries was not found.
pub(crate) fn not_found(plan: &Plan, readings: &[Reading]) -> Error {
    let arm = &plan.reference_arm;
    let is_it = |reading: &&Reading| reading.row == SATURATION && reading.arm == arm.as_str();
    let cause = readings.iter().rev().filter(is_it).find_map(|reading| reading.cause.as_deref());
    let why = cause.map_or_else(
        || "no rate was too much for it; is {rate} what the load offers?".to_owned(),
        |cause| format!("its runs failed or were disturbed, at last because: {cause}"),
    );
    Error::NotPossible(format!(
        "what {arm} carries at most was not found: {why} (rates may be given in requests a second, \
         like --load-curve 500/s..2500/s)"
    ))
}
