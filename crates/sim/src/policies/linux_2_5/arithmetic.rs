//! What the scheduler keeps of a task. Its arithmetic is that of `base/src/simulation/linux_2_5_32.rs`, which the live
//! programs have, too.

use crate::kernel::{Class, CpuId, TaskView};
use coretwin_base::simulation::linux_2_5_32 as decide;

pub(super) use decide::HZ;
/// The priorities of a queue: 0 to 99 real-time, 100 to 139 by nice value; lower runs first.
pub(super) const PRIORITIES: usize = IDLE_PRIORITY as usize;
/// Priority of an idle CPU: anything beats it.
pub(super) const IDLE_PRIORITY: u8 = decide::IDLE_PRIORITY as u8;
/// Ticks between two looks at other queues of a CPU that is busy.
pub(super) const BUSY_REBALANCE_TICKS: u64 = HZ / 4;

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
        let sleep_average = decide::child_average(parent.sleep_average);
        let (left, given) = decide::forked(parent.slice);
        parent.slice = left;
        Self::new(facts, given, sleep_average, now)
    }

    /// A child has ended: what it did not use of its first slice is its parent's again.
    pub(super) fn take_back(&mut self, child: &Self) {
        if child.first_slice {
            self.slice = decide::given_back(self.slice, child.slice);
        }
        self.sleep_average = decide::parent_average(self.sleep_average, child.sleep_average);
    }

    pub(super) fn wake(&mut self, facts: &TaskView, now: u64) {
        let slept = now.saturating_sub(self.left_at);
        self.sleep_average = decide::woken(self.sleep_average, slept);
        self.priority = self.effective_priority(facts);
    }

    /// Its priority by what it is and how much it slept.
    pub(super) fn effective_priority(&self, facts: &TaskView) -> u8 {
        let priority = match facts.class {
            Class::RoundRobin(priority) | Class::Fifo(priority) => {
                decide::REAL_TIME_PRIORITIES - 1 - i64::from(priority)
            }
            Class::Normal | Class::Idle => {
                decide::priority(i64::from(facts.nice), self.sleep_average)
            }
        };
        priority.clamp(0, decide::IDLE_PRIORITY - 1) as u8
    }

    /// Whether it sleeps so much that it may go on although its slice is spent.
    pub(super) fn interactive(&self, facts: &TaskView) -> bool {
        decide::is_interactive(i64::from(self.priority), i64::from(facts.nice))
    }
}

/// The slice of a nice value, in ticks.
pub(super) fn slice(nice: i8) -> u64 {
    decide::slice(i64::from(nice))
}
