//! Student's t distribution: tail probability, quantile.
//!
//! All of it rests on the regularised incomplete beta function, computed by its continued fraction,
//! with every transcendental function from `libm`, so that the same data give the same bits on
//! every host.

/// Most terms of the continued fraction; for the arguments met here some twenty are enough.
const TERMS_MAX: u32 = 300;

/// The regularised incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1].
///
/// Source: NIST Digital Library of Mathematical Functions, 8.17.22 (continued fraction) and 8.17.4
/// (symmetry), evaluated by the modified Lentz method (3.10).
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only left of the mean; the other side is reached by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log1p(-x);
    libm::exp(log_front) / (a * beta_fraction(a, b, x))
}

/// The continued fraction 1 + d₁/(1 + d₂/(1 + …)) of DLMF 8.17.22.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if libm::fabs(value) < TINY { TINY } else { value };
    let (mut value, mut numerator, mut denominator) = (1.0, 1.0, 0.0);
    for term in 1..=TERMS_MAX {
        let m = f64::from(term / 2);
        let d = if term % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        denominator = 1.0 / away_from_zero(1.0 + d * denominator);
        numerator = away_from_zero(1.0 + d / numerator);
        let factor = numerator * denominator;
        value *= factor;
        if libm::fabs(factor - 1.0) < 1e-15 {
            break;
        }
    }
    value
}

/// Probability of a value at least as far from 0 as `t`, on either side.
///
/// Source: DLMF 8.17 with x = ν/(ν + t²); NIST/SEMATECH e-Handbook 1.3.6.6.4.
pub fn two_sided(t: f64, degrees: f64) -> f64 {
    if t.is_nan() {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// Probability of a value of at most `t`.
pub(crate) fn below(t: f64, degrees: f64) -> f64 {
    let tail = two_sided(t, degrees) / 2.0;
    if t > 0.0 { 1.0 - tail } else { tail }
}

fn density(t: f64, degrees: f64) -> f64 {
    let log_front = libm::lgamma((degrees + 1.0) / 2.0)
        - libm::lgamma(degrees / 2.0)
        - 0.5 * libm::log(degrees * std::f64::consts::PI);
    libm::exp(log_front - (degrees + 1.0) / 2.0 * libm::log1p(t * t / degrees))
}

/// The value that is not exceeded with probability `p`, for p in (0, 1) and at least one degree of
/// freedom; NaN outside.
///
/// Newton's method on the tail, kept inside a bracket; 1 and 2 degrees are the closed forms
/// (Shaw, *Sampling Student's T distribution*, 2006).
pub fn quantile(p: f64, degrees: f64) -> f64 {
    if !(p > 0.0 && p < 1.0 && degrees >= 1.0) {
        return f64::NAN;
    }
    if p < 0.5 {
        return -quantile(1.0 - p, degrees);
    }
    // One and two degrees have closed forms, and their heavier tails bound all higher ones.
    let square = 4.0 * p * (1.0 - p);
    let bound = if degrees < 2.0 {
        libm::tan(std::f64::consts::PI * (p - 0.5))
    } else {
        2.0 * (p - 0.5) * libm::sqrt(2.0 / square)
    };
    if degrees == 1.0 || degrees == 2.0 {
        return bound;
    }
    let (mut low, mut high) = (0.0, bound);
    let tail = 2.0 * (1.0 - p);
    let mut t = bound.min(2.0);
    for _ in 0..200 {
        let excess = two_sided(t, degrees) - tail;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t + excess / (2.0 * density(t, degrees));
        let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
        let settled = libm::fabs(next - t) <= 1e-14 * (1.0 + t);
        t = next;
        if settled {
            break;
        }
    }
    t
}

/// The t of a two-sided interval of that confidence (0.95 is 95 %).
pub fn critical(confidence: f64, degrees: f64) -> f64 {
    quantile(f64::midpoint(1.0, confidence), degrees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * (1.0 + b.abs())
    }

    #[test]
    fn quantiles_are_those_of_printed_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2, three decimals.
        for (p, degrees, printed) in [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.95, 3.0, 2.353),
            (0.975, 4.0, 2.776),
            (0.975, 7.0, 2.365),
            (0.95, 7.0, 1.895),
            (0.975, 11.0, 2.201),
            (0.99, 19.0, 2.539),
            (0.975, 30.0, 2.042),
            (0.995, 60.0, 2.660),
            (0.975, 100.0, 1.984),
        ] {
            let t = quantile(p, degrees);
            assert!((t - printed).abs() <= 0.000_51, "{p} {degrees}: {t} against {printed}");
        }
    }

    #[test]
    fn closed_forms_agree_with_the_beta_function() {
        for t in [-30.0, -2.0, -0.3, 0.0, 0.7, 5.0, 100.0] {
            // One degree of freedom is the Cauchy distribution, two have an algebraic form.
            let cauchy = 0.5 + libm::atan(t) / std::f64::consts::PI;
            assert!(close(below(t, 1.0), cauchy, 1e-12), "{t}");
            let two = 0.5 + t / (2.0 * (2.0 + t * t).sqrt());
            assert!(close(below(t, 2.0), two, 1e-12), "{t}");
        }
        // With very many degrees it is the normal distribution.
        let normal = 1.0 - 0.5 * libm::erfc(1.3 / std::f64::consts::SQRT_2);
        assert!(close(below(1.3, 1e6), normal, 1e-6));
    }

    #[test]
    fn nonsense_is_not_a_number() {
        for (p, degrees) in [(0.0, 5.0), (1.0, 5.0), (0.5, 0.0), (f64::NAN, 3.0)] {
            assert!(quantile(p, degrees).is_nan());
        }
        assert!(two_sided(f64::NAN, 3.0).is_nan());
        assert_eq!(two_sided(f64::INFINITY, 3.0), 0.0);
    }

    proptest! {
        #[test]
        fn quantile_undoes_below(p in 0.0005f64..0.9995, degrees in 1u32..400) {
            let degrees = f64::from(degrees);
            prop_assert!(close(below(quantile(p, degrees), degrees), p, 1e-10));
        }

        #[test]
        fn more_data_never_widen(p in 0.6f64..0.999, degrees in 1u32..200) {
            let degrees = f64::from(degrees);
            prop_assert!(quantile(p, degrees) > quantile(p, degrees + 1.0));
        }
    }
}
