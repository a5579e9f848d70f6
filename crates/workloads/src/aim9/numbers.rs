//! The numbers that rows compute with. Both lists hold the smallest subnormal number
//! or come close to it, so a mode that flushes such numbers to zero changes the rows' speed.

use super::native::library::{rand, srand};

const SMALLEST: f64 = f64::from_bits(1);

/// A list of numbers, read in turn, over and over.
#[derive(Debug)]
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
#[derive(Debug)]
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
