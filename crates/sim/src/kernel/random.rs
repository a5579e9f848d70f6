//! Random numbers of a task: they depend on the seed, the task's serial number and the number of draws,
//! never on other tasks, so that two policies are compared on the same work.

use super::Amount;
use crate::numbers::{Numbers, mix};
use coretwin_base::random::Stream;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Stream::new(seed, "simulated kernel", 0).next_u64())
    }

    /// The stream of a task; number 0 is the machine's.
    pub(crate) fn numbers(self, serial: u64) -> Numbers {
        Numbers::new(mix(self.0 ^ mix(serial.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
    }
}

impl Numbers {
    #[inline]
    pub(crate) fn draw(&mut self, amount: Amount) -> u64 {
        match amount {
            Amount::Fixed(value) => value,
            Amount::Between(low, high) => low + self.below((high - low).saturating_add(1)),
            Amount::Mean(mean) => {
                // Never 0, so that the logarithm is finite.
                let unit = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                ((-libm::log(unit) * mean as f64) as u64).min(amount.most())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_their_mean_and_range() {
        let mut numbers = Key::new(1).numbers(7);
        let mut mean = |amount| {
            let draws: Vec<u64> = (0..20_000).map(|_| numbers.draw(amount)).collect();
            assert!(draws.iter().all(|draw| *draw <= amount.most()));
            draws.iter().sum::<u64>() / 20_000
        };
        assert_eq!(mean(Amount::Fixed(9)), 9);
        assert!((1490..1510).contains(&mean(Amount::Between(1000, 2000))));
        assert!((970..1030).contains(&mean(Amount::Mean(1000))));
        let first = |seed, serial| Key::new(seed).numbers(serial).below(u64::MAX);
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
        assert_eq!(first(1, 1), first(1, 1));
    }
}
