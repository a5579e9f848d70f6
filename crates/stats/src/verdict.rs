//! From an interval to a verdict, at a margin.

use crate::confidence::{CONFIDENCE, EQUIVALENCE, LEVEL};
use crate::paired::Paired;
use crate::{stopping, student};
use coretwin_base::study::plan::{Rule, Scale};
use coretwin_base::study::summary::Verdict;

/// How often a forecast number of blocks decides.
const POWER: f64 = 0.80;

/// The verdict on an effect whose mean is 0 where arms do not differ, and above 0 where the arm is
/// better; `margin` is on the same scale. `None` for fewer than two blocks.
///
/// Whether the interval of [`EQUIVALENCE`] lies inside the margin is asked first: an effect too small to
/// matter is called that even where it is surely not 0. Then the interval of [`CONFIDENCE`] decides.
///
/// Source: Schuirmann, *A comparison of the two one-sided tests procedure …*, Journal of
/// Pharmacokinetics and Biopharmaceutics 15 (1987).
pub fn decide(effect: &Paired, margin: f64, widening: f64) -> Option<Verdict> {
    let inner = effect.interval(EQUIVALENCE, widening)?;
    let outer = effect.interval(CONFIDENCE, widening)?;
    Some(of_intervals(inner, outer, margin))
}

/// The verdict of the intervals of [`EQUIVALENCE`] and of [`CONFIDENCE`] of the same effect.
pub fn of_intervals(inner: (f64, f64), outer: (f64, f64), margin: f64) -> Verdict {
    if -margin < inner.0 && inner.1 < margin {
        Verdict::NoMaterialDifference
    } else if outer.0 > 0.0 {
        Verdict::Helps
    } else if outer.1 < 0.0 {
        Verdict::Hurts
    } else {
        Verdict::Inconclusive
    }
}

/// A margin given as a share, on the scale of the analysis: ±ln(1 + share) of log ratios, that share
/// of a `value` of differences.
pub(crate) fn margin(share: f64, scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Ratio => libm::log1p(share),
        Scale::Raw => share * libm::fabs(value),
    }
}

/// What is left of a verdict on one of many rows: HELPS and HURTS need a p-value, adjusted over all
/// of them, below [`LEVEL`]. Without one the verdict stands.
pub fn adjusted(verdict: Verdict, p_adjusted: Option<f64>) -> Verdict {
    match (verdict, p_adjusted) {
        (Verdict::Helps | Verdict::Hurts, Some(p)) if p >= LEVEL => Verdict::Inconclusive,
        _ => verdict,
    }
}

/// Fewest blocks that decide an effect four times in five, if mean and spread are what they look
/// like now: that either exclude no effect at `level` (two-sided) or fit inside the margin; by
/// [`Rule::Verdict`], that lie beyond the margin or inside.
/// `widening` is the factor on half-widths after so many blocks. `None` where no practical number
/// of blocks would, or fewer than two tell nothing of the spread.
///
/// The mean of n blocks lies around the effect like Student's t with n − 1 degrees, times s/√n: near
/// enough to the noncentral t (Lachin, *Introduction to sample size determination and power analysis
/// for clinical trials*, Controlled Clinical Trials 2, 1981).
pub fn blocks_needed(
    effect: &Paired,
    margin: f64,
    level: f64,
    rule: Rule,
    widening: impl Fn(u32) -> f64,
) -> Option<u32> {
    effect.degrees()?;
    let size = libm::fabs(effect.mean);
    let (beyond, inside) = match rule {
        Rule::Width => (0.0, EQUIVALENCE),
        Rule::Verdict => (margin, CONFIDENCE),
    };
    let decides = |blocks: u32| {
        let degrees = f64::from(blocks - 1);
        let error = effect.deviation / libm::sqrt(f64::from(blocks));
        let critical = |p: f64| widening(blocks) * student::quantile(p, degrees) * error;
        let differs_from = beyond + critical(1.0 - level / 2.0) + effect.rounding;
        let equal_to = margin - critical(inside.midpoint(1.0)) - effect.rounding;
        if differs_from < equal_to {
            return true;
        }
        let below = |end: f64| student::below((end - size) / error, degrees);
        let differs = 1.0 - below(differs_from) + below(-differs_from);
        let equal = (below(equal_to) - below(-equal_to)).max(0.0);
        differs + equal >= POWER
    };
    stopping::fewest_blocks(decides).map(|blocks| blocks.max(effect.blocks + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn effect(mean: f64, deviation: f64, blocks: u32) -> Paired {
        let degrees = f64::from(blocks) - 1.0;
        Paired { blocks, mean, deviation, degrees, rounding: 0.0 }
    }

    #[test]
    fn each_verdict() {
        // Eight blocks: t is 1.895 at 90 % and 2.365 at 95 %; s/√8 = 0.354 s.
        let margin = 0.02;
        for (mean, deviation, verdict) in [
            (0.05, 0.01, Verdict::Helps),
            (-0.05, 0.01, Verdict::Hurts),
            (0.0, 0.01, Verdict::NoMaterialDifference),
            (0.0, 0.04, Verdict::Inconclusive),
            // Surely not 0, but too small to matter: asked first.
            (0.01, 0.001, Verdict::NoMaterialDifference),
            // Reaches over the margin, and excludes 0.
            (0.019, 0.01, Verdict::Helps),
        ] {
            assert_eq!(decide(&effect(mean, deviation, 8), margin, 1.0), Some(verdict), "{mean}");
        }
        assert_eq!(decide(&effect(0.5, 0.0, 1), margin, 1.0), None);
    }

    #[test]
    fn a_forecast_is_more_than_there_is_and_would_decide() {
        let open = effect(0.011, 0.04, 12);
        let needed = |effect| blocks_needed(&effect, 0.02, 0.05, Rule::Width, |_| 1.0);
        let blocks = needed(open).expect("a forecast");
        assert!(blocks > 12);
        // n ≈ ((1.96 + 0.84)·s/δ)²: 62 for s = 14 %, δ = 5 %; Student's t asks for one or two more.
        let blocks = needed(effect(0.05, 0.14, 12)).expect("a forecast");
        assert!((62..=66).contains(&blocks), "{blocks}");
        // Steps of the values as wide as the effect: no number of blocks tells.
        assert_eq!(needed(Paired { rounding: 0.02, ..open }), None);
        assert_eq!(needed(effect(0.05, 0.01, 1)), None);
    }

    #[test]
    fn of_many_rows_the_adjusted_p_has_the_word() {
        use Verdict::{Helps, Hurts, Inconclusive, NoMaterialDifference};
        assert_eq!(adjusted(Helps, Some(LEVEL - 0.001)), Helps);
        assert_eq!(adjusted(Hurts, Some(LEVEL + 0.001)), Inconclusive);
        assert_eq!(adjusted(Hurts, None), Hurts);
        assert_eq!(adjusted(NoMaterialDifference, Some(1.0)), NoMaterialDifference);
    }

    proptest! {
        #[test]
        fn swapping_the_arms_swaps_the_verdict(
            mean in -0.1f64..0.1, deviation in 0.0f64..0.1, blocks in 2u32..50
        ) {
            let there = decide(&effect(mean, deviation, blocks), 0.02, 1.1);
            let back = decide(&effect(-mean, deviation, blocks), 0.02, 1.1);
            let swapped = there.map(|verdict| match verdict {
                Verdict::Helps => Verdict::Hurts,
                Verdict::Hurts => Verdict::Helps,
                other => other,
            });
            prop_assert_eq!(back, swapped);
        }
    }
}
