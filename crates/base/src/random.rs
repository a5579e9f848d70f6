//! Seeded randomness: one ChaCha8 stream for each seed, purpose and index.
//!
//! The algorithm is named and pinned, so that a plan drawn today is the plan drawn by any later
//! version. Purposes are hashed into the key, indexes select the stream; streams do not overlap.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// A stream of random numbers that depends on nothing but its three names.
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    pub fn new(seed: u64, purpose: &str, index: u64) -> Self {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        // FNV-1a with two offsets: 128 bits of purpose, not cryptographic and not meant to be.
        for (half, offset) in [(1usize, 0xcbf2_9ce4_8422_2325u64), (2, 0x9e37_79b9_7f4a_7c15)] {
            let mut hash = offset;
            for byte in purpose.bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            key[half * 8..half * 8 + 8].copy_from_slice(&hash.to_le_bytes());
        }
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(index);
        Self(rng)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number drawn evenly from `0..bound`. Panics if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has no random member");
        // Rejection, so that no residue is favoured.
        let zone = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.next_u64();
            if draw < zone {
                return draw % bound;
            }
        }
    }

    /// A number drawn evenly from [0, 1), with 53 bits. For statistics, not for simulators.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts the items in random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let pick = self.below(last as u64 + 1) as usize;
            items.swap(last, pick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_values_never_change() {
        let first = |purpose, index| Stream::new(7, purpose, index).next_u64();
        assert_eq!([first("order", 0), first("order", 1), first("rows", 0)], GOLDEN);
    }

    /// Written down once; a change here is a change of every stored plan.
    const GOLDEN: [u64; 3] =
        [14_542_818_229_954_727_050, 14_328_028_754_984_459_073, 2_452_662_664_771_419_430];

    #[test]
    fn shuffles_are_even() {
        let mut counts = [0u32; 6];
        for index in 0..6000 {
            let mut items = [0, 1, 2];
            Stream::new(1, "shuffle", index).shuffle(&mut items);
            counts[items[0] * 2 + usize::from(items[1] > items[2])] += 1;
        }
        for count in counts {
            assert!((880..1120).contains(&count), "{counts:?}");
        }
    }
}
