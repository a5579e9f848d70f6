//! Readings sorted: which blocks were analysed, and every row's readings by arm in run order.

use crate::Study;
use coretwin_base::plan::{Plan, PlanRow, Protocol};
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

/// Attempts in the order of the journal; one may be cut in two by a resumption.
#[derive(Debug, Default)]
struct Attempts(Vec<Attempt>);

impl Attempts {
    fn add(&mut self, reading: &Reading) {
        let (block, attempt) = (reading.block, reading.attempt);
        let set_aside = reading.status == Status::SetAside;
        match self.0.last_mut() {
            Some(last) if (last.block, last.attempt) == (block, attempt) => {
                last.cells += 1;
                last.set_aside |= set_aside;
            }
            _ => self.0.push(Attempt { block, attempt, cells: 1, set_aside }),
        }
    }

    fn blocks(self, plan: &Plan) -> Blocks {
        let mut attempts = self.0;
        attempts.sort_by_key(|attempt| (attempt.block, attempt.attempt));
        attempts.dedup_by(|next, kept| {
            let same = (next.block, next.attempt) == (kept.block, kept.attempt);
            if same {
                kept.cells += next.cells;
                kept.set_aside |= next.set_aside;
            }
            same
        });
        attempts.retain(|attempt| attempt.cells >= plan.rows.len() * plan.arms.len());
        // Backwards, so that the last attempt of each block is the one that is kept.
        attempts.reverse();
        attempts.dedup_by_key(|attempt| attempt.block);
        attempts.reverse();
        attempts.retain(|attempt| !attempt.set_aside);
        Blocks {
            analysed: attempts.iter().map(|a| (a.block, a.attempt)).collect(),
            every_run: plan.rules.protocol == Protocol::Article2003,
        }
    }
}

impl Blocks {
    pub(crate) fn new(study: &Study<'_>) -> Self {
        let mut attempts = Attempts::default();
        for reading in study.readings.iter().filter(|reading| reading.phase == Phase::Study) {
            attempts.add(reading);
        }
        attempts.blocks(study.plan)
    }

    fn holds(&self, block: u32, attempt: u32) -> bool {
        self.every_run || self.analysed.binary_search(&(block, attempt)).is_ok()
    }

    /// Whether the reading took part in the comparison.
    pub(crate) fn analysed(&self, reading: &Reading) -> bool {
        reading.phase == Phase::Study
            && reading.status == Status::Ok
            && self.holds(reading.block, reading.attempt)
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
    block: u32,
    attempt: u32,
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
    /// Readings of the comparison that failed or were set aside, as indexes into the readings.
    pub(crate) troubled: Vec<u32>,
    /// Readings that name a row or an arm which the plan does not have.
    pub(crate) strangers: u64,
}

impl<'a> Digest<'a> {
    /// One pass over the readings, which are large and far apart in memory, then one over what was
    /// taken from them.
    pub(crate) fn new(study: &Study<'a>) -> Self {
        let arms = study.plan.arms.len();
        let blank = |row| RowReadings {
            row,
            study: vec![Vec::new(); arms],
            screen: vec![Vec::new(); arms],
        };
        let rows = study.plan.rows.iter().map(blank).collect();
        let mut digest = Self { rows, troubled: Vec::new(), strangers: 0 };
        let row_of = positions(study.plan.rows.iter().map(|row| row.id.as_str()));
        let arm_of = positions(study.plan.arms.iter().map(|arm| arm.label.as_str()));
        let mut orders = vec![0; study.plan.rows.len()];
        let mut attempts = Attempts::default();
        for (index, reading) in (0u32..).zip(study.readings) {
            let place = (row_of.get(&*reading.row), arm_of.get(&*reading.arm));
            let (Some(&row), Some(&arm)) = place else {
                digest.strangers += 1;
                continue;
            };
            let failed = reading.status == Status::Failed;
            let value = reading.value.filter(|value| value.is_finite() && !failed);
            match reading.phase {
                Phase::Warmup => {}
                Phase::Screen => {
                    let screened = &mut digest.rows[row].screen[arm];
                    screened.extend(value.map(|value| (reading.threads, value)));
                }
                Phase::Study => {
                    attempts.add(reading);
                    // Whether the others were analysed is known when all attempts are.
                    let fate = match reading.status {
                        Status::Failed => Fate::Failed,
                        Status::SetAside => Fate::NotAnalysed,
                        Status::Ok => Fate::Analysed,
                    };
                    if fate != Fate::Analysed {
                        digest.troubled.push(index);
                    }
                    let (block, attempt, order) = (reading.block, reading.attempt, orders[row]);
                    orders[row] += 1;
                    let point = Point { order, value, fate, reading: index, block, attempt };
                    digest.rows[row].study[arm].push(point);
                }
            }
        }
        let blocks = attempts.blocks(study.plan);
        for point in digest.rows.iter_mut().flat_map(|row| row.study.iter_mut().flatten()) {
            if point.fate == Fate::Analysed && !blocks.holds(point.block, point.attempt) {
                point.fate = Fate::NotAnalysed;
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
