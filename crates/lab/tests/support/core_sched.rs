//! Core scheduling on the simulated kernel, as a truth for `account --replay`: siblings run tasks of one
//! group at a time, or idle. A group is a program. One queue for all CPUs, oldest first.

use coretwin_sim::kernel::{CpuId, Layout, TaskId, View};
use coretwin_sim::policies::table::{PolicyEntry, Promise};
use coretwin_sim::policies::{Answer, Change, Policy, Settings, Stop, Ticks, Wake};
use std::collections::VecDeque;

/// How long siblings may go on with their group while an older task of another waits.
const TURN_NS: u64 = 4_000_000;

pub(crate) static CORE_SCHED: PolicyEntry = PolicyEntry {
    name: "core-sched",
    title: "siblings run tasks of one group at a time",
    source: "admin-guide/hw-vuln/core-scheduling.rst of Linux",
    parameters: &[],
    promise: Promise { of_cores: true, idle_longest_ms: 8, wait_ms_for_each_task: 50 },
    build: |_: &Layout, _: &Settings| Box::new(CoreSched::default()),
};

#[derive(Debug, Default)]
struct CoreSched {
    /// Tasks that wait, and since when.
    queue: VecDeque<(TaskId, u64)>,
}

impl CoreSched {
    /// The oldest that may run beside what the siblings run.
    fn next(&self, view: &View, cpu: CpuId) -> Option<usize> {
        let beside = view.online_siblings(cpu).find_map(|sibling| view.current(sibling));
        let Some(beside) = beside else { return (!self.queue.is_empty()).then_some(0) };
        let group = view.task(beside).program;
        let is_ours = |task: TaskId| view.task(task).program == group;
        let (oldest, since_ns) = *self.queue.front()?;
        if !is_ours(oldest) && view.now_ns - since_ns > TURN_NS {
            return None;
        }
        self.queue.iter().position(|(task, _)| is_ours(*task))
    }

    fn wake_one(&self, view: &View, task: TaskId, answer: &mut Answer) {
        let free = || view.layout.all().filter(|cpu| view.is_idle(*cpu));
        let found = free().find(|cpu| view.is_core_idle(*cpu));
        if let Some(cpu) = found.or_else(|| free().find(|cpu| self.next(view, *cpu).is_some())) {
            answer.resched_idle(cpu, task);
        }
    }
}

impl Policy for CoreSched {
    fn ticks(&self) -> Ticks {
        Ticks { period_ns: 1_000_000, while_idle: false }
    }

    fn enqueue(&mut self, view: &View, task: TaskId, _: CpuId, _: &Wake, answer: &mut Answer) {
        self.queue.push_back((task, view.now_ns));
        self.wake_one(view, task, answer);
    }

    fn pick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let (task, _) = self.next(view, cpu).and_then(|at| self.queue.remove(at))?;
        for sibling in view.online_siblings(cpu).filter(|cpu| view.is_idle(*cpu)) {
            answer.resched(sibling, None, "a task of its group may wait");
        }
        Some(task)
    }

    fn stopping(&mut self, view: &View, _: CpuId, task: TaskId, stop: Stop, _: &mut Answer) {
        if stop.can_go_on() {
            self.queue.push_back((task, view.now_ns));
        }
    }

    fn tick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let Some(task) = view.current(cpu) else { return };
        let waits = self.queue.front().is_some_and(|(_, since)| view.now_ns - since > TURN_NS);
        if waits && view.now_ns - view.task(task).started_ns >= TURN_NS {
            answer.resched(cpu, Some(task), "its turn is over");
        }
    }

    fn changed(&mut self, _: &View, _: TaskId, _: Change, _: &mut Answer) {}

    fn offline(&mut self, _: &View, _: CpuId, _: &mut Answer) {}

    fn queued(&self, each: &mut dyn FnMut(TaskId)) {
        self.queue.iter().for_each(|(task, _)| each(*task));
    }
}
