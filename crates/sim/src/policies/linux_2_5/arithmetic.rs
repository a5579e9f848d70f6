//! What the scheduler keeps of a task, and its arithmetic: slices, priorities, interactivity.

use crate::kernel::{Class, CpuId, TaskView};

/// Ticks a second of i386 from 2.5 on.
pub(super) const HZ: u64 = 1000;
/// The priorities of a queue: 0 to 99 real-time, 100 to 139 by nice value; lower runs first.
pub(super) const PRIORITIES: usize = 140;
/// Priority of an idle CPU: anything beats it.
pub(super) const IDLE_PRIORITY: u8 = 140;
/// Ticks between two looks at other queues of a CPU that is busy.
pub(super) const BUSY_REBALANCE_TICKS: u64 = HZ / 4;

const REAL_TIME_PRIORITIES: i64 = 100;
const USER_PRIORITIES: i64 = 40;
const SLICE_MIN_MS: i64 = 10;
const SLICE_MAX_MS: i64 = 300;
const SLEEP_AVERAGE_MAX: u64 = 2 * HZ;
const BONUS_PERCENT: i64 = 25;
const INTERACTIVE_DELTA: i64 = 2;
const STARVATION_TICKS: u64 = 2 * HZ;
/// Share of its sleep average that a child starts with, in percent; its parent keeps all.
const CHILD_PERCENT: u64 = 95;
/// Weight of the parent's sleep average against that of a child that ends.
const EXIT_WEIGHT: u64 = 3;

#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    pub(super) priority: u8,
    /// Ticks slept of late: grows while it sleeps, shrinks while it runs.
    pub(super) sleep_average: u64,
    pub(super) slice: u64,
    /// Whether it still runs on what its parent gave it.
    pub(super) first_slice: bool,
    pub(super) left_at: u64,
    pub(super) home: CpuId,
    pub(super) array: Option<usize>,
}

impl Life {
    fn new(facts: &TaskView, slice: u64, sleep_average: u64, left_at: u64) -> Self {
        let mut life = Self {
            priority: 0,
            sleep_average,
            slice,
            first_slice: facts.parent.is_some(),
            left_at,
            home: facts.last_cpu,
            array: None,
        };
        life.priority = life.effective_priority(facts);
        life
    }

    /// A task without a parent, which has not slept.
    pub(super) fn first(facts: &TaskView, now: u64) -> Self {
        Self::new(facts, slice(facts.nice), 0, now)
    }

    /// A child, which takes half of what is left of its parent's slice. Its cache counts as warm.
    pub(super) fn child(parent: &mut Self, facts: &TaskView, now: u64) -> Self {
        let sleep_average = parent.sleep_average * CHILD_PERCENT / 100;
        let life = Self::new(facts, parent.slice.div_ceil(2), sleep_average, now);
        parent.slice /= 2;
        life
    }

    /// A child has ended: what it did not use of its first slice is its parent's again.
    pub(super) fn take_back(&mut self, child: &Self) {
        if child.first_slice {
            self.slice = (self.slice + child.slice).min(ticks(SLICE_MAX_MS));
        }
        if child.sleep_average < self.sleep_average {
            self.sleep_average =
                (self.sleep_average * EXIT_WEIGHT + child.sleep_average) / (EXIT_WEIGHT + 1);
        }
    }

    pub(super) fn wake(&mut self, facts: &TaskView, now: u64) {
        let slept = now.saturating_sub(self.left_at);
        self.sleep_average = (self.sleep_average + slept).min(SLEEP_AVERAGE_MAX);
        self.priority = self.effective_priority(facts);
    }

    /// Its priority by what it is and how much it slept: five better to five worse than its nice
    /// value says.
    pub(super) fn effective_priority(&self, facts: &TaskView) -> u8 {
        let priority = match facts.class {
            Class::RoundRobin(priority) | Class::Fifo(priority) => {
                REAL_TIME_PRIORITIES - 1 - i64::from(priority)
            }
            Class::Normal => {
                let range = USER_PRIORITIES * BONUS_PERCENT / 100;
                let slept = range * self.sleep_average as i64 / SLEEP_AVERAGE_MAX as i64;
                let lowest = REAL_TIME_PRIORITIES + USER_PRIORITIES - 1;
                (static_priority(facts.nice) - (slept - range / 2))
                    .clamp(REAL_TIME_PRIORITIES, lowest)
            }
        };
        priority.clamp(0, i64::from(IDLE_PRIORITY) - 1) as u8
    }

    /// Whether it sleeps so much that it may go on although its slice is spent.
    pub(super) fn interactive(&self, facts: &TaskView) -> bool {
        let range = USER_PRIORITIES * BONUS_PERCENT / 100;
        let delta = i64::from(facts.nice) * range / USER_PRIORITIES + INTERACTIVE_DELTA;
        i64::from(self.priority) <= static_priority(facts.nice) - delta
    }
}

fn static_priority(nice: i8) -> i64 {
    REAL_TIME_PRIORITIES + USER_PRIORITIES / 2 + i64::from(nice)
}

/// The slice of a nice value, in ticks: 10 ms for 19, 151 ms for 0, 300 ms for -20.
pub(super) fn slice(nice: i8) -> u64 {
    let above_lowest = REAL_TIME_PRIORITIES + USER_PRIORITIES - 1 - static_priority(nice);
    let range = SLICE_MAX_MS - SLICE_MIN_MS;
    ticks(SLICE_MIN_MS + range * above_lowest / (USER_PRIORITIES - 1))
}

/// How long expired tasks may wait, in ticks, before interactive ones expire too.
pub(super) fn starvation_ticks(running: usize) -> u64 {
    STARVATION_TICKS * running as u64 + 1
}

fn ticks(ms: i64) -> u64 {
    ms.unsigned_abs() * HZ / 1000
}
