//! The report of fleets compared with a first one: regressions first, then the effects in both, what
//! changed in the machines, and what only one of them has.

mod figures;
mod tables;

use crate::brief::{Brief, of_document};
use crate::comparison::cells::{amount, csv_of, interval, json, notice, tone};
use crate::comparison::csv;
use crate::comparison::together::together;
use crate::document::{Block, Document, Headline, Outline};
use crate::fleet::cells::{heads, machines, row};
use crate::format::{Format, document_formats};
use crate::{number, words};
use coretwin_base::fleet::comparison::FleetComparison;
use coretwin_base::origin::Origin;
use coretwin_stats::confidence;

pub type FleetComparisonFormat = Format<fn(&[FleetComparison]) -> String>;

pub const FLEET_COMPARISON_FORMATS: &[FleetComparisonFormat] = document_formats![
    |comparisons, _figures| whole(comparisons), "comparison", "", "";
    Format::new("csv", "every effect, one line each", |comparisons| csv_of(comparisons, csv::of_fleets)),
    Format::new("json", "the whole record", json),
];

pub fn fleet_comparison_brief(comparisons: &[FleetComparison]) -> Brief {
    of_document(&whole(comparisons))
}

fn whole(comparisons: &[FleetComparison]) -> Document {
    together(comparisons.iter().map(document).collect())
}

fn document(comparison: &FleetComparison) -> Document {
    let mut outline = Outline::default();
    outline.add("regressions", "Regressions", tables::regressions(comparison));
    outline.add("forest", "Effects in both fleets", figures::forests(comparison));
    outline.add("suites", "Over all rows", tables::suites(comparison));
    outline.add("effects", "Effects by row and model", tables::effects(comparison));
    outline.add("machines", "What changed in the machines", tables::facts(comparison));
    outline.add("unmatched", "Not in both", tables::unmatched(comparison));
    outline.warnings(&comparison.warnings);
    outline.add("method", "Method", vec![Block::List(method(comparison))]);
    let [first, second] = heads(comparison);
    let origins = comparison.fleets.each_ref().map(|fleet| fleet.origin);
    Document {
        kind: "Coretwin comparison of fleets",
        title: words::shorten(&format!("{second} against {first}"), 90),
        marks: words::marks_of_pair(origins),
        notice: notice(
            "fleets",
            origins,
            comparison.fleets.each_ref().map(|fleet| fleet.comparison),
        ),
        sentences: comparison.sentences.iter().map(|text| words::clean(text)).collect(),
        headlines: headlines(comparison),
        facts: facts(comparison),
        arms: vec![first, second],
        sections: outline.sections,
        ..Document::default()
    }
}

/// The change of each arm: its suite, else its first row; over all models where several.
fn headlines(comparison: &FleetComparison) -> Vec<Headline> {
    let [first, second] = heads(comparison);
    let mut headlines: Vec<(&str, Headline)> = Vec::new();
    // Suites come first, and lines over all models before those of each.
    for line in comparison.suites.iter().chain(&comparison.effects) {
        if headlines.iter().any(|(arm, _)| *arm == &*line.arm) {
            continue;
        }
        let change = &line.change;
        let headline = Headline {
            against: words::clean(&format!(
                "{} against {}: {second} over {first}",
                line.arm, line.reference
            )),
            effect: amount(change.ratio, line.scale, &line.unit),
            interval: change.low.zip(change.high).map(|ends| {
                format!("{} {}", comparison.interval_name(), interval(Some(ends), line.scale))
            }),
            verdict: change.change.map(|change| (tone(change), change.to_string())),
            mark: Origin::of_change(line.origins).mark(),
            basis: format!("{}, {}", row(line), machines(line)),
        };
        headlines.push((&line.arm, headline));
    }
    headlines.into_iter().map(|(_, headline)| headline).collect()
}

fn facts(comparison: &FleetComparison) -> String {
    let part = |fleet: &coretwin_base::fleet::comparison::ComparedFleet| {
        format!(
            "{}: {}",
            words::clean(&fleet.head),
            number::count(fleet.machines.into(), "machine")
        )
    };
    let [first, second] = comparison.fleets.each_ref().map(part);
    format!("{first} · {second} · {} in both", number::whole(comparison.machines_paired.into()))
}

fn method(comparison: &FleetComparison) -> Vec<String> {
    let [first, second] = heads(comparison);
    vec![
        "Each fleet is analysed by itself, with the machine as the unit, as in its own report; only rows \
         and arms of both are compared."
            .to_owned(),
        format!(
            "The change is an arm's effect in {second} over its effect in {first}. Machines that are in \
             both are compared with themselves, so that what a machine is like cancels: the mean over \
             machines of each one's change, by the random-effects model of a fleet's report. Machines of \
             one fleet alone are samples of machines: the means of both are compared as independent ones \
             (Welch). Where there are both kinds, the two estimates are weighed by their variances, with \
             Meier's allowance for weights that are estimates."
        ),
        "p-values are Holm-adjusted over all lines of an arm, those by model and those over all models \
         apart; intervals are not. A regression is a line that is WORSE."
            .to_owned(),
        format!(
            "Result at a margin of ±{}: no material change if the {} lies inside it, else BETTER \
             or WORSE if the adjusted p-value is below {}, else inconclusive.",
            number::share(comparison.margin),
            confidence::equivalence_interval(),
            confidence::level(),
        ),
    ]
}
