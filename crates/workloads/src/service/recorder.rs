//! Latencies of a run: a histogram for percentiles, and exact sums beside it.

use coretwin_base::study::latency::{Latency, is_known};
use hdrhistogram::Histogram;

/// Significant digits of the histogram, and what they come to as a relative error of a percentile.
const DIGITS: u8 = 3;
pub const RELATIVE_ERROR: f64 = 1e-3;
/// The longest that a bin has, in nanoseconds: an hour. Longer ones are counted there.
const LONGEST_NS: u64 = 3_600_000_000_000;

pub struct Recorder {
    histogram: Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        // These bounds are possible, so the other arm is never taken.
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS)
            .unwrap_or_else(|_| unreachable!("bounds of the histogram"));
        Self { histogram, sum_ns: 0, max_ns: 0 }
    }
}

impl Recorder {
    pub fn note(&mut self, ns: u64) {
        self.histogram.saturating_record(ns.max(1));
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    #[must_use]
    pub fn mean_s(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / 1e9 / self.count() as f64)
    }

    #[must_use]
    pub fn max_s(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.max_ns as f64 / 1e9)
    }

    /// Whatever lies beyond it. `None` if nothing was noted.
    #[must_use]
    pub fn quantile_s(&self, quantile: f64) -> Option<f64> {
        // The end of a bin may lie beyond the largest value.
        let ns = || self.histogram.value_at_quantile(quantile).min(self.max_ns);
        (self.count() > 0).then(|| ns() as f64 / 1e9)
    }

    /// Sets what a record has of latencies; percentiles where enough samples lie beyond.
    pub fn tell(&self, to: &mut Latency) {
        let known =
            |quantile| self.quantile_s(quantile).filter(|_| is_known(quantile, self.count()));
        (to.mean_s, to.max_s) = (self.mean_s(), self.max_s());
        (to.p50_s, to.p95_s) = (known(0.5), known(0.95));
        (to.p99_s, to.p999_s) = (known(0.99), known(0.999));
        to.relative_error = RELATIVE_ERROR;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_the_stated_error_from_nanoseconds_to_minutes() {
        for scale in [1, 1_000, 1_000_000, 10_000_000] {
            let mut all = Recorder::default();
            (1..=10_000).for_each(|number| all.note(number * scale));
            for quantile in [0.5, 0.95, 0.99, 0.999] {
                let exact = (quantile * 10_000.0_f64).round() * scale as f64 / 1e9;
                let told = all.quantile_s(quantile).expect("noted");
                assert!((told / exact - 1.0).abs() <= RELATIVE_ERROR, "{quantile}: {told} {exact}");
            }
            assert_eq!(all.max_s(), Some(10_000.0 * scale as f64 / 1e9));
            let mean = all.mean_s().expect("noted");
            assert!((mean / (5_000.5 * scale as f64 / 1e9) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_percentile_with_too_few_samples_beyond_is_not_told() {
        let (mut all, mut told) = (Recorder::default(), Latency::default());
        all.tell(&mut told);
        assert_eq!((told.mean_s, told.max_s, told.p50_s), (None, None, None));
        (0..9_999).for_each(|_| all.note(5_000));
        all.tell(&mut told);
        assert!(told.p95_s.is_some() && told.p99_s.is_none());
        all.note(u64::MAX);
        all.tell(&mut told);
        assert!(told.p99_s.is_some_and(|p99| (p99 / 5e-6 - 1.0).abs() <= RELATIVE_ERROR));
        assert_eq!(told.p999_s, None);
    }
}
