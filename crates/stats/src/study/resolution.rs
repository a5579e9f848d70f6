//! How coarsely a row's values were read, and what that leaves unknown of their mean.
//!
//! Values in steps wider than their spread are off by a constant, which neither blocks nor their
//! spread show: with steps of 3 % and a spread of 0.4 % a t interval holds the truth every other
//! time. Where the spread is wider than a step the errors average out. Between the two, for normal
//! values of deviation s in steps of r, a mean is off by at most r/2·exp(−2π²s²/r²), the envelope of
//! the error's first harmonic (Widrow, Kollár & Liu, *Statistical theory of quantization*, IEEE
//! Transactions on Instrumentation and Measurement 45, 1996).

use coretwin_base::study::plan::{Plan, Scale};
use coretwin_base::warning::Warning;
use std::collections::BTreeMap;

/// Values that are closer than this share are one value.
const SAME: f64 = 1e-9;

/// Steps below this share of a value are finer than anything that is measured.
const STEP_MIN: f64 = 1e-6;

/// Where nothing varies, scales are taken to be divided into ones, twos or fives of their last digit.
const UNITS_MAX: f64 = 5.0;

/// A value with more digits than these after its first is exact, or finer than anything measured.
const DIGITS_MAX: usize = 6;

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Resolution {
    /// Step between values on the scale of the analysis; 0 where there is none to be seen.
    pub(crate) step: f64,
    /// Most that it can have moved the arm's mean.
    pub(crate) error: f64,
    /// One unit of the last digit that its values have; 0 where they have more than a step could hide in.
    pub(crate) unit: f64,
}

impl Resolution {
    /// The spread that rounding alone gives a difference of values of these two. Values that move by many
    /// steps together differ by whole steps, few of which can be alike by chance: what they then show of
    /// spread is too little.
    pub(crate) fn least_deviation(of: [Self; 2]) -> f64 {
        let squares = of.map(|one| libm::fmax(one.step, one.unit)).map(|step| step * step / 12.0);
        libm::sqrt(squares.iter().sum())
    }
}

/// The resolution of a row in each arm, from its values there on the scale of the analysis. A step
/// is seen where values come more than once: the smallest distance between two values of the arm.
/// An arm whose values are all alike has the step of the other arms; where no arm varies, the step
/// is at most the distance between two arms, and at most five units of the last digit.
pub(super) fn of_row(arms: &[Vec<f64>], scale: Scale) -> Vec<Resolution> {
    let sorted: Vec<Vec<f64>> = arms.iter().map(|values| sorted_values(values)).collect();
    let own: Vec<Option<(f64, f64)>> = sorted.iter().map(|values| closest(values)).collect();
    let all = sorted_values(&arms.concat());
    let any = own.iter().flatten().copied().min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    sorted
        .iter()
        .zip(own)
        .map(|(values, own)| {
            let units = values.iter().map(|value| last_digit(*value, scale) / UNITS_MAX);
            let unit = units.reduce(f64::min).unwrap_or(0.0);
            let none = Resolution { unit, ..Resolution::default() };
            if !has_ties(values) {
                return none;
            }
            let centre = values[values.len() / 2];
            let step = match own.or(any) {
                Some(pair) => step_at(centre, pair, scale),
                None => {
                    let between =
                        closest(&all).map_or(f64::INFINITY, |p| step_at(centre, p, scale));
                    between.min(last_digit(centre, scale))
                }
            };
            let size = if scale == Scale::Ratio { 1.0 } else { libm::fabs(centre) };
            if step <= STEP_MIN * size {
                return none;
            }
            Resolution { step, error: error(values, step), unit }
        })
        .collect()
}

fn sorted_values(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn are_same(a: f64, b: f64) -> bool {
    libm::fabs(a - b) <= SAME * libm::fmax(1.0, libm::fabs(a))
}

fn has_ties(sorted: &[f64]) -> bool {
    sorted.windows(2).any(|pair| are_same(pair[0], pair[1]))
}

/// The two unlike values that are closest to each other.
fn closest(sorted: &[f64]) -> Option<(f64, f64)> {
    let pairs = sorted.windows(2).map(|pair| (pair[0], pair[1]));
    let unlike = pairs.filter(|(a, b)| !are_same(*a, *b));
    unlike.min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
}

/// The step at a value, from two neighbours elsewhere. Of a ratio the wider of two: equal steps in
/// the value, as of a time in ticks, or in its inverse, as of a rate by a time in ticks; at most the
/// value itself.
fn step_at(value: f64, (low, high): (f64, f64), scale: Scale) -> f64 {
    match scale {
        Scale::Raw => high - low,
        Scale::Ratio => {
            let steps = libm::exp(high - value) - libm::exp(low - value);
            let inverse = libm::exp(value - low) - libm::exp(value - high);
            steps.max(inverse).min(1.0)
        }
    }
}

/// Five units of a value's last digit, at most all of it; 0 of a value that has too many. Of a ratio
/// as a share, and of the value or its inverse, whichever has the finer digits: a rate may have been
/// taken from a time.
fn last_digit(value: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Raw => libm::fabs(value) * last_digit_share(libm::fabs(value)),
        Scale::Ratio => {
            let shares = [value, -value].map(|log| last_digit_share(libm::exp(log)));
            let finer = shares.into_iter().filter(|share| *share > 0.0).reduce(f64::min);
            finer.unwrap_or(0.0)
        }
    }
}

/// The same of a value above 0, as a share of it.
fn last_digit_share(value: f64) -> f64 {
    // Twelve digits are what the logarithm keeps; trailing zeros of a whole number are digits too.
    let text = format!("{value:.11e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let decimals = digits.trim_end_matches('0').len().saturating_sub(2);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if decimals > DIGITS_MAX {
        return 0.0;
    }
    let unit = libm::pow(10.0, f64::from((exponent - decimals as i32).min(0)));
    (UNITS_MAX * unit / value).min(1.0)
}

/// Most that steps of that size can have moved the mean of these values. Their spread is taken from
/// the mean distance to the median, which one wild value hardly moves, less what two values that
/// change for the slightest cause can have of it.
fn error(sorted: &[f64], step: f64) -> f64 {
    let median = sorted[sorted.len() / 2];
    let distance = sorted.iter().map(|value| libm::fabs(value - median)).sum::<f64>();
    let deviation = distance / sorted.len() as f64 * libm::sqrt(std::f64::consts::FRAC_PI_2);
    let share = (deviation * deviation / (step * step) - 0.25).max(0.0);
    let pi = std::f64::consts::PI;
    step / 2.0 * libm::exp(-2.0 * pi * pi * share)
}

/// Tells of the rows whose steps decide the width of their intervals.
pub(super) fn warning(plan: &Plan, decided: &BTreeMap<usize, f64>) -> Option<Warning> {
    let (&row, &step) = decided.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let row = &plan.rows[row];
    let step = match row.scale {
        Scale::Ratio => format!("{:.1} %", step * 100.0),
        Scale::Raw => format!("{step:.3} {}", row.unit),
    };
    let others = match decided.len() - 1 {
        0 => String::new(),
        more => format!(", and those of {more} more row(s) in theirs"),
    };
    Some(Warning::new(
        "resolution",
        format!("values of {} come in steps of {step}{others}", row.id),
        "The interval is as wide as it is for these steps, not for the spread, and more blocks do not \
         narrow it. Let a run last longer, or read its value with more digits.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| libm::log(*value)).collect()
    }

    fn of(arms: &[&[f64]]) -> Vec<Resolution> {
        of_row(&arms.iter().map(|values| logs(values)).collect::<Vec<_>>(), Scale::Ratio)
    }

    #[test]
    fn ticks_are_found_and_all_of_them_counts_where_nothing_varies() {
        let found = of(&[&[0.33, 0.33, 0.34, 0.33], &[0.34, 0.34, 0.34, 0.34]]);
        for arm in &found {
            assert!((0.029..0.032).contains(&arm.step), "{found:?}");
            assert_eq!(arm.error, arm.step / 2.0);
        }
        // A rate by the same ticks: as coarse, though its values have all their digits.
        let found = of(&[&[3.0 / 0.33, 3.0 / 0.34, 3.0 / 0.34], &[3.0 / 0.1, 3.0 / 0.1]]);
        assert!((0.09..0.11).contains(&found[1].step), "{found:?}");
    }

    #[test]
    fn of_one_value_the_last_digit_tells() {
        let one = |value: f64| of(&[&[value; 8], &[value; 8]])[0].step;
        for (value, step) in [(0.33, 0.05 / 0.33), (12.34, 0.05 / 12.34), (1500.0, 5.0 / 1500.0)] {
            assert!((one(value) / step - 1.0).abs() < 1e-6, "{value}");
        }
        assert_eq!(one(3.0), 1.0, "never more than the value itself");
        // Exact to the last digit: a count, or a machine that does the same each time.
        assert_eq!(one(1.234_567_891), 0.0);
        assert_eq!(of(&[&[1.234_567_8; 8], &[1.345_678_9; 8]]), [Resolution::default(); 2]);
        // Two values, far apart: the digits bound the step.
        assert!(of(&[&[12.34; 4], &[15.67; 4]])[0].step < 0.005);
    }

    #[test]
    fn values_that_never_come_twice_are_left_alone_and_a_wide_spread_leaves_no_error() {
        let untied = of(&[&[1.0, 1.1, 1.2], &[1.05, 1.15, 1.25]]);
        assert!(untied.iter().all(|arm| (arm.step, arm.error) == (0.0, 0.0)), "{untied:?}");
        // But what their differences spread is not believed beyond their last digit.
        assert!((untied[0].unit - 0.1 / 1.2).abs() < 1e-9, "{untied:?}");
        let least = Resolution::least_deviation([untied[0], untied[1]]);
        assert!((0.024..0.025).contains(&least), "{least}");
        let wide = of(&[&[1.0, 1.1, 1.2, 1.3, 1.4, 1.4, 1.01]]);
        assert!(wide[0].step > 0.0 && wide[0].error < 1e-9, "{wide:?}");
    }

    #[test]
    fn differences_are_taken_in_their_unit() {
        let found = of_row(&[vec![0.0, 2.0, 2.0], vec![-2.0, -2.0, -2.0]], Scale::Raw);
        assert_eq!(found.iter().map(|arm| arm.step).collect::<Vec<_>>(), [2.0, 2.0]);
    }
}
