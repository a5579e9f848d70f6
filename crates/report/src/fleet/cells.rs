//! What tables and figures of a fleet, or of two, have in common.

use crate::{number, words};
use coretwin_base::fleet::comparison::{FleetChange, FleetComparison};
use coretwin_base::fleet::summary::FleetEffect;
use coretwin_base::study::summary::Verdict;

pub(super) fn amount(effect: &FleetEffect, value: f64) -> String {
    number::effect_on(effect.scale, &effect.unit, value)
}

pub(super) fn ends(effect: &FleetEffect, low: Option<f64>, high: Option<f64>) -> Option<String> {
    Some(number::interval_on(effect.scale, low?, high?))
}

/// What can be said of the next machine, in a few words.
pub(super) fn next_word(effect: &FleetEffect) -> &'static str {
    match effect.next {
        None => number::NONE,
        Some(Verdict::Helps) => "gains",
        Some(Verdict::Hurts) => "loses",
        Some(Verdict::NoMaterialDifference) => "no difference",
        Some(Verdict::Inconclusive) => "cannot be told",
    }
}

pub(super) fn heads(comparison: &FleetComparison) -> [String; 2] {
    comparison.fleets.each_ref().map(|fleet| words::clean(&fleet.head))
}

pub(super) fn machines(line: &FleetChange) -> String {
    let paired = number::count(line.machines_paired.into(), "machine");
    let [a, b] = line.machines_independent;
    match (line.machines_paired, a + b) {
        (0, _) => format!("{a} and {}", number::count(b.into(), "machine")),
        (_, 0) => format!("{paired} in both"),
        _ => format!("{paired} in both, {a} and {b} others"),
    }
}

pub(super) fn row(line: &FleetChange) -> String {
    match line.rows {
        1 => words::clean(&line.row),
        rows => number::count(rows.into(), "row"),
    }
}
