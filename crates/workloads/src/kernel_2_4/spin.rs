//! One task works and hands over now and then; the other polls for it.

use super::work::Work;
use super::{Pair, Tally};
use crate::clock::monotonic_ns;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// Turns of work between two hand-overs: some ten microseconds.
pub(super) const TURNS: u64 = 64;
/// What the line says when there is no more to wait for.
const OVER: u64 = u64::MAX;

/// The line that is polled, alone in its pair of lines. It holds the time of the last hand-over.
#[derive(Debug)]
#[repr(align(256))]
pub(super) struct Spin {
    line: AtomicU64,
    pause: bool,
}

impl Spin {
    pub(super) fn new(pause: bool) -> Self {
        Self { line: AtomicU64::new(OVER), pause }
    }

    fn work(&self, until_ns: u64) -> Tally {
        let mut tally = Tally::default();
        let mut work = Work::new();
        loop {
            for _ in 0..TURNS {
                work.turn();
            }
            tally.operations += TURNS;
            tally.handed_over += 1;
            let now = monotonic_ns();
            self.line.store(now, Release);
            if now >= until_ns {
                break;
            }
        }
        self.line.store(OVER, Release);
        tally.is_wrong = !work.is_right();
        tally
    }

    /// Polls until it is over. The first line it sees says nothing: it may be an old one.
    fn wait(&self, until_ns: u64) -> Tally {
        let mut tally = Tally::default();
        let mut last = self.line.load(Acquire);
        // Before the first hand-over of this phase the line still says that the last one is over.
        while last == OVER && monotonic_ns() < until_ns {
            spin_loop();
            last = self.line.load(Acquire);
        }
        while last != OVER {
            let (line, polls) =
                if self.pause { poll_with_pause(&self.line, last) } else { poll(&self.line, last) };
            tally.operations += polls;
            if line != OVER {
                tally.times.add(monotonic_ns().saturating_sub(line));
                tally.is_wrong |= line < last;
            }
            last = line;
        }
        tally
    }
}

/// Polls until the line is another one: what it is then, and how many polls it took.
#[inline(never)]
fn poll(line: &AtomicU64, last: u64) -> (u64, u64) {
    let mut polls = 0;
    loop {
        let now = line.load(Acquire);
        polls += 1;
        if now != last {
            return (now, polls);
        }
    }
}

/// The same with PAUSE after each poll that was in vain.
#[inline(never)]
fn poll_with_pause(line: &AtomicU64, last: u64) -> (u64, u64) {
    let mut polls = 0;
    loop {
        let now = line.load(Acquire);
        polls += 1;
        if now != last {
            return (now, polls);
        }
        spin_loop();
    }
}

impl Pair for Spin {
    fn run(&self, task: usize, until_ns: u64) -> Tally {
        if task == 0 { self.work(until_ns) } else { self.wait(until_ns) }
    }

    fn checks(&self, all: &[Tally; 2]) -> Vec<(&'static str, bool)> {
        let [worker, waiter] = all;
        vec![
            ("answer", !worker.is_wrong),
            // The line goes forward only, and nothing is seen that was not handed over.
            ("handovers", !waiter.is_wrong && waiter.times.count <= worker.handed_over),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_overs_are_seen_in_order_and_end() {
        for pause in [false, true] {
            let spin = Spin::new(pause);
            let until_ns = monotonic_ns() + 50_000_000;
            let all = std::thread::scope(|scope| {
                let waiter = scope.spawn(|| spin.run(1, until_ns));
                let worker = spin.run(0, until_ns);
                [worker, waiter.join().expect("waiter")]
            });
            assert!(all[0].handed_over > 0 && all[0].operations == TURNS * all[0].handed_over);
            assert!(all[1].operations >= all[1].times.count);
            assert!(spin.checks(&all).iter().all(|(_, held)| *held), "{all:?}");
            let more = Tally { handed_over: 0, ..all[0].clone() };
            let seen = all[1].times.count > 0;
            assert_eq!(spin.checks(&[more, all[1].clone()])[1].1, !seen);
        }
    }

    #[test]
    fn a_waiter_without_anybody_to_wait_for_ends() {
        let tally = Spin::new(true).run(1, monotonic_ns() + 1_000_000);
        assert_eq!((tally.operations, tally.times.count), (0, 0));
    }
}
