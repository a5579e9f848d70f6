//! `one-per-core`: at most one task a core. One CPU of each core, the lowest that is online, takes
//! tasks in order of arrival; its siblings stay idle. Only a task that may run on none of those CPUs
//! is given a sibling.
//!
//! It is the reference for what siblings cost and bring, and the plainest policy to read.

use super::{Answer, Change, Parameter, Policy, Reason, Settings, Stop, Ticks, Wake};
use crate::kernel::{CpuId, CpuMask, Layout, TaskId, View};
use std::collections::VecDeque;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::number("slice_ms", 10, (1, 10_000), "time slice; 10 ms is a choice, not a model"),
    Parameter::number("hz", 250, (50, 10_000), "ticks a second; 250 is Debian's choice"),
];

#[derive(Debug)]
pub(super) struct OnePerCore {
    slice_ns: u64,
    tick_ns: u64,
    /// The CPU of each core that takes tasks.
    chosen: CpuMask,
    /// Waiting tasks of each CPU, oldest first.
    queues: Vec<VecDeque<TaskId>>,
    waiting: usize,
}

impl OnePerCore {
    pub(super) fn new(layout: &Layout, settings: &Settings) -> Self {
        let mut chosen = CpuMask::empty(layout.cpus());
        layout.cores().iter().for_each(|core| chosen.insert(core[0]));
        Self {
            slice_ns: settings.number("slice_ms") as u64 * 1_000_000,
            tick_ns: 1_000_000_000 / settings.number("hz") as u64,
            chosen,
            queues: vec![VecDeque::new(); layout.cpus()],
            waiting: 0,
        }
    }

    fn queue(&mut self, cpu: CpuId) -> &mut VecDeque<TaskId> {
        &mut self.queues[cpu.0 as usize]
    }

    fn place(&self, view: &View, task: TaskId) -> (CpuId, Reason) {
        let mask = view.mask(task);
        let last = view.layout.core(view.task(task).last_cpu);
        let own = view.layout.cores()[last.0 as usize].iter().copied();
        let own = own.clone().find(|cpu| self.chosen.contains(*cpu) && view.allowed(task, *cpu));
        if let Some(cpu) = own.filter(|cpu| view.is_idle(*cpu)) {
            return (cpu, Reason::new("its last core is idle"));
        }
        let idle = self.chosen.iter().find(|cpu| view.is_idle(*cpu) && mask.contains(*cpu));
        if let Some(cpu) = idle {
            return (cpu, Reason::new("an idle core"));
        }
        if let Some(cpu) = own {
            return (cpu, Reason::new("no core is idle: its last core"));
        }
        match self.chosen.first_common(mask) {
            Some(cpu) => (cpu, Reason::new("no core is idle: the first allowed")),
            None => (view.fallback(task), Reason::new("it may run on no CPU that takes tasks")),
        }
    }

    /// Chooses the CPUs that take tasks anew, and places the tasks of those that no longer do.
    fn choose(&mut self, view: &View, answer: &mut Answer) {
        for core in view.layout.cores() {
            let first = core.iter().copied().find(|cpu| view.online.contains(*cpu));
            core.iter().for_each(|cpu| self.chosen.set(*cpu, Some(*cpu) == first));
        }
        for cpu in view.layout.all() {
            if self.chosen.contains(cpu) {
                continue;
            }
            for task in std::mem::take(self.queue(cpu)) {
                self.waiting -= 1;
                self.requeue(view, task, cpu, answer);
            }
            if let Some(task) = view.current(cpu) {
                answer.resched(cpu, Some(task), "another CPU of its core takes tasks now");
            }
        }
    }

    fn join(&mut self, view: &View, task: TaskId, cpu: CpuId, answer: &mut Answer) {
        self.queue(cpu).push_back(task);
        self.waiting += 1;
        if view.runs_nothing(cpu) {
            answer.resched_idle(cpu, task);
        }
    }

    fn requeue(&mut self, view: &View, task: TaskId, from: CpuId, answer: &mut Answer) {
        let (to, reason) = self.place(view, task);
        if to != from {
            answer.pull(task, from, to, reason);
        }
        self.join(view, task, to, answer);
    }

    /// The oldest waiting task of another core that may run here.
    fn steal(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let cpus = self.queues.len();
        for step in 1..cpus {
            let from = CpuId(((cpu.0 as usize + step) % cpus) as u32);
            answer.steps(1);
            let queue = self.queue(from);
            if let Some(index) = queue.iter().position(|task| view.allowed(*task, cpu)) {
                let task = queue.remove(index)?;
                answer.pull(task, from, cpu, "nothing to do here");
                return Some(task);
            }
        }
        None
    }
}

impl Policy for OnePerCore {
    fn ticks(&self) -> Ticks {
        Ticks { period_ns: self.tick_ns, while_idle: false }
    }

    fn select_cpu(&mut self, view: &View, task: TaskId, _: &Wake, answer: &mut Answer) -> CpuId {
        let (cpu, reason) = self.place(view, task);
        answer.place(task, cpu, reason);
        cpu
    }

    fn enqueue(&mut self, view: &View, task: TaskId, cpu: CpuId, _: &Wake, answer: &mut Answer) {
        self.join(view, task, cpu, answer);
    }

    fn pick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let mut picked = self.queue(cpu).pop_front();
        if picked.is_none() && self.waiting > 0 && self.chosen.contains(cpu) {
            picked = self.steal(view, cpu, answer);
        }
        self.waiting -= usize::from(picked.is_some());
        let reason = if picked.is_some() { "has waited longest" } else { "no task waits" };
        answer.pick(cpu, picked, Reason::new(reason));
        picked
    }

    fn stopping(&mut self, view: &View, cpu: CpuId, task: TaskId, stop: Stop, answer: &mut Answer) {
        if !stop.can_go_on() {
            return;
        }
        // A CPU that takes no tasks any more keeps only those that may run nowhere else.
        if !self.chosen.contains(cpu) {
            return self.requeue(view, task, cpu, answer);
        }
        self.waiting += 1;
        match stop {
            // The stopper's visit costs no turn.
            Stop::Stopper => self.queue(cpu).push_front(task),
            _ => self.queue(cpu).push_back(task),
        }
    }

    fn tick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let Some(task) = view.current(cpu) else { return };
        let ran_ns = view.now_ns - view.task(task).started_ns;
        if ran_ns >= self.slice_ns && !self.queue(cpu).is_empty() {
            let reason = Reason::new("its slice is used up").with("ran_us", ran_ns / 1000);
            answer.resched(cpu, Some(task), reason);
        }
    }

    fn changed(&mut self, view: &View, task: TaskId, change: Change, answer: &mut Answer) {
        if change != Change::Mask {
            return;
        }
        for cpu in view.layout.all() {
            let Some(index) = self.queue(cpu).iter().position(|other| *other == task) else {
                continue;
            };
            self.queue(cpu).remove(index);
            self.waiting -= 1;
            return self.requeue(view, task, cpu, answer);
        }
    }

    fn online(&mut self, view: &View, _: CpuId, answer: &mut Answer) {
        self.choose(view, answer);
    }

    fn offline(&mut self, view: &View, _: CpuId, answer: &mut Answer) {
        self.choose(view, answer);
    }

    fn queued(&self, each: &mut dyn FnMut(TaskId)) {
        self.queues.iter().flatten().for_each(|task| each(*task));
    }
}
