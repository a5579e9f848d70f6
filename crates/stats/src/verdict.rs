//! From an interval to a verdict, at a margin.

use crate::paired::Paired;
use crate::stopping;
use coretwin_base::summary::Verdict;

/// Confidence of the interval that must lie inside the margin: two one-sided tests at 5 %.
pub(crate) const EQUIVALENCE_CONFIDENCE: f64 = 0.90;

/// The verdict on an effect whose mean is 0 where arms do not differ, and above 0 where the arm is
/// better; `margin` is on the same scale. None for fewer than two blocks.
///
/// Whether the 90 % interval lies inside the margin is asked first: an effect too small to matter is
/// called that even where it is surely not 0. Then the 95 % interval decides.
///
/// Source: Schuirmann, *A comparison of the two one-sided tests procedure …*, Journal of
/// Pharmacokinetics and Biopharmaceutics 15 (1987).
#[must_use]
pub fn decide(effect: &Paired, margin: f64, widening: f64) -> Option<Verdict> {
    let inner = effect.interval(EQUIVALENCE_CONFIDENCE, widening)?;
    let outer = effect.interval(stopping::CONFIDENCE, widening)?;
    Some(of_intervals(inner, outer, margin))
}

/// The verdict of a 90 % and a 95 % interval of the same effect.
#[must_use]
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

/// About how many blocks would decide an effect that is inconclusive so far, four times in five, if
/// its mean and spread stay what they are: enough either to exclude no effect or to fit inside the
/// margin, whichever comes first. None if it is decided or cannot be told.
#[must_use]
pub fn blocks_needed(effect: &Paired, margin: f64, widening: f64) -> Option<u32> {
    if decide(effect, margin, widening)? != Verdict::Inconclusive {
        return None;
    }
    let size = libm::fabs(effect.mean);
    let differs = stopping::blocks_for(effect.deviation, size, 0.975, 0.80, widening);
    let room = (margin - size).max(0.0);
    let equal = stopping::blocks_for(effect.deviation, room, 0.95, 0.80, widening);
    Some(differs.min(equal).max(effect.blocks + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn effect(mean: f64, deviation: f64, blocks: u32) -> Paired {
        Paired { blocks, mean, deviation }
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
        let needed = blocks_needed(&open, 0.02, 1.0).expect("inconclusive");
        assert!(needed > 12);
        let then = effect(0.011, 0.04, needed);
        assert_ne!(decide(&then, 0.02, 1.0), Some(Verdict::Inconclusive));
        assert_eq!(blocks_needed(&effect(0.05, 0.01, 8), 0.02, 1.0), None);
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
