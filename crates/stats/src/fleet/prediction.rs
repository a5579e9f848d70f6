//! What to expect of the next machine: an interval for its true effect.
//!
//! If τ² were known, the next machine's effect less the estimated mean would be normal with variance
//! τ² + 1/Σw. It is not known, so that is averaged over the confidence distribution of τ²: the value
//! at level p is where the weighed squares around the mean are chi-square's quantile p (Viechtbauer,
//! *Confidence intervals for the amount of heterogeneity in meta-analysis*, Statistics in Medicine 26,
//! 2007), as Nagashima, Noma & Furukawa do by resampling (*Prediction intervals for random-effects
//! meta-analysis: a confidence distribution approach*, Statistical Methods in Medical Research 28,
//! 2019). Where machines differ far more than their errors this is Student's prediction interval. The
//! older formula, t with k − 2 degrees and one estimate of τ², holds the next machine too seldom where
//! machines differ about as much as their errors; docs/evidence/statistics.md has this one measured.

use super::random_effects::{Found, Weighed};
use super::spread::halved;

/// Levels of the confidence distribution; more change the interval by less than a hundredth.
const LEVELS: u32 = 32;

const STEPS: u32 = 50;

#[derive(Debug, Clone)]
pub struct Prediction {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    weight: f64,
    mean: f64,
    deviation: f64,
}

impl Prediction {
    /// From what at least three machines found, each with a variance above 0; `None` for fewer.
    pub fn new(found: &[Found]) -> Option<Self> {
        if found.len() < 3 {
            return None;
        }
        let degrees = (found.len() - 1) as f64;
        let mut parts = Vec::with_capacity(LEVELS as usize);
        let mut between = 0.0;
        let mut weighed = Weighed::new(found, between);
        let mut total = 0.0;
        // From the smallest τ² to the largest. Levels are cubes, dense where τ² is large and the
        // tails of the prediction come from.
        for level in (0..LEVELS).rev() {
            let root = (f64::from(level) + 0.5) / f64::from(LEVELS);
            let target = chi_square(root * root * root, degrees);
            // The squares fall and are convex in τ², so Newton's steps never overshoot.
            for _ in 0..60 {
                let step = (weighed.squares[0] - target) / weighed.squares[1];
                if step.is_nan() || step <= 1e-7 * between {
                    break;
                }
                between += step;
                weighed = Weighed::new(found, between);
            }
            let deviation = libm::sqrt(1.0 / weighed.sums[0] + between);
            parts.push(Part { weight: root * root, mean: weighed.mean, deviation });
            total += root * root;
        }
        parts.iter_mut().for_each(|part| part.weight /= total);
        Some(Self { parts })
    }

    /// Interval that holds the next machine's true effect with that probability.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        (self.quantile(0.5 - confidence / 2.0), self.quantile(0.5 + confidence / 2.0))
    }

    /// Probability that the next machine's effect is at most x.
    fn below(&self, x: f64) -> f64 {
        let part = |part: &Part| part.weight * normal_cdf((x - part.mean) / part.deviation);
        self.parts.iter().map(part).sum()
    }

    fn quantile(&self, p: f64) -> f64 {
        let ends =
            |sign: f64| self.parts.iter().map(move |part| part.mean + sign * 9.0 * part.deviation);
        let [low, high] =
            [ends(-1.0).fold(f64::INFINITY, f64::min), ends(1.0).fold(f64::MIN, f64::max)];
        halved([low, high], STEPS, |x| self.below(x) < p)
    }
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The value that chi-square with so many degrees (2 or more) does not exceed with probability p.
///
/// Source: Wilson & Hilferty, *The distribution of chi-square*, PNAS 17 (1931); closed for 2 degrees.
/// The approximation is off by 3 % in the tail of 4 degrees, by less elsewhere.
fn chi_square(p: f64, degrees: f64) -> f64 {
    if degrees == 2.0 {
        return -2.0 * libm::log1p(-p);
    }
    let share = 2.0 / (9.0 * degrees);
    let normal = halved([-9.0, 9.0], STEPS, |x| normal_cdf(x) < p);
    let root = (1.0 - share + normal * libm::sqrt(share)).max(0.0);
    degrees * root * root * root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student;

    #[test]
    fn chi_square_is_that_of_printed_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.4.
        for (p, degrees, printed) in
            [(0.95, 2.0, 5.991), (0.05, 4.0, 0.711), (0.95, 9.0, 16.919), (0.05, 29.0, 17.708)]
        {
            let found = chi_square(p, degrees);
            assert!((found / printed - 1.0).abs() < 0.035, "{p} {degrees}: {found}");
        }
    }

    /// Thirteen trials of cisapride (Hartung & Knapp 2001): better of treated, better of the others. The
    /// vignette of pimeta, the package of Nagashima and others, has for the odds ratio of another trial
    /// 0.533 to 33.692, by 25,000 resamples, around a mean by another estimate of τ² (DerSimonian and
    /// Laird) with another error; hence two hundredths of leeway for each end, on the logarithms' scale.
    #[test]
    fn the_next_trial_of_cisapride_lies_where_it_was_published_to_lie() {
        let trials = [
            ([15, 16], [9, 16]),
            ([12, 16], [1, 16]),
            ([29, 34], [18, 34]),
            ([42, 56], [31, 56]),
            ([14, 22], [6, 22]),
            ([44, 54], [17, 55]),
            ([14, 17], [7, 15]),
            ([29, 58], [23, 58]),
            ([10, 14], [3, 15]),
            ([17, 26], [6, 27]),
            ([38, 44], [12, 45]),
            ([19, 29], [22, 30]),
            ([21, 38], [19, 38]),
        ];
        // Half a patient is added to each cell, as there.
        let cells = |[better, all]: [i32; 2]| [better, all - better].map(|n| f64::from(n) + 0.5);
        let found: Vec<Found> = trials
            .iter()
            .map(|&(treated, others)| {
                let ([a, b], [c, d]) = (cells(treated), cells(others));
                let variance = 1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d;
                Found { mean: libm::log(a * d / (b * c)), variance, degrees: f64::INFINITY }
            })
            .collect();
        // The vignette prints the first: 2.098986 with error 0.9847737.
        assert!((found[0].mean - 2.098_986).abs() < 1e-6, "{:?}", found[0]);
        assert!((libm::sqrt(found[0].variance) - 0.984_773_7).abs() < 1e-6, "{:?}", found[0]);
        let (low, high) = Prediction::new(&found).expect("thirteen").interval(0.95);
        let (low_there, high_there) = (libm::log(0.533), libm::log(33.692));
        assert!((low - low_there).abs() < 0.02 * (high_there - low_there), "{low} {low_there}");
        assert!((high - high_there).abs() < 0.02 * (high_there - low_there), "{high} {high_there}");
    }

    #[test]
    fn exact_machines_give_students_prediction_interval() {
        let values = [0.03, 0.11, -0.02, 0.07, 0.05, 0.09, 0.01, 0.04];
        let found = values.map(|mean| Found { mean, variance: 1e-10, degrees: f64::INFINITY });
        let (low, high) = Prediction::new(&found).expect("eight").interval(0.95);
        let paired = crate::paired::Paired::new(&values).expect("eight");
        let half = student::critical(0.95, 7.0) * paired.deviation * (1.0f64 + 1.0 / 8.0).sqrt();
        assert!(((high - low) / (2.0 * half) - 1.0).abs() < 0.01, "{low} {high} {half}");
        assert!((f64::midpoint(low, high) - paired.mean).abs() < 1e-6);
        assert!(Prediction::new(&found[..2]).is_none());
    }
}
