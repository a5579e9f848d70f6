//! What tables and figures of a fleet have in common.

use crate::number;
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
