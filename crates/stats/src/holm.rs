//! Holm's adjustment of many p-values.

/// Adjusted p-values, in the order given: the chance of any false alarm among all of them is at
/// most the level at which an adjusted value is called small. NaN counts as 1.
///
/// Source: Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
/// Statistics 6 (1979).
pub fn adjust(p_values: &[f64]) -> Vec<f64> {
    let known = |p: f64| if p.is_nan() { 1.0 } else { p };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| known(p_values[a]).total_cmp(&known(p_values[b])));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        let factor = (p_values.len() - rank) as f64;
        // Never below the adjusted value of a smaller p, so that the order is kept.
        largest = largest.max((factor * known(p_values[index])).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_worked_example() {
        // Sorted 0.005, 0.01, 0.03, 0.04 become 4·0.005, 3·0.01, 2·0.03 and (kept up) 0.06.
        let adjusted = adjust(&[0.01, 0.04, 0.03, 0.005]);
        for (got, want) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - want).abs() < 1e-15, "{adjusted:?}");
        }
        assert_eq!(adjust(&[]), Vec::<f64>::new());
        assert_eq!(adjust(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    proptest! {
        #[test]
        fn between_the_raw_value_and_bonferroni(
            p_values in prop::collection::vec(0f64..=1.0, 1..30)
        ) {
            let adjusted = adjust(&p_values);
            for (raw, holm) in p_values.iter().zip(&adjusted) {
                prop_assert!(holm >= raw && *holm <= 1.0);
                prop_assert!(*holm <= raw * p_values.len() as f64 + 1e-12 || *holm >= *raw);
            }
            let smallest = p_values.iter().copied().fold(1.0, f64::min);
            let least = adjusted.iter().copied().fold(1.0, f64::min);
            prop_assert!((least - (smallest * p_values.len() as f64).min(1.0)).abs() < 1e-12);
        }
    }
}
