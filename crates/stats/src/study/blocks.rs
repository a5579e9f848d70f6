//! From readings to blocks: which attempt of a block counts, and one value per row, arm and block,
//! that is, per row and arm change: each arm is visited once in a block, and a visit is the unit.
//!
//! One pass and a sort of what is nearly sorted: a million readings take a fraction of a second.

use super::resolution::{self, Resolution};
use coretwin_base::study::disturbance::Disturbances;
use coretwin_base::study::plan::{Plan, PlanRow, Protocol, Rule, Scale};
use coretwin_base::study::reading::{Phase, Reading, Status};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// What one block holds for one row in one arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Missing,
    /// The row is not run in this arm, which does not have its placement.
    NotRun,
    /// At least one reading failed, or its value cannot be compared.
    Failed,
    /// Mean over the block's readings: of logs on the ratio scale, of values on the raw scale.
    Value(f64),
}

#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(super) block: u32,
    pub(super) attempt: u32,
    /// One cell for each arm and row, arm by arm.
    cells: Vec<Cell>,
    pub(super) order: Vec<u16>,
    /// Number of the arm change of each of those.
    switches: Vec<u32>,
    /// Whether any reading was set aside, and with it the attempt.
    set_aside: bool,
}

impl Attempt {
    fn is_complete(&self) -> bool {
        !self.cells.contains(&Cell::Missing)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Blocks to analyse, by number: the last complete attempt of each, unless it was set aside.
    pub(crate) analysed: Vec<Attempt>,
    /// Blocks that could be analysed. A sequence has only those of its last look, once there was one.
    pub(crate) complete: u32,
    /// First complete attempt of each block, set aside or not; empty if none was set aside.
    pub(super) first: Vec<Attempt>,
    /// Attempts at blocks that were complete or set aside.
    pub(super) attempts: u32,
    pub(super) set_aside: u32,
    pub(super) lost: u32,
    /// Blocks without a complete attempt although later ones were begun, which no study leaves.
    pub(super) incomplete: u32,
    /// Block, arm and row of the first cell that has too few readings there.
    pub(super) too_few: Option<(u32, usize, usize)>,
    resolutions: Vec<Resolution>,
    rows: usize,
}

struct Entry {
    block: u32,
    attempt: u32,
    arm: u16,
    row: u16,
    switch: u32,
    seq: u64,
    cell: Cell,
    set_aside: bool,
}

pub(super) struct Labels<'plan> {
    arms: BTreeMap<&'plan str, u16>,
    rows: BTreeMap<&'plan str, u16>,
}

impl<'plan> Labels<'plan> {
    pub(super) fn new(plan: &'plan Plan) -> Self {
        let arms = plan.arms.iter().map(|arm| arm.label.as_str()).zip(0..).collect();
        let rows = plan.rows.iter().map(|row| row.id.as_str()).zip(0..).collect();
        Self { arms, rows }
    }

    /// Indexes of a reading's arm and row; `None` if the plan does not know them.
    pub(super) fn find(&self, reading: &Reading) -> Option<(u16, u16)> {
        Some((*self.arms.get(&*reading.arm)?, *self.rows.get(&*reading.row)?))
    }
}

/// Size of a value up to which sums of squares over any number of readings are numbers; on the ratio
/// scale its inverse bounds values from below.
pub(super) const LARGEST: f64 = 1e100;

/// The reading's value on the scale of its analysis; `None` if it has none that can be compared.
pub(crate) fn scaled(reading: &Reading, scale: Scale) -> Option<f64> {
    on_scale(reading, reading.value, scale)
}

fn on_scale(reading: &Reading, value: Option<f64>, scale: Scale) -> Option<f64> {
    if reading.status == Status::Failed {
        return None;
    }
    let value = value.filter(|value| libm::fabs(*value) <= LARGEST)?;
    match scale {
        Scale::Raw => Some(value),
        Scale::Ratio => (value >= 1.0 / LARGEST).then(|| libm::log(value)),
    }
}

impl Blocks {
    /// Sorts the readings of the study proper into blocks. A block is analysed only if it is
    /// complete, that is, if every row was read in every arm it is run in.
    pub(crate) fn new(plan: &Plan, readings: &[Reading]) -> Self {
        Self::of(plan, readings, |reading| reading.value)
    }

    pub(crate) fn of(
        plan: &Plan,
        readings: &[Reading],
        value: impl Fn(&Reading) -> Option<f64>,
    ) -> Self {
        let entries = sorted_entries(plan, readings, value);
        let resolutions = resolutions(plan, &entries);
        let mut blocks = Self { rows: plan.rows.len(), resolutions, ..Self::default() };
        let disturbed = entries.iter().any(|entry| entry.set_aside);
        let same_block = |a: &Entry, b: &Entry| a.block == b.block;
        let last = entries.last().map(|entry| entry.block);
        for block in entries.chunk_by(same_block) {
            let mut attempts: Vec<Attempt> = block
                .chunk_by(|a, b| a.attempt == b.attempt)
                .map(|attempt| collect(plan, attempt))
                .collect();
            if last != Some(block[0].block) && !attempts.iter().any(Attempt::is_complete) {
                blocks.note_incomplete(&attempts[attempts.len() - 1]);
            }
            attempts.retain(|attempt| attempt.set_aside || attempt.is_complete());
            blocks.attempts += attempts.len() as u32;
            blocks.set_aside += attempts.iter().filter(|attempt| attempt.set_aside).count() as u32;
            blocks.lost +=
                u32::from(!attempts.is_empty() && attempts.iter().all(|attempt| attempt.set_aside));
            if disturbed {
                blocks.first.extend(attempts.iter().find(|attempt| attempt.is_complete()).cloned());
            }
            let last = attempts.into_iter().rfind(Attempt::is_complete);
            blocks.analysed.extend(last.filter(|attempt| !attempt.set_aside));
        }
        blocks.complete = blocks.analysed.len() as u32;
        // Whoever stops between two looks, by a budget or by hand, could choose the moment.
        if plan.rules.until == Rule::Verdict
            && let Some(look) = plan.rules.looks.iter().rfind(|look| **look <= blocks.complete)
        {
            blocks.analysed.truncate(*look as usize);
        }
        blocks
    }

    fn note_incomplete(&mut self, attempt: &Attempt) {
        self.incomplete += 1;
        let missing = attempt.cells.iter().position(|cell| *cell == Cell::Missing);
        let found = missing.map(|at| (attempt.block, at / self.rows, at % self.rows));
        self.too_few = self.too_few.or(found);
    }

    pub(crate) fn cell(&self, attempt: &Attempt, arm: usize, row: usize) -> Cell {
        attempt.cells[arm * self.rows + row]
    }

    pub(crate) fn resolution(&self, arm: usize, row: usize) -> Resolution {
        self.resolutions.get(arm * self.rows + row).copied().unwrap_or_default()
    }
}

/// How coarsely each row was read in each arm. What a simulated machine does is exact.
fn resolutions(plan: &Plan, entries: &[Entry]) -> Vec<Resolution> {
    let rows = plan.rows.len();
    let mut found = vec![Resolution::default(); plan.arms.len() * rows];
    if plan.simulation.is_some() {
        return found;
    }
    let mut values = vec![vec![Vec::new(); plan.arms.len()]; rows];
    for entry in entries {
        if let Cell::Value(value) = entry.cell {
            values[usize::from(entry.row)][usize::from(entry.arm)].push(value);
        }
    }
    for (row, (arms, rule)) in values.iter().zip(&plan.rows).enumerate() {
        for (arm, resolution) in resolution::of_row(arms, rule.scale).into_iter().enumerate() {
            found[arm * rows + row] = resolution;
        }
    }
    found
}

/// Which readings of a study take part in its comparison: those of the last complete attempt at each
/// block, unless something outside disturbed it. The protocol of 2003 has no blocks; there every
/// run that did not fail takes part.
#[derive(Debug)]
pub struct Analysed {
    /// Block, attempt and arm change, in order; `None` if every run takes part.
    visits: Option<Vec<(u32, u32, u32)>>,
}

impl Analysed {
    pub fn new(plan: &Plan, readings: &[Reading]) -> Self {
        let visits = (plan.rules.protocol != Protocol::Article2003).then(|| {
            let blocks = Blocks::new(plan, readings);
            let mut visits: Vec<(u32, u32, u32)> = Vec::new();
            for Attempt { block, attempt, switches, .. } in &blocks.analysed {
                visits.extend(switches.iter().map(|switch| (*block, *attempt, *switch)));
            }
            visits.sort_unstable();
            visits
        });
        Self { visits }
    }

    pub fn includes(&self, reading: &Reading) -> bool {
        let visit = (reading.block, reading.attempt, reading.switch);
        reading.phase == Phase::Study
            && reading.status == Status::Ok
            && self.visits.as_ref().is_none_or(|taken| taken.binary_search(&visit).is_ok())
    }
}

fn sorted_entries(
    plan: &Plan,
    readings: &[Reading],
    value: impl Fn(&Reading) -> Option<f64>,
) -> Vec<Entry> {
    let labels = Labels::new(plan);
    let mut entries: Vec<Entry> = readings
        .iter()
        .filter(|reading| reading.phase == Phase::Study)
        .filter_map(|reading| {
            let (arm, row) = labels.find(reading)?;
            let value = on_scale(reading, value(reading), plan.rows[usize::from(row)].scale);
            Some(Entry {
                block: reading.block,
                attempt: reading.attempt,
                arm,
                row,
                switch: reading.switch,
                seq: reading.seq,
                cell: value.map_or(Cell::Failed, Cell::Value),
                set_aside: reading.status == Status::SetAside,
            })
        })
        .collect();
    // The order of the journal must not decide anything, down to the last bit of a sum. It is in
    // order of blocks as a rule, so a sort by blocks has next to nothing to do.
    entries.sort_by_key(|e| (e.block, e.attempt));
    for attempt in entries.chunk_by_mut(|a, b| (a.block, a.attempt) == (b.block, b.attempt)) {
        attempt.sort_unstable_by_key(|e| (e.arm, e.row, e.switch, e.seq));
    }
    entries
}

/// Makes an attempt of its readings, which are sorted by arm, row and arm change. Of an arm that was
/// visited more than once only the last visit counts: the others were broken off by a reboot.
fn collect(plan: &Plan, entries: &[Entry]) -> Attempt {
    let cell = |runs: bool| if runs { Cell::Missing } else { Cell::NotRun };
    let of_arm = |arm| plan.rows.iter().map(move |row: &PlanRow| cell(row.runs_in(arm)));
    let mut cells: Vec<Cell> = plan.arms.iter().flat_map(|arm| of_arm(&arm.label)).collect();
    // By arm: its last arm change, and the earliest reading of that.
    let mut visits: BTreeMap<u16, (u32, u64)> = BTreeMap::new();
    for Entry { arm, switch, seq, .. } in entries {
        let visit = visits.entry(*arm).or_insert((*switch, *seq));
        match switch.cmp(&visit.0) {
            Ordering::Greater => *visit = (*switch, *seq),
            Ordering::Equal => visit.1 = visit.1.min(*seq),
            Ordering::Less => {}
        }
    }
    let mut set_aside = false;
    for readings in entries.chunk_by(|a, b| (a.arm, a.row) == (b.arm, b.row)) {
        let Entry { arm, row, .. } = readings[0];
        let last = readings.partition_point(|entry| entry.switch < visits[&arm].0);
        let readings = &readings[last..];
        set_aside |= readings.iter().any(|entry| entry.set_aside);
        if readings.len() < plan.rules.repeats as usize {
            continue;
        }
        let mut sum = Cell::Value(0.0);
        for reading in readings {
            sum = match (sum, reading.cell) {
                (Cell::Value(a), Cell::Value(b)) => Cell::Value(a + b),
                _ => Cell::Failed,
            };
        }
        cells[usize::from(arm) * plan.rows.len() + usize::from(row)] = match sum {
            Cell::Value(sum) => Cell::Value(sum / readings.len() as f64),
            other => other,
        };
    }
    let mut order: Vec<u16> = visits.keys().copied().collect();
    order.sort_by_key(|arm| visits[arm].1);
    Attempt {
        block: entries[0].block,
        attempt: entries[0].attempt,
        cells,
        switches: order.iter().map(|arm| visits[arm].0).collect(),
        order,
        set_aside,
    }
}

/// That the machine was too busy, with the most frequent cause; `None` if a block was kept, or none
/// was set aside.
pub fn too_busy(plan: &Plan, readings: &[Reading]) -> Option<String> {
    let blocks = Blocks::new(plan, readings);
    if !blocks.analysed.is_empty() {
        return None;
    }
    // A study may not come beyond its screening, which is protected likewise.
    let is_study = readings.iter().any(|reading| reading.phase == Phase::Study);
    let phase = if is_study { Phase::Study } else { Phase::Screen };
    let disturbed = readings
        .iter()
        .filter(|reading| reading.phase == phase && reading.status == Status::SetAside);
    let mut counted = BTreeSet::new();
    let mut all = Disturbances::default();
    for reading in disturbed {
        if counted.insert((reading.block, reading.attempt)) {
            all.note(reading.cause.as_deref().unwrap_or("no cause was recorded"));
        }
    }
    let cause = all.mostly()?;
    let set_aside = all.count();
    let attempts = blocks.attempts.max(set_aside);
    let (attempts, were) = match attempts {
        1 => ("1 attempt".to_owned(), "was"),
        attempts => (format!("{attempts} attempts"), "were"),
    };
    Some(format!(
        "This machine is too busy to say: {set_aside} of {attempts} at a block {were} set aside \
         because {cause}."
    ))
}
