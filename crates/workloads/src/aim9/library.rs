//! Rows of the C library, whose version decides: `num_rtns_1`, `trig_rtns`, `series_1` (mathematics),
//! `mem_rtns_1`, `mem_rtns_2`, `ram_copy` (the allocator and the block functions), `string_rtns`
//! (strings, in the C locale), and `misc_rtns_1`, twenty-one questions to library and kernel. Most of
//! the time of these goes to the names of users and groups, so to how this machine looks those up;
//! standard input is `/dev/null`.

use super::native::library::{self as m, Strings, ask_everything, c_library};
use super::native::memory;
use super::numbers::Numbers;
use super::{Call, Place};
use crate::Error;
use crate::copies::Remarks;
use std::hint::black_box;

/// Rounds of a call of most rows.
const ROUNDS: u32 = 100;
const QUESTION_ROUNDS: u32 = 10;

struct Rounds<F> {
    count: u32,
    round: F,
    check: &'static str,
    right: bool,
    /// What else the result depends on.
    note: Option<(&'static str, &'static str)>,
}

impl<F: FnMut(u32) -> bool> Call for Rounds<F> {
    fn call(&mut self) -> Result<(), Error> {
        for number in 0..self.count {
            self.right &= (self.round)(number);
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check(self.check, self.right);
        to.note("c_library", c_library());
        if let Some((name, text)) = self.note {
            to.note(name, text);
        }
    }
}

fn rounds(
    check: &'static str,
    round: impl FnMut(u32) -> bool + 'static,
) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Rounds { count: ROUNDS, round, check, right: true, note: None }))
}

pub(super) fn misc_rtns_1(_: &Place) -> Result<Box<dyn Call>, Error> {
    let note = Some(("standard_input", "/dev/null"));
    let round = |_| ask_everything();
    Ok(Box::new(Rounds { count: QUESTION_ROUNDS, round, check: "answers", right: true, note }))
}

pub(super) fn string_rtns(_: &Place) -> Result<Box<dyn Call>, Error> {
    let mut strings = Strings::new();
    rounds("answers", move |round| strings.round(round))
}

/// Size of the buffers, in bytes; offsets up to 7 come on top.
const BUFFER: usize = 8192;
const OFFSETS: usize = 8;

/// Sizes of blocks, in bytes.
#[rustfmt::skip]
const SIZES: [usize; 40] = [
    1, 3, 5, 7, 9, 11, 33, 65, 129, 1024, 1025, 1023, 8192, 4096, 4095, 11, 33, 65, 129, 1024,
    1, 3, 5, 7, 9, 11, 33, 65, 129, 1024, 1025, 1023, 8192, 4096, 4095, 11, 33, 65, 129, 1024,
];

/// 44 characters, 45 with their end.
const TEXT: &[u8] = b"forty-four letters and a zero make forty-fiv";

struct Buffers {
    from: Vec<u8>,
    to: Vec<u8>,
    uses: usize,
}

impl Buffers {
    fn new() -> Self {
        Self { from: vec![0; BUFFER + OFFSETS], to: vec![0; BUFFER + OFFSETS], uses: 0 }
    }

    /// The offset in the source goes round fast, that in the target slowly.
    fn offsets(&mut self) -> (usize, usize) {
        let n = self.uses;
        self.uses += 1;
        (n % OFFSETS, n / OFFSETS % OFFSETS)
    }
}

pub(super) fn mem_rtns_1(_: &Place) -> Result<Box<dyn Call>, Error> {
    rounds("blocks_given", |_| memory::allocate_and_free(TEXT, &SIZES))
}

pub(super) fn mem_rtns_2(_: &Place) -> Result<Box<dyn Call>, Error> {
    let mut buffers = Buffers::new();
    rounds("bytes_found", move |round| {
        let size = SIZES[round as usize % SIZES.len()];
        let (from, to) = buffers.offsets();
        let Buffers { from: source, to: target, .. } = &mut buffers;
        memory::fill_search_copy((source, from), (target, to), size)
    })
}

/// Sizes of the 64 copies of a call of `ram_copy`, in bytes: 25,020 together.
#[rustfmt::skip]
const COPIES: [usize; 64] = [
    1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 8, 9, 11, 17, 33, 63, 7, 7, 7, 7, 7, 7, 1, 2, 3, 4, 5, 6,
    7, 7, 7, 7, 7, 7, 127, 256, 1001, 1200, 1492, 1500, 1024, 2048, 3172, 4096, 8192, 512,
    7, 7, 7, 7, 7, 7, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7,
];

struct Copies {
    buffers: Buffers,
}

impl Call for Copies {
    fn call(&mut self) -> Result<(), Error> {
        for size in COPIES {
            let (from, to) = self.buffers.offsets();
            memory::copy(&self.buffers.from[from..], &mut self.buffers.to[to..], size);
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        // The largest copy covers all but the last offsets, and later ones its beginning.
        let copied = &self.buffers.to[OFFSETS..BUFFER];
        let of_source = |byte: &u8| self.buffers.from.contains(byte) && *byte != 0;
        to.check("bytes_copied", copied.iter().all(of_source));
        to.note("c_library", c_library());
    }
}

pub(super) fn ram_copy(_: &Place) -> Result<Box<dyn Call>, Error> {
    let mut buffers = Buffers::new();
    buffers.from.fill(b'r');
    Ok(Box::new(Copies { buffers }))
}

const TRIGONOMETRIC_ROUNDS: u32 = 10_000;

pub(super) fn num_rtns_1(_: &Place) -> Result<Box<dyn Call>, Error> {
    let mut uniform = Numbers::uniform();
    rounds("answers", move |_| {
        let w = uniform.next();
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
        let bounded = below <= w && w <= above && size >= 0.0 && root >= 0.0;
        bounded & (fraction + whole == w && (0.5..1.0).contains(&-mantissa))
    })
}

struct Trigonometric {
    uniform: Numbers,
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

    fn remark(&mut self, to: &mut Remarks) {
        // For arguments up to 10 it comes within 1e-8 of a quarter of pi.
        let largest = self.largest - std::f64::consts::FRAC_PI_4;
        let known = m::acos(m::cos(m::asin(m::sin(0.5)))) - 0.5;
        to.check("answers", largest.abs() < 1e-8 && known.abs() < 1e-12);
        to.note("c_library", c_library());
    }
}

pub(super) fn trig_rtns(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Trigonometric { uniform: Numbers::uniform(), largest: 0.0 }))
}

/// The series of the sine, term by term until the sum stays the same. Most arguments are tiny, so
/// most sums have two terms.
struct Series {
    decaying: Numbers,
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

    fn remark(&mut self, to: &mut Remarks) {
        to.check("series_is_the_sine", self.worst < 1e-15);
        to.note("c_library", c_library());
    }
}

pub(super) fn series_1(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Series { decaying: Numbers::decaying(), worst: 0.0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_copies_what_it_is_credited_for() {
        assert_eq!(COPIES.iter().sum::<usize>(), 25_020);
        assert_eq!(TEXT.len(), 44);
    }
}
