//! The effect of an arm on a suite: Student's t on the suite means of the blocks.
//!
//! Rows of one block share heat, clock and arm change. Treating them as independent makes an
//! interval that holds the truth two times in three; the block means carry what they share.

use super::rows::{Comparison, from_scale, gives_verdicts, widening};
use crate::paired::Paired;
use crate::{stopping, verdict};
use coretwin_base::plan::{Plan, Scale};
use coretwin_base::summary::SuiteEffect;
use std::collections::BTreeSet;

/// Name of the suite over all families.
pub(crate) const ALL: &str = "all";

/// Suites of one arm: one per family, and one over all of them if there are several. Rows on the
/// raw scale have no ratio and stay out.
pub(crate) fn effects(plan: &Plan, comparisons: &[Comparison], arm: usize) -> Vec<SuiteEffect> {
    let families: BTreeSet<&str> = plan
        .rows
        .iter()
        .filter(|row| row.scale == Scale::Ratio)
        .map(|row| row.family.as_str())
        .collect();
    let mut order: Vec<&str> = Vec::new();
    for row in plan.rows.iter().filter(|row| families.contains(row.family.as_str())) {
        if !order.contains(&row.family.as_str()) {
            order.push(&row.family);
        }
    }
    let mut suites: Vec<SuiteEffect> =
        order.iter().map(|family| effect(plan, comparisons, arm, family, &[family])).collect();
    if order.len() > 1 {
        suites.push(effect(plan, comparisons, arm, ALL, &order));
    }
    suites
}

fn effect(
    plan: &Plan,
    comparisons: &[Comparison],
    arm: usize,
    suite: &str,
    families: &[&str],
) -> SuiteEffect {
    let weighed: Vec<(&[Option<f64>], f64)> = weights(plan, comparisons, families)
        .into_iter()
        .map(|(row, weight)| (comparisons[row].differences.as_slice(), weight))
        .collect();
    let paired = Paired::new(&block_means(&weighed));
    summarise(plan, suite, arm, weighed.len(), paired)
}

/// The entry of a suite of so many rows, with this mean over blocks.
pub(crate) fn summarise(
    plan: &Plan,
    suite: &str,
    arm: usize,
    rows: usize,
    paired: Option<Paired>,
) -> SuiteEffect {
    let widening = widening(plan);
    let ends = |confidence| paired.and_then(|paired| paired.interval(confidence, widening));
    let (wide, narrow) = (ends(stopping::CONFIDENCE), ends(verdict::EQUIVALENCE_CONFIDENCE));
    let ratio = |value: Option<f64>| Some(from_scale(value?, Scale::Ratio));
    let margin = libm::log1p(plan.rules.margin);
    let decided = paired.filter(|_| gives_verdicts(plan));
    SuiteEffect {
        suite: suite.to_owned(),
        arm: plan.arms[arm].label.clone(),
        ratio: ratio(paired.map(|paired| paired.mean)),
        low: ratio(wide.map(|ends| ends.0)),
        high: ratio(wide.map(|ends| ends.1)),
        low_90: ratio(narrow.map(|ends| ends.0)),
        high_90: ratio(narrow.map(|ends| ends.1)),
        rows: rows as u32,
        blocks: paired.map_or(0, |paired| paired.blocks),
        verdict: decided.and_then(|paired| verdict::decide(&paired, margin, widening)),
        blocks_needed: decided.and_then(|paired| verdict::blocks_needed(&paired, margin, widening)),
    }
}

/// Rows of these families that can be compared in at least half of the blocks, with their weights:
/// families weigh equally, and rows within a family. The weights add up to 1.
fn weights(plan: &Plan, comparisons: &[Comparison], families: &[&str]) -> Vec<(usize, f64)> {
    let members: Vec<Vec<usize>> = families
        .iter()
        .map(|family| {
            let rows = plan.rows.iter().enumerate();
            rows.filter(|(_, row)| row.family == *family && row.scale == Scale::Ratio)
                .filter(|(index, _)| is_comparable(&comparisons[*index]))
                .map(|(index, _)| index)
                .collect()
        })
        .filter(|members: &Vec<usize>| !members.is_empty())
        .collect();
    equal_weights(&members)
}

/// Weights of rows sorted by family.
pub(crate) fn equal_weights(families: &[Vec<usize>]) -> Vec<(usize, f64)> {
    let mut weighed = Vec::new();
    for rows in families {
        let weight = 1.0 / (families.len() * rows.len()) as f64;
        weighed.extend(rows.iter().map(|&row| (row, weight)));
    }
    weighed
}

/// Whether a row has differences in at least half of the blocks.
pub(super) fn is_comparable(comparison: &Comparison) -> bool {
    is_present(&comparison.differences)
}

/// Whether at least half of the blocks have a difference.
pub(crate) fn is_present(differences: &[Option<f64>]) -> bool {
    let present = differences.iter().flatten().count();
    present > 0 && present * 2 >= differences.len()
}

/// The suite mean of every block. With nothing missing that is the weighted mean of the rows. Where
/// n of a row's N blocks are present, the row's own mean stands in for the missing ones and its
/// deviations count N/n-fold, so that the mean over blocks stays the weighted mean of row means and
/// their spread gives its variance to first order (infinitesimal jackknife; Efron 1982, chapter 6).
pub(crate) fn block_means(weighed: &[(&[Option<f64>], f64)]) -> Vec<f64> {
    let blocks = weighed.first().map_or(0, |(differences, _)| differences.len());
    let mut means = vec![0.0; blocks];
    for (differences, weight) in weighed {
        let present: Vec<f64> = differences.iter().flatten().copied().collect();
        let Some(paired) = Paired::new(&present) else { continue };
        let spread = blocks as f64 / f64::from(paired.blocks);
        for (mean, difference) in means.iter_mut().zip(*differences) {
            let deviation = difference.map_or(0.0, |difference| difference - paired.mean);
            *mean += weight * (paired.mean + spread * deviation);
        }
    }
    means
}
