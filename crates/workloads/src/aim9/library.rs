//! Rows of the C library, whose version decides: `num_rtns_1`, `trig_rtns`, `series_1` (mathematics),
//! `mem_rtns_1`, `mem_rtns_2`, `ram_copy` (the allocator and the block functions), `string_rtns`
//! (strings, in the C locale), `misc_rtns_1`, twenty-one questions to library and kernel, and `sort_rtns_1`.
//!
//! Most of the time of the questions goes to the names of users and groups, so to how this machine looks
//! those up; standard input is `/dev/null`.
//!
//! `sort_rtns_1`: ten thousand numbers sorted upwards, downwards and upwards again, twice, and two thousand
//! numbers searched for, half of which are there. The C library's `qsort` merged until glibc 2.36 and changed
//! its method twice since. So that rates compare, the row merges by itself, comparing through a function
//! pointer as the original did; `sort=libc` uses the library's `qsort` and `bsearch` instead and names it.

use super::arithmetic::Numbers;
use super::native::library::{self as m, Compare, Strings, ask_everything};
use super::{LIBC, Place, Prepared, SORT, made};
use crate::sys::c_library;
use crate::workload::{Telling, text};
use std::hint::black_box;

const ROUNDS: u32 = 100;
const QUESTION_ROUNDS: u32 = 10;

/// A number of rounds of the library, each given its number; `note` says what else the result depends on.
fn rounds(
    count: u32,
    check: &'static str,
    note: Option<(&'static str, &'static str)>,
    mut round: impl FnMut(u32) -> bool + 'static,
) -> Prepared {
    let call = move |right: &mut bool| {
        for number in 0..count {
            *right &= round(number);
        }
        Ok(())
    };
    made(true, call, move |right, _, to| {
        to.check(check, *right);
        to.note("c_library", c_library());
        if let Some((name, text)) = note {
            to.note(name, text);
        }
    })
}

pub(super) fn misc_rtns_1(_: &Place) -> Prepared {
    let note = Some(("standard_input", "/dev/null"));
    rounds(QUESTION_ROUNDS, "answers", note, |_| ask_everything())
}

pub(super) fn string_rtns(_: &Place) -> Prepared {
    let mut strings = Strings::new();
    rounds(ROUNDS, "answers", None, move |round| strings.round(round))
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

pub(super) fn mem_rtns_1(_: &Place) -> Prepared {
    rounds(ROUNDS, "blocks_given", None, |_| m::allocate_and_free(TEXT, &SIZES))
}

pub(super) fn mem_rtns_2(_: &Place) -> Prepared {
    let mut buffers = Buffers::new();
    rounds(ROUNDS, "bytes_found", None, move |round| {
        let size = SIZES[round as usize % SIZES.len()];
        let (from, to) = buffers.offsets();
        let Buffers { from: source, to: target, .. } = &mut buffers;
        m::fill_search_copy((source, from), (target, to), size)
    })
}

/// Sizes of the 64 copies of a call of `ram_copy`, in bytes: 25,020 together.
#[rustfmt::skip]
const COPIES: [usize; 64] = [
    1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 8, 9, 11, 17, 33, 63, 7, 7, 7, 7, 7, 7, 1, 2, 3, 4, 5, 6,
    7, 7, 7, 7, 7, 7, 127, 256, 1001, 1200, 1492, 1500, 1024, 2048, 3172, 4096, 8192, 512,
    7, 7, 7, 7, 7, 7, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7,
];

pub(super) fn ram_copy(_: &Place) -> Prepared {
    let mut buffers = Buffers::new();
    buffers.from.fill(b'r');
    let call = |buffers: &mut Buffers| {
        for size in COPIES {
            let (from, to) = buffers.offsets();
            m::copy(&buffers.from[from..], &mut buffers.to[to..], size);
        }
        Ok(())
    };
    made(buffers, call, |buffers, _, to| {
        // The largest copy covers all but the last offsets, and later ones its beginning.
        let copied = &buffers.to[OFFSETS..BUFFER];
        let of_source = |byte: &u8| buffers.from.contains(byte) && *byte != 0;
        to.check("bytes_copied", copied.iter().all(of_source));
        to.note("c_library", c_library());
    })
}

const TRIGONOMETRIC_ROUNDS: u32 = 10_000;

pub(super) fn num_rtns_1(_: &Place) -> Prepared {
    let mut uniform = Numbers::uniform();
    rounds(ROUNDS, "answers", None, move |_| {
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

pub(super) fn trig_rtns(_: &Place) -> Prepared {
    let mut uniform = Numbers::uniform();
    // The largest angle whose tangent is a hyperbolic one.
    let call = move |largest: &mut f64| {
        for _ in 0..TRIGONOMETRIC_ROUNDS {
            let w = uniform.next();
            let back = m::acos(m::cos(m::asin(m::sin(w))));
            let hyperbolic = m::tanh(m::atan(m::tan(w)));
            let angle = m::atan2(m::sinh(w), m::cosh(w));
            black_box((back, hyperbolic));
            *largest = largest.max(angle.abs());
        }
        Ok(())
    };
    made(0.0, call, |largest: &mut f64, _, to| {
        // For arguments up to 10 it comes within 1e-8 of a quarter of pi.
        let largest = *largest - std::f64::consts::FRAC_PI_4;
        let known = m::acos(m::cos(m::asin(m::sin(0.5)))) - 0.5;
        to.check("answers", largest.abs() < 1e-8 && known.abs() < 1e-12);
        to.note("c_library", c_library());
    })
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

/// The series of the sine, term by term until the sum stays the same. Most arguments are tiny, so
/// most sums have two terms.
pub(super) fn series_1(_: &Place) -> Prepared {
    let mut decaying = Numbers::decaying();
    let call = move |worst: &mut f64| {
        for _ in 0..ROUNDS {
            let x = decaying.next();
            let difference = (black_box(sine_series(black_box(x))) - m::sin(x)).abs();
            *worst = worst.max(difference);
        }
        Ok(())
    };
    made(0.0, call, |worst: &mut f64, _, to| {
        to.check("series_is_the_sine", *worst < 1e-15);
        to.note("c_library", c_library());
    })
}

const NUMBERS: i32 = 10_000;
/// Turns of a call, and searches of a turn: for 0, 10, 20, …
const TURNS: u32 = 2;
const SEARCHES: i32 = 2000;

struct Sort {
    numbers: Vec<i32>,
    half: Vec<i32>,
    libc: bool,
    found: u64,
    sorted: bool,
}

fn upwards(a: &i32, b: &i32) -> std::cmp::Ordering {
    a.cmp(b)
}

fn downwards(a: &i32, b: &i32) -> std::cmp::Ordering {
    b.cmp(a)
}

/// Sorts by halves, which are merged through a second array.
fn merge_sort(numbers: &mut [i32], spare: &mut [i32], compare: Compare) {
    let length = numbers.len();
    if length < 2 {
        return;
    }
    let middle = length / 2;
    merge_sort(&mut numbers[..middle], spare, compare);
    merge_sort(&mut numbers[middle..], spare, compare);
    let (mut left, mut right, mut merged) = (0, middle, 0);
    while left < middle && right < length {
        let smaller =
            if compare(&numbers[left], &numbers[right]).is_le() { &mut left } else { &mut right };
        spare[merged] = numbers[*smaller];
        *smaller += 1;
        merged += 1;
    }
    // What is left of the right half stands where it belongs.
    spare[merged..merged + middle - left].copy_from_slice(&numbers[left..middle]);
    merged += middle - left;
    numbers[..merged].copy_from_slice(&spare[..merged]);
}

fn search(numbers: &[i32], wanted: i32, compare: Compare) -> bool {
    let (mut low, mut high) = (0, numbers.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(&wanted, &numbers[middle]) {
            std::cmp::Ordering::Less => high = middle,
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Greater => low = middle + 1,
        }
    }
    false
}

impl Sort {
    fn sort(&mut self, compare: Compare) {
        let compare = black_box(compare);
        if self.libc {
            m::sort(&mut self.numbers, compare);
        } else {
            merge_sort(&mut self.numbers, &mut self.half, compare);
        }
    }

    fn search(&self, wanted: i32) -> bool {
        if self.libc {
            m::search(&self.numbers, wanted)
        } else {
            search(&self.numbers, wanted, black_box(upwards))
        }
    }
}

pub(super) fn sort_rtns_1(place: &Place) -> Prepared {
    let numbers: Vec<i32> = (0..NUMBERS).collect();
    let half = vec![0; numbers.len()];
    let libc = text(&place.params, SORT.name) == LIBC;
    let call = |row: &mut Sort| {
        for _ in 0..TURNS {
            row.sort(upwards);
            row.sort(downwards);
            row.sorted &= row.numbers.first() > row.numbers.last();
            row.sort(upwards);
            row.found += (0..SEARCHES).filter(|n| row.search(10 * n)).count() as u64;
        }
        Ok(())
    };
    made(Sort { numbers, half, libc, found: 0, sorted: true }, call, |row, calls, to| {
        let sorted = row.sorted && row.numbers.iter().copied().eq(0..NUMBERS);
        row.sort(downwards);
        let reversed = row.numbers.iter().copied().eq((0..NUMBERS).rev());
        to.check("sorted", sorted && reversed);
        to.check("half_found", row.found == calls * u64::from(TURNS) * 1000);
        to.note("sort", if row.libc { c_library() } else { "our own merge sort".to_owned() });
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_call_copies_what_it_is_credited_for() {
        assert_eq!(COPIES.iter().sum::<usize>(), 25_020);
        assert_eq!(TEXT.len(), 44);
    }

    #[test]
    fn numbers_in_any_order_are_sorted_and_found() {
        let mut random = crate::aim9::arithmetic::Random::new();
        for length in [0, 1, 2, 3, 10, 777] {
            let mut numbers: Vec<i32> = (0..length).map(|_| i32::from(random.next())).collect();
            let mut expected = numbers.clone();
            expected.sort_unstable();
            merge_sort(&mut numbers, &mut vec![0; length], upwards);
            assert_eq!(numbers, expected);
            assert!(numbers.iter().all(|n| search(&numbers, *n, upwards)));
            assert!(!search(&numbers, -1, upwards) && !search(&numbers, 40_000, upwards));
        }
    }
}
