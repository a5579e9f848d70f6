//! The records of a study, and its readings sorted: every row's by arm in run order, and what became
//! of each.

use crate::words;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::decision::Licence;
use coretwin_base::study::plan::{Plan, PlanRow};
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::study::summary::Summary;
use coretwin_stats::study::Analysed;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy)]
pub struct Study<'a> {
    pub plan: &'a Plan,
    /// Every reading of the journal, in its order.
    pub readings: &'a [Reading],
    pub environment: &'a Environment,
    pub summary: &'a Summary,
    /// What the user's licences are counted by; none: by cores and by threads, both are shown.
    pub licence: Option<Licence>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Analysed,
    /// Kept, but its block was set aside, run again or not completed.
    NotAnalysed,
    Failed,
}

/// A reading's place in its row's run order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// Number of the reading among those of its row, in run order, from 0.
    pub(crate) order: u32,
    /// The value; `None` if it failed or is not finite.
    pub(crate) value: Option<f64>,
    pub(crate) fate: Fate,
    /// Index into the readings of the study.
    pub(crate) reading: u32,
}

#[derive(Debug)]
pub(crate) struct RowReadings<'a> {
    pub(crate) row: &'a PlanRow,
    /// Readings of the study itself, for each arm in the order of the plan.
    pub(crate) study: Vec<Vec<Point>>,
    /// Screening: thread count and value, for each arm in the order of the plan.
    pub(crate) screen: Vec<Vec<(u32, f64)>>,
}

#[derive(Debug)]
pub(crate) struct Digest<'a> {
    /// In the order of the plan.
    pub(crate) rows: Vec<RowReadings<'a>>,
    /// Readings of the comparison that failed or were set aside, as indexes into the readings.
    pub(crate) troubled: Vec<u32>,
    /// What rows are called: without the parameters that all rows of their workload have in common.
    labels: BTreeMap<&'a str, String>,
    /// Those parameters, said once.
    pub(crate) common: Option<String>,
}

impl<'a> Digest<'a> {
    pub(crate) fn new(study: &Study<'a>) -> Self {
        let arms = study.plan.arms.len();
        let blank = |row| RowReadings {
            row,
            study: vec![Vec::new(); arms],
            screen: vec![Vec::new(); arms],
        };
        let rows = study.plan.rows.iter().map(blank).collect();
        let (labels, common) = labels(&study.plan.rows);
        let mut digest = Self { rows, troubled: Vec::new(), labels, common };
        let row_of = positions(study.plan.rows.iter().map(|row| row.id.as_str()));
        let arm_of = positions(study.plan.arms.iter().map(|arm| arm.label.as_str()));
        let mut orders = vec![0; study.plan.rows.len()];
        let analysed = Analysed::new(study.plan, study.readings);
        for (index, reading) in (0u32..).zip(study.readings) {
            let place = (row_of.get(&*reading.row), arm_of.get(&*reading.arm));
            let (Some(&row), Some(&arm)) = place else { continue };
            let failed = reading.status == Status::Failed;
            let value = reading.value.filter(|value| value.is_finite() && !failed);
            match reading.phase {
                Phase::Warmup => {}
                Phase::Screen => {
                    let screened = &mut digest.rows[row].screen[arm];
                    screened.extend(value.map(|value| (reading.threads, value)));
                }
                Phase::Study => {
                    let fate = match reading.status {
                        Status::Failed => Fate::Failed,
                        _ if analysed.includes(reading) => Fate::Analysed,
                        _ => Fate::NotAnalysed,
                    };
                    if reading.status != Status::Ok {
                        digest.troubled.push(index);
                    }
                    let point = Point { order: orders[row], value, fate, reading: index };
                    orders[row] += 1;
                    digest.rows[row].study[arm].push(point);
                }
            }
        }
        digest
    }

    pub(crate) fn label(&self, row: &str) -> String {
        self.labels.get(row).map_or_else(|| words::clean(row), Clone::clone)
    }

    /// The first failure of a row in one of the arms, as an index into the readings.
    pub(crate) fn first_failure(&self, row: &str, arms: &[usize]) -> Option<usize> {
        let row = self.rows.iter().find(|candidate| candidate.row.id == row)?;
        arms.iter()
            .filter_map(|arm| row.study.get(*arm)?.iter().find(|p| p.fate == Fate::Failed))
            .map(|point| point.reading as usize)
            .min()
    }
}

/// The rows' ids as they are shown, and a sentence on what is left out of them.
fn labels(rows: &[PlanRow]) -> (BTreeMap<&str, String>, Option<String>) {
    let parts = |row: &PlanRow| -> Vec<String> {
        let (_, parts) = row.id.split_once(':').unwrap_or_default();
        parts.split(',').filter(|part| part.contains('=')).map(str::to_owned).collect()
    };
    let mut common: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows {
        let of_row = parts(row);
        let known = common.entry(&row.workload).or_insert_with(|| of_row.clone());
        known.retain(|part| of_row.contains(part));
    }
    let is_alone = |name: &str| rows.iter().filter(|row| row.workload == name).count() < 2;
    common.retain(|name, parts| !parts.is_empty() && !is_alone(name));
    let label = |row: &PlanRow| {
        let left_out = common.get(&*row.workload)?;
        let (name, rest) = row.id.split_once(':')?;
        let kept: Vec<&str> =
            rest.split(',').filter(|part| !left_out.iter().any(|one| one == part)).collect();
        Some(format!("{name}:{}", kept.join(",")))
    };
    let labelled = |row: &PlanRow| words::clean(&label(row).unwrap_or_else(|| row.id.clone()));
    let labels = rows.iter().map(|row| (&*row.id, labelled(row))).collect();
    let told = common.iter().map(|(name, parts)| {
        words::clean(&format!("Every row of {name} has {}.", parts.join(", ")))
    });
    let told = told.collect::<Vec<_>>().join(" ");
    (labels, Some(told).filter(|told| !told.is_empty()))
}

fn positions<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    names.enumerate().map(|(index, name)| (name, index)).collect()
}
