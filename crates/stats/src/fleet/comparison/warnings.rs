//! What the reader of a comparison of fleets must know.

use crate::comparison::records::FleetRecords;
use crate::comparison::warnings::{kind, machines_differ, margin_differs, of_origins};
use crate::study::phrase::counted;
use coretwin_base::fleet::comparison::{ComparedFleet, FleetComparison};
use coretwin_base::warning::Warning;
use std::collections::BTreeSet;

pub(super) fn write(
    comparison: &FleetComparison,
    fleets: [&FleetRecords<'_>; 2],
    is_decidable: bool,
) -> Vec<Warning> {
    let [first, second] = &comparison.fleets;
    let mut warnings = Vec::new();
    if first.comparison != second.comparison {
        warnings.push(Warning::new(
            "comparison-kind",
            format!(
                "{} compares {}, {} compares {}",
                first.head,
                kind(first.comparison),
                second.head,
                kind(second.comparison)
            ),
            "Effects of different kinds of arms do not answer one question, so there is no verdict.",
        ));
    } else if !is_decidable {
        warnings.push(Warning::new(
            "same-fleet",
            "both are the same bundles, compared with themselves",
            "Nothing here is independent, so there is no verdict. Give the folders of two fleets.",
        ));
    }
    warnings.extend(simulated(comparison));
    warnings.extend(unfinished(comparison));
    warnings.extend(machines(comparison));
    warnings.extend(plans(fleets));
    warnings.extend(margin_differs("fleets", [first.margin, second.margin], comparison.margin));
    let foremost: BTreeSet<String> = comparison
        .facts
        .iter()
        .filter(|change| change.foremost)
        .map(|change| change.fact.to_string())
        .chain(comparison.mixtures.iter().map(|mixture| mixture.fact.to_string()))
        .collect();
    warnings.extend(machines_differ("fleets", &foremost.into_iter().collect::<Vec<_>>()));
    warnings
}

fn simulated(comparison: &FleetComparison) -> Vec<Warning> {
    let [first, second] = &comparison.fleets;
    let mut warnings = Vec::new();
    if first.is_simulated && second.is_simulated && comparison.machines_paired > 0 {
        warnings.push(Warning::new(
            "same-draws",
            "simulated machines of one seed draw the same blocks in both",
            "Their blocks are not independent, and intervals are not those of two studies. Give the fleets \
             seeds of their own: coretwin fleet plan --seed.",
        ));
    }
    warnings.extend(of_origins([(&first.head, first.origin), (&second.head, second.origin)]));
    warnings
}

fn unfinished(comparison: &FleetComparison) -> Vec<Warning> {
    let of = |fleet: &ComparedFleet| {
        Warning::when(
            fleet.partial + fleet.refused > 0,
            "unfinished",
            format!(
                "{}: {} not done, and {} not counted",
                fleet.head,
                counted(fleet.partial.into(), "study").replace("studys", "studies"),
                counted(fleet.refused.into(), "file")
            ),
            format!(
                "What they measured counts. How to finish: coretwin fleet status {}; which files and \
                 why: coretwin fleet merge {}",
                fleet.folder, fleet.folder
            ),
        )
    };
    comparison.fleets.iter().filter_map(of).collect()
}

fn machines(comparison: &FleetComparison) -> Option<Warning> {
    let [first, second] =
        comparison.fleets.each_ref().map(|fleet| fleet.machines_only.len() as u64);
    if comparison.machines_paired == 0 {
        return Some(Warning::new(
            "other-machines",
            "no machine is in both",
            "Whatever else differs between the machines is part of any change. Measure the same machines \
             twice to be sure.",
        ));
    }
    Warning::when(
        first + second > 0,
        "other-machines",
        format!(
            "{} only in {}, {second} only in {}",
            counted(first, "machine"),
            comparison.fleets[0].head,
            comparison.fleets[1].head
        ),
        "Where only one of the two has more machines those say nothing of the change; where both have, \
         they count as samples of other machines.",
    )
}

fn plans(fleets: [&FleetRecords<'_>; 2]) -> Option<Warning> {
    let several = |records: &FleetRecords<'_>| {
        let plans: BTreeSet<_> = records.fleet.members.iter().map(|member| &member.plan).collect();
        plans.len() > 1
    };
    Warning::when(
        fleets.iter().any(|records| several(records)),
        "several-plans",
        "machines of one fleet followed different plans",
        "Rows of the same name, unit and arms are taken together; compare plans with care.",
    )
}
