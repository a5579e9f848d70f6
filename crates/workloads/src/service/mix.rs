//! What is asked of the server: kinds of requests and mixes of them, as data.

use super::arrivals::exponential;
use coretwin_base::random::Stream;

/// A part of what a request takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Rounds of dependent integer arithmetic.
    Compute(u32),
    /// Dependent loads through the server's memory, a cache line each.
    Walk(u32),
    /// Times the lock that all workers share is taken, for 32 rounds of arithmetic each.
    Lock(u32),
    /// A message of this many bytes to another thread over loopback TCP, and back.
    Hop(u32),
    /// Spins until a time has passed that the request names; its mean is `service_us`.
    Spin(Shape),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Fixed,
    Exponential,
    /// Two exponentials, balanced, with a squared coefficient of variation of 4.
    Hyperexponential,
}

pub struct Kind {
    /// How often it comes, beside the others of its mix.
    pub weight: u32,
    pub steps: &'static [Step],
    /// Bytes of the answer behind its head.
    pub reply: u32,
}

pub struct Mix {
    pub name: &'static str,
    pub about: &'static str,
    pub kinds: &'static [Kind],
}

/// Requests in memcached's text protocol, for a server of the user.
pub const MEMCACHED: &str = "memcached";

pub static MIXES: &[Mix] = &[
    Mix {
        name: "key-value",
        about: "nine lookups in memory to one store under a lock",
        kinds: &[
            kind(9, &[Step::Compute(400), Step::Walk(12)], 100),
            kind(1, &[Step::Compute(400), Step::Walk(12), Step::Lock(1)], 8),
        ],
    },
    Mix {
        name: "page",
        about: "four pages, each with two questions to a backend, to one file",
        kinds: &[
            kind(
                4,
                &[
                    Step::Compute(20_000),
                    Step::Hop(256),
                    Step::Walk(200),
                    Step::Lock(1),
                    Step::Hop(256),
                    Step::Compute(60_000),
                ],
                8 << 10,
            ),
            kind(1, &[Step::Compute(2_000), Step::Walk(100)], 16 << 10),
        ],
    },
    Mix {
        name: "compute",
        about: "arithmetic alone",
        kinds: &[kind(1, &[Step::Compute(50_000)], 8)],
    },
    Mix {
        name: "walk",
        about: "dependent loads alone",
        kinds: &[kind(1, &[Step::Walk(1_000)], 8)],
    },
    Mix { name: "lock", about: "a shared lock alone", kinds: &[kind(1, &[Step::Lock(50)], 8)] },
    Mix {
        name: "hop",
        about: "a message to another thread and back, alone",
        kinds: &[kind(1, &[Step::Hop(64)], 8)],
    },
    Mix {
        name: "spin-fixed",
        about: "the same time each",
        kinds: &[kind(1, &[Step::Spin(Shape::Fixed)], 8)],
    },
    Mix {
        name: "spin-exponential",
        about: "exponential times",
        kinds: &[kind(1, &[Step::Spin(Shape::Exponential)], 8)],
    },
    Mix {
        name: "spin-hyperexponential",
        about: "mostly short times and a few long ones",
        kinds: &[kind(1, &[Step::Spin(Shape::Hyperexponential)], 8)],
    },
];

const fn kind(weight: u32, steps: &'static [Step], reply: u32) -> Kind {
    Kind { weight, steps, reply }
}

#[must_use]
pub fn find(name: &str) -> Option<&'static Mix> {
    MIXES.iter().find(|mix| mix.name == name)
}

/// What requests of a mix ask, drawn by seed: the same sequence in every arm.
pub struct Requests {
    kinds: &'static [Kind],
    weights: u32,
    mean_ns: f64,
    stream: Stream,
}

impl Requests {
    #[must_use]
    pub fn new(mix: &'static Mix, service_us: f64, seed: u64) -> Self {
        let weights = mix.kinds.iter().map(|kind| kind.weight).sum();
        let stream = Stream::new(seed, "requests", 0);
        Self { kinds: mix.kinds, weights, mean_ns: service_us * 1e3, stream }
    }

    /// Index of the kind, and its argument: the time to spin in nanoseconds, or a random number.
    pub fn draw(&mut self) -> (u32, u64) {
        let mut at = match self.kinds {
            [_] => 0,
            _ => self.stream.below(u64::from(self.weights)) as u32,
        };
        let mut index = 0;
        while at >= self.kinds[index].weight {
            at -= self.kinds[index].weight;
            index += 1;
        }
        let shape = self.kinds[index].steps.iter().find_map(|step| match step {
            Step::Spin(shape) => Some(*shape),
            _ => None,
        });
        let argument = match shape {
            Some(shape) => (self.mean_ns * times_mean(shape, &mut self.stream)) as u64,
            None => self.stream.next_u64(),
        };
        (index as u32, argument)
    }
}

/// A service time of mean 1.
pub fn times_mean(shape: Shape, stream: &mut Stream) -> f64 {
    match shape {
        Shape::Fixed => 1.0,
        Shape::Exponential => exponential(stream),
        Shape::Hyperexponential => {
            // Each branch has half of the mean: 0.5 (1 ± √((4 − 1) / (4 + 1))).
            const OFTEN: f64 = 0.887_298_334_620_741_7;
            let share = if stream.unit() < OFTEN { OFTEN } else { 1.0 - OFTEN };
            exponential(stream) / (2.0 * share)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_times_have_mean_and_variation_of_their_shape() {
        for (shape, variation) in
            [(Shape::Fixed, 0.0), (Shape::Exponential, 1.0), (Shape::Hyperexponential, 4.0)]
        {
            let mut stream = Stream::new(1, "test", 0);
            let all: Vec<f64> = (0..400_000).map(|_| times_mean(shape, &mut stream)).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let square = all.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
            let seen = square / all.len() as f64 / mean / mean;
            assert!((mean - 1.0).abs() < 0.01, "{shape:?}: {mean}");
            assert!((seen - variation).abs() < 0.1, "{shape:?}: {seen}");
        }
    }

    #[test]
    fn kinds_come_by_their_weight_and_equal_seeds_ask_the_same() {
        for mix in MIXES {
            let mut counts = vec![0.0; mix.kinds.len()];
            let mut requests = Requests::new(mix, 100.0, 7);
            (0..20_000).for_each(|_| counts[requests.draw().0 as usize] += 1.0);
            let weights: u32 = mix.kinds.iter().map(|kind| kind.weight).sum();
            for (kind, count) in mix.kinds.iter().zip(counts) {
                let due = f64::from(kind.weight) / f64::from(weights);
                assert!((count / 20_000.0 - due).abs() < 0.02, "{}", mix.name);
            }
            let drawn = |seed| {
                let mut requests = Requests::new(mix, 100.0, seed);
                (0..100).map(|_| requests.draw()).collect::<Vec<_>>()
            };
            assert_eq!(drawn(1), drawn(1));
        }
    }
}
