//! One number in the second study against the same in the first.

use crate::study::rows::from_scale;
use crate::welch::Estimate;
use crate::{confidence, holm, verdict};
use coretwin_base::study::comparison::{Change, Contrast};
use coretwin_base::study::plan::Scale;
use coretwin_base::study::summary::Verdict;

/// Second less first. With `margin`, on the scale of the means, what it comes to.
pub(super) fn contrast(
    means: [Option<Estimate>; 2],
    scale: Scale,
    margin: Option<f64>,
) -> Contrast {
    let [Some(first), Some(second)] = means else { return Contrast::default() };
    of_difference(&second.less(&first), scale, margin)
}

pub(crate) fn of_difference(difference: &Estimate, scale: Scale, margin: Option<f64>) -> Contrast {
    let outer = difference.interval(confidence::CONFIDENCE);
    let inner = difference.interval(confidence::EQUIVALENCE);
    let decided = outer.zip(inner).zip(margin);
    Contrast {
        ratio: Some(from_scale(difference.mean, scale)),
        low: outer.map(|ends| from_scale(ends.0, scale)),
        high: outer.map(|ends| from_scale(ends.1, scale)),
        degrees: difference.spread.map(|spread| spread.degrees),
        p: difference.p(),
        p_adjusted: None,
        change: decided.map(|((outer, inner), margin)| {
            match verdict::of_intervals(inner, outer, margin) {
                Verdict::Helps => Change::Better,
                Verdict::Hurts => Change::Worse,
                Verdict::NoMaterialDifference => Change::NoMaterialChange,
                Verdict::Inconclusive => Change::Inconclusive,
            }
        }),
    }
}

/// Fills in the adjusted p-values of the lines of one table, which have the last word on whether a
/// line is better or worse.
pub(crate) fn adjust<'a>(contrasts: impl Iterator<Item = &'a mut Contrast>) {
    let mut tested: Vec<&mut Contrast> = contrasts.filter(|line| line.p.is_some()).collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|line| line.p).collect();
    for (line, p) in tested.iter_mut().zip(holm::adjust(&p_values)) {
        line.p_adjusted = Some(p);
        if p >= confidence::LEVEL && matches!(line.change, Some(Change::Better | Change::Worse)) {
            line.change = Some(Change::Inconclusive);
        }
    }
}
