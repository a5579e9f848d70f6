//! Geometric means, ratios and speed-ups, as the article *Hyper-Threading speeds Linux* computes
//! them.

use coretwin_base::study::reading::Better;

/// Geometric mean, exp of the mean of logs; `None` for no values, or if any is not above 0.
///
/// The right mean for ratios: the quotient of two geometric means is the geometric mean of the
/// quotients (Fleming & Wallace, Communications of the ACM 29, 1986).
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return None;
    }
    let logs: f64 = values.iter().map(|&value| libm::log(value)).sum();
    Some(libm::exp(logs / values.len() as f64))
}

/// How many times better `value` is than `reference`: above 1 is better. `None` unless both are above
/// 0 and finite.
pub fn ratio(reference: f64, value: f64, better: Better) -> Option<f64> {
    if !(reference > 0.0 && value > 0.0 && reference.is_finite() && value.is_finite()) {
        return None;
    }
    Some(match better {
        Better::Higher => value / reference,
        Better::Lower => reference / value,
    })
}

/// The "speed-up" column of the article's tables 1 to 7: HT over no HT (for times no HT over HT),
/// less 1, in percent, rounded to the nearest whole number, halves away from 0.
pub fn speed_up_percent(no_ht: f64, ht: f64, better: Better) -> Option<i64> {
    let percent = (ratio(no_ht, ht, better)? - 1.0) * 100.0;
    Some(libm::round(percent) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_ups_are_whole_percents_of_rates_and_of_times() {
        assert_eq!(speed_up_percent(100.0, 128.6, Better::Higher), Some(29));
        assert_eq!(speed_up_percent(100.0, 104.2, Better::Lower), Some(-4));
        let mean = mean(&[2.0, 8.0]).expect("a mean");
        assert!((mean - 4.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn what_has_no_mean_or_ratio() {
        for values in [&[][..], &[1.0, 0.0], &[1.0, -2.0], &[f64::NAN], &[f64::INFINITY]] {
            assert_eq!(mean(values), None, "{values:?}");
        }
        assert_eq!(ratio(0.0, 1.0, Better::Higher), None);
        assert_eq!(ratio(1.0, f64::NAN, Better::Lower), None);
        assert_eq!(speed_up_percent(-1.0, 1.0, Better::Higher), None);
    }
}
