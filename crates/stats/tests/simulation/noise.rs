//! The noise model, written down.
//!
//! The log of the i-th run's time, counted through the study in the order the runs really happen:
//!
//! ```text
//! y_i = effect of its arm + drift·i/40 + e_i + spike_i
//! e_i = phi·e_(i−1) + sqrt(1 − phi²)·sigma·z_i      z_i standard normal, e stationary
//! spike_i = spike with probability 5 %, else 0
//! ```
//!
//! `sigma` is the spread of a run, `phi` how much of a disturbance the next run still feels, `drift`
//! the slow-down over 40 runs (20 blocks of two), `spike` how much longer one run in twenty takes. The arms' order
//! within a block is drawn by the crate itself.

use coretwin_base::random::Stream;
use coretwin_stats::orders;

/// Share of runs that are hit by a spike.
pub(crate) const SPIKE_SHARE: f64 = 0.05;

/// What makes runs of one arm differ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    /// Name in the printed table.
    pub(crate) name: &'static str,
    /// Standard deviation of a run's log.
    pub(crate) sigma: f64,
    /// Correlation with the run before; 1 is a random walk, whose steps have the spread `sigma`.
    pub(crate) phi: f64,
    /// Drift of the log over 40 runs.
    pub(crate) drift: f64,
    /// Log of a spike.
    pub(crate) spike: f64,
    /// Share of runs that have one.
    pub(crate) share: f64,
    /// Probability that a run has one just because the run before had, or has none.
    pub(crate) sticks: f64,
}

/// Normal noise, nothing else.
pub(crate) const PLAIN: Noise = Noise {
    name: "independent",
    sigma: 0.01,
    phi: 0.0,
    drift: 0.0,
    spike: 0.0,
    share: SPIKE_SHARE,
    sticks: 0.0,
};
/// Each run half remembers the one before.
pub(crate) const CORRELATED: Noise = Noise {
    name: "autocorrelated",
    sigma: 0.01,
    phi: 0.5,
    drift: 0.0,
    spike: 0.0,
    share: SPIKE_SHARE,
    sticks: 0.0,
};
/// The standard model: autocorrelated, drifting by 1 %, with spikes of 10 %.
pub(crate) const STANDARD: Noise = Noise {
    name: "standard",
    sigma: 0.01,
    phi: 0.5,
    drift: 0.01,
    spike: 0.10,
    share: SPIKE_SHARE,
    sticks: 0.0,
};
/// A smaller spike hides better in the noise.
pub(crate) const SMALL_SPIKES: Noise = Noise {
    name: "spikes of 5 %",
    sigma: 0.01,
    phi: 0.5,
    drift: 0.01,
    spike: 0.05,
    share: SPIKE_SHARE,
    sticks: 0.0,
};
/// Spikes as seen on a shared virtual machine.
pub(crate) const LARGE_SPIKES: Noise = Noise {
    name: "spikes of 20 %",
    sigma: 0.01,
    phi: 0.5,
    drift: 0.01,
    spike: 0.20,
    share: SPIKE_SHARE,
    sticks: 0.0,
};
/// A machine that heats up.
pub(crate) const STRONG_DRIFT: Noise = Noise {
    name: "drift of 3 %",
    sigma: 0.01,
    phi: 0.5,
    drift: 0.03,
    spike: 0.10,
    share: SPIKE_SHARE,
    sticks: 0.0,
};
/// Each run remembers four fifths of the one before. Hard on a rule that stops early, so it has a
/// table of its own.
pub(crate) const STICKY: Noise = Noise {
    name: "autocorrelated by 0.8",
    sigma: 0.01,
    phi: 0.8,
    drift: 0.0,
    spike: 0.0,
    share: SPIKE_SHARE,
    sticks: 0.0,
};
/// A machine that heats up, and nothing else.
pub(crate) const PURE_DRIFT: Noise = Noise { name: "drift of 5 %", drift: 0.05, ..PLAIN };
/// Runs that never return to a mean.
pub(crate) const WALK: Noise = Noise { name: "random walk", phi: 1.0, ..PLAIN };
/// Three runs in ten are in a slower mode.
pub(crate) const BIMODAL: Noise = Noise { name: "bimodal", spike: 0.08, share: 0.3, ..PLAIN };
/// The same mode, kept for ten runs in the mean.
pub(crate) const STICKY_MODE: Noise = Noise { name: "sticky +8 %", sticks: 0.9, ..BIMODAL };
/// All that every promise is measured on.
pub(crate) const MODELS: [Noise; 6] =
    [PLAIN, CORRELATED, STANDARD, SMALL_SPIKES, LARGE_SPIKES, STRONG_DRIFT];

/// Standard normal numbers.
pub(crate) struct Normal {
    stream: Stream,
    spare: Option<f64>,
}

impl Normal {
    pub(crate) fn new(purpose: &str, trial: u64) -> Self {
        Self { stream: Stream::new(7, purpose, trial), spare: None }
    }

    /// The next one (Box & Muller 1958).
    pub(crate) fn draw(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.stream.unit()));
        let angle = std::f64::consts::TAU * self.stream.unit();
        self.spare = Some(radius * libm::sin(angle));
        radius * libm::cos(angle)
    }

    /// True with that probability.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.stream.unit() < probability
    }
}

/// The runs of one study, one after the other.
pub(crate) struct Runs {
    noise: Noise,
    normal: Normal,
    state: f64,
    is_spike: bool,
    done: u32,
}

impl Runs {
    pub(crate) fn new(noise: Noise, trial: u64) -> Self {
        let mut normal = Normal::new(noise.name, trial);
        let state = noise.sigma * normal.draw();
        Self { noise, normal, state, is_spike: false, done: 0 }
    }

    /// Log of the next run's time, without any effect.
    pub(crate) fn next(&mut self) -> f64 {
        let Noise { sigma, phi, drift, spike, share, sticks, .. } = self.noise;
        let step = if phi < 1.0 { libm::sqrt(1.0 - phi * phi) } else { 1.0 };
        let innovation = step * sigma * self.normal.draw();
        self.state = phi * self.state + innovation;
        if !(sticks > 0.0 && self.normal.happens(sticks)) {
            self.is_spike = self.normal.happens(share);
        }
        let spike = if self.is_spike { spike } else { 0.0 };
        self.done += 1;
        drift * f64::from(self.done) / 40.0 + self.state + spike
    }
}

/// Differences of two equal arms (reference less arm: above 0 the arm took less time), by block, in
/// orders drawn as a study draws them.
pub(crate) fn differences(noise: Noise, trial: u64, blocks: usize) -> Vec<f64> {
    let mut runs = Runs::new(noise, trial);
    orders::balanced(2, blocks, &mut Stream::new(trial, "order", 0))
        .iter()
        .map(|order| {
            let mut times = [0.0; 2];
            for &arm in order {
                times[usize::from(arm)] = runs.next();
            }
            times[0] - times[1]
        })
        .collect()
}

/// A count as a share of the trials, in percent.
pub(crate) fn percent(count: u32, trials: u64) -> f64 {
    f64::from(count) * 100.0 / trials as f64
}

/// The least and the most of these.
pub(crate) fn ends(values: &[f64]) -> [f64; 2] {
    let end = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).expect("a value");
    [end(f64::min), end(f64::max)]
}

/// Trials of a case: so many in the gate, and as many as `CORETWIN_TRIALS` says for the full tables.
pub(crate) fn trials(gate: u64) -> u64 {
    full_trials().unwrap_or(gate)
}

/// How many trials were asked for.
pub(crate) fn full_trials() -> Option<u64> {
    std::env::var("CORETWIN_TRIALS").ok()?.parse().ok()
}
