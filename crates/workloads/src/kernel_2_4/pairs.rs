//! The pairs: two locks at a distance in memory, each taken by one task; one task that polls a line while the
//! other works and hands over; one that delays while the other works; two at the top of their stacks, which lie
//! alike or not. And the work: independent chains that fill a core's issue slots and touch no memory.
//!
//! The stacks are those of threads. Each task takes a part of its own that begins at a multiple of 64 KiB, and
//! of the second task's so many bytes behind it. There both work on a frame as a function does: read, change,
//! write.
//!
//! A step of work turns a lane left by 5 bits and inverts an even number of its bits. After 64 steps the turn
//! is whole and each inverted bit has met every place, an even number of times: the lane is what it was. So a
//! turn of work leaves what it found, and one wrong step shows for ever.

use super::{Delay, Pair, Tally};
use crate::times::monotonic_ns;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::time::Duration;

/// Turns until the clock says so, with a look at it after `each` of them.
fn turns(until_ns: u64, each: u64, mut turn: impl FnMut(), mut look: impl FnMut(u64)) -> Tally {
    let mut tally = Tally::default();
    loop {
        for _ in 0..each {
            turn();
        }
        tally.operations += each;
        let now = monotonic_ns();
        look(now);
        if now >= until_ns {
            return tally;
        }
    }
}

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

/// Locks taken between two looks at the clock.
const BETWEEN_LOOKS: u64 = 1000;
/// Locks of either kind that each task takes after the measurement, when the tasks contend, to see
/// that they are locks.
const CROSSINGS: u64 = 2000;
/// Polls for a lock before its waiter lets others run: on one CPU its owner may be among them.
const POLLS: u32 = 1000;

/// Words that begin at a multiple of 256 bytes, so that no two lines or pairs of lines are shared
/// with anything else.
#[repr(align(256))]
struct Lines([AtomicU32; 64]);

#[derive(Debug, Default)]
#[repr(align(256))]
struct Counter(AtomicU64);

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
                spin_loop();
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
        turns(until_ns, BETWEEN_LOOKS, || self.take(task), |_| {})
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

/// Turns of work between two hand-overs: some ten microseconds.
const TURNS: u64 = 64;
/// What the line says when there is no more to wait for.
const OVER: u64 = u64::MAX;

/// The line that is polled, alone in its pair of lines. It holds the time of the last hand-over.
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
        let mut work = Work::new();
        let hand_over = |now| self.line.store(now, Release);
        let mut tally = turns(until_ns, TURNS, || work.turn(), hand_over);
        tally.handed_over = tally.operations / TURNS;
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

/// Turns of work between two looks at the clock: some microseconds.
const WORKED: u64 = 32;
/// A calibration loops for at least this long, in nanoseconds.
const CALIBRATION_NS: u64 = 2_000_000;
/// Calibrations, of which the fastest is believed: whatever else runs can only make one slower.
const CALIBRATIONS: u32 = 5;

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

#[inline(never)]
fn empty_loop(turns: u64) {
    for _ in 0..turns {
        black_box(());
    }
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
        if task == 1 {
            return self.delays(until_ns);
        }
        let mut work = Work::new();
        let tally = turns(until_ns, WORKED, || work.turn(), |_| {});
        Tally { is_wrong: !work.is_right(), ..tally }
    }

    fn checks(&self, all: &[Tally; 2]) -> Vec<(&'static str, bool)> {
        let [worker, delayer] = all;
        let all_timed = delayer.times.count + delayer.early.count == delayer.operations;
        // A clock that is watched and a sleep never end too early; a loop may.
        let kept = self.how == Delay::Loop || delayer.early.count == 0;
        vec![("answer", !worker.is_wrong), ("delays", all_timed && kept)]
    }
}

/// Stacks alias whose addresses are alike below this, in bytes.
const ALIAS: usize = 1 << 16;
const WORD: usize = size_of::<u64>();
/// Words of a frame: two lines, as far as the enhancement moves a stack.
const FRAME: usize = 128 / WORD;
/// Turns between two looks at the clock.
const CHANGED: u64 = 256;

/// The pair, and where the frames were, below [`ALIAS`].
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
        let Some(frame) = stack[begin..].first_chunk_mut() else {
            return Tally { is_wrong: true, ..Tally::default() };
        };
        self.places[task].store(frame.as_ptr().addr() % ALIAS, SeqCst);
        let mut tally = turns(until_ns, CHANGED, || turn(frame), |_| {});
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
