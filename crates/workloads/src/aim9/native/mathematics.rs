//! The C library's mathematics, which the numeric rows measure.

use std::ffi::c_int;

// SAFETY: these are the C library's functions with their C types; those marked safe take and give
// numbers only.
unsafe extern "C" {
    pub(in crate::aim9) safe fn exp(x: f64) -> f64;
    pub(in crate::aim9) safe fn log(x: f64) -> f64;
    pub(in crate::aim9) safe fn log10(x: f64) -> f64;
    pub(in crate::aim9) safe fn floor(x: f64) -> f64;
    pub(in crate::aim9) safe fn ceil(x: f64) -> f64;
    pub(in crate::aim9) safe fn fmod(x: f64, y: f64) -> f64;
    pub(in crate::aim9) safe fn fabs(x: f64) -> f64;
    pub(in crate::aim9) safe fn pow(x: f64, y: f64) -> f64;
    pub(in crate::aim9) safe fn sqrt(x: f64) -> f64;
    pub(in crate::aim9) safe fn ldexp(x: f64, exponent: c_int) -> f64;
    pub(in crate::aim9) safe fn sin(x: f64) -> f64;
    pub(in crate::aim9) safe fn cos(x: f64) -> f64;
    pub(in crate::aim9) safe fn tan(x: f64) -> f64;
    pub(in crate::aim9) safe fn asin(x: f64) -> f64;
    pub(in crate::aim9) safe fn acos(x: f64) -> f64;
    pub(in crate::aim9) safe fn atan(x: f64) -> f64;
    pub(in crate::aim9) safe fn atan2(y: f64, x: f64) -> f64;
    pub(in crate::aim9) safe fn sinh(x: f64) -> f64;
    pub(in crate::aim9) safe fn cosh(x: f64) -> f64;
    pub(in crate::aim9) safe fn tanh(x: f64) -> f64;
    pub(in crate::aim9) safe fn abs(x: c_int) -> c_int;
    pub(in crate::aim9) safe fn labs(x: libc::c_long) -> libc::c_long;
    pub(in crate::aim9) safe fn srand(seed: libc::c_uint);
    pub(in crate::aim9) safe fn rand() -> c_int;
    #[link_name = "modf"]
    fn c_modf(x: f64, whole: *mut f64) -> f64;
    #[link_name = "frexp"]
    fn c_frexp(x: f64, exponent: *mut c_int) -> f64;
}

/// The fraction and the whole part.
pub(in crate::aim9) fn modf(x: f64) -> (f64, f64) {
    let mut whole = 0.0;
    // SAFETY: it writes one double to the address.
    let fraction = unsafe { c_modf(x, &raw mut whole) };
    (fraction, whole)
}

/// The fraction and the exponent of two.
pub(in crate::aim9) fn frexp(x: f64) -> (f64, c_int) {
    let mut exponent = 0;
    // SAFETY: it writes one int to the address.
    let fraction = unsafe { c_frexp(x, &raw mut exponent) };
    (fraction, exponent)
}
