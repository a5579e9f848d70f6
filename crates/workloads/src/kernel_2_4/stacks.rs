//! Two tasks at the top of their stacks, which lie alike or not.
//!
//! Real stacks of threads; each task takes a part of its own that begins at a multiple of 64 KiB, and
//! of the second task's so many bytes behind it. There both work on a frame as a function does:
//! read, change, write.

use super::{Pair, Tally};
use crate::clock::monotonic_ns;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Stacks alias whose addresses are alike below this, in bytes.
const ALIAS: usize = 1 << 16;
const WORD: usize = size_of::<u64>();
/// Words of a frame: two lines, as far as the enhancement moves a stack.
const FRAME: usize = 128 / WORD;
/// Turns between two looks at the clock.
const TURNS: u64 = 256;

/// The pair, and where the frames were, below [`ALIAS`].
#[derive(Debug)]
pub(super) struct Stacks {
    offset: usize,
    places: [AtomicUsize; 2],
}

impl Stacks {
    /// Offset of the second stack, in bytes, whole words.
    pub(super) fn new(offset: usize) -> Self {
        Self { offset, places: [const { AtomicUsize::new(usize::MAX) }; 2] }
    }
}

/// One turn: each word of the frame is read, grown by one and written.
#[inline(never)]
fn turn(frame: &mut [u64; FRAME]) {
    for word in black_box(frame) {
        *word += 1;
    }
}

impl Pair for Stacks {
    fn run(&self, task: usize, until_ns: u64) -> Tally {
        let mut stack = [0_u64; (2 * ALIAS) / WORD];
        let to_alias = stack.as_ptr().addr().wrapping_neg() % ALIAS;
        let begin = (to_alias + task * self.offset) / WORD;
        let mut tally = Tally { is_wrong: true, ..Tally::default() };
        let Some(frame) = stack[begin..].first_chunk_mut() else { return tally };
        self.places[task].store(frame.as_ptr().addr() % ALIAS, SeqCst);
        loop {
            for _ in 0..TURNS {
                turn(frame);
            }
            tally.operations += TURNS;
            if monotonic_ns() >= until_ns {
                break;
            }
        }
        tally.is_wrong = frame.iter().any(|word| *word != tally.operations);
        tally
    }

    fn checks(&self, all: &[Tally; 2]) -> Vec<(&'static str, bool)> {
        let places = self.places.each_ref().map(|place| place.load(SeqCst));
        vec![
            ("answer", all.iter().all(|tally| !tally.is_wrong)),
            ("addresses", places == [0, self.offset]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_lie_where_they_are_said_to_and_count() {
        for offset in [0, 128] {
            let stacks = Stacks::new(offset);
            let until_ns = monotonic_ns() + 2_000_000;
            let all = std::thread::scope(|scope| {
                let other = scope.spawn(|| stacks.run(1, until_ns));
                [stacks.run(0, until_ns), other.join().expect("other")]
            });
            assert!(all.iter().all(|tally| tally.operations > 0));
            assert_eq!(stacks.checks(&all), [("answer", true), ("addresses", true)]);
        }
        let checks = Stacks::new(0).checks(&[Tally::default(), Tally::default()]);
        assert_eq!(checks[1], ("addresses", false), "nobody was there");
    }
}
