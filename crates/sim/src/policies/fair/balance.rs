//! Balancing by load: to which of two queues a task wakes, and what a busy CPU takes of another's.

use super::Fair;
use crate::kernel::{CpuId, CpuMask, Distance, TaskId, View};
use crate::policies::{Answer, Reason, Wake};

/// By so many per cent a queue must have more (imbalance_pct).
const MORE_PERCENT: u64 = 117;
/// The most tasks that one look takes (sched_nr_migrate).
const TAKEN: usize = 32;
/// The longest time between two looks, for each CPU of the machine (max_load_balance_interval).
const LONGEST_NS: u64 = 100_000_000;

/// Within what a busy CPU looks for others, from near to far.
pub(super) const LEVELS: [Distance; 3] =
    [Distance::SameCore, Distance::SameCache, Distance::OtherPackage];

/// A CPU's looks within one level.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Looks {
    at_ns: u64,
    /// Whether the next comes a tick later, as every second: which of two tasks runs on another CPU at its tick is
    /// chance on a kernel, and would always be the same here.
    late: bool,
    /// Whether the last found no queue with enough more.
    even: bool,
    /// How many in a row took nothing of one that has (nr_balance_failed).
    failed: u32,
}

impl Looks {
    /// A CPU that went idle took a task here: the next look is soon again.
    pub(super) fn found(&mut self) {
        self.even = false;
    }
}

impl Fair {
    pub(super) fn update_load(&mut self, view: &View, cpu: CpuId) {
        self.queues[cpu.0 as usize].update_load(&self.decay, view.now_ns);
    }

    fn load(&self, cpu: CpuId) -> u64 {
        self.queue(cpu).load.average()
    }

    fn load_of(&self, task: TaskId) -> u64 {
        let own = &self.tasks[task.index()];
        own.load.average(own.entity.weight)
    }

    /// A task's load comes to a queue along with it. Who sleeps leaves it there.
    pub(super) fn bring_load(&mut self, view: &View, task: TaskId, cpu: CpuId) {
        let own = &mut self.tasks[task.index()];
        own.load.update(&self.decay, view.now_ns, false);
        let comes = own.load_on != Some(cpu);
        if comes {
            self.take_load_out(task);
            self.tasks[task.index()].load_on = Some(cpu);
        }
        self.update_load(view, cpu);
        if comes {
            let own = &self.tasks[task.index()];
            self.queues[cpu.0 as usize].load.add(&own.load, own.entity.weight);
        }
    }

    pub(super) fn take_load_out(&mut self, task: TaskId) {
        let own = &mut self.tasks[task.index()];
        if let Some(from) = own.load_on.take() {
            self.queues[from.0 as usize].load.remove(&own.load, own.entity.weight);
        }
    }

    /// Whether the waker's CPU would have less load with a task than its last one without (`wake_affine_weight`).
    pub(super) fn is_lighter(&self, view: &View, task: TaskId, wake: &Wake) -> bool {
        let (here, last) = (wake.here, view.fallback(task));
        let own = self.load_of(task);
        // The waker is about to sleep if it says so.
        let waker = view.current(here).filter(|_| wake.sync).map_or(0, |task| self.load_of(task));
        let Some(without_waker) = self.load(here).checked_sub(waker) else { return true };
        let with = (without_waker + own) * 100;
        let without = self.load(last).saturating_sub(own) * (100 + (MORE_PERCENT - 100) / 2);
        with < without + u64::from(wake.sync)
    }

    /// Looks whether others have more to do, at every level when it is time: the more CPUs, the later, and later
    /// still after a look that found nothing.
    pub(super) fn look_around(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let domains = self.domains[cpu.0 as usize];
        for (level, cpus) in domains.into_iter().enumerate() {
            // A level that adds no CPU is none.
            if cpus <= level.checked_sub(1).map_or(1, |below| domains[below]) {
                continue;
            }
            let looks = &mut self.looks[cpu.0 as usize][level];
            let each_ns = if looks.even { 2 * self.balance_ns } else { self.balance_ns };
            let longest_ns = LONGEST_NS * view.layout.cpus() as u64;
            let interval_ns = (each_ns * cpus as u64).min(longest_ns);
            // A tick less, so that levels do not look together.
            let sooner_ns = if looks.late { 0 } else { view.tick_ns };
            if view.now_ns - looks.at_ns + sooner_ns < interval_ns {
                continue;
            }
            (looks.at_ns, looks.late) = (view.now_ns, !looks.late);
            self.look(view, cpu, level, answer);
        }
    }

    /// Takes of the queue with the most load what makes both alike. A task with more load than that stays, and counts
    /// half at the next look: so of three that compute on two CPUs each gets two thirds.
    fn look(&mut self, view: &View, cpu: CpuId, level: usize, answer: &mut Answer) {
        self.update_load(view, cpu);
        let found = self.heaviest(view, cpu, LEVELS[level], answer);
        let looks = &mut self.looks[cpu.0 as usize][level];
        let failed = std::mem::take(&mut looks.failed);
        looks.even = found.is_none();
        let Some((from, load)) = found else { return };
        let taken = self.takeable(view, cpu, from, (load, failed));
        if taken.is_empty() {
            self.looks[cpu.0 as usize][level].failed = failed + 1;
        }
        for task in taken {
            let reason = Reason::new("from the queue with the most load").with("load", load);
            answer.pull(task, from, cpu, reason);
            self.move_to(view, task, cpu);
        }
    }

    /// The queue with the most load, if it has enough more, and half of the difference.
    fn heaviest(
        &self,
        view: &View,
        cpu: CpuId,
        farthest: Distance,
        answer: &mut Answer,
    ) -> Option<(CpuId, u64)> {
        let others = self.crowded_within(view, cpu, farthest);
        let from = others.inspect(|_| answer.steps(1)).max_by_key(|from| self.load(*from))?;
        let [most, own] = [from, cpu].map(|cpu| self.load(cpu));
        (100 * most > MORE_PERCENT * own).then(|| (from, (most - own) / 2))
    }

    /// Other CPUs that far away in whose queues tasks wait.
    pub(super) fn crowded_within<'all>(
        &'all self,
        view: &'all View,
        cpu: CpuId,
        farthest: Distance,
    ) -> impl Iterator<Item = CpuId> + 'all {
        let near = match farthest {
            Distance::OtherPackage => &view.online,
            _ => view.layout.same_cache(cpu),
        };
        let crowded = CpuMask::in_all([&self.crowded, &view.online, near]);
        crowded.filter(move |from| *from != cpu && view.layout.distance(cpu, *from) <= farthest)
    }

    /// Whether a task may go to a CPU for what its cache still has of it.
    pub(super) fn is_cold(&self, view: &View, task: TaskId, cpu: CpuId) -> bool {
        let ran_ns = view.now_ns.saturating_sub(view.task(task).stopped_ns);
        self.failed[cpu.0 as usize]
            || ran_ns >= self.migration_cost_ns
            || view.layout.distance(cpu, self.tasks[task.index()].cpu) <= Distance::SameCore
    }

    /// What a busy CPU takes of a queue, up to a load.
    fn takeable(
        &mut self,
        view: &View,
        cpu: CpuId,
        from: CpuId,
        (mut load, failed): (u64, u32),
    ) -> Vec<TaskId> {
        let mut taken = Vec::new();
        let mut warm = false;
        for (_, task) in self.queue(from).tasks() {
            if taken.len() == TAKEN || load == 0 {
                break;
            }
            if !view.allowed(task, cpu) {
                continue;
            }
            if !self.is_cold(view, task, cpu) {
                warm = true;
                continue;
            }
            let own = self.load_of(task).max(1);
            if own.checked_shr(failed).unwrap_or(0) <= load {
                load = load.saturating_sub(own);
                taken.push(task);
            }
        }
        self.failed[cpu.0 as usize] = warm && taken.is_empty();
        taken
    }
}
