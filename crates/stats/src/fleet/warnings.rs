//! What the reader of a fleet's result must know.

use coretwin_base::distinct::distinct;
use coretwin_base::fleet::Fleet;
use coretwin_base::fleet::summary::FleetSummary;
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::warning::Warning;
use std::collections::BTreeSet;

/// Fewest machines of a model from which something is said of the next.
const MACHINES_MIN: u32 = 3;

pub(super) fn write(fleet: &Fleet, summary: &FleetSummary) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind: &str, text: String, remedy: &str| {
        warnings.push(Warning::new(kind, text, remedy));
    };
    if !summary.refused.is_empty() {
        warn(
            "refused",
            format!("{} files do not count", summary.refused.len()),
            "the list below has the reason of each; run those machines again",
        );
    }
    if !summary.partial.is_empty() {
        warn(
            "partial",
            format!("{} of {} bundles are not complete", summary.partial.len(), summary.studies),
            "what they have counts; the list has the reason of each, and coretwin fleet status says \
             how to finish those of a fleet",
        );
    }
    if summary.schemas.len() > 1 {
        let part = |(version, studies): (&u32, &u32)| format!("{studies} of version {version}");
        let parts: Vec<String> = summary.schemas.iter().map(part).collect();
        warn(
            "mixed-schemas",
            format!("the studies' records are of several versions: {}", parts.join(", ")),
            "they are read as what they were; use one coretwin on all machines",
        );
    } else if summary.schemas.keys().any(|version| *version < SCHEMA) {
        warn(
            "old-schema",
            "the studies' records are of an older version than this coretwin writes".to_owned(),
            "nothing needs to be done; fields they lack are not reported",
        );
    }
    let screened = fleet.members.iter().filter(|member| member.is_screening).count();
    if screened > 0 {
        warn(
            "screening",
            format!("{screened} of {} studies are screenings of three blocks", summary.studies),
            "alone a screening gives no verdict: run those machines again without --quick, or a survey \
             with a larger budget",
        );
    }
    mixtures(fleet, summary, &mut warn);
    few_machines(summary, &mut warn);
    let uncompared = fleet.members.iter().filter(|member| !member.uncompared.is_empty()).count();
    if uncompared > 0 {
        warn(
            "uncompared",
            format!(
                "{uncompared} of {} studies have rows that could not be compared",
                summary.studies
            ),
            "a run of each of their blocks failed, or no block was done; coretwin report on such a \
             study names it",
        );
    }
    warnings
}

/// Studies that differ in more than their machines.
fn mixtures(fleet: &Fleet, summary: &FleetSummary, warn: &mut impl FnMut(&str, String, &str)) {
    let plans: BTreeSet<_> = fleet.members.iter().map(|member| &member.plan).collect();
    if plans.len() > 1 {
        warn(
            "several-plans",
            format!("the machines followed {} different plans", plans.len()),
            "rows of the same name, unit and arms are taken together; compare plans with care",
        );
    }
    if distinct(fleet.members.iter().map(|member| member.comparison)).len() > 1 {
        warn(
            "mixed-comparisons",
            "the studies compare different kinds of arms: SMT off, a stand-in for it, CPU sets"
                .to_owned(),
            "look at each arm by its own label, or make one fleet for each kind",
        );
    }
    if summary.origin.is_none() && !fleet.members.is_empty() {
        let count = |origin| fleet.members.iter().filter(|member| member.origin == origin).count();
        let [measured, simulated, emulated] =
            [Origin::Measured, Origin::Simulated, Origin::Emulated].map(count);
        warn(
            "mixed-origins",
            format!("{measured} studies were measured, {simulated} simulated, {emulated} emulated"),
            "no effect is taken over machines of several origins; each line is of one",
        );
    }
}

fn few_machines(summary: &FleetSummary, warn: &mut impl FnMut(&str, String, &str)) {
    let few: Vec<String> = summary
        .models
        .iter()
        .filter(|model| model.machines < MACHINES_MIN)
        .map(|model| format!("{} ({})", model.cpu_model, model.machines))
        .collect();
    if !few.is_empty() {
        warn(
            "few-machines",
            format!("models with fewer than {MACHINES_MIN} machines: {}", few.join(", ")),
            "nothing is said of the next machine of such a model; add machines of it",
        );
    }
}
