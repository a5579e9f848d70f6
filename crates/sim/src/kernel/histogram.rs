//! Counts of durations in buckets that are 1/32 of their value wide, so that any quantile of any
//! number of samples is known to 3 % in little memory.

const FINE: u64 = 32;

const BUCKETS: usize = (FINE as usize) * 60;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: u128,
    most: u64,
}

impl Histogram {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        if self.counts.is_empty() {
            self.counts.resize(BUCKETS, 0);
        }
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.sum += u128::from(value);
        self.most = self.most.max(value);
    }

    pub fn count(&self) -> u64 {
        self.total
    }

    pub fn most(&self) -> u64 {
        self.most
    }

    /// The mean, rounded down; 0 without samples.
    pub fn mean(&self) -> u64 {
        self.sum.checked_div(u128::from(self.total)).unwrap_or(0) as u64
    }

    /// The value that this part of the samples, in millionths, does not exceed; too high by at most
    /// 1/32. 0 without samples.
    pub fn quantile(&self, millionths: u64) -> u64 {
        let rank = (u128::from(self.total) * u128::from(millionths)).div_ceil(1_000_000) as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank.max(1) {
                return upper(bucket).min(self.most);
            }
        }
        self.most
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    if value < FINE {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() as u64 - FINE.trailing_zeros() as u64;
    (shift * FINE + (value >> shift)) as usize
}

fn upper(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * FINE {
        return bucket;
    }
    let shift = bucket / FINE - 1;
    ((bucket % FINE + FINE + 1) << shift).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket() {
        for value in (0..10_000).chain([1 << 20, (1 << 40) + 12_345, u64::MAX]) {
            let index = bucket(value);
            assert!(index < BUCKETS && upper(index) >= value, "{value}");
            assert!(index == 0 || upper(index - 1) < value, "{value}");
            assert!(upper(index) - value <= value / FINE, "{value}");
        }
    }

    #[test]
    fn quantiles_are_within_a_thirty_second() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.add(value * 1000));
        for (millionths, exact) in [(500_000, 500_000), (990_000, 990_000), (1_000_000, 1_000_000)]
        {
            let found = histogram.quantile(millionths);
            assert!((exact..=exact + exact / 32).contains(&found), "{millionths}: {found}");
        }
        assert_eq!((histogram.mean(), histogram.most()), (500_500, 1_000_000));
        assert_eq!(Histogram::default().quantile(500_000), 0);
    }
}
