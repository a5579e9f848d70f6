//! Row `sieve`: the primes below a million, five times.
//!
//! It says little about SMT. The table of a million bytes was as large as the third cache of the
//! article's machine, so which pages it lay on decided: its +60 % is page placement.

use super::{Call, Place};
use crate::Error;
use std::hint::black_box;

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

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        vec![("primes_counted", self.right)]
    }
}

pub(super) fn sieve(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Sieve { right: true }))
}
