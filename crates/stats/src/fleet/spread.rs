//! The spread of blocks on each machine, moderated by that of the other machines.
//!
//! A handful of blocks tells a machine's spread badly: a machine that seems quiet by luck would weigh
//! too much. So each machine's variance is drawn towards the typical one, as far as the machines'
//! variances differ no more than so few blocks make them differ.
//!
//! Source: Smyth, *Linear models and empirical Bayes methods for assessing differential expression in
//! microarray experiments*, Statistical Applications in Genetics and Molecular Biology 3 (2004),
//! section 6.2: the log variances' own variance is the trigamma of half the degrees of freedom plus
//! that of half the degrees of the prior.

/// The derivative of the logarithm of the gamma function, above 0.
///
/// Source: DLMF 5.5.2 (recurrence) and 5.11.2 (asymptotic expansion).
fn digamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 12.0 {
        shift += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    libm::log(x) - 0.5 / x - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0)) - shift
}

/// The second derivative, above 0.
///
/// Source: DLMF 5.15.5 (recurrence) and 5.15.8 (asymptotic expansion).
fn trigamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 12.0 {
        shift += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0));
    shift + (1.0 + 0.5 / x + series) / x
}

/// Where the trigamma is `value`, above 0: halving on a logarithmic scale.
fn inverse_trigamma(value: f64) -> f64 {
    libm::exp(halved([-20.0, 20.0], 60, |log| trigamma(libm::exp(log)) > value))
}

/// Where `is_left` changes from true to false between two numbers, by so many halvings.
pub(super) fn halved(
    [mut low, mut high]: [f64; 2],
    steps: u32,
    is_left: impl Fn(f64) -> bool,
) -> f64 {
    for _ in 0..steps {
        let middle = f64::midpoint(low, high);
        if is_left(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Variances drawn towards the typical one, with the degrees of freedom they have then, from pairs of
/// variance and degrees (at least 1). Variances of 0 take no part in finding the typical one.
pub fn moderated(spreads: &[(f64, f64)]) -> Vec<(f64, f64)> {
    // Each log variance less what so many degrees bias it by.
    let logs: Vec<(f64, f64)> = spreads
        .iter()
        .filter(|(variance, _)| *variance > 0.0)
        .map(|&(variance, degrees)| {
            let half = degrees / 2.0;
            (libm::log(variance) - digamma(half) + libm::log(half), trigamma(half))
        })
        .collect();
    if logs.len() < 2 {
        return spreads.to_vec();
    }
    let count = logs.len() as f64;
    let mean = logs.iter().map(|(log, _)| log).sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|(log, _)| (log - mean) * (log - mean)).sum();
    let chance = logs.iter().map(|(_, chance)| chance).sum::<f64>() / count;
    let excess = squares / (count - 1.0) - chance;
    if excess <= 0.0 {
        // They differ by chance alone: one variance for all.
        let degrees: f64 = spreads.iter().map(|(_, degrees)| degrees).sum();
        let pooled = spreads.iter().map(|(variance, degrees)| variance * degrees).sum::<f64>();
        return vec![(pooled / degrees, degrees); spreads.len()];
    }
    let half = inverse_trigamma(excess);
    let (prior_degrees, prior) = (2.0 * half, libm::exp(mean + digamma(half) - libm::log(half)));
    spreads
        .iter()
        .map(|(variance, degrees)| {
            let all = prior_degrees + degrees;
            ((prior_degrees * prior + degrees * variance) / all, all)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_and_trigamma_are_those_of_printed_tables() {
        // DLMF 5.4.12 and 5.4.13: minus Euler's constant, and that less 2 ln 2; 5.15.3: π²/6, π²/2.
        let euler = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + euler).abs() < 1e-10);
        assert!((digamma(0.5) + euler + 2.0 * std::f64::consts::LN_2).abs() < 1e-10);
        let square = std::f64::consts::PI * std::f64::consts::PI;
        assert!((trigamma(1.0) - square / 6.0).abs() < 1e-10);
        assert!((trigamma(0.5) - square / 2.0).abs() < 1e-10);
        for x in [0.01, 0.7, 3.0, 500.0] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-9, "{x}");
        }
    }

    #[test]
    fn equal_spreads_are_pooled_and_unequal_ones_are_kept_apart() {
        let alike = moderated(&[(1.0, 9.0), (1.4, 9.0), (0.8, 9.0), (1.2, 4.0)]);
        assert!(
            alike.iter().all(|(variance, _)| (variance - alike[0].0).abs() < 1e-12),
            "{alike:?}"
        );
        let apart = moderated(&[(1.0, 9.0), (100.0, 9.0), (0.01, 9.0), (10.0, 9.0)]);
        for ((found, _), own) in apart.iter().zip([1.0, 100.0, 0.01, 10.0]) {
            assert!(libm::log(found / own).abs() < 0.6, "{apart:?}");
        }
        assert!(apart[2].0 > 0.01 && apart[1].0 < 100.0, "{apart:?}");
        assert_eq!(moderated(&[(2.0, 3.0), (0.0, 3.0)]), [(2.0, 3.0), (0.0, 3.0)]);
    }
}
