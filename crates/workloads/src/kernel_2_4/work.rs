//! What a task computes while the other waits: independent chains that fill a core's issue slots and
//! touch no memory, with a known answer.
//!
//! A step turns a lane left by 5 bits and inverts an even number of its bits. After 64 steps the turn
//! is whole and each inverted bit has met every place, an even number of times: the lane is what it
//! was. So a turn of work leaves what it found, and one wrong step shows for ever.

use std::hint::black_box;

const STEPS: u32 = 64;
const LANES: usize = 8;
/// 32 bits.
const INVERTED: u64 = 0x6996_9669_9669_6996;
/// The lanes at first: multiples of the golden ratio's digits, none like another.
const START: [u64; LANES] = {
    let mut start = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        start[lane] = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(lane as u64 + 1);
        lane += 1;
    }
    start
};

#[derive(Debug)]
pub(super) struct Work([u64; LANES]);

impl Work {
    pub(super) fn new() -> Self {
        Self(START)
    }

    /// One turn: 64 steps on each of 8 lanes, 1024 operations.
    #[inline(never)]
    pub(super) fn turn(&mut self) {
        let mut lanes = black_box(self.0);
        let inverted = black_box(INVERTED);
        for _ in 0..STEPS {
            for lane in &mut lanes {
                *lane = lane.rotate_left(5) ^ inverted;
            }
        }
        self.0 = black_box(lanes);
    }

    pub(super) fn is_right(&self) -> bool {
        self.0 == START
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_leaves_what_it_found_and_a_wrong_one_does_not() {
        let mut work = Work::new();
        for _ in 0..1000 {
            work.turn();
        }
        assert!(work.is_right());
        work.0[3] ^= 1 << 17;
        work.turn();
        assert!(!work.is_right(), "a wrong bit stays");
        // A step less than a turn is no turn.
        let lane = (1..STEPS).fold(START[0], |lane, _| lane.rotate_left(5) ^ INVERTED);
        assert_ne!(lane, START[0]);
        assert_eq!(lane.rotate_left(5) ^ INVERTED, START[0]);
    }
}
