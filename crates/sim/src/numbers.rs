//! Random numbers by counting: the n-th depends on the beginning and on n alone (SplitMix64: its finaliser
//! over a Weyl sequence). For core and kernel, which draw too many for [`coretwin_base::random::Stream`].

use coretwin_base::random::Stream;

/// Mixes all bits of a number into all bits of the result (SplitMix64's finaliser).
#[inline(always)]
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Numbers {
    state: u64,
}

impl Numbers {
    pub(crate) fn new(state: u64) -> Self {
        Self { state }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Evenly from `0..bound`, by multiplication: the error is below bound / 2^64.
    #[inline(always)]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// The key of a run's streams: a task's numbers depend on the seed, its serial number and how many it has
/// drawn, never on other tasks, so that two policies are compared on the same work.
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
