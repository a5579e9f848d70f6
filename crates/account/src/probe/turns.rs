//! Siblings, or virtual CPUs that take turns on one physical CPU?
//!
//! Both halve each other at the ports. A chain of multiplications tells them apart: it leaves a
//! core so idle that a sibling does not matter, but half of the time is half of the time.

use super::evidence::weight;
use super::field::{End, Field};
use super::grouping::Grouping;
use coretwin_base::account::probe::Contention;
use std::collections::{BTreeMap, BTreeSet};

const REPEATS: usize = 5;

/// Who takes turns with whom, among CPUs in each other's way.
pub(super) fn turns(
    field: &mut Field<'_>,
    groups: &[(BTreeSet<usize>, f64)],
) -> Result<Grouping, End> {
    let members: Vec<Vec<usize>> =
        groups.iter().map(|(group, _)| group.iter().copied().collect()).collect();
    let slowed: Vec<usize> = slowed(field, &members)?;
    let mut turns = Grouping::new(&slowed);
    turns.search(field, Contention::Turns)?;
    Ok(turns)
}

/// Who is slower with all of its group than alone. CPUs of different groups do not matter to each
/// other, so one of each is measured at a time.
fn slowed(field: &mut Field<'_>, groups: &[Vec<usize>]) -> Result<Vec<usize>, End> {
    let everybody: Vec<usize> = groups.iter().flatten().copied().collect();
    let width = groups.iter().map(Vec::len).max().unwrap_or(0);
    let mut evidence: BTreeMap<usize, f64> = BTreeMap::new();
    for _ in 0..REPEATS.min(everybody.len() * REPEATS) {
        let all = field.round(Contention::Turns, &everybody)?;
        for member in 0..width {
            let some: Vec<usize> =
                groups.iter().filter_map(|group| group.get(member).copied()).collect();
            let alone = field.round(Contention::Turns, &some)?;
            for place in some {
                if let Some((beside, alone)) = all[place].zip(alone[place]) {
                    *evidence.entry(place).or_default() += weight(beside - alone);
                }
            }
        }
    }
    Ok(evidence
        .into_iter()
        .filter(|(_, evidence)| *evidence > 0.0)
        .map(|(place, _)| place)
        .collect())
}
