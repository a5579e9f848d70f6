//! Rulers: loops that fight for one resource of a core each, and for as little else as can be.

use crate::contention::Walk;
use crate::lmbench::read_write;
use crate::{Context, Error};
use coretwin_base::account::cputime::SpinnerKind;
use std::hint::black_box;

/// Steps of a walk in a stretch.
const STEPS: usize = 16;
const ROUNDS: usize = 1 << 14;
/// Where the sizes of the caches are not known, in KiB.
const L1D_KIB: usize = 32;
const L2_KIB: usize = 512;
/// More than a second-level TLB has entries; a line of each is a quarter of a MiB of cache.
const TLB_PAGES: usize = 4096;
const PAGE_WORDS: usize = 4096 / size_of::<u64>();
/// Two to a vector register of 128 bits, 12 registers: additions and multiplications wait for each other in
/// twos only, so the ports are what they wait for.
const LANES: usize = 24;

/// The loop of a ruler, for a cache of so many KiB; `None` for another spinner.
pub(super) fn stretch(
    kind: SpinnerKind,
    size_kib: Option<usize>,
) -> Result<Option<Box<dyn FnMut()>>, Error> {
    let cache = |default| walk(Walk::new(size_kib.unwrap_or(default) as u64));
    Ok(Some(match kind {
        SpinnerKind::FrontEnd => front_end(),
        SpinnerKind::Integer => Box::new(integer),
        SpinnerKind::Vector => Box::new(vector),
        SpinnerKind::LoadStore => load_store(),
        SpinnerKind::L1d => cache(L1D_KIB),
        SpinnerKind::L2 => cache(L2_KIB),
        SpinnerKind::Tlb => {
            // A huge page has one entry for all of its 512 pages.
            rustix::thread::disable_transparent_huge_pages(true)
                .context("cannot switch off huge pages for a spinner")?;
            walk(Walk::pages(TLB_PAGES))
        }
        SpinnerKind::Branches => branches(),
        _ => return Ok(None),
    }))
}

pub(super) fn walk(mut walk: Walk) -> Box<dyn FnMut()> {
    walk.lay_out();
    Box::new(move || (0..STEPS).for_each(|_| walk.step()))
}

/// Straight code through 128 functions that all differ, so that neither compiler nor linker folds any.
fn front_end() -> Box<dyn FnMut()> {
    type Words = [u64; 4];

    #[inline(never)]
    fn body<const A: u64, const B: u64>(mut words: Words) -> Words {
        for step in 0..8 {
            for place in 0..4 {
                let number =
                    (64 * A + 4 * B + place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let mixed = words[(place + 1) % 4] ^ number.rotate_left(7 * step);
                words[place] = words[place].wrapping_add(mixed).rotate_left(step + 3);
            }
        }
        words
    }
    macro_rules! bodies {
        ($words:ident: $($a:literal)*) => { $(bodies!($words, $a: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);)* };
        ($words:ident, $a:literal: $($b:literal)*) => { $($words = body::<$a, $b>($words);)* };
    }
    let mut words = [1, 2, 3, 4];
    Box::new(move || {
        for _ in 0..ROUNDS / 512 {
            bodies!(words: 0 1 2 3 4 5 6 7);
        }
        words = black_box(words);
    })
}

/// Each word turns by another number of bits, which vectors of today's baselines cannot.
fn integer() {
    let mut words = black_box([1_u64, 2, 3, 4, 5, 6, 7, 8]);
    for _ in 0..4 * ROUNDS {
        for (word, turn) in words.iter_mut().zip([3, 7, 11, 19, 23, 29, 37, 41]) {
            *word = word.rotate_left(turn).wrapping_add(turn.into());
        }
    }
    black_box(words);
}

fn vector() {
    let mut sums = black_box([1.0_f64; LANES]);
    let factor = black_box(0.999_999_9_f64);
    for _ in 0..2 * ROUNDS {
        for sum in &mut sums {
            *sum = *sum * factor + 1e-9;
        }
    }
    black_box(sums);
}

/// One page, which is in the nearest cache.
fn load_store() -> Box<dyn FnMut()> {
    let mut words = vec![1_u64; PAGE_WORDS];
    Box::new(move || {
        for pass in 0..ROUNDS as u64 / 16 {
            black_box(read_write(&mut words, pass));
        }
    })
}

/// Branches by the bits of a generator (Marsaglia, *Xorshift RNGs*, 2003).
fn branches() -> Box<dyn FnMut()> {
    let mut word = 0x2545_f491_4f6c_dd1d_u64;
    Box::new(move || {
        let mut taken = 0_u64;
        for _ in 0..ROUNDS {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            for bit in [0, 11, 23, 37] {
                // What the compiler cannot see through is no conditional move.
                if word >> bit & 1 == 1 {
                    taken = black_box(taken + 1);
                }
            }
        }
        black_box(taken);
    })
}
