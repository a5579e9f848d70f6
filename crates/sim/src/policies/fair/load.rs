//! Load averages (PELT): how much of its weight a task, or a queue of them, has wanted of the last tenths of a second.
//!
//! A period has 1024 times 1024 ns. Of each the part counts in which a task waited or ran, and a period counts half as
//! much as one that is 32 periods younger (kernel/sched/pelt.c). A queue has the average of its weight, and of those
//! who sleep what they left.
//!
//! A queue's sum is cut to 32 bits whenever the load of a task leaves it (`max_t(u32, sa->load_sum, ...)` in
//! kernel/sched/fair.c since Linux 5.17). 2^32 is the sum of 88 tasks of usual weight that always want the CPU, so a
//! queue of more looks nearly idle at times, and is given more: read on Linux 6.18, the average of 200 such tasks falls
//! from 90,000 to 5,000 some twenty times a second.

/// The sum of a task that has always wanted the CPU, in units of 1024 ns (LOAD_AVG_MAX).
const ALWAYS: u64 = 47_742;
const PERIOD: u64 = 1024;
/// Periods after which one counts half.
const HALF: u64 = 32;

/// 2^32 times what a period counts, by its age.
#[derive(Debug)]
pub(super) struct Decay([u64; HALF as usize]);

impl Decay {
    pub(super) fn new() -> Self {
        // Square roots and products are the same to the last bit on every machine.
        let each = (0..5).fold(0.5_f64, |each, _| each.sqrt());
        let mut counts = f64::from(u32::MAX);
        Self(std::array::from_fn(|_| {
            let now = counts as u64;
            counts *= each;
            now
        }))
    }

    fn of(&self, sum: u64, periods: u64) -> u64 {
        let fraction = u128::from(self.0[(periods % HALF) as usize]);
        let halves = u32::try_from(periods / HALF).unwrap_or(u32::MAX);
        let halved = sum.checked_shr(halves).unwrap_or(0);
        ((u128::from(halved) * fraction) >> 32) as u64
    }
}

/// A decayed sum up to a time in units of 1024 ns.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    at: u64,
    sum: u64,
}

impl Sum {
    /// Brings it up to date; so much wanted the CPU meanwhile. Returns whether a period ended.
    fn update(&mut self, decay: &Decay, now_ns: u64, weight: u64) -> bool {
        let now = now_ns / PERIOD;
        let periods = (now / PERIOD).saturating_sub(self.at / PERIOD);
        let wanted = if periods == 0 {
            now.saturating_sub(self.at)
        } else {
            self.sum = decay.of(self.sum, periods);
            let first = decay.of(PERIOD - self.at % PERIOD, periods);
            first + ALWAYS - decay.of(ALWAYS, periods) - PERIOD + now % PERIOD
        };
        self.sum += weight * wanted;
        self.at = self.at.max(now);
        periods > 0
    }

    /// The greatest sum there can be by now, of weight 1.
    fn most(&self) -> u64 {
        ALWAYS - PERIOD + self.at % PERIOD
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TaskLoad(Sum);

impl TaskLoad {
    /// A new task counts as one that has always wanted the CPU (`init_entity_runnable_average`).
    pub(super) fn new(now_ns: u64) -> Self {
        Self(Sum { at: now_ns / PERIOD, sum: ALWAYS - PERIOD })
    }

    pub(super) fn update(&mut self, decay: &Decay, now_ns: u64, wants: bool) {
        self.0.update(decay, now_ns, u64::from(wants));
    }

    pub(super) fn average(&self, weight: u64) -> u64 {
        weight * self.0.sum / self.0.most()
    }
}

#[derive(Debug, Default)]
pub(super) struct QueueLoad {
    sum: Sum,
    /// As of the last whole period, and of who came and left since.
    average: u64,
    /// Averages of those who woke elsewhere or ended since it was last brought up to date.
    removed: u64,
}

impl QueueLoad {
    pub(super) fn average(&self) -> u64 {
        self.average
    }

    pub(super) fn update(&mut self, decay: &Decay, now_ns: u64, weight: u64) {
        let removed = std::mem::take(&mut self.removed);
        self.average = self.average.saturating_sub(removed);
        if removed > 0 {
            let left = self.sum.sum.saturating_sub(removed * self.sum.most());
            let least = self.average * (ALWAYS - PERIOD);
            self.sum.sum = u64::from((left as u32).max(least as u32));
        }
        if self.sum.update(decay, now_ns, weight) {
            self.average = self.sum.sum / self.sum.most();
        }
    }

    /// A task comes with its load.
    pub(super) fn add(&mut self, task: &TaskLoad, weight: u64) {
        let average = task.average(weight);
        self.average += average;
        self.sum.sum += average * self.sum.most();
    }

    /// A task has gone to another CPU, or ended.
    pub(super) fn remove(&mut self, task: &TaskLoad, weight: u64) {
        self.removed += task.average(weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::weight::WEIGHT;

    const MS: u64 = 1_000_000;

    #[test]
    fn who_always_waits_counts_whole_and_who_sleeps_half_after_32_periods() {
        let decay = Decay::new();
        let mut task = TaskLoad::new(0);
        for ms in 1..=500 {
            task.update(&decay, ms * MS, true);
            assert!((1020..=1024).contains(&task.average(WEIGHT)), "{ms} ms: {task:?}");
        }
        task.update(&decay, 500 * MS + 32 * PERIOD * PERIOD, false);
        assert!(task.average(WEIGHT).abs_diff(512) <= 2, "{task:?}");
        task.update(&decay, u64::MAX / 2, false);
        assert_eq!(task.average(WEIGHT), 0);
    }

    /// The average of a queue after half a second, from which a task goes every ten milliseconds and another comes.
    fn busy(tasks: u64) -> Vec<u64> {
        let decay = Decay::new();
        let mut queue = QueueLoad::default();
        let mut seen = Vec::new();
        for ms in 1..=1000 {
            queue.update(&decay, ms * MS, tasks * WEIGHT);
            let mut task = TaskLoad::new(ms * MS);
            task.update(&decay, ms * MS, true);
            if ms % 10 == 0 {
                queue.remove(&task, WEIGHT);
                queue.update(&decay, ms * MS, tasks * WEIGHT);
                queue.add(&task, WEIGHT);
            }
            if ms > 500 {
                seen.push(queue.average());
            }
        }
        seen
    }

    #[test]
    fn a_queue_of_more_than_88_tasks_looks_nearly_idle_at_times() {
        let few = busy(80);
        let (least, most) = (few.iter().min().unwrap(), few.iter().max().unwrap());
        assert!(*least > 78 * WEIGHT && *most < 82 * WEIGHT, "{least} {most}");
        let many = busy(200);
        let (least, most) = (many.iter().min().unwrap(), many.iter().max().unwrap());
        assert!(*least < 30 * WEIGHT && *most < 130 * WEIGHT, "{least} {most}");
    }
}
