//! Readings sorted: which blocks were analysed, and every row's readings by arm in run order.

use crate::Study;
use coretwin_base::plan::{PlanRow, Protocol};
use coretwin_base::reading::{Phase, Reading, Status};
use std::collections::BTreeMap;

/// Which attempt of which block was analysed: the last complete one, unless something outside
/// disturbed it. The protocol of 2003 has no blocks; it analyses every run that did not fail.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// Sorted by block; one entry for each block that has an analysed attempt.
    analysed: Vec<(u32, u32)>,
    every_run: bool,
}

/// What is known of one attempt at a block.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    block: u32,
    attempt: u32,
    cells: usize,
    set_aside: bool,
}

impl Blocks {
    pub(crate) fn new(study: &Study<'_>) -> Self {
        let cells_complete = study.plan.rows.len() * study.plan.arms.len();
        let mut attempts: Vec<Attempt> = Vec::new();
        for reading in study.readings.iter().filter(|reading| reading.phase == Phase::Study) {
            let set_aside = reading.status == Status::SetAside;
            match attempts.last_mut() {
                Some(last) if (last.block, last.attempt) == (reading.block, reading.attempt) => {
                    last.cells += 1;
                    last.set_aside |= set_aside;
                }
                _ => attempts.push(Attempt {
                    block: reading.block,
                    attempt: reading.attempt,
                    cells: 1,
                    set_aside,
                }),
            }
        }
        attempts.sort_by_key(|attempt| (attempt.block, attempt.attempt));
        // A stretch of readings may be cut in two by a screening or a resumption.
        attempts.dedup_by(|next, kept| {
            let same = (next.block, next.attempt) == (kept.block, kept.attempt);
            if same {
                kept.cells += next.cells;
                kept.set_aside |= next.set_aside;
            }
            same
        });
        attempts.retain(|attempt| attempt.cells >= cells_complete);
        // Backwards, so that the last attempt of each block is the one that is kept.
        attempts.reverse();
        attempts.dedup_by_key(|attempt| attempt.block);
        attempts.reverse();
        attempts.retain(|attempt| !attempt.set_aside);
        Self {
            analysed: attempts.iter().map(|a| (a.block, a.attempt)).collect(),
            every_run: study.plan.rules.protocol == Protocol::Article2003,
        }
    }

    /// Whether the reading took part in the comparison.
    pub(crate) fn analysed(&self, reading: &Reading) -> bool {
        reading.phase == Phase::Study
            && reading.status == Status::Ok
            && (self.every_run
                || self.analysed.binary_search(&(reading.block, reading.attempt)).is_ok())
    }
}

/// What became of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Part of the comparison.
    Analysed,
    /// Kept, but its block was set aside, run again or not completed.
    NotAnalysed,
    /// The run failed.
    Failed,
}

/// A reading's place in its row's run order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// Number of the reading among those of its row, in run order, from 0.
    pub(crate) order: u32,
    /// The value; none if it failed or is not finite.
    pub(crate) value: Option<f64>,
    pub(crate) fate: Fate,
    /// Index into the readings of the study.
    pub(crate) reading: u32,
}

/// The readings of one row.
#[derive(Debug)]
pub(crate) struct RowReadings<'a> {
    pub(crate) row: &'a PlanRow,
    /// Readings of the study itself, for each arm in the order of the plan.
    pub(crate) study: Vec<Vec<Point>>,
    /// Screening: thread count and value, for each arm in the order of the plan.
    pub(crate) screen: Vec<Vec<(u32, f64)>>,
}

/// All readings, sorted.
#[derive(Debug)]
pub(crate) struct Digest<'a> {
    /// In the order of the plan.
    pub(crate) rows: Vec<RowReadings<'a>>,
    /// Readings of the comparison that failed, as indexes into the readings of the study.
    pub(crate) failed: Vec<u32>,
    /// Readings that were set aside.
    pub(crate) set_aside: Vec<u32>,
    /// Number of readings by phase.
    pub(crate) phases: BTreeMap<Phase, u64>,
    /// Readings that name a row or an arm which the plan does not have.
    pub(crate) strangers: u64,
}

impl<'a> Digest<'a> {
    pub(crate) fn new(study: &Study<'a>) -> Self {
        let arms = study.plan.arms.len();
        let rows = study.plan.rows.iter();
        let mut digest = Self {
            rows: rows
                .map(|row| RowReadings {
                    row,
                    study: vec![Vec::new(); arms],
                    screen: vec![Vec::new(); arms],
                })
                .collect(),
            failed: Vec::new(),
            set_aside: Vec::new(),
            phases: BTreeMap::new(),
            strangers: 0,
        };
        let row_of = positions(study.plan.rows.iter().map(|row| row.id.as_str()));
        let arm_of = positions(study.plan.arms.iter().map(|arm| arm.label.as_str()));
        let mut orders = vec![0; study.plan.rows.len()];
        let blocks = Blocks::new(study);
        for (index, reading) in (0u32..).zip(study.readings) {
            *digest.phases.entry(reading.phase).or_default() += 1;
            let place = (row_of.get(reading.row.as_str()), arm_of.get(reading.arm.as_str()));
            let (Some(&row), Some(&arm)) = place else {
                digest.strangers += 1;
                continue;
            };
            let fate = match reading.status {
                Status::Failed => Fate::Failed,
                _ if blocks.analysed(reading) => Fate::Analysed,
                _ => Fate::NotAnalysed,
            };
            let value = reading.value.filter(|value| value.is_finite() && fate != Fate::Failed);
            match reading.phase {
                Phase::Warmup => continue,
                Phase::Screen => {
                    let screened = &mut digest.rows[row].screen[arm];
                    screened.extend(value.map(|value| (reading.threads, value)));
                }
                Phase::Study => {
                    let order = orders[row];
                    orders[row] += 1;
                    digest.rows[row].study[arm].push(Point { order, value, fate, reading: index });
                }
            }
            match reading.status {
                Status::Failed => digest.failed.push(index),
                Status::SetAside => digest.set_aside.push(index),
                Status::Ok => {}
            }
        }
        digest
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

fn positions<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    names.enumerate().map(|(index, name)| (name, index)).collect()
}
