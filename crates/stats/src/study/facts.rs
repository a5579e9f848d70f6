//! What one pass over the readings tells beside their values: how rows were run, and what failed.

use super::blocks::{LARGEST, Labels, scaled};
use crate::confidence;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::study::summary::RowEffect;
use coretwin_base::warning::Warning;
use std::collections::BTreeMap;

/// How a row was run in an arm, by its last reading.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    seq: u64,
    threads: u32,
    copies: u32,
}

/// What one pass over the readings of the study proper tells beside the values.
pub(super) struct Facts {
    /// By arm and row.
    runs: BTreeMap<(usize, usize), Run>,
    pub(super) failures: Failures,
}

impl Facts {
    pub(super) fn new(plan: &Plan, readings: &[Reading]) -> Self {
        let labels = Labels::new(plan);
        let mut facts = Self { runs: BTreeMap::new(), failures: Failures::default() };
        for reading in readings.iter().filter(|reading| reading.phase == Phase::Study) {
            let Some((arm, row)) = labels.find(reading) else { continue };
            let cell = (usize::from(arm), usize::from(row));
            facts.failures.note(plan, reading, cell);
            let Reading { seq, threads, copies, .. } = *reading;
            let run = facts.runs.entry(cell).or_insert(Run { seq, threads, copies });
            if seq >= run.seq {
                *run = Run { seq, threads, copies };
            }
        }
        facts
    }
}

#[derive(Debug, Default)]
pub(super) struct Failures(BTreeMap<(usize, usize), Failure>);

#[derive(Debug)]
struct Failure {
    count: u32,
    /// Journal number of the first, whose cause is told.
    seq: u64,
    cause: String,
}

impl Failures {
    /// Takes note of a reading that failed or cannot be compared.
    pub(super) fn note(&mut self, plan: &Plan, reading: &Reading, cell: (usize, usize)) {
        if scaled(reading, plan.rows[cell.1].scale).is_some() {
            return;
        }
        let cause = || match (reading.status, reading.value) {
            (Status::Failed, _) => {
                reading.cause.as_deref().unwrap_or("no cause was recorded").to_owned()
            }
            (_, Some(value)) if (-LARGEST..=0.0).contains(&value) => {
                format!("its value was {value}, which has no ratio to another")
            }
            (_, Some(value)) => format!("its value was {value:e}, of a size that nothing has"),
            (_, None) => "it gave no value".to_owned(),
        };
        let failure = self.0.entry(cell).or_insert_with(|| Failure {
            count: 0,
            seq: reading.seq,
            cause: cause(),
        });
        failure.count += 1;
        if reading.seq < failure.seq {
            (failure.seq, failure.cause) = (reading.seq, cause());
        }
    }

    pub(super) fn count(&self, arm: usize, row: usize) -> u32 {
        self.0.get(&(arm, row)).map_or(0, |failure| failure.count)
    }

    pub(super) fn warnings(&self, plan: &Plan) -> Vec<Warning> {
        let warn = |(&(arm, row), failure): (&(usize, usize), &Failure)| {
            let (row, arm) = (&plan.rows[row].id, &plan.arms[arm].label);
            let Failure { count, cause, .. } = failure;
            Warning::new(
                "failed",
                format!("{row} failed {count} time(s) in arm {arm}, at first because: {cause}"),
                "Its blocks are left out of this row. Look at the cause and at the run's output in \
                 the journal; a row that fails in one arm only is a result about that arm.",
            )
        };
        self.0.iter().map(warn).collect()
    }
}

/// An entry with everything that is not a result.
pub(super) fn blank(plan: &Plan, facts: &Facts, row: usize, arm: usize) -> RowEffect {
    let reference = plan.base_index(arm);
    let rule = &plan.rows[row];
    let threads =
        |arm: usize| facts.runs.get(&(arm, row)).map_or(plan.arms[arm].threads, |run| run.threads);
    RowEffect {
        row: rule.id.clone(),
        workload: rule.workload.clone(),
        params: rule.params.clone(),
        placement: rule.placement,
        threads: threads(arm),
        threads_reference: threads(reference),
        copies: facts.runs.get(&(arm, row)).map_or(0, |run| run.copies),
        unit: rule.unit.clone(),
        better: rule.better,
        scale: rule.scale,
        arm: plan.arms[arm].label.clone(),
        confidence: confidence::CONFIDENCE,
        failed: facts.failures.count(arm, row) + facts.failures.count(reference, row),
        ..RowEffect::default()
    }
}
