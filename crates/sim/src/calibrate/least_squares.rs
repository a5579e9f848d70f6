//! Least squares of few parameters by Gauss and Newton, on logarithms: errors are relative, and
//! parameters stay positive.

use crate::Result;

/// Change of a parameter by which its effect is measured, as a logarithm: 5 %.
const STEP: f64 = 0.05;
/// Most change of a parameter at once: a factor of 2.
const STRIDE_MAX: f64 = core::f64::consts::LN_2;
/// A round that takes less than this part off the squares is the last.
const GAIN_LEAST: f64 = 0.05;
/// Part of the largest effect that is added to each, so that one without effect stays where it is.
const DAMPING: f64 = 1e-3;

/// Finds the logarithms of parameters that make the squares of `errors` least, from a start, in so many
/// rounds. `errors` gives a logarithm for each cell: model over published.
pub(super) fn fit(
    start: &[f64],
    rounds: usize,
    mut errors: impl FnMut(&[f64]) -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    let squares = |errors: &[f64]| errors.iter().map(|error| error * error).sum::<f64>();
    let mut best = start.to_vec();
    let mut at = errors(&best)?;
    for _ in 0..rounds {
        let mut slopes = Vec::with_capacity(best.len());
        for parameter in 0..best.len() {
            let mut moved = best.clone();
            moved[parameter] += STEP;
            let there = errors(&moved)?;
            slopes.push(there.iter().zip(&at).map(|(b, a)| (b - a) / STEP).collect::<Vec<f64>>());
        }
        let change = step(&slopes, &at);
        let mut next: Vec<f64> = best.clone();
        for (value, change) in next.iter_mut().zip(&change) {
            *value += change.clamp(-STRIDE_MAX, STRIDE_MAX);
        }
        let mut there = errors(&next)?;
        if squares(&there) >= squares(&at) {
            // Halfway, once; if that is no better, this is the end.
            for (value, from) in next.iter_mut().zip(&best) {
                *value = f64::midpoint(*value, *from);
            }
            there = errors(&next)?;
            if squares(&there) >= squares(&at) {
                return Ok(best);
            }
        }
        let before = squares(&at);
        (best, at) = (next, there);
        if squares(&at) > (1.0 - GAIN_LEAST) * before {
            return Ok(best);
        }
    }
    Ok(best)
}

/// Solves the normal equations: the change of each parameter that takes the errors to their least.
fn step(slopes: &[Vec<f64>], errors: &[f64]) -> Vec<f64> {
    let count = slopes.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let largest = slopes.iter().map(|slope| dot(slope, slope)).fold(1e-12, f64::max);
    let mut rows: Vec<Vec<f64>> = (0..count)
        .map(|i| {
            let mut row: Vec<f64> = (0..count).map(|j| dot(&slopes[i], &slopes[j])).collect();
            row[i] += DAMPING * largest;
            row.push(-dot(&slopes[i], errors));
            row
        })
        .collect();
    // Gauss, without pivoting: the matrix is positive definite.
    for pivot in 0..count {
        let (above, below) = rows.split_at_mut(pivot + 1);
        let from = &above[pivot];
        for row in below {
            let factor = row[pivot] / from[pivot];
            for (value, taken) in row.iter_mut().zip(from) {
                *value -= factor * taken;
            }
        }
    }
    let mut solution = vec![0.0; count];
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count).map(|column| rows[row][column] * solution[column]).sum();
        solution[row] = (rows[row][count] - known) / rows[row][row];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parameters_of_a_sum_are_found() {
        // Cells a + b * n, of a = 3 and b = 0.1.
        let model = |logs: &[f64]| {
            let [a, b] = [libm::exp(logs[0]), libm::exp(logs[1])];
            Ok([1.0, 10.0, 50.0, 100.0].map(|n| libm::log((a + b * n) / (3.0 + 0.1 * n))).to_vec())
        };
        let found = fit(&[0.0, 0.0], 12, model).expect("it runs");
        let [a, b] = [libm::exp(found[0]), libm::exp(found[1])];
        assert!((a - 3.0).abs() < 0.01 && (b - 0.1).abs() < 0.001, "{a} {b}");
    }

    #[test]
    fn one_without_effect_stays_where_it_is() {
        let found = fit(&[1.0, 0.5], 5, |logs| Ok(vec![logs[0] - 2.0])).expect("it runs");
        assert!((found[0] - 2.0).abs() < 1e-3, "{found:?}");
        assert_eq!(found[1], 0.5);
    }
}
