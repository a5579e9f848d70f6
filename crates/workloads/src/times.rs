//! How long things took that happen often: a table small enough to stay in a cache, with quantiles.
//!
//! Times fall into buckets of a sixteenth of a power of two, so a quantile is right to 3 %.
//!
//! And the monotonic clock, which all processes of a machine share.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Buckets of each power of two.
const STEPS: u32 = 16;
/// Buckets up to 2^40 ns, a quarter of an hour.
const BUCKETS: usize = 37 * STEPS as usize;
/// A quantile is given where at least this many times lie beyond it.
const BEYOND: f64 = 100.0;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    pub(crate) max_ns: u64,
    #[serde(with = "sparse")]
    buckets: Vec<u32>,
}

/// Buckets as they are written: those that are not empty, with their index.
mod sparse {
    use super::BUCKETS;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(buckets: &[u32], to: S) -> Result<S::Ok, S::Error> {
        let used = buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        used.collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
        let mut buckets = vec![0; BUCKETS];
        for (index, count) in Vec::<(usize, u32)>::deserialize(from)? {
            if let Some(bucket) = buckets.get_mut(index) {
                *bucket = count;
            }
        }
        Ok(buckets)
    }
}

impl Default for Times {
    fn default() -> Self {
        Self { count: 0, sum_ns: 0, max_ns: 0, buckets: vec![0; BUCKETS] }
    }
}

impl Times {
    #[inline]
    pub(crate) fn add(&mut self, time_ns: u64) {
        self.count += 1;
        self.sum_ns += time_ns;
        self.max_ns = self.max_ns.max(time_ns);
        self.buckets[bucket(time_ns)] += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        for (mine, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*others);
        }
    }

    /// The mean, in nanoseconds; of nothing, 0.
    pub(crate) fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64
    }

    /// The time that this share of them does not exceed, in nanoseconds; `None` if fewer than a
    /// hundred lie beyond it, too few to say anything of other times.
    pub(crate) fn quantile_ns(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count as f64;
        if self.count as f64 - wanted < BEYOND {
            return None;
        }
        let mut below = 0_u64;
        let index = self.buckets.iter().position(|count| {
            below += u64::from(*count);
            below as f64 >= wanted
        })?;
        Some(middle(index).min(self.max_ns as f64))
    }
}

#[inline]
fn bucket(time_ns: u64) -> usize {
    if time_ns < u64::from(STEPS) {
        return time_ns as usize;
    }
    let power = time_ns.ilog2();
    let step = (time_ns >> (power - STEPS.ilog2())) as usize & (STEPS as usize - 1);
    (((power - STEPS.ilog2() + 1) * STEPS) as usize + step).min(BUCKETS - 1)
}

/// The middle of a bucket, in nanoseconds.
fn middle(index: usize) -> f64 {
    let (octave, step) = (index / STEPS as usize, index % STEPS as usize);
    if octave == 0 {
        return step as f64;
    }
    let width = (1_u64 << (octave - 1)) as f64;
    (STEPS as f64 + step as f64 + 0.5) * width
}

/// The monotonic clock, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_time_falls_into_the_bucket_around_it() {
        for time in (0..70_000).chain([1 << 20, (1 << 30) + 12_345, 987_654_321]) {
            let middle = middle(bucket(time));
            assert!((middle - time as f64).abs() <= 0.5 + 0.032 * time as f64, "{time}: {middle}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert!((1..200_000).all(|time| bucket(time) >= bucket(time - 1)));
    }

    #[test]
    fn quantiles_are_those_of_the_times_and_only_where_there_are_enough() {
        let mut times = Times::default();
        (1..=10_000).for_each(|time| times.add(time * 100));
        for (share, exact) in [(0.5, 500_000.0), (0.9, 900_000.0), (0.99, 990_000.0)] {
            let quantile = times.quantile_ns(share).expect("enough");
            assert!((quantile / exact - 1.0).abs() < 0.04, "{share}: {quantile}");
        }
        assert_eq!(times.quantile_ns(0.999), None, "ten calls beyond it");
        assert_eq!((times.max_ns, times.mean_ns()), (1_000_000, 500_050.0));
    }

    #[test]
    fn what_is_written_is_read_and_sums_are_sums() {
        let mut first = Times::default();
        (0..1000).for_each(|time| first.add(time * time));
        let text = serde_json::to_string(&first).expect("written");
        assert_eq!(serde_json::from_str::<Times>(&text).expect("read"), first);
        let mut both = first.clone();
        both.merge(&first);
        assert_eq!((both.count, both.sum_ns, both.max_ns), (2000, 2 * first.sum_ns, 998_001));
    }

    #[test]
    fn a_second_has_a_thousand_million_nanoseconds() {
        let seconds = || clock_gettime(ClockId::Monotonic).tv_sec.cast_unsigned();
        let (before, now, after) = (seconds(), monotonic_ns() / 1_000_000_000, seconds());
        assert!((before..=after).contains(&now), "{before} {now} {after}");
    }
}
