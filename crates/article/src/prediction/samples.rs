//! How much of the load was simulated, and what the seed moves.

use coretwin_base::distinct::distinct;
use coretwin_base::simulation::prediction::Sample;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use std::collections::BTreeMap;

/// What the readings of a row tell.
#[derive(Default)]
struct Told<'a> {
    /// Values with their standard errors, as shares, where the runs of one tell them; by arm.
    values: BTreeMap<&'a str, Vec<(f64, Option<f64>)>>,
    fractions: Vec<f64>,
    runs: Vec<u32>,
}

/// One entry for each family, in the plan's order.
pub(super) fn of(plan: &Plan, readings: &[Reading]) -> Vec<Sample> {
    let mut rows: BTreeMap<&str, Told<'_>> = BTreeMap::new();
    let good = |one: &&Reading| one.phase == Phase::Study && one.status == Status::Ok;
    for reading in readings.iter().filter(good) {
        let told = rows.entry(&*reading.row).or_default();
        let metric = |name| reading.metrics.get(name).map(|metric| metric.value);
        let error = metric("seed_error").map(|percent| percent / 100.0);
        let values = told.values.entry(&*reading.arm).or_default();
        values.extend(reading.value.map(|value| (value, error)));
        told.fractions.extend(metric("sampled_fraction"));
        told.runs.extend(metric("runs").map(|runs| runs as u32));
    }
    let families = distinct(plan.rows.iter().map(|row| row.family.as_str()));
    let sample = |family: &str| {
        let own = plan.rows.iter().filter(|row| row.family == family);
        let own: Vec<&Told<'_>> = own.filter_map(|row| rows.get(row.id.as_str())).collect();
        let runs = || own.iter().flat_map(|told| &told.runs).copied();
        let values = own.iter().flat_map(|told| told.values.values());
        let fractions = own.iter().flat_map(|told| &told.fractions);
        Sample {
            family: family.to_owned(),
            fraction: fractions.copied().fold(1.0, f64::min),
            runs: [runs().min().unwrap_or(1), runs().max().unwrap_or(1)],
            spread: values.map(|values| error_of_mean(values)).fold(0.0, f64::max),
        }
    };
    families.into_iter().map(sample).collect()
}

/// The standard error of a mean, over the mean: from the errors of its values where all have one,
/// for they rest on more runs than there are values; else from the values, 0 of fewer than two.
fn error_of_mean(values: &[(f64, Option<f64>)]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().map(|(value, _)| value).sum::<f64>() / count.max(1.0);
    if values.is_empty() || mean <= 0.0 {
        return 0.0;
    }
    let told: Option<Vec<f64>> =
        values.iter().map(|(value, error)| error.map(|error| error * value)).collect();
    let square = match told {
        Some(errors) => errors.iter().map(|error| error * error).sum::<f64>() / count / count,
        None if values.len() < 2 => 0.0,
        None => {
            let from_mean = values.iter().map(|(value, _)| (value - mean) * (value - mean));
            from_mean.sum::<f64>() / (count - 1.0) / count
        }
    };
    square.sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_falls_with_the_number_of_values() {
        assert_eq!(error_of_mean(&[]), 0.0);
        assert_eq!(error_of_mean(&[(7.0, None)]), 0.0);
        // Standard deviation 1, mean 10.
        let found = error_of_mean(&[9.0, 10.0, 11.0].map(|value| (value, None)));
        assert!((found - 0.1 / 3.0_f64.sqrt()).abs() < 1e-12);
        // Three values, each known to 1 %, whatever they are by chance.
        let found = error_of_mean(&[10.0; 3].map(|value| (value, Some(0.01))));
        assert!((found - 0.01 / 3.0_f64.sqrt()).abs() < 1e-12);
    }
}
