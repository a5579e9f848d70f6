//! Rows `num_rtns_1`, `trig_rtns`, `series_1`: the C library's mathematics, so its version decides.

use super::native::mathematics as m;
use super::native::system::c_library;
use super::numbers::{Decaying, Uniform};
use super::{Call, Place};
use crate::Error;
use std::hint::black_box;

/// Rounds of a call of `num_rtns_1` and of `series_1`.
const ROUNDS: u32 = 100;
/// Rounds of a call of `trig_rtns`.
const TRIGONOMETRIC_ROUNDS: u32 = 10_000;

/// Sixteen functions a round.
struct Numeric {
    uniform: Uniform,
    right: bool,
}

impl Call for Numeric {
    fn call(&mut self) -> Result<(), Error> {
        for _ in 0..ROUNDS {
            let w = self.uniform.next();
            let (positive, negative) = (w + 10.000_1, w - 10.000_1);
            let powers = [m::exp(w), m::log10(positive), m::log(positive), m::pow(positive, w)];
            let rounded = [m::floor(w), m::ceil(w), m::fabs(w), m::sqrt(positive)];
            let (fraction, whole) = m::modf(w);
            let (mantissa, exponent) = m::frexp(negative);
            let scaled = m::ldexp(w, exponent);
            let rest = m::fmod(5.0 * w, positive);
            let sizes = (m::abs(w as i32), m::labs(w as libc::c_long));
            m::srand(exponent.unsigned_abs());
            let random = m::rand();
            black_box((powers, scaled, rest, sizes, random));
            let [below, above, size, root] = black_box(rounded);
            self.right &= below <= w && w <= above && size >= 0.0 && root >= 0.0;
            self.right &= fraction + whole == w && (0.5..1.0).contains(&-mantissa);
        }
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        vec![("answers", self.right)]
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("c_library", c_library())]
    }
}

pub(super) fn num_rtns_1(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Numeric { uniform: Uniform::new(), right: true }))
}

/// Ten functions a round.
struct Trigonometric {
    uniform: Uniform,
    /// The largest angle whose tangent is a hyperbolic one.
    largest: f64,
}

impl Call for Trigonometric {
    fn call(&mut self) -> Result<(), Error> {
        for _ in 0..TRIGONOMETRIC_ROUNDS {
            let w = self.uniform.next();
            let back = m::acos(m::cos(m::asin(m::sin(w))));
            let hyperbolic = m::tanh(m::atan(m::tan(w)));
            let angle = m::atan2(m::sinh(w), m::cosh(w));
            black_box((back, hyperbolic));
            self.largest = self.largest.max(angle.abs());
        }
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        // For arguments up to 10 it comes within 1e-8 of a quarter of pi.
        let largest = self.largest - std::f64::consts::FRAC_PI_4;
        let known = m::acos(m::cos(m::asin(m::sin(0.5)))) - 0.5;
        vec![("answers", largest.abs() < 1e-8 && known.abs() < 1e-12)]
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("c_library", c_library())]
    }
}

pub(super) fn trig_rtns(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Trigonometric { uniform: Uniform::new(), largest: 0.0 }))
}

/// The series of the sine, term by term until the sum stays the same. Most arguments are tiny, so
/// most sums have two terms.
struct Series {
    decaying: Decaying,
    worst: f64,
}

/// x − x³/3! + x⁵/5! − …
#[inline(never)]
fn sine_series(x: f64) -> f64 {
    let (mut sum, mut term, mut n) = (x, x, 1.0);
    loop {
        term *= -x * x / ((n + 1.0) * (n + 2.0));
        n += 2.0;
        let next = sum + term;
        if next == sum {
            return sum;
        }
        sum = next;
    }
}

impl Call for Series {
    fn call(&mut self) -> Result<(), Error> {
        for _ in 0..ROUNDS {
            let x = self.decaying.next();
            let difference = (black_box(sine_series(black_box(x))) - m::sin(x)).abs();
            self.worst = self.worst.max(difference);
        }
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        vec![("series_is_the_sine", self.worst < 1e-15)]
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("c_library", c_library())]
    }
}

pub(super) fn series_1(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Series { decaying: Decaying::new(), worst: 0.0 }))
}
