//! What becomes of the samples: their median, and how well it is known.
//!
//! The interval of a median is between two of the samples, whatever their distribution: that the
//! median lies below the k-th of n samples has the probability that a coin thrown n times shows
//! heads fewer than k times (David and Nagaraja, Order Statistics, 7.1).

/// The share of intervals that shall hold the median.
const CONFIDENCE: f64 = 0.95;

/// The median of samples of one run, and between which samples it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Median {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Share of such intervals that hold the median: 0.95 or more, less of fewer than six samples.
    pub(super) confidence: f64,
}

impl Median {
    /// The median of at least one sample.
    pub(super) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
        let value = f64::midpoint(sorted[first], sorted[last]);
        let (outside, confidence) = trimmed(sorted.len());
        let high = sorted[sorted.len() - 1 - outside];
        Some(Self { value, low: sorted[outside], high, confidence })
    }
}

/// How many samples on either side the interval leaves out, and its confidence.
fn trimmed(count: usize) -> (usize, f64) {
    // Probability that so many of the samples are below the median, and of at most so many.
    let mut exactly = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut at_most = exactly;
    let mut outside = 0;
    let mut confidence = 1.0 - 2.0 * at_most;
    while 2 * (outside + 1) < count {
        exactly *= (count - outside) as f64 / (outside + 1) as f64;
        at_most += exactly;
        if 1.0 - 2.0 * at_most < CONFIDENCE {
            break;
        }
        outside += 1;
        confidence = 1.0 - 2.0 * at_most;
    }
    (outside, confidence.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_between_two_samples() {
        let samples: Vec<f64> = (1..=11).rev().map(f64::from).collect();
        let median = Median::of(&samples).expect("median");
        assert_eq!((median.value, median.low, median.high), (6.0, 2.0, 10.0));
        // 1 - 2 (1 + 11) / 2^11.
        assert!((median.confidence - 0.988_281_25).abs() < 1e-12, "{median:?}");
        let even = Median::of(&[4.0, 1.0, 3.0, 2.0]).expect("median");
        assert_eq!((even.value, even.low, even.high, even.confidence), (2.5, 1.0, 4.0, 0.875));
        let one = Median::of(&[7.0]).expect("median");
        assert_eq!((one.value, one.low, one.high, one.confidence), (7.0, 7.0, 7.0, 0.0));
        assert_eq!(Median::of(&[]), None);
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        // Number of samples left out on either side at 95 %, of 6, 9, 12, 20, 25, 100 samples.
        for (count, outside) in [(6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (25, 7), (100, 39)] {
            assert_eq!(trimmed(count).0, outside, "{count}");
        }
        // Of so many samples that a single outcome's probability is next to nothing.
        let (outside, confidence) = trimmed(1001);
        assert!((468..=470).contains(&outside) && confidence >= 0.95, "{outside} {confidence}");
    }
}
