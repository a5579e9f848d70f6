//! Choosing thread counts on screening readings, before the study proper.
//!
//! The best of six counts looks better than it is: comparing it on the data it was chosen
//! by finds a difference where there is none nearly twice as often as stated. So the choice is made on readings
//! that take no further part, frozen, and confirmed on fresh blocks.

use crate::study::blocks::scaled;
use coretwin_base::study::plan::{Plan, PlanRow, ThreadRule};
use coretwin_base::study::reading::{Better, Phase, Reading, Status};
use std::collections::BTreeMap;

/// The count chosen for each arm (by label), from the screening readings of the rows that ask for
/// it: the one with the best mean over rows, the smaller of two that are equally good. Counts that
/// failed, or were not read in every such row, are passed over. An arm without any usable reading
/// is left out.
pub fn choose_threads(plan: &Plan, readings: &[Reading]) -> BTreeMap<String, u32> {
    let screened: BTreeMap<&str, &PlanRow> = plan
        .rows
        .iter()
        .filter(|row| row.threads == ThreadRule::Screened)
        .map(|row| (row.id.as_str(), row))
        .collect();
    let mut chosen = BTreeMap::new();
    for arm in &plan.arms {
        let of_arm = readings
            .iter()
            .filter(|reading| reading.phase == Phase::Screen && reading.arm == arm.label);
        if let Some(threads) = best(&screened, of_arm) {
            chosen.insert(arm.label.clone(), threads);
        }
    }
    chosen
}

/// Values by row and thread count; none in place of the values once one of them failed.
type Candidates<'plan> = BTreeMap<&'plan str, BTreeMap<u32, Option<Vec<(u64, f64)>>>>;

fn best<'a>(
    screened: &BTreeMap<&'a str, &'a PlanRow>,
    readings: impl Iterator<Item = &'a Reading>,
) -> Option<u32> {
    let mut candidates = Candidates::new();
    for reading in readings {
        let Some((&id, row)) = screened.get_key_value(&*reading.row) else { continue };
        // Disturbed from outside, by a cause fixed beforehand: neither for nor against the count.
        if reading.status == Status::SetAside {
            continue;
        }
        let counts = candidates.entry(id).or_default();
        let values = counts.entry(reading.threads).or_insert_with(|| Some(Vec::new()));
        match (goodness(row, reading), values.as_mut()) {
            (Some(value), Some(values)) => values.push((reading.seq, value)),
            _ => *values = None,
        }
    }
    let mut scores: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for counts in candidates.values_mut() {
        for (&threads, values) in counts.iter_mut() {
            let Some(values) = values else { continue };
            // Summed in the order of the journal, whatever order they were handed over in.
            values.sort_unstable_by_key(|(seq, _)| *seq);
            let mean = values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64;
            let score = scores.entry(threads).or_insert((0, 0.0));
            *score = (score.0 + 1, score.1 + mean);
        }
    }
    let complete = scores.into_iter().filter(|(_, (rows, _))| *rows == candidates.len());
    let mut best: Option<(u32, f64)> = None;
    for (threads, (_, score)) in complete {
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((threads, score));
        }
    }
    best.map(|(threads, _)| threads)
}

/// The reading's value, signed so that more is better: its log on the ratio scale, so that rows of
/// different units add up.
fn goodness(row: &PlanRow, reading: &Reading) -> Option<f64> {
    let scaled = scaled(reading, row.scale)?;
    Some(if row.better == Better::Higher { scaled } else { -scaled })
}
