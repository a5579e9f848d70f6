//! Means with their standard errors, and differences of independent ones.

use crate::confidence::CONFIDENCE;
use crate::paired::Paired;
use crate::student;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    /// Its spread; `None` where too few blocks, or a protocol without spread, tell nothing of it.
    pub spread: Option<Spread>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub standard_error: f64,
    pub degrees: f64,
}

impl Estimate {
    /// A mean with its standard error, and the degrees of freedom of that.
    pub fn new(mean: f64, standard_error: f64, degrees: f64) -> Self {
        Self { mean, spread: Some(Spread { standard_error, degrees }) }
    }

    /// A mean of which nothing more is known.
    pub fn point(mean: f64) -> Self {
        Self { mean, spread: None }
    }

    /// The mean of these differences; `widening` is the factor on its intervals (1 for the plain
    /// ones). It goes into the standard error, and rounding does, so that the interval shown is that
    /// of [`Paired::interval`].
    pub fn of(paired: &Paired, widening: f64) -> Self {
        let spread = paired.degrees().map(|degrees| {
            let mut standard_error = widening * paired.standard_error();
            if paired.rounding > 0.0 {
                standard_error += paired.rounding / student::critical(CONFIDENCE, degrees);
            }
            Spread { standard_error, degrees }
        });
        Self { mean: paired.mean, spread }
    }

    /// This one less an independent one.
    ///
    /// Source: Welch, *The generalization of "Student's" problem when several different population
    /// variances are involved*, Biometrika 34 (1947); degrees of freedom by Satterthwaite, *An
    /// approximate distribution of estimates of variance components*, Biometrics Bulletin 2 (1946).
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        let spread = self.spread.zip(other.spread).map(|(a, b)| {
            let [va, vb] = [a, b].map(|side| side.standard_error * side.standard_error);
            let sum = va + vb;
            let weighed = va * va / a.degrees + vb * vb / b.degrees;
            // Between the smaller of the two and their sum, whatever rounding does.
            let (least, most) = (a.degrees.min(b.degrees), a.degrees + b.degrees);
            let degrees =
                if weighed > 0.0 { (sum * sum / weighed).clamp(least, most) } else { most };
            Spread { standard_error: libm::sqrt(sum), degrees }
        });
        Self { mean: self.mean - other.mean, spread }
    }

    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let Spread { standard_error, degrees } = self.spread?;
        let half = student::critical(confidence, degrees) * standard_error;
        Some((self.mean - half, self.mean + half))
    }

    /// Two-sided p-value of a true mean of 0.
    pub fn p(&self) -> Option<f64> {
        let Spread { standard_error, degrees } = self.spread?;
        if standard_error == 0.0 {
            return Some(if self.mean == 0.0 { 1.0 } else { 0.0 });
        }
        Some(student::two_sided(self.mean / standard_error, degrees))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_worked_example() {
        // Student's sleep data as two independent samples; R's t.test(extra ~ group) prints
        // t = -1.8608, df = 17.776, p-value = 0.07939, 95 % interval -3.3654832 to 0.2054832.
        let [one, two] = [
            [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
            [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
        ]
        .map(|sample| Estimate::of(&Paired::new(&sample).expect("ten"), 1.0));
        let difference = one.less(&two);
        let spread = difference.spread.expect("a spread");
        assert!((difference.mean / spread.standard_error + 1.8608).abs() < 5e-5);
        assert!((spread.degrees - 17.776).abs() < 5e-4, "{}", spread.degrees);
        assert!((difference.p().expect("p") - 0.079_39).abs() < 5e-6);
        let (low, high) = difference.interval(0.95).expect("an interval");
        assert!((low + 3.365_483_2).abs() < 5e-8 && (high - 0.205_483_2).abs() < 5e-8);
    }

    #[test]
    fn each_side_weighs_with_its_own_degrees() {
        let side = |standard_error, degrees| Estimate {
            mean: 0.0,
            spread: Some(Spread { standard_error, degrees }),
        };
        // (1 + 4)² / (1²/4 + 4²/9).
        let spread = side(1.0, 4.0).less(&side(2.0, 9.0)).spread.expect("a spread");
        assert!((spread.degrees - 900.0 / 73.0).abs() < 1e-12, "{}", spread.degrees);
    }

    #[test]
    fn what_has_no_spread_gives_no_interval() {
        let one = Estimate::of(&Paired::new(&[0.3]).expect("one"), 1.0);
        let many = Estimate::of(&Paired::new(&[0.1, 0.2, 0.4]).expect("three"), 1.0);
        assert_eq!((one.less(&many).interval(0.95), many.less(&one).p()), (None, None));
        let exact = Estimate::of(&Paired::new(&[0.25; 8]).expect("eight"), 1.0);
        assert_eq!(exact.less(&exact).interval(0.95), Some((0.0, 0.0)));
        assert_eq!(exact.less(&exact).p(), Some(1.0));
        assert_eq!(exact.less(&Estimate { mean: 0.0, ..exact }).p(), Some(0.0));
    }

    proptest! {
        #[test]
        fn sides_can_be_swapped_and_one_certain_side_leaves_the_other_as_it_is(
            a in prop::collection::vec(-1f64..1.0, 2..20),
            b in prop::collection::vec(-1f64..1.0, 2..20),
        ) {
            let [a, b] = [a, b].map(|side| Estimate::of(&Paired::new(&side).expect("some"), 1.0));
            let (there, back) = (a.less(&b), b.less(&a));
            prop_assert_eq!(there.mean, -back.mean);
            prop_assert_eq!(there.spread, back.spread);
            let degrees = there.spread.expect("spread").degrees;
            prop_assert!(degrees >= 1.0 && student::critical(0.95, degrees).is_finite());

            let certain = Estimate {
                mean: 0.0, spread: Some(Spread { standard_error: 0.0, degrees: 5.0 })
            };
            let (low, high) = a.less(&certain).interval(0.95).expect("interval");
            let (low_a, high_a) = a.interval(0.95).expect("interval");
            prop_assert!((low - low_a).abs() < 1e-9 && (high - high_a).abs() < 1e-9);
        }
    }
}
