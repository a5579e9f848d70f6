//! Rows that compute: `add_*`, `mul_*`, `div_*`, `fun_cal*`, `sieve`, `matrix_rtns`, `array_rtns`, and the
//! numbers that rows compute with.
//!
//! A chain is twelve dependent operations on three variables of one type. The state repeats every turn
//! (for `mul_double` nearly: its two factors are not exactly inverse), so the answer is known. `long` is
//! 64 bits here and was 32 in the article. What one turn is: [`super::native::arithmetic`].
//!
//! `fun_cal*` call through a pointer that is chosen at run time. How many of fifteen arguments travel in
//! registers differs between architectures (6 on x86-64, 8 on aarch64), so that row compares within one.

use super::native::arithmetic as chains;
use super::native::library::{rand, srand};
use super::{Place, Prepared, made};
use crate::workload::Telling;
use std::hint::black_box;

fn chain<T: Copy + 'static>(
    chain: fn(u64, [T; 3]) -> [T; 3],
    turns: u64,
    start: [T; 3],
    is_right: fn([T; 3], [T; 3]) -> bool,
) -> Prepared {
    let call = move |state: &mut [T; 3]| {
        *state = black_box(chain(black_box(turns), black_box(start)));
        Ok(())
    };
    made(start, call, move |state, _, to| {
        to.check("answer", is_right(*state, start));
        to.note("arithmetic", chains::CODE);
    })
}

/// Makes the row's set-up: its name, its chain, turns, start and test of the answer.
macro_rules! rows {
    ($($name:ident($turns:literal, $start:expr, $is_right:expr);)+) => {
        $(
            pub(super) fn $name(_: &Place) -> Prepared {
                chain(chains::$name, $turns, $start, $is_right)
            }
        )+
    };
}

fn same<T: PartialEq>(end: [T; 3], start: [T; 3]) -> bool {
    end == start
}

/// As [`same`], but for a drift: each turn is off by a few units in the last place at most.
fn near(end: [f64; 3], start: [f64; 3]) -> bool {
    end.iter().zip(start).all(|(end, start)| (end / start - 1.0).abs() < 1e-6)
}

/// The original's number: not pi, but its first digits.
#[expect(clippy::approx_constant, reason = "the original's constant")]
const X: f64 = 3.141_59;

rows! {
    add_double(1_500_000, [0.0, X, -X], same);
    add_float(1_000_000, [0.0_f32, 3.5, -3.5], same);
    add_long(5_000_000, [0_i64, 3, -3], same);
    add_int(5_000_000, [0_i32, 3, -3], same);
    add_short(2_000_000, [0_i16, 3, -3], same);
    mul_double(1_000_000, [1.0, X, 1.0 / X], near);
    mul_float(1_000_000, [1.0_f32, 4.0, 0.25], same);
    mul_long(20_000, [12_345_678_i64, 1, 1], same);
    mul_int(20_000, [12_345_678_i32, 1, 1], same);
    mul_short(25_000, [1234_i16, 1, 1], same);
    div_double(250_000, [1.0_f64, 4.0, 0.25], same);
    div_float(250_000, [1.0_f32, 4.0, 0.25], same);
    div_long(75_000, [1_234_578_i64, 1, 1], same);
    div_int(75_000, [1_234_578_i32, 1, 1], same);
    div_short(75_000, [1234_i16, 1, 1], same);
}

/// Turns of the outer and the inner loop; sixteen calls are written out in each.
const OUTER: i32 = 1000;
const INNER: i32 = 32;

macro_rules! sixteen {
    ($call:expr) => {
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
    };
}

/// Calls of a function of so many arguments: 0, 1, 2, or else 15.
pub(super) fn function_calls(arguments: u32) -> Prepared {
    let functions = chains::functions(black_box(false));
    let sum = |count: i32| i64::from(count) * i64::from(count - 1) / 2;
    let (outer, inner) = (i64::from(OUTER), i64::from(INNER));
    // By how much the sixteenth part of a call of the row counts up, and the call.
    let (each, turns): (i64, fn(chains::Functions)) = match arguments {
        0 => (outer * inner, |(function, ..)| {
            for _ in 0..OUTER * INNER {
                sixteen!(function());
            }
        }),
        1 => (sum(OUTER * INNER), |(_, function, ..)| {
            for n in 0..OUTER * INNER {
                sixteen!(function(n));
            }
        }),
        2 => (sum(OUTER) * inner + sum(INNER) * outer, |(_, _, function, _)| {
            for n in 0..OUTER {
                for i in 0..INNER {
                    sixteen!(function(n, i));
                }
            }
        }),
        _ => (sum(OUTER * INNER) + 8 * outer * inner, |(.., function)| {
            for n in 0..OUTER * INNER {
                sixteen!(function(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, n));
            }
        }),
    };
    let first = i64::from(chains::count());
    let call = move |_: &mut ()| {
        turns(black_box(functions));
        Ok(())
    };
    made((), call, move |(), calls, to| {
        // The counter has 32 bits and wraps.
        let expected = first + calls.cast_signed() * 16 * each;
        to.check("answer", chains::count() == expected as i32);
    })
}

/// Row `sieve` looks for the primes below it. The row says little about SMT: the table of a million bytes
/// was as large as the third cache of the article's machine, so which pages it lay on decided; its +60 %
/// is page placement.
const MAX: usize = 1_000_000;
/// The 78,498 primes below a million, and 0 and 1, which nothing strikes out.
const PRIMES: usize = 78_500;
const REPEATS: u32 = 5;

/// Strikes out every multiple of every number that is left, up to the end: the original does not
/// stop at the square root.
fn strike_out(is_prime: &mut [u8]) {
    let max = is_prime.len();
    for n in 2..max {
        if is_prime[n] != 0 {
            let mut multiple = 2 * n;
            while multiple < max {
                is_prime[multiple] = 0;
                multiple += n;
            }
        }
    }
}

pub(super) fn sieve(_: &Place) -> Prepared {
    let call = |right: &mut bool| {
        // A new table for every call, as the original.
        let mut table: Vec<u8> = Vec::with_capacity(black_box(MAX));
        for _ in 0..REPEATS {
            table.clear();
            table.resize(black_box(MAX), 1);
            strike_out(black_box(&mut table));
        }
        *right &= table.iter().filter(|is_prime| **is_prime != 0).count() == PRIMES;
        Ok(())
    };
    made(true, call, |right, _, to| to.check("primes_counted", *right))
}

const SMALLEST: f64 = f64::from_bits(1);

pub(super) struct Numbers {
    list: Vec<f64>,
    at: usize,
}

impl Numbers {
    /// 500 numbers, each half the difference of the two before it, so most are tiny.
    pub(super) fn decaying() -> Self {
        let mut list = vec![0.0, 1.0, SMALLEST];
        while let [.., before, last] = list[..]
            && list.len() < 500
        {
            list.push((before - last).abs() / 2.0);
        }
        Self { list, at: 0 }
    }

    /// 10,000 numbers from -10 to 10, every hundredth the smallest above zero.
    pub(super) fn uniform() -> Self {
        srand(1);
        let draw = |_| f64::from(rand()) / f64::from(libc::RAND_MAX) * 20.0 - 10.0;
        let mut list: Vec<f64> = (0..10_000).map(draw).collect();
        list.iter_mut().step_by(100).for_each(|number| *number = SMALLEST);
        Self { list, at: 0 }
    }

    pub(super) fn next(&mut self) -> f64 {
        let number = self.list[self.at];
        self.at = (self.at + 1) % self.list.len();
        number
    }
}

/// The original's own random numbers from 0 to 32,767, always the same: a linear congruence of 64
/// bits that gives 15.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        Self(1)
    }

    pub(super) fn next(&mut self) -> u16 {
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (self.0 >> 16) as u16 & 0x7fff
    }
}

const POINTS: u32 = 100;
/// What the coordinates of a transformed point are multiplied by.
const SCREEN: [f64; 3] = [1280.0, 1024.0, 8192.0];

type Vector = [f64; 4];
type Matrix = [Vector; 4];

#[inline(never)]
fn transform(vector: &Vector, matrix: &Matrix) -> Vector {
    let mut result = [0.0; 4];
    for (column, value) in result.iter_mut().enumerate() {
        for (x, row) in vector.iter().zip(matrix) {
            *value += x * row[column];
        }
    }
    result
}

/// A vector and a matrix loaded, multiplied, and the point brought onto a screen. Plain code, of which
/// today's compiler does two columns at a time where the article's did one.
pub(super) fn matrix_rtns(_: &Place) -> Prepared {
    let (mut decaying, mut product) = (Numbers::decaying(), 1.0);
    let call = move |last: &mut (Vector, Matrix, Vector)| {
        for _ in 0..POINTS {
            let vector = std::array::from_fn(|_| decaying.next());
            let matrix = std::array::from_fn(|_| std::array::from_fn(|_| decaying.next()));
            let result = transform(black_box(&vector), black_box(&matrix));
            let on_screen: [i32; 3] = std::array::from_fn(|n| (result[n] * SCREEN[n]) as i32);
            let [x, y, z] = black_box(on_screen).map(f64::from);
            product = x * y * z + product / 2.0;
            *last = (vector, matrix, result);
        }
        black_box(product);
        Ok(())
    };
    let last = ([0.0; 4], [[0.0; 4]; 4], [0.0; 4]);
    made(last, call, |(vector, matrix, result), _, to| {
        // By another way: a sum over the rows, each scaled by its coordinate.
        let right = (0..4).all(|n| {
            let expected: f64 = (0..4).rev().map(|row| matrix[row][n] * vector[row]).sum();
            (result[n] - expected).abs() <= 1e-14 * expected.abs()
        });
        to.check("last_point", right);
    })
}

/// Unknowns of the largest system; a call solves those of 5, 10, … up to it.
const UNKNOWNS: usize = 100;
const STEP: usize = 5;

/// Brings the left part of a system of `n` rows and `n + 1` columns to the unit matrix. As in the
/// original a row is changed over its full width, and the pivots are those of the diagonal.
fn eliminate(system: &mut [f64], n: usize) -> bool {
    let width = n + 1;
    for pivot in 0..n {
        let (before, rest) = system.split_at_mut(pivot * width);
        let (row, after) = rest.split_at_mut(width);
        let divisor = row[pivot];
        if divisor == 0.0 {
            return false;
        }
        row.iter_mut().for_each(|x| *x /= divisor);
        for other in before.chunks_exact_mut(width).chain(after.chunks_exact_mut(width)) {
            let factor = other[pivot];
            for (x, y) in other.iter_mut().zip(&*row) {
                *x -= factor * y;
            }
        }
    }
    true
}

fn residual(system: &[f64], solved: &[f64], n: usize) -> f64 {
    let width = n + 1;
    let rows = system.chunks_exact(width).map(|row| {
        let solution = solved.chunks_exact(width).map(|row| row[n]);
        let sum: f64 = row.iter().zip(solution).map(|(x, y)| x * y).sum();
        (sum - row[n]).abs()
    });
    rows.fold(0.0, f64::max)
}

/// Systems as large as a page of paper, solved without a choice of pivots.
pub(super) fn array_rtns(_: &Place) -> Prepared {
    let mut system = vec![0.0; UNKNOWNS * (UNKNOWNS + 1)];
    let mut work = system.clone();
    let call = move |(worst, regular): &mut (f64, bool)| {
        let mut next = 1.0;
        for n in (STEP..=UNKNOWNS).step_by(STEP) {
            let size = n * (n + 1);
            for value in &mut system[..size] {
                *value = next;
                next = next * 1.000_01 + 1.0;
            }
            // All of the array, whatever the size of the system.
            work.copy_from_slice(black_box(&system));
            *regular &= eliminate(black_box(&mut work[..size]), n);
            let residual = residual(&system[..size], &work[..size], n);
            *worst = worst.max(residual);
            *regular &= !residual.is_nan();
        }
        Ok(())
    };
    made((0.0, true), call, |(worst, regular), _, to| {
        to.check("systems_solved", *regular && *worst < 0.5);
        to.higher("largest_residual", *worst, "1");
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_sequence_is_that_of_the_c_standards_example() {
        // ISO C 7.22.2.2 prints this generator; these are its first numbers from seed 1.
        let mut random = Random::new();
        assert_eq!([random.next(), random.next(), random.next()], [16_838, 5_758, 10_113]);
    }

    #[test]
    fn the_numbers_are_those_described() {
        let decaying = Numbers::decaying().list;
        assert_eq!((decaying.len(), decaying[3], decaying[4]), (500, 0.5, 0.25));
        assert!(decaying.iter().filter(|x| **x < 1e-10).count() > 400);
        let uniform = Numbers::uniform().list;
        assert!(uniform.iter().all(|x| (-10.0..=10.0).contains(x)));
        assert_eq!(uniform.iter().filter(|x| x.is_subnormal()).count(), 100);
    }
}
