//! What a machine makes of a workload: the mean of several runs, as a published figure is one.
//!
//! Where hundreds of tasks wake each other, a run settles in one of several habits and keeps to it, so
//! that runs of other seeds differ by some per cent however long they are. The mean of a row with such
//! runs takes as many as its standard error needs.

use crate::Result;
use coretwin_base::random::Stream;
use coretwin_base::study::reading::{Better, Metric};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    pub value: f64,
    pub better: Better,
    pub metrics: BTreeMap<&'static str, Metric>,
    /// Operations done in all runs.
    pub operations: u64,
    /// Simulated time of what the benchmark times, in seconds, in all runs.
    pub simulated_s: f64,
    /// CPU time in user space and in the kernel, in seconds.
    pub user_s: f64,
    /// See [`Prediction::user_s`].
    pub system_s: f64,
    /// Part of the load that was simulated.
    pub sampled_fraction: f64,
    pub runs: u32,
    pub events: u64,
    /// Equal hashes: the same thing happened.
    pub trace_hash: u64,
}

/// The standard error of a value that ends its runs, as a share of it.
pub(super) const ERROR: f64 = 0.012;

/// The mean of runs: geometric of their values, as the article's of its runs; arithmetic of the other
/// numbers. At least and at most so many runs; the first has this seed.
pub(super) fn averaged(
    [least, most]: [u32; 2],
    seed: u64,
    mut run: impl FnMut(u64) -> Result<Prediction>,
) -> Result<Prediction> {
    let mut seeds = Stream::new(seed, "runs", 0);
    let mut all = run(seed)?;
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
