//! The effect of an arm on a suite: the mean of its rows, with the spread of the blocks.
//!
//! Rows of one block share heat, clock and arm change. Treating them as independent makes an
//! interval that holds the truth two times in three; sums within blocks carry what they share.

use super::rows::{Differences, from_scale, gives_verdicts, widening};
use crate::paired::Paired;
use crate::{confidence, sequence, verdict};
use coretwin_base::distinct::distinct;
use coretwin_base::study::plan::{Plan, Rule, Scale};
use coretwin_base::study::summary::{SuiteEffect, Verdict};

pub(crate) const ALL: &str = "all";

/// Suites of one arm: one per family, and one over all of them if there are several. Rows on the
/// raw scale have no ratio and stay out.
pub(crate) fn effects(plan: &Plan, comparisons: &[Differences], arm: usize) -> Vec<SuiteEffect> {
    let has_ratios = |family: &&str| {
        plan.rows.iter().any(|row| row.family == *family && row.scale == Scale::Ratio)
    };
    let mut order = distinct(plan.rows.iter().map(|row| row.family.as_str()));
    order.retain(has_ratios);
    let blocks = comparisons.first().map_or(0, |row| row.differences.len());
    let effect = |suite: &str, families: &[&str]| {
        let weighed: Vec<SuiteRow<'_>> = weights(plan, comparisons, families)
            .into_iter()
            .map(|(row, weight)| {
                let Differences { differences, paired, .. } = &comparisons[row];
                SuiteRow { differences, rounding: paired.map_or(0.0, |row| row.rounding), weight }
            })
            .collect();
        summarise(plan, suite, arm, weighed.len(), suite_mean(&weighed), blocks)
    };
    let mut suites: Vec<SuiteEffect> =
        order.iter().map(|family| effect(family, &[family])).collect();
    if order.len() > 1 {
        suites.push(effect(ALL, &order));
    }
    suites
}

/// The entry of a suite of so many rows, with this mean, after so many analysed blocks.
pub(crate) fn summarise(
    plan: &Plan,
    suite: &str,
    arm: usize,
    rows: usize,
    paired: Option<Paired>,
    blocks: usize,
) -> SuiteEffect {
    let factor = |blocks: u32| widening(plan, blocks as usize);
    let rule = plan.rules.until;
    let counted = match rule {
        Rule::Width => blocks,
        Rule::Verdict => paired.map_or(0, |paired| paired.blocks as usize),
    };
    let widening = widening(plan, counted);
    let ends = |confidence| paired.and_then(|paired| paired.interval(confidence, widening));
    let wide = ends(confidence::CONFIDENCE);
    // A sequence decides both ways by itself.
    let narrow =
        Some(()).filter(|()| rule == Rule::Width).and_then(|()| ends(confidence::EQUIVALENCE));
    let ratio = |value: Option<f64>| Some(from_scale(value?, Scale::Ratio));
    let margin = libm::log1p(plan.rules.margin);
    let decided = paired.filter(|_| gives_verdicts(plan));
    let verdict = decided.and_then(|paired| match rule {
        Rule::Width => verdict::decide(&paired, margin, widening),
        Rule::Verdict => Some(sequence::verdict(wide?, margin)),
    });
    let open = decided.filter(|_| verdict == Some(Verdict::Inconclusive));
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
        verdict,
        blocks_needed: open.and_then(|paired| {
            verdict::blocks_needed(&paired, margin, confidence::LEVEL, rule, factor)
        }),
    }
}

/// Rows of these families that can be compared in at least half of the blocks, with their weights:
/// families weigh equally, and rows within a family. The weights add up to 1.
fn weights(plan: &Plan, comparisons: &[Differences], families: &[&str]) -> Vec<(usize, f64)> {
    let members: Vec<Vec<usize>> = families
        .iter()
        .map(|family| {
            let rows = plan.rows.iter().enumerate();
            rows.filter(|(_, row)| row.family == *family && row.scale == Scale::Ratio)
                .filter(|(index, _)| is_present(&comparisons[*index].differences))
                .map(|(index, _)| index)
                .collect()
        })
        .filter(|members: &Vec<usize>| !members.is_empty())
        .collect();
    equal_weights(&members)
}

pub(crate) fn equal_weights(families: &[Vec<usize>]) -> Vec<(usize, f64)> {
    let mut weighed = Vec::new();
    for rows in families {
        let weight = 1.0 / (families.len() * rows.len()) as f64;
        weighed.extend(rows.iter().map(|&row| (row, weight)));
    }
    weighed
}

/// Whether at least half of the blocks have a difference.
pub(crate) fn is_present(differences: &[Option<f64>]) -> bool {
    let present = differences.iter().flatten().count();
    present > 0 && present * 2 >= differences.len()
}

#[derive(Debug, Clone, Copy)]
pub struct SuiteRow<'a> {
    /// Differences by block, `None` where a cell failed. All rows have the same blocks.
    pub differences: &'a [Option<f64>],
    pub rounding: f64,
    /// Its share in the suite; those of all rows add up to 1.
    pub weight: f64,
}

/// The weighted mean of the rows' own means, `None` if one has no blocks. Without spread where a row
/// has fewer than two, and of a single row the row's own mean to the last bit.
///
/// With nothing missing, the deviations of the rows' weighted sums in each block give the variance,
/// so that what rows of a block share counts once. Where row r has n_r blocks its deviations weigh
/// 1/√(n_r(n_r − 1)), so that its squares add up to its own variance s²/n_r, and the products of two
/// rows to their covariance over the blocks they share. The degrees of freedom are the harmonic mean
/// of the rows' own, each weighed by its part in the sum of variances: between the smallest and the
/// largest, and near those of the row that makes the most noise.
pub fn suite_mean(rows: &[SuiteRow<'_>]) -> Option<Paired> {
    let present = |row: &SuiteRow<'_>| {
        let differences: Vec<f64> = row.differences.iter().flatten().copied().collect();
        let paired = Paired::new(&differences)?;
        Some(Paired { rounding: row.rounding, ..paired })
    };
    let each: Vec<Paired> = rows.iter().map(present).collect::<Option<_>>()?;
    if let [only] = each[..] {
        return Some(only);
    }
    let weighed = || each.iter().zip(rows.iter().map(|row| row.weight));
    let blocks = each.iter().map(|row| row.blocks).max()?;
    let mean = weighed().map(|(row, weight)| weight * row.mean).sum();
    let rounding = weighed().map(|(row, weight)| weight * row.rounding).sum();
    let degrees = degrees(weighed());
    if degrees < 1.0 {
        return Some(Paired { blocks, mean, deviation: 0.0, degrees, rounding });
    }
    let mut sums = vec![0.0; rows[0].differences.len()];
    for (row, paired) in rows.iter().zip(&each) {
        let scale = row.weight / libm::sqrt(f64::from(paired.blocks) * paired.degrees);
        for (sum, difference) in sums.iter_mut().zip(row.differences) {
            *sum += difference.map_or(0.0, |difference| scale * (difference - paired.mean));
        }
    }
    let variance: f64 = sums.iter().map(|sum| sum * sum).sum();
    let deviation = libm::sqrt(variance * f64::from(blocks));
    Some(Paired { blocks, mean, deviation, degrees, rounding })
}

fn degrees<'a>(rows: impl Iterator<Item = (&'a Paired, f64)> + Clone) -> f64 {
    let of_row = rows.clone().map(|(row, _)| row.degrees);
    let (least, most) = of_row.fold((f64::INFINITY, 0.0), |(a, b), d| (a.min(d), f64::max(b, d)));
    let (mut whole, mut by_degrees) = (0.0, 0.0);
    for (row, weight) in rows {
        let error = weight * row.standard_error();
        whole += error * error;
        by_degrees += error * error / row.degrees.max(f64::MIN_POSITIVE);
    }
    // Rows of a single block have no spread that could be weighed, exact ones none at all.
    if least < 1.0 || whole <= 0.0 { least } else { (whole / by_degrees).clamp(least, most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noisy_row_of_few_blocks_decides_the_degrees() {
        let calm: Vec<Option<f64>> =
            (0..10).map(|block| Some(f64::from(block % 2) * 1e-3)).collect();
        let mut noisy = vec![None; 10];
        noisy[..3].copy_from_slice(&[Some(0.1), Some(-0.1), Some(0.3)]);
        let row = |differences| SuiteRow { weight: 0.5, differences, rounding: 0.0 };
        let suite = suite_mean(&[row(&calm), row(&noisy)]).expect("a mean");
        assert!((2.0..2.001).contains(&suite.degrees), "{}", suite.degrees);
    }

    #[test]
    fn rows_add_the_variances_of_the_blocks_they_have() {
        let values = |blocks: std::ops::Range<u32>| -> Vec<Option<f64>> {
            let value = |block: u32| f64::from(block * block % 7) * 0.01;
            (0..12).map(|block| blocks.contains(&block).then(|| value(block))).collect()
        };
        let rows = [values(0..3), values(3..12)];
        let row = |differences| SuiteRow { weight: 0.5, differences, rounding: 0.0 };
        let suite = suite_mean(&[row(&rows[0]), row(&rows[1])]).expect("a mean");
        // No block is in both rows: s²/n of each, by the square of its weight.
        let alone = rows.each_ref().map(|row| {
            let present: Vec<f64> = row.iter().flatten().copied().collect();
            Paired::new(&present).expect("a mean").standard_error()
        });
        let wanted = libm::sqrt(alone.iter().map(|error| 0.25 * error * error).sum());
        assert!((suite.standard_error() / wanted - 1.0).abs() < 1e-12, "{suite:?} {wanted}");
    }
}
