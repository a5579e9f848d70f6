//! What tables of comparisons have in common, of studies and of fleets.

use crate::{number, words};
use coretwin_base::study::comparison::{Change, Contrast, StudyComparison};
use coretwin_base::study::plan::Scale;
use coretwin_base::study::summary::Verdict;

/// One record, or a list of several.
pub(crate) fn json<T: serde::Serialize>(comparisons: &[T]) -> String {
    match comparisons {
        [only] => crate::json::pretty(only),
        several => crate::json::pretty(several),
    }
}

/// One table under one head.
pub(crate) fn csv_of<T>(comparisons: &[T], write: fn(&T) -> String) -> String {
    let mut text = String::new();
    for (index, comparison) in comparisons.iter().enumerate() {
        let table = write(comparison);
        let (_, lines) = table.split_once('\n').unwrap_or_default();
        text.push_str(if index == 0 { &table } else { lines });
    }
    text
}

/// Names of the two studies.
pub(super) fn heads(comparison: &StudyComparison) -> [String; 2] {
    comparison.studies.each_ref().map(|study| words::clean(&study.head))
}

/// The verdict of the same colour.
pub(crate) fn tone(change: Change) -> Verdict {
    match change {
        Change::Better => Verdict::Helps,
        Change::Worse => Verdict::Hurts,
        Change::NoMaterialChange => Verdict::NoMaterialDifference,
        Change::Inconclusive => Verdict::Inconclusive,
    }
}

/// A contrast and its interval.
pub(crate) fn cells(contrast: &Contrast, scale: Scale, unit: &str) -> [String; 2] {
    [amount(contrast.ratio, scale, unit), interval(contrast.low.zip(contrast.high), scale)]
}

/// An effect on its scale, or a dash.
pub(crate) fn amount(ratio: Option<f64>, scale: Scale, unit: &str) -> String {
    number::or_none(ratio.map(|ratio| number::effect_on(scale, unit, ratio)))
}

/// Its interval, or a dash.
pub(crate) fn interval(ends: Option<(f64, f64)>, scale: Scale) -> String {
    number::or_none(ends.map(|(low, high)| number::interval_on(scale, low, high)))
}

/// What it comes to, in a word.
pub(crate) fn result(contrast: &Contrast) -> String {
    number::or_none(contrast.change.map(|change| change.to_string()))
}
