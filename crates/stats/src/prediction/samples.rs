//! How much of the load was simulated, and what the seed moves.

use coretwin_base::plan::Plan;
use coretwin_base::prediction::Sample;
use coretwin_base::reading::{Phase, Reading, Status};
use std::collections::BTreeMap;

/// One entry for each family, in the plan's order.
pub(super) fn of(plan: &Plan, readings: &[Reading]) -> Vec<Sample> {
    let mut cells: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    let mut fractions: BTreeMap<&str, f64> = BTreeMap::new();
    let good = |one: &&Reading| one.phase == Phase::Study && one.status == Status::Ok;
    for reading in readings.iter().filter(good) {
        if let Some(value) = reading.value {
            cells.entry((&*reading.row, &*reading.arm)).or_default().push(value);
        }
        if let Some(fraction) = reading.metrics.get("sampled_fraction") {
            let least = fractions.entry(&*reading.row).or_insert(1.0);
            *least = least.min(fraction.value);
        }
    }
    let mut families: Vec<&str> = Vec::new();
    for row in &plan.rows {
        if !families.contains(&row.family.as_str()) {
            families.push(&row.family);
        }
    }
    let sample = |family: &str| {
        let rows =
            || plan.rows.iter().filter(|row| row.family == family).map(|row| row.id.as_str());
        let is_of = |id: &str| rows().any(|row| row == id);
        let of_family = cells.iter().filter(|((row, _), _)| is_of(row));
        Sample {
            family: family.to_owned(),
            fraction: rows().filter_map(|row| fractions.get(row)).copied().fold(1.0, f64::min),
            spread: of_family.map(|(_, values)| spread(values)).fold(0.0, f64::max),
        }
    };
    families.into_iter().map(sample).collect()
}

/// Half the range over the mean.
fn spread(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if mean > 0.0 { (most - least) / 2.0 / mean } else { 0.0 }
}
