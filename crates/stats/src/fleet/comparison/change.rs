//! What became of a fleet's mean effect, from what machines found before and after.
//!
//! Machines that are in both fleets are compared with themselves: the change on each, with the errors
//! of both its studies, over machines in a random-effects model, so that whatever a machine is like
//! cancels. Machines of one fleet alone are another sample of machines: the means of the two samples
//! are compared as independent ones (Welch). Where there are both, the two estimates of the change
//! are independent of each other; they are weighed by their variances, and the interval allows for
//! the weights being estimates (Meier, *Variance of a weighted mean*, Biometrics 9, 1953).

use crate::fleet::random_effects::{Found, RandomEffects};
use crate::welch::Estimate;

/// Fewest machines in both fleets from which the change is taken apart from that of other machines.
const PAIRED_MIN: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanChange {
    /// Second less first.
    pub estimate: Estimate,
    pub paired: u32,
    pub independent: [u32; 2],
}

/// The change of the mean effect from pairs (the same machine in the first and the second fleet) and
/// machines that only one of the fleets has. `None` without a machine in each fleet.
pub fn mean_change(pairs: &[[Found; 2]], others: [&[Found]; 2]) -> Option<MeanChange> {
    let changes: Vec<Found> = pairs.iter().map(on_one_machine).collect();
    let count = |found: &[Found]| found.len() as u32;
    // Machines of one fleet alone tell nothing of a change by themselves.
    let has_others = others.iter().all(|found| !found.is_empty());
    let paired = MeanChange {
        estimate: mean(&changes).unwrap_or(Estimate::point(0.0)),
        paired: count(&changes),
        independent: [0, 0],
    };
    if !has_others && !changes.is_empty() {
        return Some(paired);
    }
    if changes.len() < PAIRED_MIN {
        // Too few to tell how the change differs between machines.
        let sides = [0, 1].map(|side: usize| -> Vec<Found> {
            pairs.iter().map(|pair| pair[side]).chain(others[side].iter().copied()).collect()
        });
        let estimate = independent([&sides[0], &sides[1]])?;
        let independent = [count(&sides[0]), count(&sides[1])];
        return Some(MeanChange { estimate, paired: 0, independent });
    }
    let estimate = weighed([paired.estimate, independent(others)?]);
    let independent = others.map(count);
    Some(MeanChange { estimate, independent, ..paired })
}

/// The change on one machine, with the errors of both its studies.
fn on_one_machine([first, second]: &[Found; 2]) -> Found {
    let variance = first.variance + second.variance;
    let weighed = first.variance * first.variance / first.degrees
        + second.variance * second.variance / second.degrees;
    Found { mean: second.mean - first.mean, variance, degrees: variance * variance / weighed }
}

/// The mean over machines; of one machine what its study says.
fn mean(found: &[Found]) -> Option<Estimate> {
    if let [only] = found {
        return Some(Estimate::new(only.mean, libm::sqrt(only.variance), only.degrees));
    }
    Some(RandomEffects::new(found)?.estimate())
}

/// The difference of the means of two samples of machines. One machine against several is drawn from
/// machines that differ as those do.
fn independent([first, second]: [&[Found]; 2]) -> Option<Estimate> {
    let between = |others: &[Found]| RandomEffects::new(others).map_or(0.0, |all| all.between);
    let side = |found: &[Found], others: &[Found]| match found {
        [only] if others.len() > 1 => {
            let variance = only.variance + between(others);
            let degrees = (others.len() - 1) as f64;
            mean(&[Found { variance, degrees, ..*only }])
        }
        _ => mean(found),
    };
    Some(side(second, first)?.less(&side(first, second)?))
}

/// Two independent estimates of one number, each weighed by the inverse of its estimated variance.
fn weighed(parts: [Estimate; 2]) -> Estimate {
    let [Some(first), Some(second)] = parts.map(|part| part.spread) else { return parts[0] };
    let precision =
        [first, second].map(|spread| 1.0 / (spread.standard_error * spread.standard_error));
    let whole = precision[0] + precision[1];
    if !whole.is_finite() {
        // One of them is exact.
        return if precision[0].is_finite() { parts[1] } else { parts[0] };
    }
    let share = precision.map(|precision| precision / whole);
    let degrees = [first.degrees, second.degrees];
    let [mean, lack, freedom] = [0, 1].into_iter().fold([0.0; 3], |[mean, lack, freedom], part| {
        [
            mean + share[part] * parts[part].mean,
            lack + share[part] * (1.0 - share[part]) / degrees[part],
            freedom + share[part] * share[part] / degrees[part],
        ]
    });
    Estimate::new(mean, libm::sqrt((1.0 + 4.0 * lack) / whole), 1.0 / freedom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::welch::Spread;

    fn found(means: &[f64]) -> Vec<Found> {
        means.iter().map(|&mean| Found { mean, variance: 1e-6, degrees: 9.0 }).collect()
    }

    fn pairs(first: &[f64], second: &[f64]) -> Vec<[Found; 2]> {
        found(first).into_iter().zip(found(second)).map(|(a, b)| [a, b]).collect()
    }

    fn spread(change: &MeanChange) -> Spread {
        change.estimate.spread.expect("a spread")
    }

    #[test]
    fn what_machines_are_like_cancels_where_they_are_compared_with_themselves() {
        // Machines differ by a third, the change on each is −0.10 but for 0.001.
        let first = [0.1, 0.3, -0.2, 0.25, 0.05];
        let second = [0.001, 0.199, -0.299, 0.150, -0.051];
        let same = mean_change(&pairs(&first, &second), [&[], &[]]).expect("five");
        assert!((same.estimate.mean + 0.1).abs() < 1e-3, "{same:?}");
        assert!(spread(&same).standard_error < 1e-3, "{same:?}");
        assert_eq!((spread(&same).degrees, same.paired, same.independent), (4.0, 5, [0, 0]));
        // As other machines the same numbers say nothing of so small a change.
        let other = mean_change(&[], [&found(&first), &found(&second)]).expect("five");
        assert!((other.estimate.mean + 0.1).abs() < 1e-3, "{other:?}");
        assert!(spread(&other).standard_error > 0.1, "{other:?}");
        assert_eq!((other.paired, other.independent), (0, [5, 5]));
        // Together the pairs carry it.
        let both = mean_change(
            &pairs(&first, &second),
            [&found(&[0.5, 0.6, 0.9]), &found(&[0.1, 0.2, 0.5])],
        )
        .expect("both");
        assert!((both.estimate.mean + 0.1).abs() < 2e-3, "{both:?}");
        assert!((3.9..4.1).contains(&spread(&both).degrees), "{both:?}");
        assert_eq!((both.paired, both.independent), (5, [3, 3]));
    }

    #[test]
    fn few_pairs_are_taken_with_the_others_and_one_machine_is_one_of_many() {
        let two = pairs(&[0.1, 0.2], &[0.1, 0.2]);
        let change = mean_change(&two, [&found(&[0.15]), &found(&[0.15, 0.12])]).expect("some");
        assert_eq!((change.paired, change.independent), (0, [3, 4]));
        // Without others two machines are compared with themselves, and so is one.
        let change = mean_change(&two, [&[], &found(&[0.3])]).expect("two");
        assert_eq!((change.paired, change.independent, spread(&change).degrees), (2, [0, 0], 1.0));
        let change = mean_change(&two[..1], [&[], &[]]).expect("one");
        assert!((spread(&change).standard_error - 2e-6f64.sqrt()).abs() < 1e-12);
        assert!((spread(&change).degrees - 18.0).abs() < 1e-9);
        // One machine against several that differ by much may be like any of them.
        let several = found(&[0.1, 0.3, -0.2, 0.25, 0.05]);
        let change = mean_change(&[], [&several, &found(&[0.4])]).expect("one");
        assert!(spread(&change).standard_error > 0.2, "{change:?}");
        assert_eq!(mean_change(&[], [&several, &[]]), None);
    }

    #[test]
    fn equal_parts_are_averaged_with_meiers_allowance() {
        let both = weighed([1.0, 2.0].map(|mean| Estimate::new(mean, 0.2, 8.0)));
        let spread = both.spread.expect("a spread");
        assert_eq!(both.mean, 1.5);
        // 1/Σw = 0.02, and a quarter of eightfold freedom on each side: 1 + 4 · 2 · 0.25 / 8.
        assert!((spread.standard_error - (0.02f64 * 1.25).sqrt()).abs() < 1e-12);
        assert!((spread.degrees - 16.0).abs() < 1e-12);
    }
}
