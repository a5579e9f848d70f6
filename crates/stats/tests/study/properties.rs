//! What must hold for any readings.

use crate::fixture::{plan, readings, row};
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Better, Reading};
use coretwin_base::study::summary::{StoppedBecause, Summary, Verdict};
use coretwin_stats::study::{analyse, look};
use proptest::prelude::*;

/// A plan of three rows in two families, and readings of some blocks with any noise.
fn studies() -> impl Strategy<Value = (Plan, Vec<Reading>)> {
    (2u32..14)
        .prop_flat_map(|blocks| {
            let cells = blocks as usize * 6;
            (Just(blocks), prop::collection::vec(-0.05f64..0.05, cells))
        })
        .prop_map(|(blocks, noise)| {
            let mut plan = plan(&[row("a", "f"), row("b", "f"), row("c", "g")]);
            plan.rows[2].better = Better::Higher;
            let mut noise = noise.into_iter();
            let all = readings(&plan, blocks, |_, arm, row| {
                let effect = [0.0, 0.01][arm] * row as f64;
                (10.0 + row as f64) * (effect + noise.next().unwrap_or(0.0)).exp()
            });
            (plan, all)
        })
}

fn summary(plan: &Plan, readings: &[Reading]) -> Summary {
    analyse(plan, readings, StoppedBecause::Target)
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a / b - 1.0).abs() < 1e-9,
        (None, None) => true,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_the_readings_changes_nothing((plan, all) in studies(), seed in any::<u64>()) {
        let mut shuffled = all.clone();
        coretwin_base::random::Stream::new(seed, "test", 0).shuffle(&mut shuffled);
        prop_assert_eq!(summary(&plan, &all), summary(&plan, &shuffled));
        prop_assert_eq!(look(&plan, &all), look(&plan, &shuffled));
    }

    #[test]
    fn another_unit_of_the_values_changes_no_ratio((plan, all) in studies(), factor in 1e-6f64..1e6) {
        let mut scaled = all.clone();
        for reading in &mut scaled {
            reading.value = reading.value.map(|value| value * factor);
        }
        let (before, after) = (summary(&plan, &all), summary(&plan, &scaled));
        for (a, b) in before.rows.iter().zip(&after.rows) {
            prop_assert!(close(a.ratio, b.ratio) && close(a.low, b.low) && close(a.high, b.high));
            prop_assert!(close(a.value_arm.map(|value| value * factor), b.value_arm));
        }
        for (a, b) in before.suites.iter().zip(&after.suites) {
            prop_assert!(close(a.ratio, b.ratio) && close(a.low, b.low) && close(a.high, b.high));
        }
    }

    #[test]
    fn swapping_arm_and_reference_inverts_every_effect((plan, all) in studies()) {
        let mut swapped = plan.clone();
        swapped.reference_arm = "on".to_owned();
        let (there, back) = (summary(&plan, &all), summary(&swapped, &all));
        let turned = |verdict: Option<Verdict>| verdict.map(|verdict| match verdict {
            Verdict::Helps => Verdict::Hurts,
            Verdict::Hurts => Verdict::Helps,
            other => other,
        });
        let inverse = |value: Option<f64>| value.map(|value| 1.0 / value);
        for (a, b) in there.rows.iter().zip(&back.rows) {
            prop_assert!(close(a.ratio, inverse(b.ratio)));
            prop_assert!(close(a.low, inverse(b.high)) && close(a.high, inverse(b.low)));
            prop_assert!(close(a.hodges_lehmann, inverse(b.hodges_lehmann)));
            prop_assert_eq!(a.verdict, turned(b.verdict));
        }
        for (a, b) in there.suites.iter().zip(&back.suites) {
            prop_assert!(close(a.ratio, inverse(b.ratio)) && close(a.low_90, inverse(b.high_90)));
            prop_assert_eq!(a.verdict, turned(b.verdict));
        }
    }

    #[test]
    fn a_factor_common_to_a_block_changes_nothing((plan, all) in studies(), shock in 0.2f64..5.0) {
        let mut shocked = all.clone();
        for reading in shocked.iter_mut().filter(|reading| reading.block == 1) {
            reading.value = reading.value.map(|value| value * shock);
        }
        let (before, after) = (summary(&plan, &all), summary(&plan, &shocked));
        for (a, b) in before.rows.iter().zip(&after.rows) {
            prop_assert!(close(a.ratio, b.ratio) && close(a.low, b.low));
        }
    }
}
