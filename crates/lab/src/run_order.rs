//! In which order the cells of a plan are run: decided by the plan alone.

use coretwin_base::random::Stream;
use coretwin_base::study::plan::{Plan, PlanRow, Protocol, ThreadRule};
use coretwin_base::study::reading::Phase;
use coretwin_stats::study::protocol_2003;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub row: usize,
    pub threads: u32,
}

pub fn arm_order(plan: &Plan, phase: Phase, block: u32) -> Vec<usize> {
    let orders = match phase {
        Phase::Screen => plan.screening_orders(),
        _ => &plan.orders,
    };
    orders
        .get(block as usize)
        .map(|order| order.iter().map(|arm| usize::from(*arm)).collect())
        .unwrap_or_default()
}

/// The cells of one arm in one block, in the order they are run.
pub fn cells(
    plan: &Plan,
    phase: Phase,
    block: u32,
    arm: usize,
    chosen: &BTreeMap<String, u32>,
) -> Vec<Cell> {
    let mut cells: Vec<Cell> = match (phase, &plan.screening) {
        (Phase::Screen, _) if plan.saturation_row().is_some() => {
            let row = plan.rows.len();
            vec![Cell { row, threads: threads(plan, row, arm, chosen) }]
        }
        (Phase::Screen, Some(screening)) => screened_rows(plan)
            .flat_map(|row| {
                screening.candidates[arm].iter().map(move |threads| Cell { row, threads: *threads })
            })
            .collect(),
        _ => plan
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| runs_in(plan, row, block, arm))
            .map(|(row, _)| Cell { row, threads: threads(plan, row, arm, chosen) })
            .flat_map(|cell| std::iter::repeat_n(cell, plan.rules.repeats as usize))
            .collect(),
    };
    if plan.rules.protocol != Protocol::Article2003 {
        let index = u64::from(block) * plan.arms.len() as u64 + arm as u64;
        let purpose = if phase == Phase::Screen { "screening-cells" } else { "cells" };
        Stream::new(plan.seed, purpose, index).shuffle(&mut cells);
    }
    cells
}

/// Runs discarded when a visit begins: after a switch of SMT, or a change of the scheduler, the
/// first of its cells once more; after a boot, when every cache is cold, each of its rows once.
pub fn discarded(plan: &Plan, cells: &[Cell]) -> Vec<Cell> {
    if !plan.rules.warmup {
        return Vec::new();
    }
    if plan.reboots() {
        let mut rows = cells.to_vec();
        rows.sort_unstable_by_key(|cell| cell.row);
        rows.dedup();
        return rows;
    }
    let changes = plan.switches_smt() || plan.changes_scheduler();
    cells.iter().take(usize::from(changes)).copied().collect()
}

/// The seed of a row's run in a block: the same in every arm, so that arms are compared under equal
/// luck, and in every attempt, so that a block that was broken off is made again as it was.
pub fn seed(plan: &Plan, (phase, block): (Phase, u32), row: &PlanRow, repeat: usize) -> u64 {
    let purpose = format!("run of {} in phase {phase:?}, repeat {repeat}", row.id);
    // As many bits as every reader of JSON takes whole.
    Stream::new(plan.seed, &purpose, block.into()).next_u64() >> 11
}

/// How many readings a complete block has.
pub(crate) fn cells_in_block(plan: &Plan, phase: Phase, block: u32) -> usize {
    match (phase, &plan.screening) {
        (Phase::Screen, _) if plan.saturation_row().is_some() => plan.arms.len(),
        (Phase::Screen, Some(screening)) => {
            screened_rows(plan).count() * screening.candidates.iter().map(Vec::len).sum::<usize>()
        }
        _ => (0..plan.arms.len()).map(|arm| cells_in_visit(plan, block, arm)).sum(),
    }
}

/// How many readings this arm has in a complete block of the study proper.
pub(crate) fn cells_in_visit(plan: &Plan, block: u32, arm: usize) -> usize {
    let rows = plan.rows.iter().filter(|row| runs_in(plan, row, block, arm)).count();
    rows * plan.rules.repeats as usize
}

fn screened_rows(plan: &Plan) -> impl Iterator<Item = usize> + '_ {
    let screened = |row: &PlanRow| row.threads == ThreadRule::Screened;
    plan.rows.iter().enumerate().filter(move |(_, row)| screened(row)).map(|(index, _)| index)
}

/// Not every arm has every placement; and the article ran some families more often than others.
fn runs_in(plan: &Plan, row: &PlanRow, block: u32, arm: usize) -> bool {
    plan.arms.get(arm).is_some_and(|arm| row.runs_in(&arm.label))
        && (plan.rules.protocol != Protocol::Article2003
            || block < protocol_2003::runs(&row.family))
}

pub fn threads(plan: &Plan, row: usize, arm: usize, chosen: &BTreeMap<String, u32>) -> u32 {
    let arm = &plan.arms[arm];
    match plan.planned(row).threads {
        ThreadRule::Arm => arm.threads,
        ThreadRule::Fixed(threads) => threads,
        ThreadRule::Screened => chosen.get(&arm.label).copied().unwrap_or(arm.threads),
    }
}
