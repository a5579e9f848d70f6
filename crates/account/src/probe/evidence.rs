//! How much a comparison says for and against contention, and what comparisons say together.
//!
//! A comparison is the natural log of a speed beside somebody over the speed apart. Two
//! hypotheses: *free*, the log is 0 but for noise and what a changed clock rate does to all; and
//! *in the way*, it is anywhere between [`SLOWEST`] and [`FASTEST`]. Under both, one comparison in
//! twenty is an outlier that can be anything: so no single one, however wild, says more than about
//! six nats, and many ordinary ones outvote it.

use coretwin_base::account::probe::{Contention, Pair};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_stats::confidence::CONFIDENCE;
use coretwin_stats::paired::Paired;

/// Spread of a comparison of CPUs that are free of each other: noise of both sides (1 to 3 %), and
/// clock rates that differ by how many cores are busy.
const FREE_DEVIATION: f64 = 0.05;
/// The least speed that is left beside others, as a share: eight siblings of equal rights and more.
const SLOWEST: f64 = 0.1;
/// The most that is left: below it clock rates alone do not explain the loss.
const FASTEST: f64 = 0.85;
/// How often a comparison is an outlier.
const OUTLIERS: f64 = 0.05;
/// Where outliers are, evenly, in log.
const OUTLIER_RANGE: f64 = 4.0;

/// Evidence of one comparison, in nats: above 0 for contention, below 0 against it.
pub(super) fn weight(log_ratio: f64) -> f64 {
    let outlier = OUTLIERS / OUTLIER_RANGE;
    let z = log_ratio / FREE_DEVIATION;
    let normal = (-0.5 * z * z).exp() / (FREE_DEVIATION * std::f64::consts::TAU.sqrt());
    let range = SLOWEST.ln()..=FASTEST.ln();
    let even = if range.contains(&log_ratio) { 1.0 / (range.end() - range.start()) } else { 0.0 };
    (((1.0 - OUTLIERS) * even + outlier) / ((1.0 - OUTLIERS) * normal + outlier)).ln()
}

/// The most that is claimed: of a thousand made-up machines 999 are found right (docs/method/probe.md),
/// and evidence that was gathered in one moment does not bear more.
pub(super) const CONFIDENCE_MAX: f64 = 0.999;

/// Probability of contention after that much evidence, if both were as likely before.
pub(super) fn probability(evidence: f64) -> f64 {
    (1.0 / (1.0 + (-evidence).exp())).clamp(1.0 - CONFIDENCE_MAX, CONFIDENCE_MAX)
}

#[derive(Debug, Default, Clone)]
pub(super) struct Compared {
    /// Evidence so far, in nats.
    pub(super) evidence: f64,
    repeats: Vec<f64>,
}

impl Compared {
    /// Takes in a repetition: one comparison of each CPU, where both were measured.
    pub(super) fn add(&mut self, log_ratios: [f64; 2]) {
        self.evidence += log_ratios.into_iter().map(weight).sum::<f64>();
        self.repeats.push(log_ratios.iter().sum::<f64>() / 2.0);
    }

    pub(super) fn len(&self) -> usize {
        self.repeats.len()
    }

    pub(super) fn describe(&self, [a, b]: [CpuId; 2], kind: Contention) -> Pair {
        let paired = Paired::new(&self.repeats);
        let mean = paired.map_or(0.0, |paired| paired.mean);
        let (low, high) = paired
            .and_then(|paired| paired.interval(CONFIDENCE, 1.0))
            .unwrap_or((SLOWEST.ln(), 0.0));
        Pair {
            a,
            b,
            kind,
            ratio: mean.exp(),
            low: low.exp(),
            high: high.exp(),
            repeats: self.repeats.len() as u32,
            confidence: probability(self.evidence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_and_strangers_are_told_apart_and_outliers_are_outvoted() {
        for siblings in [0.25_f64, 0.5, 0.66, 0.8] {
            assert!(weight(siblings.ln()) > 2.0, "{siblings}: {}", weight(siblings.ln()));
        }
        for strangers in [0.92_f64, 0.97, 1.0, 1.03, 1.08] {
            assert!(weight(strangers.ln()) < -3.0, "{strangers}: {}", weight(strangers.ln()));
        }
        for wild in [0.001_f64, 0.3, 1.5, 100.0] {
            assert!(weight(wild.ln()).abs() < 6.0, "{wild}: {}", weight(wild.ln()));
        }
    }

    #[test]
    fn comparisons_give_a_ratio_with_an_interval() {
        let mut compared = Compared::default();
        for noise in [-0.02, 0.0, 0.02, 0.01, -0.01] {
            compared.add([0.5_f64.ln() + noise, 0.6_f64.ln() + noise]);
        }
        let pair = compared.describe([CpuId(0), CpuId(1)], Contention::Ports);
        let centre = 0.3_f64.sqrt();
        assert!((pair.ratio - centre).abs() < 1e-9 && pair.low < centre && pair.high > centre);
        assert!(pair.high - pair.low < 0.03 && pair.confidence >= 0.999, "{pair:?}");
    }
}
