//! One task works; the other delays again and again, each time for as long.

use super::work::Work;
use super::{Delay, Pair, Tally};
use crate::clock::monotonic_ns;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Turns of work between two looks at the clock: some microseconds.
const TURNS: u64 = 32;
/// A calibration loops for at least this long, in nanoseconds.
const CALIBRATION_NS: u64 = 2_000_000;
/// Calibrations, of which the fastest is believed: whatever else runs can only make one slower.
const CALIBRATIONS: u32 = 5;

#[derive(Debug)]
pub(super) struct Delays {
    how: Delay,
    delay_ns: u64,
    /// Turns of the loop that fill a delay, once calibrated.
    loops: AtomicU64,
}

impl Delays {
    pub(super) fn new(how: Delay, delay_us: u32) -> Self {
        Self { how, delay_ns: u64::from(delay_us) * 1000, loops: AtomicU64::new(0) }
    }

    fn delay(&self, begin_ns: u64) {
        match self.how {
            Delay::Loop => empty_loop(self.loops.load(SeqCst)),
            Delay::Clock => {
                while monotonic_ns() - begin_ns < self.delay_ns {
                    spin_loop();
                }
            }
            Delay::Sleep => std::thread::sleep(Duration::from_nanos(self.delay_ns)),
        }
    }

    fn delays(&self, until_ns: u64) -> Tally {
        let mut tally = Tally::default();
        let mut now = monotonic_ns();
        loop {
            self.delay(now);
            let end = monotonic_ns();
            let took_ns = end - now;
            tally.operations += 1;
            tally.delayed_ns += took_ns;
            match took_ns.checked_sub(self.delay_ns) {
                Some(late_ns) => tally.times.add(late_ns),
                None => tally.early.add(self.delay_ns - took_ns),
            }
            now = end;
            if now >= until_ns {
                return tally;
            }
        }
    }
}

/// `turns` turns that do nothing.
#[inline(never)]
fn empty_loop(turns: u64) {
    for _ in 0..turns {
        black_box(());
    }
}

fn work(until_ns: u64) -> Tally {
    let mut tally = Tally::default();
    let mut work = Work::new();
    loop {
        for _ in 0..TURNS {
            work.turn();
        }
        tally.operations += TURNS;
        if monotonic_ns() >= until_ns {
            break;
        }
    }
    tally.is_wrong = !work.is_right();
    tally
}

/// Turns of the empty loop in a nanosecond, as Linux calibrates its delay at boot: more and more
/// turns until they take long enough.
fn turns_per_ns() -> f64 {
    let mut turns = 1 << 12;
    loop {
        let begin = monotonic_ns();
        empty_loop(turns);
        let took_ns = monotonic_ns() - begin;
        if took_ns >= CALIBRATION_NS {
            return turns as f64 / took_ns as f64;
        }
        turns *= 2;
    }
}

impl Pair for Delays {
    fn prepare(&self) {
        if self.how == Delay::Loop {
            let fastest = (0..CALIBRATIONS).map(|_| turns_per_ns()).fold(0.0, f64::max);
            self.loops.store((fastest * self.delay_ns as f64) as u64, SeqCst);
        }
    }

    fn run(&self, task: usize, until_ns: u64) -> Tally {
        if task == 0 { work(until_ns) } else { self.delays(until_ns) }
    }

    fn checks(&self, all: &[Tally; 2]) -> Vec<(&'static str, bool)> {
        let [worker, delayer] = all;
        let all_timed = delayer.times.count + delayer.early.count == delayer.operations;
        // A clock that is watched and a sleep never end too early; a loop may.
        let kept = self.how == Delay::Loop || delayer.early.count == 0;
        vec![("answer", !worker.is_wrong), ("delays", all_timed && kept)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_last_as_long_as_they_say() {
        for how in [Delay::Clock, Delay::Sleep, Delay::Loop] {
            let delays = Delays::new(how, 500);
            delays.prepare();
            let tally = delays.run(1, monotonic_ns() + 20_000_000);
            assert!(tally.operations > 0, "{how:?}: {tally:?}");
            if how != Delay::Loop {
                assert!(tally.delayed_ns >= 500_000 * tally.operations, "{how:?}");
                assert_eq!(tally.early.count, 0, "{how:?}");
            }
            assert!(delays.checks(&[Tally::default(), tally]).iter().all(|(_, held)| *held));
        }
    }

    #[test]
    fn one_that_is_too_short_is_seen() {
        let delays = Delays::new(Delay::Clock, 100);
        let mut delayer = Tally { operations: 2, ..Tally::default() };
        delayer.times.add(7);
        delayer.early.add(1);
        assert_eq!(delays.checks(&[Tally::default(), delayer])[1], ("delays", false));
    }
}
