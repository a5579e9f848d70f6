//! Rows `sieve`, and `add_*`, `mul_*`, `div_*`: chains of twelve dependent operations on three variables, one
//! type each. The state repeats every turn (for `mul_double` nearly: its two factors are not
//! exactly inverse), so the answer is known.
//!
//! `long` is 64 bits here and was 32 in the article. What one turn is: [`native::arithmetic`].

use super::native::arithmetic as chains;
use super::{Call, Place, native};
use crate::Error;
use crate::copies::Remarks;
use std::hint::black_box;

struct Chain<T: 'static> {
    chain: fn(u64, [T; 3]) -> [T; 3],
    turns: u64,
    start: [T; 3],
    state: [T; 3],
    is_right: fn([T; 3], [T; 3]) -> bool,
}

impl<T: Copy> Call for Chain<T> {
    fn call(&mut self) -> Result<(), Error> {
        self.state = black_box((self.chain)(black_box(self.turns), black_box(self.start)));
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check("answer", (self.is_right)(self.state, self.start));
        to.note("arithmetic", native::arithmetic::CODE.to_owned());
    }
}

/// Makes the row's set-up: its name, its chain, turns, start and test of the answer.
macro_rules! rows {
    ($($name:ident($turns:literal, [$a:expr, $b:expr, $c:expr], $is_right:expr);)+) => {
        $(
            pub(super) fn $name(_: &Place) -> Result<Box<dyn Call>, Error> {
                let start = [$a, $b, $c];
                let (turns, chain, is_right) = ($turns, chains::$name as _, $is_right);
                Ok(Box::new(Chain { chain, turns, start, state: start, is_right }))
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

/// Row `sieve` looks for the primes below it. The row says little about SMT: the table of a million bytes
/// was as large as the third cache of the article's machine, so which pages it lay on decided; its +60 %
/// is page placement.
const MAX: usize = 1_000_000;
/// The 78,498 primes below a million, and 0 and 1, which nothing strikes out.
const PRIMES: usize = 78_500;
const REPEATS: u32 = 5;

struct Sieve {
    right: bool,
}

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

impl Call for Sieve {
    fn call(&mut self) -> Result<(), Error> {
        // A new table for every call, as the original.
        let mut table: Vec<u8> = Vec::with_capacity(black_box(MAX));
        for _ in 0..REPEATS {
            table.clear();
            table.resize(black_box(MAX), 1);
            strike_out(black_box(&mut table));
        }
        self.right &= table.iter().filter(|is_prime| **is_prime != 0).count() == PRIMES;
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check("primes_counted", self.right);
    }
}

pub(super) fn sieve(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Sieve { right: true }))
}
