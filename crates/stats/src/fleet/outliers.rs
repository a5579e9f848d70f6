//! Machines unlike the others: how far each is from what the others predict for it.
//!
//! The studentized deleted residual (Viechtbauer & Cheung, *Outlier and influence diagnostics for
//! meta-analysis*, Research Synthesis Methods 1, 2010): the machine's own effect less the mean of the
//! others, over the deviation of that difference. How far the others differ among each other, τ², is
//! taken without the machine too, by moments with fixed weights (DerSimonian & Kacker, Contemporary
//! Clinical Trials 28, 2007), so that one pass serves all machines.
//!
//! Of many machines the farthest is looked at, deep in the tail, where Satterthwaite's degrees of freedom
//! for a sum of variances name too many. Cochran & Cox (*Experimental Designs*, second edition, 1957, section
//! 4.14) weigh the critical values of both parts by their variances, which errs to the other side; a
//! critical value is, to first order, linear in the inverse of its degrees, so those are weighed here.

use super::random_effects::{Found, RandomEffects};
use crate::confidence;
use crate::{holm, student};

/// Fewest machines of which one can be told to be unlike the others.
const MACHINES_MIN: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    pub index: usize,
    pub expected: (f64, f64),
    /// p-value, Holm-adjusted over the machines of the list.
    pub p_adjusted: f64,
}

/// Σw, Σw², Σwv, Σw²v, Σwy, Σwy²; y is measured from the mean of all, so that nothing cancels.
type Sums = [f64; 6];

fn terms(found: &Found, between: f64, centre: f64) -> Sums {
    let weight = 1.0 / (found.variance + between);
    let distance = found.mean - centre;
    [
        weight,
        weight * weight,
        weight * found.variance,
        weight * weight * found.variance,
        weight * distance,
        weight * distance * distance,
    ]
}

/// Mean, τ² and variance of the mean by these sums.
fn moments([w, ww, wv, wwv, wy, wyy]: Sums) -> (f64, f64, f64) {
    let mean = wy / w;
    let squares = wyy - wy * mean;
    let between = ((squares - (wv - wwv / w)) / (w - ww / w)).max(0.0);
    (mean, between, (wwv + between * ww) / (w * w))
}

/// The machines whose adjusted p-value is below `level`, in the order of the list.
pub fn outliers(found: &[Found], all: &RandomEffects, level: f64) -> Vec<Outlier> {
    if all.machines < MACHINES_MIN {
        return Vec::new();
    }
    let degrees = f64::from(all.machines - 3);
    let mut total = [0.0; 6];
    for found in found {
        let terms = terms(found, all.between, all.mean);
        total.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
    // Centre and deviation of what the others predict for each, and the degrees of freedom of that:
    // a machine's own variance is an estimate too. Never more than the others'.
    let predicted: Vec<(f64, f64, f64)> = found
        .iter()
        .map(|found| {
            let own = terms(found, all.between, all.mean);
            let others: Sums = std::array::from_fn(|index| total[index] - own[index]);
            let (mean, between, error) = moments(others);
            let rest = between + error;
            let whole = found.variance + rest;
            let inverse = (found.variance / found.degrees + rest / degrees) / whole;
            (all.mean + mean, libm::sqrt(whole), (1.0 / inverse).min(degrees))
        })
        .collect();
    let p: Vec<f64> = found
        .iter()
        .zip(&predicted)
        .map(|(found, (mean, deviation, degrees))| {
            student::two_sided((found.mean - mean) / deviation, *degrees)
        })
        .collect();
    if p.iter().all(|p| *p >= level) {
        return Vec::new();
    }
    let adjusted = holm::adjust(&p);
    let far = (0..found.len()).filter(|index| adjusted[*index] < level);
    far.map(|index| {
        let (mean, deviation, degrees) = predicted[index];
        let half = student::critical(confidence::CONFIDENCE, degrees) * deviation;
        Outlier { index, expected: (mean - half, mean + half), p_adjusted: adjusted[index] }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(means: &[f64]) -> Vec<Found> {
        means.iter().map(|&mean| Found { mean, variance: 1e-4, degrees: f64::INFINITY }).collect()
    }

    #[test]
    fn the_machine_that_is_unlike_the_others_is_named_and_no_other() {
        let found =
            machines(&[0.10, 0.11, 0.09, 0.105, 0.095, 0.12, 0.08, 0.10, -0.20, 0.11, 0.09, 0.10]);
        let all = RandomEffects::new(&found).expect("twelve");
        let outliers = outliers(&found, &all, 0.05);
        assert_eq!(outliers.iter().map(|outlier| outlier.index).collect::<Vec<_>>(), [8]);
        let (low, high) = outliers[0].expected;
        assert!(low > 0.05 && high < 0.15, "{low} {high}");
    }

    #[test]
    fn what_one_pass_says_is_what_leaving_it_out_says() {
        let mut found = machines(&[0.1, 0.3, 0.2, 0.25, 0.05, 0.9]);
        for (index, found) in found.iter_mut().enumerate() {
            found.variance *= 1.0 + index as f64;
        }
        let all = RandomEffects::new(&found).expect("six");
        let named = outliers(&found, &all, 1.1);
        for (index, outlier) in named.iter().enumerate() {
            let mut others = found.clone();
            others.remove(index);
            let mut sums = [0.0; 6];
            for found in &others {
                let terms = terms(found, all.between, 0.0);
                sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
            let (mean, between, error) = moments(sums);
            let whole = found[index].variance + between + error;
            let half = student::critical(confidence::CONFIDENCE, 3.0) * whole.sqrt();
            assert!((outlier.expected.0 - (mean - half)).abs() < 1e-9, "{index}");
        }
        assert_eq!(named.len(), 6);
    }

    #[test]
    fn three_machines_name_nobody() {
        let found = machines(&[0.1, 0.1, 5.0]);
        let all = RandomEffects::new(&found).expect("three");
        assert_eq!(outliers(&found, &all, 0.05), []);
    }
}
