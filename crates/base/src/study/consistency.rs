//! Whether a journal can be that of a plan. Each reads well by itself; together they contradict each
//! other where one was edited, or copied from another study.

use crate::study::plan::{Plan, PlanRow};
use crate::study::reading::{Phase, Reading};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    pub seq: u64,
    pub what: String,
}

/// Checks what the analysis takes for granted of every reading: the plan knows its arm, row and block,
/// unit and direction are those of the row, no time is below 0, and no cell was run more often than the
/// plan says. A cell with fewer runs is that of an attempt that was broken off. Errors: the first
/// reading that the plan contradicts.
pub fn check(plan: &Plan, readings: &[Reading]) -> Result<(), Contradiction> {
    let arms = plan.arms.iter().map(|arm| arm.label.as_str()).zip(0..).collect();
    let rows = plan.rows.iter().chain(plan.saturation_row());
    let rows = rows.map(|row| (row.id.as_str(), row)).collect();
    for reading in readings {
        by_itself(plan, &arms, &rows, reading)
            .map_err(|what| Contradiction { seq: reading.seq, what })?;
    }
    match first_repeated(plan, &arms, readings) {
        Some(reading) => {
            let Reading { seq, row, arm, attempt, block, .. } = reading;
            let what = format!(
                "field attempt: {row} was run in arm {arm} already, as often as the plan says, in \
                 attempt {attempt} at block {block}"
            );
            Err(Contradiction { seq: *seq, what })
        }
        None => Ok(()),
    }
}

type Arms<'plan> = BTreeMap<&'plan str, u16>;
type Rows<'plan> = BTreeMap<&'plan str, &'plan PlanRow>;

fn by_itself(
    plan: &Plan,
    arms: &Arms<'_>,
    rows: &Rows<'_>,
    reading: &Reading,
) -> Result<(), String> {
    let Reading { arm, row: id, phase, block, unit, .. } = reading;
    if !arms.contains_key(&**arm) {
        return Err(format!("field arm is '{arm}', and the plan has no such arm"));
    }
    let Some(row) = rows.get(&**id).filter(|row| row.runs_in(arm)) else {
        return Err(format!("field row is '{id}', and the plan has no such row in arm {arm}"));
    };
    if **unit != *row.unit {
        return Err(format!("field unit is '{unit}', and the plan has {id} in '{}'", row.unit));
    }
    if reading.better != row.better {
        let names = [reading.better, row.better].map(|better| better.name());
        return Err(format!("field better is {}, and of {id} the plan has {}", names[0], names[1]));
    }
    let blocks = match phase {
        Phase::Study if plan.saturation_row().is_some_and(|found_by| found_by.id == **id) => 0,
        Phase::Study => plan.orders.len(),
        Phase::Screen => plan.screening_orders().len(),
        // That of the visit which it precedes.
        Phase::Warmup => usize::MAX,
    };
    if *block as usize >= blocks {
        return Err(format!("field block is {block}, and the plan has {blocks} blocks"));
    }
    let times = [
        ("elapsed_s", reading.elapsed_s),
        ("user_s", reading.user_s),
        ("system_s", reading.system_s),
        ("steal_s", reading.steal_s),
    ];
    match times.iter().find(|(_, seconds)| *seconds < 0.0) {
        Some((field, seconds)) => Err(format!("field {field} is {seconds}, a time below 0")),
        None => Ok(()),
    }
}

/// The first reading of a cell that was run as often as planned already. An attempt that was broken
/// off is run again as a new one; in a study of boots it is the boot, that is, the arm change.
fn first_repeated<'a>(
    plan: &Plan,
    arms: &Arms<'_>,
    readings: &'a [Reading],
) -> Option<&'a Reading> {
    let reboots = plan.reboots();
    let boot = |reading: &Reading| if reboots { reading.switch } else { 0 };
    let compared = readings.iter().filter(|reading| reading.phase != Phase::Warmup);
    let mut cells: Vec<_> = compared
        .map(|reading| {
            let Reading { phase, block, attempt, arm, row, .. } = reading;
            ((*phase, *block, *attempt, boot(reading), arms.get(&**arm), &**row), reading)
        })
        .collect();
    // Nearly in order as a rule, so that this takes next to no time.
    cells.sort_by_key(|(cell, _)| *cell);
    let repeated = cells.chunk_by(|(a, _), (b, _)| a == b).filter_map(|cell| {
        let ((phase, .., arm, _), _) = cell[0];
        let candidates = || {
            let screening = plan.screening.as_ref()?;
            Some(screening.candidates.get(usize::from(*arm?))?.len())
        };
        let planned = match phase {
            Phase::Screen if plan.saturation_row().is_some() => 1,
            Phase::Screen => candidates().unwrap_or(0),
            Phase::Study | Phase::Warmup => plan.rules.repeats as usize,
        };
        cell.get(planned).map(|(_, reading)| *reading)
    });
    repeated.min_by_key(|reading| reading.seq)
}
