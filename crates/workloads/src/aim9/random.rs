//! The original's own random numbers: a linear congruence of 64 bits that gives 15.

/// Numbers from 0 to 32,767, always the same.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    /// From the original's seed.
    pub(super) fn new() -> Self {
        Self(1)
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u16 {
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (self.0 >> 16) as u16 & 0x7fff
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_sequence_is_that_of_the_c_standards_example() {
        // ISO C 7.22.2.2 prints this generator; these are its first numbers from seed 1.
        let mut random = super::Random::new();
        assert_eq!([random.next(), random.next(), random.next()], [16_838, 5_758, 10_113]);
    }
}
