//! The protocol of the 2003 article (Vianney, *Hyper-Threading speeds Linux*): one figure per row and
//! arm, quotients of figures, and geometric means of the rows of a family.
//!
//! LMbench: the average of three runs. chat, dbench, tbench: the geometric mean of five runs; the
//! article does not say how AIM9's figures were made, so it is treated like those. No spread is
//! kept, so there is no interval and no verdict.

use super::blocks::{Labels, scaled};
use super::facts::{Facts, blank};
use super::suites::ALL;
use super::warnings;
use crate::geometric;
use coretwin_base::study::plan::{Plan, Scale};
use coretwin_base::study::reading::{Better, Phase, Reading};
use coretwin_base::study::summary::{SuiteEffect, Summary};
use coretwin_base::warning::Warning;
use std::collections::BTreeMap;

/// Values by arm and row, then by run (the reading's block); of a run made again, the last attempt.
type Runs = BTreeMap<(usize, usize), BTreeMap<u32, (u32, f64)>>;

#[derive(Clone, Copy)]
enum Mean {
    Arithmetic,
    Geometric,
}

/// The family whose figures are averages of three runs.
const LMBENCH: &str = "lmbench";

/// How often the article ran a row of this family.
pub fn runs(family: &str) -> u32 {
    if family == LMBENCH { 3 } else { 5 }
}

fn mean_of(family: &str) -> Mean {
    if family == LMBENCH { Mean::Arithmetic } else { Mean::Geometric }
}

/// The figure the article would print for these runs; `None` for no runs. A row that can be 0 or
/// negative has no geometric mean and gets the arithmetic one.
fn figure(family: &str, scale: Scale, values: &[f64]) -> Option<f64> {
    match (mean_of(family), scale) {
        (Mean::Geometric, Scale::Ratio) => geometric::mean(values),
        _ if values.is_empty() => None,
        _ => Some(values.iter().sum::<f64>() / values.len() as f64),
    }
}

/// How far apart the runs of a row lie, as a share of their mean: what the article's test for
/// convergence is taken to ask. `None` for families it does not say that of, and for fewer runs.
fn spread(family: &str, values: &[f64]) -> Option<f64> {
    if family != LMBENCH || values.len() < runs(family) as usize {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (mean > 0.0).then(|| (most - least) / mean)
}

pub(super) fn fill(summary: &mut Summary, plan: &Plan, readings: &[Reading], facts: &Facts) {
    let runs = collect(plan, readings);
    summary.blocks = runs.values().map(|values| values.len() as u32).max().unwrap_or(0);
    let reference = plan.reference_index();
    for arm in (0..plan.arms.len()).filter(|&arm| arm != reference) {
        let mut figures: Vec<[Option<f64>; 2]> = Vec::with_capacity(plan.rows.len());
        for (index, row) in plan.rows.iter().enumerate() {
            let values = |arm: usize| -> Vec<f64> {
                runs.get(&(arm, index))
                    .map(|runs| runs.values().map(|(_, value)| *value).collect())
                    .unwrap_or_default()
            };
            let [before, after] = [values(reference), values(arm)];
            let pair = [&before, &after].map(|values| figure(&row.family, row.scale, values));
            let mut effect = blank(plan, facts, index, arm);
            [effect.value_reference, effect.value_arm] = pair;
            effect.ratio =
                pair[0].zip(pair[1]).and_then(|(before, after)| match (row.scale, row.better) {
                    (Scale::Ratio, better) => geometric::ratio(before, after, better),
                    (Scale::Raw, Better::Higher) => Some(after - before),
                    (Scale::Raw, Better::Lower) => Some(before - after),
                });
            effect.blocks = before.len().min(after.len()) as u32;
            effect.stopped_because = summary.stopped_because;
            summary.rows.push(effect);
            figures.push(pair);
        }
        summary.suites.append(&mut suites(plan, arm, &figures, summary.blocks));
    }
    summary.warnings.extend(not_converged(plan, &runs));
    summary.warnings.append(&mut warnings::of_readings(plan, readings, facts));
}

/// The article's data "have been tested for their convergence". Here: the runs of a row of LMbench in
/// an arm have converged if they lie no further apart than the margin, as a share of their mean.
fn not_converged(plan: &Plan, runs: &Runs) -> Option<Warning> {
    let mut cells: Vec<String> = Vec::new();
    for ((arm, row), runs) in runs {
        let values: Vec<f64> = runs.values().map(|(_, value)| *value).collect();
        let (arm, row) = (&plan.arms[*arm], &plan.rows[*row]);
        if let Some(spread) = spread(&row.family, &values)
            && spread > plan.rules.margin
        {
            cells.push(format!("{} in {} ({:.1} %)", row.id, arm.label, spread * 100.0));
        }
    }
    Warning::when(
        !cells.is_empty(),
        "convergence",
        format!(
            "these rows did not converge: their runs lie further apart than {} % of their mean: {}",
            plan.rules.margin * 100.0,
            cells.join(", ")
        ),
        "Differences of that size mean nothing here. Quieten the machine and measure again, or \
         ask without --protocol for intervals.",
    )
}

fn collect(plan: &Plan, readings: &[Reading]) -> Runs {
    let labels = Labels::new(plan);
    let mut runs = Runs::new();
    for reading in readings.iter().filter(|reading| reading.phase == Phase::Study) {
        let Some((arm, row)) = labels.find(reading) else { continue };
        let (arm, row) = (usize::from(arm), usize::from(row));
        // Only to leave out what cannot be averaged; the figure is made of the plain values.
        if scaled(reading, plan.rows[row].scale).is_none() {
            continue;
        }
        let Some(value) = reading.value else { continue };
        let cell = runs.entry((arm, row)).or_default();
        let run = cell.entry(reading.block).or_insert((reading.attempt, value));
        if reading.attempt >= run.0 {
            *run = (reading.attempt, value);
        }
    }
    runs
}

/// Quotients of geometric means over the rows of each family, without intervals.
fn suites(plan: &Plan, arm: usize, figures: &[[Option<f64>; 2]], blocks: u32) -> Vec<SuiteEffect> {
    let ratios = plan.rows.iter().zip(figures).filter_map(|(row, pair)| {
        let (before, after) = pair[0].zip(pair[1]).filter(|_| row.scale == Scale::Ratio)?;
        Some((row.family.as_str(), geometric::ratio(before, after, row.better)?))
    });
    let suite = |(family, ratios): (&str, Vec<f64>)| SuiteEffect {
        suite: family.to_owned(),
        arm: plan.arms[arm].label.clone(),
        ratio: geometric::mean(&ratios),
        rows: ratios.len() as u32,
        blocks,
        ..SuiteEffect::default()
    };
    families(ratios).into_iter().map(suite).collect()
}

/// Ratios by family; last all of them, where there are several families: the study's answer is not
/// that of the family that happens to be last.
fn families<'a>(ratios: impl Iterator<Item = (&'a str, f64)>) -> Vec<(&'a str, Vec<f64>)> {
    let mut families: Vec<(&str, Vec<f64>)> = Vec::new();
    for (family, ratio) in ratios {
        match families.iter_mut().find(|(name, _)| *name == family) {
            Some((_, ratios)) => ratios.push(ratio),
            None => families.push((family, vec![ratio])),
        }
    }
    if families.len() > 1 {
        families.push((ALL, families.iter().flat_map(|(_, ratios)| ratios).copied().collect()));
    }
    families
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
    fn several_families_have_an_answer_of_all_their_rows() {
        let ratios = [("aim9", 2.0), ("chat", 3.0), ("aim9", 4.0)];
        let found = families(ratios.into_iter());
        let wanted = [("aim9", vec![2.0, 4.0]), ("chat", vec![3.0]), (ALL, vec![2.0, 4.0, 3.0])];
        assert_eq!(found, wanted);
        assert_eq!(families([("chat", 1.5)].into_iter()), [("chat", vec![1.5])]);
    }

    #[test]
    fn three_runs_of_lmbench_converge_if_they_lie_close() {
        assert_eq!(spread("lmbench", &[1.0, 0.99, 1.01]).map(|s| (s * 100.0).round()), Some(2.0));
        assert_eq!(spread("lmbench", &[1.0, 1.0]), None);
        assert_eq!(spread("chat", &[1.0, 2.0, 3.0]), None);
        assert_eq!(spread("lmbench", &[0.0, 0.0, 0.0]), None);
    }
}
