//! The clock: how often an operation is repeated for a sample to last as long as it should, and
//! what clock and loop themselves cost.

use super::{Bench, Body, repeated};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A sample shorter than this says too little about the next: eight times as many operations.
const COARSE: Duration = Duration::from_micros(150);
/// A length this far below the one wanted is good enough.
const SHORT: f64 = 0.95;
/// A length this far above it is too long.
const LONG: f64 = 1.2;
/// What is aimed at, so that small changes of speed do not make a sample too short.
const AIM: f64 = 1.1;
/// Clock reads, and samples of the empty loop, of which the shortest counts.
const TRIES: usize = 101;
/// Length of a sample of the empty loop.
const EMPTY: Duration = Duration::from_micros(500);

/// What is not the operation's: taken off every sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Overheads {
    pub(super) clock_s: f64,
    /// One turn of the loop around the operation, in seconds.
    pub(super) turn_s: f64,
}

impl Overheads {
    /// Measures both. The loop is that of every operation that is one call, with a call that does
    /// nothing.
    pub(super) fn measure() -> Result<Self, Error> {
        let clock_s = shortest(|| {
            let start = Instant::now();
            Ok((1, start.elapsed()))
        })?;
        let empty = repeated("do nothing", || Ok(black_box(true)));
        let mut empty = Paced::new(Box::new(empty), EMPTY.as_secs_f64())?;
        let turn_s = shortest(|| empty.sample())?;
        Ok(Self { clock_s, turn_s: (turn_s - clock_s / empty.count as f64).max(0.0) })
    }

    /// The time of one operation: `elapsed` over `operations`, less clock and loop.
    pub(super) fn operation_s(self, operations: u64, elapsed: Duration) -> f64 {
        let net = elapsed.as_secs_f64() - self.clock_s;
        (net / operations as f64 - self.turn_s).max(0.0)
    }
}

fn shortest(mut sample: impl FnMut() -> Result<(u64, Duration), Error>) -> Result<f64, Error> {
    let mut shortest = f64::INFINITY;
    for _ in 0..TRIES {
        let (count, elapsed) = sample()?;
        shortest = shortest.min(elapsed.as_secs_f64() / count as f64);
    }
    Ok(shortest)
}

pub(super) struct Paced {
    pub(super) body: Box<dyn Body>,
    sample_s: f64,
    count: u64,
    /// Operations so far, those of finding the pace included.
    pub(super) all: u64,
}

impl Paced {
    /// Finds out how many operations a sample needs, which warms up as well.
    fn new(body: Box<dyn Body>, sample_s: f64) -> Result<Self, Error> {
        let mut paced = Self { body, sample_s, count: 1, all: 0 };
        loop {
            let (count, elapsed) = paced.sample()?;
            if elapsed.as_secs_f64() >= SHORT * sample_s || paced.count == count {
                return Ok(paced);
            }
        }
    }

    fn sample(&mut self) -> Result<(u64, Duration), Error> {
        let count = self.count;
        self.body.before(count)?;
        let start = Instant::now();
        self.body.repeat(count)?;
        let elapsed = start.elapsed();
        self.all += count;
        self.count = next_count(count, elapsed, self.sample_s).min(self.body.most());
        Ok((count, elapsed))
    }
}

/// The number for the next sample, after one of `count` operations that took so long.
fn next_count(count: u64, elapsed: Duration, sample_s: f64) -> u64 {
    let seconds = elapsed.as_secs_f64();
    if elapsed <= COARSE && seconds < SHORT * sample_s {
        return count.saturating_mul(8);
    }
    if (SHORT * sample_s..=LONG * sample_s).contains(&seconds) {
        return count;
    }
    // As a float it is cut off at the largest number.
    (AIM * sample_s * count as f64 / seconds) as u64 + 1
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// Operations, without those that are taken off.
    pub(super) operations: u64,
    /// How long they took, and those that are taken off, clock and loop with them, in seconds.
    pub(super) elapsed_s: f64,
    /// The time of one of them, clock and loop taken off, in seconds.
    pub(super) whole_s: f64,
    /// What of that is taken off, where something is: the time of one operation of the other kind.
    pub(super) minus_s: Option<f64>,
}

impl Sample {
    /// The time that counts. Of two that are subtracted it can be below 0.
    pub(super) fn operation_s(&self) -> f64 {
        self.whole_s - self.minus_s.unwrap_or(0.0)
    }
}

pub(super) struct Sampler {
    pub(super) body: Paced,
    pub(super) minus: Option<Paced>,
    pub(super) amount: f64,
    pub(super) notes: Vec<(&'static str, String)>,
}

impl Sampler {
    pub(super) fn new(bench: Bench, sample_s: f64) -> Result<Self, Error> {
        Ok(Self {
            body: Paced::new(bench.body, sample_s)?,
            minus: bench.minus.map(|minus| Paced::new(minus, sample_s)).transpose()?,
            amount: bench.amount,
            notes: bench.notes,
        })
    }

    pub(super) fn sample(&mut self, overheads: Overheads) -> Result<Sample, Error> {
        let (operations, elapsed) = self.body.sample()?;
        let mut sample = Sample {
            operations,
            elapsed_s: elapsed.as_secs_f64(),
            whole_s: overheads.operation_s(operations, elapsed),
            minus_s: None,
        };
        if let Some(minus) = &mut self.minus {
            let (operations, elapsed) = minus.sample()?;
            sample.elapsed_s += elapsed.as_secs_f64();
            sample.minus_s = Some(overheads.operation_s(operations, elapsed));
        }
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_sample_is_as_long_as_it_should_be() {
        let ms = Duration::from_millis;
        assert_eq!(next_count(1, Duration::from_micros(1), 0.05), 8, "nothing is known yet");
        assert_eq!(next_count(100, ms(50), 0.05), 100, "just right");
        assert_eq!(next_count(100, ms(48), 0.05), 100, "nearly right");
        assert_eq!(next_count(100, ms(25), 0.05), 221, "too short");
        assert_eq!(next_count(100, ms(100), 0.05), 56, "too long");
        assert_eq!(next_count(1, ms(5000), 0.05), 1, "one operation takes longer");
        let shortest = Duration::from_nanos(1);
        assert_eq!(next_count(u64::MAX / 2, shortest, 1.0), u64::MAX);
    }

    #[test]
    fn overheads_are_taken_off_and_never_more() {
        let overheads = Overheads { clock_s: 1e-6, turn_s: 2e-9 };
        let operation = overheads.operation_s(1000, Duration::from_micros(11));
        assert!((operation - 8e-9).abs() < 1e-15, "{operation}");
        assert_eq!(overheads.operation_s(1000, Duration::from_micros(2)), 0.0);
        let measured = Overheads::measure().expect("measured");
        assert!(measured.clock_s > 0.0 && measured.clock_s < 1e-3, "{measured:?}");
        assert!(measured.turn_s >= 0.0 && measured.turn_s < 1e-6, "{measured:?}");
    }

    /// Counts, and allows few at a time.
    struct Few(u64);

    impl Body for Few {
        fn repeat(&mut self, count: u64) -> Result<(), Error> {
            self.0 += count;
            Ok(())
        }

        fn most(&self) -> u64 {
            100
        }
    }

    #[test]
    fn operations_are_counted_and_no_more_than_allowed() {
        let mut sampler = Sampler::new(Bench::of(Few(0)), 0.001).expect("tuned");
        let tuned = sampler.body.all;
        let overheads = Overheads { clock_s: 0.0, turn_s: 0.0 };
        let samples = [(); 3].map(|()| sampler.sample(overheads).expect("sampled").operations);
        assert_eq!(samples, [100; 3]);
        assert_eq!(sampler.body.all, tuned + 300);
    }

    #[test]
    fn a_difference_is_of_two_samples() {
        let spin = |turns: u32| move || Ok((0..turns).all(|turn| black_box(turn) == turn));
        let bench = Bench::of(repeated("spin", spin(2000))).minus(repeated("spin", spin(1000)));
        let mut sampler = Sampler::new(bench, 0.002).expect("tuned");
        let overheads = Overheads { clock_s: 0.0, turn_s: 0.0 };
        let sample = sampler.sample(overheads).expect("sampled");
        let minus = sample.minus_s.expect("something is taken off");
        assert_eq!(sample.operation_s(), sample.whole_s - minus);
        assert!(sample.operations > 1 && sample.elapsed_s > 0.0, "{sample:?}");
    }
}
