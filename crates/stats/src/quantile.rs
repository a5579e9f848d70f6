//! Quantiles of one run, and the histogram they come from.
//!
//! A quantile is taken per run, and only where at least 100 samples lie beyond it; the run's
//! quantile is then a value like any other, and the block is the unit. Latencies of a closed loop
//! (the next request waits for the last) leave out what a waiting user would have felt; reporters
//! label them so.

/// Fewest samples that must lie beyond a quantile.
pub(crate) const SAMPLES_BEYOND_MIN: u64 = 100;

/// A quantile that this run cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Error {
    /// Not a share between 0 and 1.
    #[error("{0} is no quantile; it must lie between 0 and 1, like 0.99")]
    NotAShare(f64),
    /// Too few samples lie beyond it.
    #[error("the {quantile} quantile needs at least {needed} samples, and this run has {samples}")]
    TooFew {
        /// The quantile.
        quantile: f64,
        /// Samples of the run.
        samples: u64,
        /// Samples that would do.
        needed: u64,
    },
}

/// Fewest samples of a run that allow the quantile: 100 / (1 − q), on the nearer side for q < ½.
///
/// # Errors
/// [`Error::NotAShare`] outside (0, 1).
pub(crate) fn samples_needed(quantile: f64) -> Result<u64, Error> {
    if !(quantile > 0.0 && quantile < 1.0) {
        return Err(Error::NotAShare(quantile));
    }
    let beyond = quantile.min(1.0 - quantile);
    // Shares like 0.99 are not exact in binary; without the allowance 0.99 would ask for 10,001.
    Ok(libm::ceil(SAMPLES_BEYOND_MIN as f64 / beyond - 1e-6) as u64)
}

/// Sub-buckets of a power of two: 128, so that a value is known within 1/128 of itself (0.8 %).
const SUB_BITS: u32 = 7;

/// Counts of whole numbers (such as nanoseconds) in buckets of equal relative width. Values below
/// 256 are exact. Adding is constant time; histograms of several threads can be merged.
///
/// Source: the bucket scheme is that of HdrHistogram (G. Tene).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    samples: u64,
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one value.
    pub fn add(&mut self, value: u64) {
        let bucket = bucket_of(value);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.samples += 1;
    }

    /// Adds all counts of another.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.samples += other.samples;
    }

    /// Number of values counted.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Buckets that are not empty: lowest value, highest value, count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, &count)| {
            let (low, high) = bounds_of(bucket);
            (low, high, count)
        })
    }

    /// The quantile (0.99 is the 99th percentile): the highest value of the bucket that holds the
    /// sample of rank ⌈q·n⌉, so never too low, and too high by at most 1/128.
    ///
    /// # Errors
    /// [`Error::TooFew`] if fewer than 100 samples lie beyond it.
    pub fn quantile(&self, quantile: f64) -> Result<u64, Error> {
        let needed = samples_needed(quantile)?;
        if self.samples < needed {
            return Err(Error::TooFew { quantile, samples: self.samples, needed });
        }
        let rank = libm::ceil(quantile * self.samples as f64 - 1e-6).max(1.0) as u64;
        let mut seen = 0;
        let mut last = 0;
        for (_, high, count) in self.buckets() {
            seen += count;
            last = high;
            if seen >= rank {
                break;
            }
        }
        Ok(last)
    }
}

fn bucket_of(value: u64) -> usize {
    let magnitude = (u64::BITS - value.leading_zeros()).saturating_sub(SUB_BITS + 1);
    ((u64::from(magnitude) << SUB_BITS) + (value >> magnitude)) as usize
}

fn bounds_of(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    let magnitude = (bucket >> SUB_BITS).saturating_sub(1);
    let low = (bucket - (magnitude << SUB_BITS)) << magnitude;
    (low, low + ((1 << magnitude) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quantile_needs_a_hundred_samples_beyond_it() {
        assert_eq!(samples_needed(0.5), Ok(200));
        assert_eq!(samples_needed(0.99), Ok(10_000));
        assert_eq!(samples_needed(0.999), Ok(100_000));
        assert_eq!(samples_needed(0.01), Ok(10_000));
        assert!(matches!(samples_needed(1.0), Err(Error::NotAShare(_))));
        let mut histogram = Histogram::new();
        for value in 1..10_000 {
            histogram.add(value);
        }
        let error = histogram.quantile(0.99).expect_err("one too few").to_string();
        assert!(error.contains("10000") && error.contains("9999"), "{error}");
        histogram.add(10_000);
        let p99 = histogram.quantile(0.99).expect("enough");
        assert!((9_900..=9_978).contains(&p99), "{p99}");
        assert_eq!(histogram.quantile(0.01), Ok(100));
    }

    proptest! {
        #[test]
        fn a_value_is_in_its_bucket_and_buckets_are_narrow(value in any::<u64>()) {
            let (low, high) = bounds_of(bucket_of(value));
            prop_assert!(low <= value && value <= high);
            prop_assert!((high - low) as f64 <= low as f64 / 128.0);
            if high < u64::MAX {
                prop_assert_eq!(bucket_of(high + 1), bucket_of(value) + 1);
            }
        }

        #[test]
        fn merging_is_counting_together(
            a in prop::collection::vec(0u64..1_000_000, 0..50),
            b in prop::collection::vec(0u64..1_000_000, 0..50),
        ) {
            let count = |values: &[u64]| {
                let mut histogram = Histogram::new();
                values.iter().for_each(|&value| histogram.add(value));
                histogram
            };
            let mut merged = count(&a);
            merged.merge(&count(&b));
            prop_assert_eq!(merged, count(&[a, b].concat()));
        }
    }
}
