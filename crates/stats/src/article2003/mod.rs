//! The protocol of the article *Hyper-Threading speeds Linux* (2003), for comparison with it.
//!
//! LMbench: the average of three runs. chat, dbench, tbench: the geometric mean of five runs; the
//! article does not say how AIM9's figures were made, so it is treated like those. No spread is
//! kept, so there is no interval and no verdict.
//!
//! [`printed`] is what the article printed, row by row.

pub mod printed;

use crate::geometric;
use coretwin_base::study::plan::Scale;

/// How runs become one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mean {
    /// Sum over number.
    Arithmetic,
    /// Exp of the mean of logs.
    Geometric,
}

/// The family whose figures are averages of three runs.
const LMBENCH: &str = "lmbench";

/// How often the article ran a row of this family.
#[must_use]
pub fn runs(family: &str) -> u32 {
    if family == LMBENCH { 3 } else { 5 }
}

/// How the article made one figure of the runs.
#[must_use]
pub(crate) fn mean_of(family: &str) -> Mean {
    if family == LMBENCH { Mean::Arithmetic } else { Mean::Geometric }
}

/// The figure the article would print for these runs; none for no runs. A row that can be 0 or
/// negative has no geometric mean and gets the arithmetic one.
#[must_use]
pub fn figure(family: &str, scale: Scale, values: &[f64]) -> Option<f64> {
    match (mean_of(family), scale) {
        (Mean::Geometric, Scale::Ratio) => geometric::mean(values),
        _ if values.is_empty() => None,
        _ => Some(values.iter().sum::<f64>() / values.len() as f64),
    }
}

/// How far apart the runs of a row lie, as a share of their mean: what the article's test for
/// convergence is taken to ask. None for families it does not say that of, and for fewer runs.
#[must_use]
pub fn spread(family: &str, values: &[f64]) -> Option<f64> {
    if family != LMBENCH || values.len() < runs(family) as usize {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (mean > 0.0).then(|| (most - least) / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_runs_and_their_average_or_five_and_their_geometric_mean() {
        assert_eq!((runs("lmbench"), runs("chat")), (3, 5));
        assert_eq!(figure("lmbench", Scale::Ratio, &[1.0, 4.0, 4.0]), Some(3.0));
        assert_eq!(figure("chat", Scale::Ratio, &[1.0, 4.0]).map(f64::round), Some(2.0));
        assert_eq!(figure("command", Scale::Raw, &[-1.0, 2.0]), Some(0.5));
        assert_eq!(figure("lmbench", Scale::Ratio, &[]), None);
    }

    #[test]
    fn three_runs_of_lmbench_converge_if_they_lie_close() {
        assert_eq!(spread("lmbench", &[1.0, 0.99, 1.01]).map(|s| (s * 100.0).round()), Some(2.0));
        assert_eq!(spread("lmbench", &[1.0, 1.0]), None);
        assert_eq!(spread("chat", &[1.0, 2.0, 3.0]), None);
        assert_eq!(spread("lmbench", &[0.0, 0.0, 0.0]), None);
    }
}
