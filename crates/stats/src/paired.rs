//! Differences between two arms, one per block: mean, interval, p-value, Hodges–Lehmann estimate.
//!
//! On the ratio scale a difference is a log ratio, so that the mean is the log of a geometric mean
//! of ratios and "twice as fast" and "half as fast" are equally far from 1.

use crate::student;

/// Mean and spread of the differences of some blocks.
///
/// Source: Student (1908); for ratios of run times Kalibera & Jones, *Quantifying performance
/// changes with effect size confidence intervals* (arXiv 2007.10899).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    pub blocks: u32,
    pub mean: f64,
    /// Their standard deviation (divisor n − 1); 0 for a single one. Of a suite, the number whose
    /// share by √`blocks` is the standard error.
    pub deviation: f64,
    /// Degrees of freedom of the deviation; below 1 it tells nothing.
    pub degrees: f64,
    /// Most that rounding of the values can have moved the mean, beside the spread; 0 where values
    /// are finer than their spread.
    pub rounding: f64,
}

impl Paired {
    /// From one difference per block; `None` if there is no difference.
    pub fn new(differences: &[f64]) -> Option<Self> {
        let blocks = u32::try_from(differences.len()).ok().filter(|&blocks| blocks > 0)?;
        let mean = differences.iter().sum::<f64>() / f64::from(blocks);
        let squares: f64 = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
        let deviation = libm::sqrt(squares / f64::from((blocks - 1).max(1)));
        let degrees = f64::from(blocks - 1);
        Some(Self { blocks, mean, deviation, degrees, rounding: 0.0 })
    }

    /// Degrees of freedom; `None` for fewer than two blocks, which tell nothing about spread.
    pub fn degrees(&self) -> Option<f64> {
        (self.degrees >= 1.0).then_some(self.degrees)
    }

    pub fn standard_error(&self) -> f64 {
        self.deviation / libm::sqrt(f64::from(self.blocks))
    }

    /// Half-width that the spread alone gives: t·s/√n, times `widening` (1 for the plain interval).
    /// More blocks make it smaller, which they never do of `rounding`.
    pub fn half_width_of_spread(&self, confidence: f64, widening: f64) -> Option<f64> {
        let critical = student::critical(confidence, self.degrees()?);
        // The widening of a sequence has no bound in its first blocks.
        Some(widening * critical * self.standard_error()).filter(|half| half.is_finite())
    }

    pub fn half_width(&self, confidence: f64, widening: f64) -> Option<f64> {
        Some(self.half_width_of_spread(confidence, widening)? + self.rounding)
    }

    pub fn interval(&self, confidence: f64, widening: f64) -> Option<(f64, f64)> {
        let half = self.half_width(confidence, widening)?;
        Some((self.mean - half, self.mean + half))
    }

    /// Two-sided p-value of no effect. It belongs to the interval of the same widening: below 1
    /// less a confidence exactly if the interval of that confidence excludes 0.
    pub fn p(&self, widening: f64) -> Option<f64> {
        let degrees = self.degrees()?;
        let error = self.standard_error() * widening;
        let beyond_rounding = libm::fabs(self.mean) - self.rounding;
        if beyond_rounding <= 0.0 {
            return Some(1.0);
        }
        if error == 0.0 {
            return Some(0.0);
        }
        Some(student::two_sided(beyond_rounding / error, degrees))
    }
}

/// Hodges–Lehmann estimate of the centre: the median of all averages of two differences (each with
/// itself included). It hardly moves for a few wild blocks, so it stands beside the mean.
///
/// Source: Hodges & Lehmann, *Estimates of location based on rank tests*, Annals of Mathematical
/// Statistics 34 (1963). The median is found by bisection over the representable numbers, each step
/// counting in one pass over the sorted differences, so that the time is n log n, not n².
pub fn hodges_lehmann(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let mut sorted = differences.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len() as u64;
    let averages = count * (count + 1) / 2;
    let upper = nth_average(&sorted, averages / 2);
    if averages % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(nth_average(&sorted, averages / 2 - 1), upper))
}

/// The average of rank `rank` (from 0) among the averages of two of the sorted values.
fn nth_average(sorted: &[f64], rank: u64) -> f64 {
    let mut low = ordered_bits(sorted[0]);
    let mut high = ordered_bits(sorted[sorted.len() - 1]);
    while low < high {
        let middle = low + (high - low) / 2;
        if averages_up_to(sorted, from_ordered_bits(middle)) > rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    from_ordered_bits(low)
}

/// How many averages of two values (i ≤ j) are at most `limit`.
fn averages_up_to(sorted: &[f64], limit: f64) -> u64 {
    let (mut count, mut end) = (0u64, sorted.len());
    for (first, &value) in sorted.iter().enumerate() {
        while end > first && f64::midpoint(value, sorted[end - 1]) > limit {
            end -= 1;
        }
        if end <= first {
            break;
        }
        count += (end - first) as u64;
    }
    count
}

/// A whole number that grows with the float, for bisection over all floats.
fn ordered_bits(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn from_ordered_bits(ordered: u64) -> f64 {
    f64::from_bits(if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_worked_example() {
        // Student's own sleep data: ten differences, mean 1.58, t = 4.0621, p = 0.00283,
        // 95 % interval 0.7001 to 2.4599.
        let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let paired = Paired::new(&sleep).expect("ten differences");
        let (low, high) = paired.interval(0.95, 1.0).expect("an interval");
        assert!((paired.mean - 1.58).abs() < 1e-12);
        assert!((low - 0.7001).abs() < 5e-5 && (high - 2.4599).abs() < 5e-5, "{low} {high}");
        assert!((paired.p(1.0).expect("p") - 0.002_83).abs() < 5e-6);
        assert_eq!(hodges_lehmann(&sleep), Some(1.3));
    }

    #[test]
    fn one_block_has_no_interval() {
        let one = Paired::new(&[0.3]).expect("one");
        assert_eq!((one.interval(0.95, 1.0), one.p(1.0)), (None, None));
        assert_eq!(Paired::new(&[]), None);
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[f64::NAN]), None);
    }

    #[test]
    fn without_spread_the_interval_is_a_point() {
        let same = Paired::new(&[0.25; 8]).expect("eight");
        assert_eq!(same.interval(0.95, 1.0), Some((0.25, 0.25)));
        assert_eq!(same.p(1.0), Some(0.0));
        assert_eq!(Paired::new(&[0.0; 8]).and_then(|none| none.p(1.0)), Some(1.0));
    }

    proptest! {
        #[test]
        fn hodges_lehmann_is_the_median_of_all_averages(
            differences in prop::collection::vec(-1e3f64..1e3, 1..40)
        ) {
            let mut averages = Vec::new();
            for (i, a) in differences.iter().enumerate() {
                averages.extend(differences[i..].iter().map(|b| f64::midpoint(*a, *b)));
            }
            averages.sort_unstable_by(f64::total_cmp);
            let half = averages.len() / 2;
            let median = if averages.len() % 2 == 1 {
                averages[half]
            } else {
                f64::midpoint(averages[half - 1], averages[half])
            };
            prop_assert_eq!(hodges_lehmann(&differences), Some(median));
        }

        #[test]
        fn p_is_below_the_level_exactly_if_the_interval_excludes_no_effect(
            differences in prop::collection::vec(-1f64..1.2, 2..30), widening in 1f64..1.3
        ) {
            let paired = Paired::new(&differences).expect("some");
            let (low, high) = paired.interval(0.95, widening).expect("interval");
            let p = paired.p(widening).expect("p");
            prop_assume!((p - 0.05).abs() > 1e-9);
            prop_assert_eq!(p < 0.05, low > 0.0 || high < 0.0);
        }
    }
}
