//! Geometric means, ratios and speed-ups, as the article *Hyper-Threading speeds Linux* computes
//! them.

use coretwin_base::study::reading::Better;

/// Geometric mean, exp of the mean of logs; none for no values, or if any is not above 0.
///
/// The right mean for ratios: the quotient of two geometric means is the geometric mean of the
/// quotients (Fleming & Wallace, Communications of the ACM 29, 1986).
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return None;
    }
    let logs: f64 = values.iter().map(|&value| libm::log(value)).sum();
    Some(libm::exp(logs / values.len() as f64))
}

/// How many times better `value` is than `reference`: above 1 is better. None unless both are above
/// 0 and finite.
#[must_use]
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
#[must_use]
pub fn speed_up_percent(no_ht: f64, ht: f64, better: Better) -> Option<i64> {
    let percent = (ratio(no_ht, ht, better)? - 1.0) * 100.0;
    Some(libm::round(percent) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables 4 to 6 and 7: rates without HT, with HT, printed speed-up; the last line of each is
    /// the printed row of geometric means. The one misprint of table 7 (chat, 40 rooms: 231,509)
    /// stands here as the 213,509 that its own speed-up and geometric mean ask for.
    const TABLES: [&[(f64, f64, i64)]; 6] = [
        &[
            (164_071.0, 202_809.0, 24),
            (151_530.0, 184_803.0, 22),
            (140_301.0, 171_187.0, 22),
            (123_842.0, 158_543.0, 28),
            (144_167.0, 178_589.0, 24),
        ],
        &[
            (132.82, 171.23, 29),
            (131.43, 169.55, 29),
            (119.95, 133.77, 12),
            (111.89, 121.81, 9),
            (99.31, 114.92, 16),
            (118.4, 140.3, 18),
        ],
        &[
            (60.98, 79.86, 31),
            (59.94, 77.82, 30),
            (55.85, 70.19, 26),
            (48.45, 58.88, 22),
            (37.85, 47.92, 27),
            (51.84, 65.77, 27),
        ],
        &[
            (137_792.0, 207_788.0, 51),
            (138_832.0, 195_765.0, 41),
            (144_454.0, 213_509.0, 48),
            (137_745.0, 191_834.0, 39),
            (139_678.0, 202_034.0, 45),
        ],
        &[
            (142.02, 180.87, 27),
            (129.63, 141.19, 9),
            (84.76, 86.02, 1),
            (67.89, 70.37, 4),
            (57.44, 70.59, 23),
            (90.54, 101.76, 12),
        ],
        &[
            (60.28, 82.23, 36),
            (60.12, 81.72, 36),
            (59.73, 81.2, 36),
            (59.71, 80.79, 35),
            (59.73, 79.45, 33),
            (59.91, 81.07, 35),
        ],
    ];

    #[test]
    fn the_articles_throughput_tables_follow() {
        for table in TABLES {
            for &(no_ht, ht, printed) in table {
                assert_eq!(speed_up_percent(no_ht, ht, Better::Higher), Some(printed), "{no_ht}");
            }
            let (means, rows) = table.split_last().expect("a last line");
            for (column, printed) in [means.0, means.1].into_iter().enumerate() {
                let values: Vec<f64> =
                    rows.iter().map(|row| if column == 0 { row.0 } else { row.1 }).collect();
                let got = mean(&values).expect("a mean");
                assert!((got / printed - 1.0).abs() < 5e-4, "{got} printed as {printed}");
            }
        }
    }

    #[test]
    fn the_articles_latency_table_follows() {
        // Table 1, the rows that are not 0 %.
        for (no_ht, ht, printed) in
            [(11.16, 11.31, -1), (190.75, 198.84, -4), (581.55, 617.11, -6), (4.29, 4.27, 0)]
        {
            assert_eq!(speed_up_percent(no_ht, ht, Better::Lower), Some(printed));
        }
        assert_eq!(speed_up_percent(3051.28, 3118.08, Better::Lower), Some(-2));
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
