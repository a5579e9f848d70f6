//! Two locks, each taken by one task, at a distance in memory.

use super::{Pair, Tally};
use crate::clock::monotonic_ns;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Locks taken between two looks at the clock.
const BETWEEN_LOOKS: u64 = 1000;
/// Locks of either kind that each task takes after the measurement, when the tasks contend, to see
/// that they are locks.
const CROSSINGS: u64 = 2000;
/// Polls for a lock before its waiter lets others run: on one CPU its owner may be among them.
const POLLS: u32 = 1000;

/// Words that begin at a multiple of 256 bytes, so that no two lines or pairs of lines are shared
/// with anything else.
#[derive(Debug)]
#[repr(align(256))]
struct Lines([AtomicU32; 64]);

/// A count in lines of its own.
#[derive(Debug, Default)]
#[repr(align(256))]
struct Counter(AtomicU64);

#[derive(Debug)]
pub(super) struct Locks {
    lines: Lines,
    /// The second lock, in words from the first.
    second: usize,
    counters: [Counter; 2],
}

impl Locks {
    /// Two locks `distance` bytes apart: 4 to 252, whole words.
    pub(super) fn new(distance: usize) -> Self {
        let lines = Lines([const { AtomicU32::new(0) }; 64]);
        let counters = Default::default();
        Self { lines, second: distance / size_of::<AtomicU32>(), counters }
    }

    fn lock(&self, which: usize) -> &AtomicU32 {
        &self.lines.0[which * self.second]
    }

    /// Takes the lock, counts, and lets it go: an exchange and a store, as a lock of Linux 2.4. The
    /// count is no atomic addition, so that only the lock keeps it whole.
    #[inline]
    fn take(&self, which: usize) {
        let lock = self.lock(which);
        let mut polls = 0;
        while lock.swap(1, Acquire) != 0 {
            while lock.load(Relaxed) != 0 {
                std::hint::spin_loop();
                polls += 1;
                if polls % POLLS == 0 {
                    std::thread::yield_now();
                }
            }
        }
        let counter = &self.counters[which].0;
        counter.store(counter.load(Relaxed) + 1, Relaxed);
        lock.store(0, Release);
    }
}

impl Pair for Locks {
    fn run(&self, task: usize, until_ns: u64) -> Tally {
        let mut tally = Tally::default();
        loop {
            for _ in 0..BETWEEN_LOOKS {
                self.take(task);
            }
            tally.operations += BETWEEN_LOOKS;
            if monotonic_ns() >= until_ns {
                return tally;
            }
        }
    }

    fn checks(&self, all: &[Tally; 2]) -> Vec<(&'static str, bool)> {
        let cross = || (0..2 * CROSSINGS).for_each(|turn| self.take((turn % 2) as usize));
        std::thread::scope(|scope| {
            scope.spawn(cross);
            cross();
        });
        let held = |which: usize| {
            self.counters[which].0.load(SeqCst) == all[which].operations + 2 * CROSSINGS
        };
        vec![("totals", held(0) && held(1))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_lie_where_they_are_said_to() {
        for distance in [4, 64, 128] {
            let locks = Locks::new(distance);
            let [first, second] = [0, 1].map(|which| std::ptr::from_ref(locks.lock(which)).addr());
            assert_eq!(second - first, distance);
            assert_eq!(first % 256, 0);
            assert_eq!(first / 64 == second / 64, distance == 4, "one line");
            assert_eq!(first / 128 == second / 128, distance < 128, "one pair of lines");
            let lines = [0, 1].map(|which| std::ptr::from_ref(&locks.counters[which]).addr() / 256);
            assert!(lines[0] != lines[1] && !lines.contains(&(first / 256)));
        }
    }

    #[test]
    fn what_the_locks_protect_is_counted_whole() {
        let locks = Locks::new(4);
        let all = [0, 1].map(|task| locks.run(task, monotonic_ns() + 1_000_000));
        assert!(all.iter().all(|tally| tally.operations > 0));
        assert_eq!(locks.checks(&all), [("totals", true)]);
        // The crossing has been counted once and would be again: totals that are not so are seen.
        assert_eq!(locks.checks(&all), [("totals", false)]);
    }
}
