//! The analysis by the article's protocol: one figure per row and arm, quotients of figures, and
//! geometric means of the rows of a family.

use super::analyse::{Facts, blank};
use super::blocks::{Labels, scaled};
use super::warnings;
use crate::{article2003, geometric};
use coretwin_base::study::plan::{Plan, Scale};
use coretwin_base::study::reading::{Better, Phase, Reading};
use coretwin_base::study::summary::{SuiteEffect, Summary};
use coretwin_base::warning::Warning;
use std::collections::BTreeMap;

/// Values by arm and row, then by run (the reading's block); of a run made again, the last attempt.
type Runs = BTreeMap<(usize, usize), BTreeMap<u32, (u32, f64)>>;

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
            let pair =
                [&before, &after].map(|values| article2003::figure(&row.family, row.scale, values));
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
        if let Some(spread) = article2003::spread(&row.family, &values)
            && spread > plan.rules.margin
        {
            cells.push(format!("{} in {} ({:.1} %)", row.id, arm.label, spread * 100.0));
        }
    }
    (!cells.is_empty()).then(|| {
        Warning::new(
            "convergence",
            format!(
                "these rows did not converge: their runs lie further apart than {} % of their mean: {}",
                plan.rules.margin * 100.0,
                cells.join(", ")
            ),
            "Differences of that size mean nothing here. Quieten the machine and measure again, or \
             ask without --protocol for intervals.",
        )
    })
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
    let mut ratios: Vec<(&str, Vec<f64>)> = Vec::new();
    for (row, pair) in plan.rows.iter().zip(figures) {
        let ratio = pair[0].zip(pair[1]).filter(|_| row.scale == Scale::Ratio);
        let ratio = ratio.and_then(|(before, after)| geometric::ratio(before, after, row.better));
        let Some(ratio) = ratio else { continue };
        match ratios.iter_mut().find(|(family, _)| *family == row.family) {
            Some((_, ratios)) => ratios.push(ratio),
            None => ratios.push((&row.family, vec![ratio])),
        }
    }
    let suite = |(family, ratios): (&str, Vec<f64>)| SuiteEffect {
        suite: family.to_owned(),
        arm: plan.arms[arm].label.clone(),
        ratio: geometric::mean(&ratios),
        low: None,
        high: None,
        low_90: None,
        high_90: None,
        rows: ratios.len() as u32,
        blocks,
        verdict: None,
        blocks_needed: None,
    };
    ratios.into_iter().map(suite).collect()
}
