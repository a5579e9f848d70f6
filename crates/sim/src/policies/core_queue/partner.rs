//! Symbiotic pickup: of the first tasks in a core's queue, the one that goes best with what a sibling runs.
//!
//! What goes well together is learnt from instructions and time alone, as counters give them: each task has a
//! running mean of its speed, its class is how far that is below the fastest, and a table of classes has how
//! much faster or slower than its mean a task is beside another class. Or it is known (`partner=2`), to see
//! what learning misses.

use super::CoreQueue;
use super::queues::{Place, Queues};
use crate::kernel::{CpuId, TaskId, View};
use crate::policies::weight::NORMAL;
use coretwin_base::simulation::core_queue::decide;

const CLASSES: usize = 4;
/// How many times slower than the fastest the tasks of a class are at most.
const SLOWER_MAX: [f64; CLASSES - 1] = [1.5, 3.0, 6.0];
/// Shorter stretches are no samples: costs of the kernel are most of them.
const SAMPLE_MIN_NS: u64 = 20_000;
/// Tasks looked at, and how often one may be passed over in a row.
const HEADS: usize = 4;
const PASSED_MAX: u32 = 2;
/// What a core does with two tasks by the classes learnt, as whole numbers.
const SCALE: f64 = 1e6;

/// What a pair of classes is taken for before it was seen: more than most are, so that it is tried. Tasks that never
/// sleep keep their order otherwise, and the same pairs for good.
const UNTRIED: f64 = 1.25;

#[derive(Debug)]
pub(super) struct Partners {
    /// By CPU: since when its task and that of its sibling are the same.
    stretches: Vec<Option<Stretch>>,
    /// By slot of the task: its serial number, and the running mean of its speed.
    speeds: Vec<(u64, f64)>,
    fastest: f64,
    /// `beside[a][b]`: speed of class `a` beside class `b`, of its mean.
    beside: [[f64; CLASSES]; CLASSES],
}

#[derive(Debug, Clone, Copy)]
struct Stretch {
    task: (TaskId, u64),
    beside: Option<TaskId>,
    uops: u64,
    at_ns: u64,
}

impl Partners {
    pub(super) fn new(cpus: usize) -> Self {
        Self {
            stretches: vec![None; cpus],
            speeds: Vec::new(),
            fastest: 0.0,
            beside: [[UNTRIED; CLASSES]; CLASSES],
        }
    }

    /// A CPU begins to run a task (`Some`), or stops: stretches of its core end, and others begin.
    pub(super) fn changes(&mut self, view: &View, cpu: CpuId, task: Option<TaskId>) {
        let runs = |other: CpuId| if other == cpu { task } else { view.current(other) };
        for index in 0..view.layout.siblings(cpu).len() {
            let here = view.layout.siblings(cpu)[index];
            if let Some(stretch) = self.stretches[here.0 as usize].take() {
                self.learn(view, stretch);
            }
            let others = view.layout.siblings(cpu).iter().filter(|other| **other != here);
            self.stretches[here.0 as usize] = runs(here).map(|task| Stretch {
                task: (task, view.task(task).serial),
                beside: others.copied().find_map(runs),
                uops: view.task(task).uops,
                at_ns: view.now_ns,
            });
        }
    }

    fn learn(&mut self, view: &View, stretch: Stretch) {
        let (task, serial) = stretch.task;
        let took_ns = view.now_ns - stretch.at_ns;
        if view.task(task).serial != serial || took_ns < SAMPLE_MIN_NS {
            return;
        }
        let speed = view.task(task).uops.saturating_sub(stretch.uops) as f64 / took_ns as f64;
        if self.speeds.len() <= task.index() {
            self.speeds.resize(task.index() + 1, (0, 0.0));
        }
        let known = &mut self.speeds[task.index()];
        let mean = if known.0 == serial { known.1 + (speed - known.1) / 16.0 } else { speed };
        *known = (serial, mean);
        self.fastest = self.fastest.max(mean);
        let classes = (self.class(view, task), stretch.beside.and_then(|it| self.class(view, it)));
        if let (Some(own), Some(other)) = classes
            && mean > 0.0
        {
            let cell = &mut self.beside[own][other];
            *cell += (speed / mean - *cell) / 16.0;
        }
    }

    fn class(&self, view: &View, task: TaskId) -> Option<usize> {
        let (serial, mean) = *self.speeds.get(task.index())?;
        let is_known = serial == view.task(task).serial && mean > 0.0;
        let slower = self.fastest / mean;
        is_known.then(|| SLOWER_MAX.iter().filter(|most| slower > **most).count())
    }

    /// What a core does with two tasks, on a scale of its own.
    fn together(&self, view: &View, one: TaskId, other: TaskId) -> Option<u64> {
        if let Some(known) = view.oracle_of(one, other) {
            return Some(known);
        }
        let (one, other) = (self.class(view, one)?, self.class(view, other)?);
        Some(((self.beside[one][other] + self.beside[other][one]) * SCALE) as u64)
    }

    /// Which of the first tasks in a queue goes best with what a sibling of a CPU runs: the first, unless
    /// another is worth it.
    pub(super) fn best(&self, view: &View, cpu: CpuId, heads: &[TaskId]) -> usize {
        let Some(beside) = view.online_siblings(cpu).find_map(|cpu| view.current(cpu)) else {
            return 0;
        };
        let mut values = [0; HEADS];
        for (value, task) in values.iter_mut().zip(heads) {
            *value = self.together(view, *task, beside).unwrap_or(0);
        }
        decide::best_partner(values)
    }
}

impl CoreQueue {
    /// The best partner of what a sibling runs, among the first of a core's queue within a slice of its head:
    /// nobody is passed over more than twice in a row.
    pub(super) fn partner(&mut self, view: &View, cpu: CpuId, head: Place) -> Place {
        let own = &self.tasks[head.3.index()];
        let is_free = self.queues.is_of_cpu(own.queue) || head.0 < NORMAL;
        let Some(partners) = self.partners.as_ref().filter(|_| !is_free) else { return head };
        if Queues::is_overdue(view, head) {
            return head;
        }
        let mut heads: Vec<Place> = Vec::with_capacity(HEADS);
        for place in self.queues.heads(view, own.queue, cpu) {
            heads.push(place);
            if heads.len() == HEADS || self.tasks[place.3.index()].passed >= PASSED_MAX {
                break;
            }
        }
        heads.retain(|place| place.0 == head.0 && place.1 - head.1 <= self.rules.slice_ns as i64);
        let tasks: Vec<TaskId> = heads.iter().map(|place| place.3).collect();
        let best = partners.best(view, cpu, &tasks);
        for task in &tasks[..best] {
            self.tasks[task.index()].passed += 1;
        }
        heads.get(best).copied().unwrap_or(head)
    }
}
