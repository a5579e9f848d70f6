//! An interval that holds at every block: a confidence sequence, so that a study may stop as soon as it
//! decides, whatever made somebody look.
//!
//! It is the mixture over the t likelihood: the likelihood ratio of Student's t statistic, mixed over
//! effects that are normal around none with [`EFFECTS`] spreads as their own. It is a martingale where
//! there is no effect, so it reaches 1/α with a probability of at most α, however long somebody looks
//! (Ville 1939).
//!
//! Source: Lai, *On confidence sequences*, Annals of Statistics 4 (1976), and Wang & Ramdas,
//! *Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance* (arXiv
//! 2310.03722). docs/evidence/until-verdict.md has what was measured beside other sequences.

use crate::paired::Paired;
use crate::{confidence, student};
use coretwin_base::study::summary::Verdict;

/// The standard deviation of the effects that are mixed over, in standard deviations of a block. It
/// decides where the sequence is narrowest, not whether it holds: so it is near five blocks.
pub const EFFECTS: f64 = 2.236_067_977_499_79;

/// The most blocks at which a study looks; a multiple of every set of orders of up to six arms.
pub const BLOCKS_MAX: u32 = 240;

/// The t of the sequence at this level after so many blocks; infinite before the fourth at 5 %.
///
/// The mixture is √(g/(n + g)) · ((1 + x)/(1 + kx))^(n/2) with x = t²/(n − 1), g = 1/EFFECTS² and
/// k = g/(n + g). It is 1/level at the t given.
pub fn critical(blocks: u32, level: f64) -> f64 {
    let (n, g) = (f64::from(blocks), 1.0 / (EFFECTS * EFFECTS));
    let k = g / (n + g);
    let reach = libm::exp((2.0 * -libm::log(level) - libm::log(k)) / n);
    if blocks < 2 || reach * k >= 1.0 {
        return f64::INFINITY;
    }
    libm::sqrt((n - 1.0) * (reach - 1.0) / (1.0 - reach * k))
}

/// The factor that makes Student's half-width after so many blocks that of the sequence.
pub fn widening(blocks: u32) -> f64 {
    critical(blocks, confidence::LEVEL)
        / student::critical(confidence::CONFIDENCE, f64::from(blocks.max(2) - 1))
}

/// The p-value of no effect that holds at every look: one over the mixture. It belongs to the
/// sequence: below a level exactly if the sequence at that level excludes no effect.
pub fn p(effect: &Paired) -> Option<f64> {
    effect.degrees()?;
    let beyond = libm::fabs(effect.mean) - effect.rounding;
    if beyond <= 0.0 {
        return Some(1.0);
    }
    let (n, g) = (f64::from(effect.blocks), 1.0 / (EFFECTS * EFFECTS));
    let k = g / (n + g);
    let t = beyond / effect.standard_error();
    let x = t * t / (n - 1.0);
    // Without any spread x is infinite, and the ratio is 1/k.
    let ratio = if x.is_finite() { (1.0 + x) / (1.0 + k * x) } else { 1.0 / k };
    let mixture = 0.5 * libm::log(k) + n / 2.0 * libm::log(ratio);
    Some(libm::exp(-mixture).min(1.0))
}

/// The ends of the sequence at this level; `None` where it has none yet.
pub fn interval(effect: &Paired, level: f64) -> Option<(f64, f64)> {
    let of_level = critical(effect.blocks, level) / critical(effect.blocks, confidence::LEVEL);
    effect.interval(confidence::CONFIDENCE, widening(effect.blocks) * of_level)
}

/// The verdict of a sequence with these ends: beyond the margin, or inside it.
pub fn verdict((low, high): (f64, f64), margin: f64) -> Verdict {
    if low > margin {
        Verdict::Helps
    } else if high < -margin {
        Verdict::Hurts
    } else if -margin < low && high < margin {
        Verdict::NoMaterialDifference
    } else {
        Verdict::Inconclusive
    }
}

/// The block counts at which a study of that many arms looks: every set of balanced orders, since
/// within a set neighbouring blocks can err alike.
pub fn looks(arms: usize) -> Vec<u32> {
    let set = u32::try_from(crate::orders::set(arms)).unwrap_or(u32::MAX);
    (1..=(BLOCKS_MAX / set).max(1)).map(|sets| sets.saturating_mul(set)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mixture_is_the_integral_it_stands_for() {
        // The density of the noncentral t at its effect, over that of the central t, by the integral
        // over the spread; both are integrated here by the midpoint rule.
        let (n, t) = (8.0, 3.0);
        let steps = 4000;
        let over = |from: f64, to: f64, f: &dyn Fn(f64) -> f64| {
            let width = (to - from) / f64::from(steps);
            (0..steps).map(|i| f(from + (f64::from(i) + 0.5) * width) * width).sum::<f64>()
        };
        // With scale s and Σx² = 1 the likelihood of effect d (in spreads) is s^−n·exp(−½(1/s² − 2d·S/s + n·d²)).
        let share = t / libm::sqrt(n * (n - 1.0 + t * t));
        let sum = n * share;
        let wide = |d: f64| {
            over(0.0, 12.0, &|inverse| {
                libm::pow(inverse, n - 1.0)
                    * libm::exp(-0.5 * (inverse * inverse - 2.0 * d * sum * inverse + n * d * d))
            })
        };
        let density = |d: f64| {
            libm::exp(-0.5 * d * d / (EFFECTS * EFFECTS))
                / (EFFECTS * libm::sqrt(std::f64::consts::TAU))
        };
        let few = 400;
        let width = 16.0 / f64::from(few);
        let mixed: f64 = (0..few)
            .map(|i| -8.0 + (f64::from(i) + 0.5) * width)
            .map(|d| wide(d) * density(d) * width)
            .sum();
        let ratio = mixed / wide(0.0);
        let effect =
            Paired { blocks: 8, mean: t, deviation: libm::sqrt(n), degrees: 7.0, rounding: 0.0 };
        let p = p(&effect).expect("p");
        assert!((1.0 / ratio / p - 1.0).abs() < 1e-3, "{ratio} {p}");
    }

    #[test]
    fn the_first_set_can_decide_and_three_blocks_cannot() {
        assert!(critical(3, 0.05).is_infinite() && critical(4, 0.05).is_finite());
        assert_eq!(looks(2)[..3], [4, 8, 12]);
        assert_eq!(looks(3)[..2], [6, 12]);
        assert_eq!(looks(2).last(), Some(&BLOCKS_MAX));
        assert_eq!(looks(500), [500]);
    }

    #[test]
    fn each_verdict_lies_beyond_the_margin_or_inside() {
        use Verdict::{Helps, Hurts, Inconclusive, NoMaterialDifference};
        for (ends, said) in [
            ((0.021, 0.09), Helps),
            ((0.019, 0.09), Inconclusive),
            ((-0.09, -0.021), Hurts),
            ((-0.019, 0.019), NoMaterialDifference),
            ((-0.03, 0.01), Inconclusive),
        ] {
            assert_eq!(verdict(ends, 0.02), said, "{ends:?}");
        }
    }

    proptest! {
        #[test]
        fn p_is_below_a_level_exactly_if_the_sequence_excludes_no_effect(
            differences in prop::collection::vec(-1f64..1.4, 4..40), level in 0.002f64..0.2
        ) {
            let effect = Paired::new(&differences).expect("some");
            let p = p(&effect).expect("p");
            prop_assume!((p / level - 1.0).abs() > 1e-6);
            let excludes = interval(&effect, level).is_some_and(|(low, high)| low > 0.0 || high < 0.0);
            prop_assert_eq!(p < level, excludes);
        }
    }
}
