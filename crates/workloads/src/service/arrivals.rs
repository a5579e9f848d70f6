//! When requests are due: drawn beforehand by seed, whatever the server does.

use coretwin_base::random::Stream;
use serde::{Deserialize, Serialize};

/// Share of time in bursts, how much more than the mean rate a burst has, and its mean length in
/// seconds: a Markov-modulated Poisson process of two states.
pub const BURST_SHARE: f64 = 0.1;
pub const BURST_FACTOR: f64 = 4.0;
pub const BURST_S: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    Poisson,
    Constant,
    Bursty,
}

impl Pattern {
    pub const NAMES: [(&'static str, Self); 3] =
        [("poisson", Self::Poisson), ("constant", Self::Constant), ("bursty", Self::Bursty)];
}

/// Times at which requests are due, in nanoseconds from the start, without an end.
pub struct Arrivals {
    pattern: Pattern,
    rate_per_s: f64,
    stream: Stream,
    now_s: f64,
    in_burst: bool,
    /// When the state of a bursty process changes.
    change_s: f64,
}

impl Arrivals {
    #[must_use]
    pub fn new(pattern: Pattern, rate_per_s: f64, seed: u64) -> Self {
        let mut stream = Stream::new(seed, "arrivals", 0);
        let in_burst = stream.unit() < BURST_SHARE;
        let change_s = state_s(in_burst) * exponential(&mut stream);
        Self { pattern, rate_per_s, stream, now_s: 0.0, in_burst, change_s }
    }

    fn next_bursty_s(&mut self) -> f64 {
        loop {
            let factor = match self.in_burst {
                true => BURST_FACTOR,
                false => (1.0 - BURST_SHARE * BURST_FACTOR) / (1.0 - BURST_SHARE),
            };
            let next_s = self.now_s + exponential(&mut self.stream) / (self.rate_per_s * factor);
            if next_s < self.change_s {
                return next_s;
            }
            // The process has no memory: what is left of the gap is drawn anew at the other rate.
            self.now_s = self.change_s;
            self.in_burst = !self.in_burst;
            self.change_s += state_s(self.in_burst) * exponential(&mut self.stream);
        }
    }
}

fn state_s(in_burst: bool) -> f64 {
    if in_burst { BURST_S } else { BURST_S * (1.0 - BURST_SHARE) / BURST_SHARE }
}

impl Iterator for Arrivals {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.now_s = match self.pattern {
            Pattern::Poisson => self.now_s + exponential(&mut self.stream) / self.rate_per_s,
            Pattern::Constant => self.now_s + 1.0 / self.rate_per_s,
            Pattern::Bursty => self.next_bursty_s(),
        };
        Some((self.now_s * 1e9) as u64)
    }
}

/// An exponential number of mean 1, the same on every host.
pub(crate) fn exponential(stream: &mut Stream) -> f64 {
    -libm::log(1.0 - stream.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean rate per second, and the variance of the counts in windows of 10 ms over their mean.
    fn counted(pattern: Pattern, seed: u64) -> (f64, f64) {
        const WINDOW_NS: u64 = 10_000_000;
        let (rate, seconds) = (2_000.0, 400);
        let end = seconds * 1_000_000_000;
        let mut counts = vec![0_u32; (end / WINDOW_NS) as usize];
        for due in Arrivals::new(pattern, rate, seed).take_while(|due| *due < end) {
            counts[(due / WINDOW_NS) as usize] += 1;
        }
        let all = counts.len() as f64;
        let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / all;
        let square = counts.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum::<f64>();
        (mean * all / seconds as f64, square / all / mean)
    }

    #[test]
    fn every_pattern_keeps_its_rate_and_differs_in_its_dispersion() {
        for seed in 0..3 {
            let (rate, dispersion) = counted(Pattern::Constant, seed);
            assert!((rate / 2_000.0 - 1.0).abs() < 1e-3 && dispersion < 0.06, "{dispersion}");
            let (rate, dispersion) = counted(Pattern::Poisson, seed);
            assert!((rate / 2_000.0 - 1.0).abs() < 0.01, "{rate}");
            assert!((dispersion - 1.0).abs() < 0.05, "{dispersion}");
            let (rate, dispersion) = counted(Pattern::Bursty, seed);
            assert!((rate / 2_000.0 - 1.0).abs() < 0.1, "{rate}");
            assert!(dispersion > 5.0, "{dispersion}");
        }
    }

    #[test]
    fn times_depend_on_the_seed_alone_and_never_run_backwards() {
        for (_, pattern) in Pattern::NAMES {
            let times = |seed| Arrivals::new(pattern, 1e5, seed).take(1000).collect::<Vec<_>>();
            assert_eq!(times(1), times(1));
            assert!(times(1).is_sorted());
            assert_eq!(times(1) == times(2), pattern == Pattern::Constant);
        }
    }
}
