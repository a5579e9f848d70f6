//! The mean of several runs, as a published figure is one.
//!
//! Where hundreds of tasks wake each other, a run settles in one of several habits and keeps to it, so
//! that runs of other seeds differ by some per cent however long they are. The mean of a row with such
//! runs takes as many as its standard error needs.

use super::load::Row;
use super::setting::{Prediction, Setting};
use crate::Result;
use coretwin_base::random::Stream;
use coretwin_base::reading::{Better, Metric};

/// The standard error of a value that ends its runs, as a share of it.
pub(super) const ERROR: f64 = 0.012;

/// The mean of runs: geometric of their values, as the article's of its runs; arithmetic of the other
/// numbers. The first run has the setting's own seed.
pub(super) fn averaged(
    row: &Row,
    setting: &Setting<'_>,
    mut run: impl FnMut(u64) -> Result<Prediction>,
) -> Result<Prediction> {
    let [least, most] = row.runs.map(|runs| runs.min(setting.runs_max.unwrap_or(runs)));
    let mut seeds = Stream::new(setting.seed, "runs", 0);
    let mut all = run(setting.seed)?;
    let mut values = Values::default();
    values.add(all.value);
    while all.runs < most && (all.runs < least || values.error() > ERROR) {
        let next = run(seeds.next_u64())?;
        values.add(next.value);
        add(&mut all, next);
    }
    let told =
        |value: f64, unit: &str| Metric { value, unit: unit.to_owned(), better: Better::Lower };
    all.metrics.insert("runs", told(f64::from(all.runs), "runs"));
    if all.runs > 1 {
        all.value = values.mean();
        all.metrics.insert("seed_error", told(100.0 * values.error(), "% of the value"));
    }
    Ok(all)
}

/// Logarithms of the runs' values.
#[derive(Default)]
struct Values(Vec<f64>);

impl Values {
    fn add(&mut self, value: f64) {
        self.0.push(libm::log(value));
    }

    fn middle(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Their geometric mean.
    fn mean(&self) -> f64 {
        libm::exp(self.middle())
    }

    /// The mean's standard error, as a share of it; 0 of one run.
    fn error(&self) -> f64 {
        let middle = self.middle();
        let squares: f64 = self.0.iter().map(|log| (log - middle) * (log - middle)).sum();
        let free = self.0.len().saturating_sub(1).max(1);
        (squares / free as f64 / self.0.len() as f64).sqrt()
    }
}

/// Takes another run in.
fn add(all: &mut Prediction, next: Prediction) {
    all.runs += 1;
    all.operations += next.operations;
    all.simulated_s += next.simulated_s;
    all.user_s += next.user_s;
    all.system_s += next.system_s;
    all.events += next.events;
    all.trace_hash = all.trace_hash.rotate_left(1) ^ next.trace_hash;
    for (name, metric) in next.metrics {
        match all.metrics.get_mut(name) {
            Some(mean) => mean.value += (metric.value - mean.value) / f64::from(all.runs),
            None => {
                all.metrics.insert(name, metric);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_is_that_of_its_logarithms() {
        let mut values = Values::default();
        values.add(100.0);
        assert_eq!(values.error(), 0.0);
        values.add(102.0);
        // Two values: half their distance.
        assert!((values.error() - libm::log(1.02) / 2.0).abs() < 1e-12);
        assert!((values.mean() - (100.0_f64 * 102.0).sqrt()).abs() < 1e-9);
    }
}
