//! Many machines as a sample of all machines: mean effect, how far machines differ, and what to
//! expect of the next one.
//!
//! Machine i measured y_i with variance v_i; its true effect is drawn around the mean of all
//! machines with variance τ²: y_i ~ N(μ, v_i + τ²).
//!
//! Sources: τ² by restricted maximum likelihood (Viechtbauer, *Bias and efficiency of meta-analytic
//! variance estimators in the random-effects model*, Journal of Educational and Behavioral Statistics
//! 30, 2005); the interval of μ by Hartung & Knapp, *A refined method for the meta-analysis of
//! controlled clinical trials with binary outcome*, Statistics in Medicine 20 (2001); I² by Higgins &
//! Thompson, *Quantifying heterogeneity in a meta-analysis*, Statistics in Medicine 21 (2002).

use crate::welch::Estimate;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    pub mean: f64,
    pub variance: f64,
    /// Degrees of freedom of that; infinite where it is known.
    pub degrees: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomEffects {
    pub machines: u32,
    pub mean: f64,
    pub standard_error: f64,
    /// Variance of the true effect between machines, τ².
    pub between: f64,
    pub share_between: f64,
    /// Cochran's Q: weighed squares around the mean of equal machines.
    pub q: f64,
}

/// Sums over machines with the weights 1/(v + τ²).
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighed {
    /// Σw, Σw².
    pub(super) sums: [f64; 2],
    pub(super) mean: f64,
    /// Σw(y − mean)², Σw²(y − mean)².
    pub(super) squares: [f64; 2],
    /// Σw³.
    cubes: f64,
}

impl Weighed {
    pub(super) fn new(found: &[Found], between: f64) -> Self {
        let weight = |found: &Found| 1.0 / (found.variance + between);
        let [mut first, mut second, mut cubes, mut means] = [0.0; 4];
        for found in found {
            let weight = weight(found);
            first += weight;
            second += weight * weight;
            cubes += weight * weight * weight;
            means += weight * found.mean;
        }
        let mean = means / first;
        let mut squares = [0.0; 2];
        for found in found {
            let (weight, distance) = (weight(found), found.mean - mean);
            squares[0] += weight * distance * distance;
            squares[1] += weight * weight * distance * distance;
        }
        Self { sums: [first, second], mean, squares, cubes }
    }

    /// Slope of the restricted log likelihood in τ², times two, and its expected steepness.
    fn slope(&self) -> (f64, f64) {
        let [first, second] = self.sums;
        let slope = self.squares[1] - (first - second / first);
        let steepness = second - 2.0 * self.cubes / first + second * second / (first * first);
        (slope, steepness)
    }
}

/// Most steps towards τ²; Fisher's scoring takes some five, halving the bracket some sixty.
const STEPS_MAX: u32 = 200;

/// τ² by restricted maximum likelihood: Fisher's scoring, kept inside a bracket. The slope falls
/// below 0 for a large τ²; where it is not above 0 at 0, the estimate is 0.
fn between(found: &[Found]) -> f64 {
    if Weighed::new(found, 0.0).slope().0 <= 0.0 {
        return 0.0;
    }
    let count = found.len() as f64;
    let mean = found.iter().map(|found| found.mean).sum::<f64>() / count;
    let spread: f64 = found.iter().map(|found| (found.mean - mean) * (found.mean - mean)).sum();
    let (mut low, mut high) = (0.0, spread / (count - 1.0));
    let mut guess = high;
    while Weighed::new(found, high).slope().0 > 0.0 {
        low = high;
        high *= 2.0;
        if !high.is_finite() {
            return low;
        }
    }
    for step in 1..=STEPS_MAX {
        let (slope, steepness) = Weighed::new(found, guess).slope();
        if slope > 0.0 {
            low = guess;
        } else {
            high = guess;
        }
        let scored = guess + slope / steepness;
        // Where the likelihood is flat scoring creeps, so every third step halves the bracket.
        let is_scored = step % 3 != 0 && scored > low && scored < high;
        let next = if is_scored { scored } else { f64::midpoint(low, high) };
        let settled = libm::fabs(next - guess) <= 1e-13 * guess && is_scored;
        guess = next;
        if settled {
            break;
        }
    }
    guess
}

impl RandomEffects {
    /// From two machines or more; `None` for fewer, or where a number is none.
    pub fn new(found: &[Found]) -> Option<Self> {
        let machines = u32::try_from(found.len()).ok().filter(|&machines| machines >= 2)?;
        let usable = |found: &Found| {
            found.mean.is_finite() && found.variance.is_finite() && found.variance > 0.0
        };
        if !found.iter().all(usable) {
            return None;
        }
        let degrees = f64::from(machines - 1);
        let equal = Weighed::new(found, 0.0);
        let between = between(found);
        let weighed = Weighed::new(found, between);
        let [first, second] = equal.sums;
        let typical = degrees * first / (first * first - second);
        Some(Self {
            machines,
            mean: weighed.mean,
            standard_error: libm::sqrt(weighed.squares[0] / (degrees * weighed.sums[0])),
            between,
            share_between: between / (between + typical),
            q: equal.squares[0],
        })
    }

    /// The mean effect as an estimate: Student's t with one degree fewer than machines.
    pub fn estimate(&self) -> Estimate {
        Estimate::new(self.mean, self.standard_error, f64::from(self.machines - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The thirteen trials of a vaccine (Colditz and others, JAMA 271, 1994): ill and well among the
    /// vaccinated, ill and well among the others.
    const TRIALS: [[f64; 4]; 13] = [
        [4.0, 119.0, 11.0, 128.0],
        [6.0, 300.0, 29.0, 274.0],
        [3.0, 228.0, 11.0, 209.0],
        [62.0, 13_536.0, 248.0, 12_619.0],
        [33.0, 5_036.0, 47.0, 5_761.0],
        [180.0, 1_361.0, 372.0, 1_079.0],
        [8.0, 2_537.0, 10.0, 619.0],
        [505.0, 87_886.0, 499.0, 87_892.0],
        [29.0, 7_470.0, 45.0, 7_232.0],
        [17.0, 1_699.0, 65.0, 1_600.0],
        [186.0, 50_448.0, 141.0, 27_197.0],
        [5.0, 2_493.0, 3.0, 2_338.0],
        [27.0, 16_886.0, 29.0, 17_825.0],
    ];

    fn log_risk_ratios() -> Vec<Found> {
        let of = |[a, b, c, d]: [f64; 4]| Found {
            mean: libm::log((a / (a + b)) / (c / (c + d))),
            variance: 1.0 / a - 1.0 / (a + b) + 1.0 / c - 1.0 / (c + d),
            degrees: f64::INFINITY,
        };
        TRIALS.map(of).to_vec()
    }

    fn log_odds_ratios() -> Vec<Found> {
        let of = |[a, b, c, d]: [f64; 4]| Found {
            mean: libm::log(a * d / (b * c)),
            variance: 1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d,
            degrees: f64::INFINITY,
        };
        TRIALS.map(of).to_vec()
    }

    fn near(found: f64, printed: f64, decimals: i32) -> bool {
        (found - printed).abs() <= 0.51 * libm::pow(10.0, -f64::from(decimals))
    }

    /// Viechtbauer, *Conducting meta-analyses in R with the metafor package*, Journal of Statistical
    /// Software 36 (2010), section 3: τ² 0.3132, I² 92.22 %, Q 152.2330, mean −0.7145.
    #[test]
    fn risk_ratios_of_the_vaccine_trials_are_those_published() {
        let all = RandomEffects::new(&log_risk_ratios()).expect("thirteen");
        assert!(near(all.between, 0.3132, 4), "{}", all.between);
        assert!(near(all.mean, -0.7145, 4), "{}", all.mean);
        assert!(near(all.share_between * 100.0, 92.22, 2), "{}", all.share_between);
        assert!(near(all.q, 152.233, 3), "{}", all.q);
        // The error without Hartung and Knapp is printed there as 0.1798.
        let plain = Weighed::new(&log_risk_ratios(), all.between).sums[0].sqrt().recip();
        assert!(near(plain, 0.1798, 4), "{plain}");
    }

    /// The same trials by the README of metafor, the package of that paper, with `test="knha"`: Hartung and
    /// Knapp's error 0.1808, t −3.9522 with 12 degrees, p 0.0019, interval −1.1084 to −0.3206.
    #[test]
    fn hartung_and_knapps_interval_of_the_vaccine_trials_is_that_published() {
        let all = RandomEffects::new(&log_risk_ratios()).expect("thirteen");
        assert!(near(all.standard_error, 0.1808, 4), "{}", all.standard_error);
        assert!(near(all.mean / all.standard_error, -3.9522, 4), "{all:?}");
        assert!(near(all.estimate().p().expect("p"), 0.0019, 4), "{all:?}");
        let (low, high) = all.estimate().interval(0.95).expect("an interval");
        assert!(near(low, -1.1084, 4) && near(high, -0.3206, 4), "{low} {high}");
    }

    /// Van Houwelingen, Arends & Stijnen, *Advanced methods in meta-analysis*, Statistics in Medicine
    /// 21 (2002): log odds ratios of the same trials by REML, τ² 0.338, mean −0.745, error 0.186.
    #[test]
    fn odds_ratios_of_the_vaccine_trials_are_those_published() {
        let all = RandomEffects::new(&log_odds_ratios()).expect("thirteen");
        assert!(near(all.between, 0.338, 3), "{}", all.between);
        assert!(near(all.mean, -0.745, 3), "{}", all.mean);
        let plain = Weighed::new(&log_odds_ratios(), all.between).sums[0].sqrt().recip();
        assert!(near(plain, 0.186, 3), "{plain}");
    }

    #[test]
    fn equal_errors_give_students_t() {
        // With equal variances the mean is plain, and Hartung and Knapp's interval is Student's.
        let values = [0.03, 0.11, -0.02, 0.07, 0.05];
        let found = values.map(|mean| Found { mean, variance: 1e-4, degrees: 9.0 });
        let all = RandomEffects::new(&found).expect("five");
        let student = crate::paired::Paired::new(&values).expect("five");
        assert!((all.mean - student.mean).abs() < 1e-15);
        assert!((all.standard_error - student.standard_error()).abs() < 1e-12);
        // What is not within machines is between them.
        let between = student.deviation * student.deviation - 1e-4;
        assert!((all.between - between).abs() < 1e-12, "{} {between}", all.between);
    }

    #[test]
    fn too_few_machines_or_no_numbers_give_nothing() {
        let one = Found { mean: 0.1, variance: 0.01, degrees: 9.0 };
        assert_eq!(RandomEffects::new(&[one]), None);
        assert_eq!(RandomEffects::new(&[one, Found { variance: 0.0, ..one }]), None);
        assert_eq!(RandomEffects::new(&[one, Found { mean: f64::NAN, ..one }]), None);
    }

    proptest! {
        /// τ² is where the restricted likelihood is highest, or 0 where it only falls.
        #[test]
        fn the_slope_vanishes_at_the_estimate(
            raw in prop::collection::vec((-3.0f64..3.0, 0.001f64..4.0), 2..40)
        ) {
            let found: Vec<Found> =
                raw.iter().map(|&(mean, variance)| Found { mean, variance, degrees: 9.0 }).collect();
            let all = RandomEffects::new(&found).expect("usable");
            let (slope, steepness) = Weighed::new(&found, all.between).slope();
            if all.between > 0.0 {
                prop_assert!((slope / steepness).abs() < 1e-6 * (1.0 + all.between));
            } else {
                prop_assert!(slope <= 0.0);
            }
            prop_assert!((0.0..1.0).contains(&all.share_between));
        }

        /// The order of machines does not matter, and a common factor changes nothing else.
        #[test]
        fn scale_and_order_are_free(
            raw in prop::collection::vec((-3.0f64..3.0, 0.01f64..4.0), 3..20),
            factor in 0.001f64..1000.0
        ) {
            let found: Vec<Found> =
                raw.iter().map(|&(mean, variance)| Found { mean, variance, degrees: 9.0 }).collect();
            let scaled: Vec<Found> = found.iter().rev().map(|found| Found {
                mean: found.mean * factor,
                variance: found.variance * factor * factor,
                ..*found
            }).collect();
            let [one, other] =
                [found, scaled].map(|found| RandomEffects::new(&found).expect("usable"));
            prop_assert!((one.mean * factor - other.mean).abs() < 1e-8 * factor);
            prop_assert!((one.share_between - other.share_between).abs() < 1e-7);
        }
    }
}
