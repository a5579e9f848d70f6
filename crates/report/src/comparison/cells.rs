//! What tables of comparisons have in common, of studies and of fleets.

use crate::{number, words};
use coretwin_base::origin::Origin;
use coretwin_base::study::comparison::{Change, Contrast, StudyComparison};
use coretwin_base::study::plan::{Comparison, Scale};
use coretwin_base::study::summary::Verdict;

pub(crate) fn json<T: serde::Serialize>(comparisons: &[T]) -> String {
    match comparisons {
        [only] => crate::format::pretty(only),
        several => crate::format::pretty(several),
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

pub(crate) fn cells(contrast: &Contrast, scale: Scale, unit: &str) -> [String; 2] {
    [amount(contrast.ratio, scale, unit), interval(contrast.low.zip(contrast.high), scale)]
}

/// An effect on its scale, or a dash.
pub(crate) fn amount(ratio: Option<f64>, scale: Scale, unit: &str) -> String {
    number::or_none(ratio.map(|ratio| number::effect_on(scale, unit, ratio)))
}

pub(crate) fn interval(ends: Option<(f64, f64)>, scale: Scale) -> String {
    number::or_none(ends.map(|(low, high)| number::interval_on(scale, low, high)))
}

pub(crate) fn result(contrast: &Contrast) -> String {
    number::or_none(contrast.change.map(|change| change.to_string()))
}

/// What the reader must know first of two `studies` or `fleets`: that they are not measured, or do not
/// compare SMT off with on.
pub(crate) fn notice(
    what: &str,
    origins: [Option<Origin>; 2],
    kinds: [Comparison; 2],
) -> Option<String> {
    if let Some(notice) = words::unmeasured_pair(origins) {
        return Some(notice);
    }
    match kinds {
        [Comparison::Smt, Comparison::Smt] => None,
        [Comparison::StandIn, Comparison::StandIn] => Some(format!(
            "SMT was never switched off: in both {what} one CPU per core stands in for it."
        )),
        [Comparison::None, Comparison::None] => {
            Some("Plain CPU sets are compared here: nothing below is about SMT.".to_owned())
        }
        _ => Some(format!("The {what} compare different kinds of arms; see the warnings.")),
    }
}

/// What is said where no line is a regression, of so many lines tested and undecided; `None` where some
/// are.
pub(crate) fn no_regression(
    [first, second]: &[String; 2],
    changes: &[Option<Change>],
    regressions: usize,
) -> Option<String> {
    let tested = changes.iter().flatten().count();
    if tested == 0 {
        let text = "Nothing here may be called better or worse; the warnings say why.";
        return Some(text.to_owned());
    }
    let open = changes.iter().flatten().filter(|one| **one == Change::Inconclusive).count();
    let open = if open == 0 { String::new() } else { format!("; {open} of them are undecided") };
    (regressions == 0).then(|| {
        format!(
            "None found: of {} none is shown to be worse in {second} than in {first}{open}.",
            number::count(tested as u64, "line")
        )
    })
}

/// Where a regression stands among others, the largest first. Differences in units of their own cannot
/// be ranked among ratios; they come last.
pub(crate) fn rank(ratio: Option<f64>, scale: Scale) -> f64 {
    match scale {
        Scale::Ratio => ratio.unwrap_or(f64::INFINITY),
        Scale::Raw => f64::INFINITY,
    }
}
