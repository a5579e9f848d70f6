//! `fair`: what Linux has done since 6.6, in short: EEVDF in a queue for each CPU, wake-ups that
//! look for idle cores, balancing that knows siblings.
//!
//! * A queue runs, of the tasks that have had no more than their share, the one whose deadline is
//!   first. A task takes what it is behind with it when it sleeps or moves (PLACE_LAG).
//! * A task that wakes preempts if the queue would pick it now. A task that runs is left alone until its
//!   slice is over (RUN_TO_PARITY), but only while it is eligible: once it has had more than its share,
//!   the next that wakes may have the CPU at once.
//! * A task that sleeps while it is ahead of its share stays in its queue until it is eligible
//!   (DELAY_DEQUEUE), so that it pays back what it had too much; if it wakes before, it stays where it is.
//! * A wake-up takes the last CPU if that is idle, *whatever its sibling does*; then an idle core that
//!   shares the cache; then an idle sibling; then any idle CPU.
//! * A new task and one at exec go to an idle core, an idle CPU, or the shortest queue.
//! * A CPU that goes idle takes a waiting task from the longest queue, of its core, its cache, its
//!   machine, but not the only one there. It leaves alone a task that ran within the last half millisecond,
//!   until a look as an idle or busy CPU found only such.
//!   A CPU with waiting tasks wakes an idle one at its tick to do the same.
//! * A busy CPU looks at times, and takes what makes the load averages alike; by these, too, a task that wakes chooses
//!   between its last CPU and its waker's. `load` has what is wrong with them where more than 88 tasks wait.
//! * A core that runs several tasks gives one to an idle core (`group_smt_balance`), by the stopper.
//!
//! Left out: groups and bandwidth, next buddies, the limit of
//! the scan for idle CPUs (SIS_UTIL), asymmetric capacities, NUMA. `smt=off` leaves out what
//! it knows of siblings.
//!
//! Source: kernel/sched/fair.c of Linux 6.12 and 6.18, as read for the reference of this project.

mod balance;
mod entities;
mod load;
mod queue;

use self::balance::{LEVELS, Looks};
use self::load::{Decay, TaskLoad};
use self::queue::{Entity, Place, Queue};
use super::weight::{NORMAL, rank, weight_of};
use super::{
    Answer, Change, Parameter, Policy, Reason, Settings, Stop, Ticks, Wake, WakeKind, keep,
};
use crate::kernel::{Class, CpuId, CpuMask, Distance, Layout, TaskId, TaskState, View};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::number(
        "balance_ms",
        16,
        (1, 10_000),
        "between two looks of a busy CPU, for each CPU that it looks at (busy_factor)",
    ),
    Parameter::number("migration_cost_us", 500, (0, 1_000_000), "how long a cache stays warm"),
    Parameter::number(
        "slice_us",
        0,
        (0, 1_000_000),
        "slice; 0 is the kernel's own: 700 us times 1 + log2 of the CPUs, at most 8",
    ),
    Parameter::switch(
        "smt",
        true,
        "idle cores are looked for, and cores that run several relieved",
    ),
];

/// The kernel's base slice for one CPU.
const SLICE_NS: u64 = 700_000;

#[derive(Debug)]
pub(super) struct Fair {
    smt: bool,
    slice_ns: u64,
    balance_ns: u64,
    migration_cost_ns: u64,
    queues: Vec<Queue>,
    tasks: Vec<Own>,
    decay: Decay,
    /// By CPU: how many CPUs are in each level around it; and its looks there.
    domains: Vec<[usize; LEVELS.len()]>,
    looks: Vec<[Looks; LEVELS.len()]>,
    arrivals: u64,
    /// CPUs in whose queues tasks wait.
    crowded: CpuMask,
    /// By CPU: whether its last look for work found only tasks with a warm cache (nr_balance_failed, which a CPU that
    /// goes idle reads and does not raise).
    failed: Vec<bool>,
    /// By CPU: whether it has been idle since before it looks.
    idle: Vec<bool>,
    /// By core: when a running task was last taken from it.
    relieved_ns: Vec<Option<u64>>,
}

#[derive(Debug, Clone, Copy)]
struct Own {
    entity: Entity,
    class: Class,
    cpu: CpuId,
    place: Option<Place>,
    /// Whether it counts in the average of its queue: it waits or runs there, or its leaving is delayed.
    counts: bool,
    /// Whether it sleeps and has not left its queue.
    delayed: bool,
    load: TaskLoad,
    /// The CPU whose queue has its load.
    load_on: Option<CpuId>,
}

impl Fair {
    pub(super) fn new(layout: &Layout, settings: &Settings) -> Self {
        let ns = |name, unit: u64| settings.number(name).unsigned_abs() * unit;
        let slice_ns = match ns("slice_us", 1000) {
            0 => SLICE_NS * u64::from(1 + layout.cpus().clamp(1, 8).ilog2()),
            given => given,
        };
        let domains = |cpu| {
            [layout.siblings(cpu).len(), layout.same_cache(cpu).iter().count(), layout.cpus()]
        };
        Self {
            smt: settings.on("smt"),
            slice_ns,
            balance_ns: ns("balance_ms", 1_000_000),
            migration_cost_ns: ns("migration_cost_us", 1000),
            queues: layout.all().map(|_| Queue::default()).collect(),
            tasks: Vec::new(),
            decay: Decay::new(),
            domains: layout.all().map(domains).collect(),
            looks: vec![Default::default(); layout.cpus()],
            arrivals: 0,
            crowded: CpuMask::empty(layout.cpus()),
            failed: vec![false; layout.cpus()],
            idle: vec![false; layout.cpus()],
            relieved_ns: vec![None; layout.cores().len()],
        }
    }

    fn queue(&self, cpu: CpuId) -> &Queue {
        &self.queues[cpu.0 as usize]
    }

    fn length(&self, view: &View, cpu: CpuId) -> usize {
        self.queue(cpu).waiting.len() + usize::from(view.current(cpu).is_some())
    }

    /// Where a new task goes, or one that loses nothing by moving: near the CPU it is on where there is
    /// room, for all idle cores (CPUs) are as good.
    fn idlest(&self, view: &View, task: TaskId) -> (CpuId, Reason) {
        let from = view.task(task).last_cpu;
        let near = view.layout.same_cache(from);
        let first_of = |idle: &CpuMask| {
            let [mask, online] = [view.mask(task), &view.online];
            CpuMask::next_in_all([idle, mask, near], from)
                .or_else(|| CpuMask::next_in_all([idle, mask, online], from))
        };
        if self.smt
            && let Some(cpu) = first_of(&view.idle_cores)
        {
            return (cpu, Reason::new("an idle core for a new task"));
        }
        if let Some(cpu) = first_of(&view.idle) {
            return (cpu, Reason::new("an idle CPU for a new task"));
        }
        let allowed = view.online.iter().filter(|cpu| view.allowed(task, *cpu));
        let shortest = allowed.min_by_key(|cpu| (self.length(view, *cpu), *cpu));
        let cpu = shortest.unwrap_or_else(|| view.fallback(task));
        (
            cpu,
            Reason::new("the shortest queue for a new task").with("length", self.length(view, cpu)),
        )
    }

    /// The CPU around which an idle one is looked for: where the task was, or where its waker is.
    fn target(&self, view: &View, task: TaskId, wake: &Wake) -> CpuId {
        let last = view.fallback(task);
        let here = wake.here;
        if here == last || !view.allowed(task, here) {
            return last;
        }
        let alone = self.length(view, here) == 1;
        let near = view.layout.distance(here, last) <= Distance::SameCache;
        if view.is_idle(here) && near {
            return if view.is_idle(last) { last } else { here };
        }
        if wake.sync && alone {
            return here;
        }
        match !view.is_idle(last) && self.is_lighter(view, task, wake) {
            true => here,
            false => last,
        }
    }

    /// Where a task that wakes goes (select_idle_sibling).
    fn near_idle(&self, view: &View, task: TaskId, wake: &Wake) -> (CpuId, Reason) {
        let target = self.target(view, task, wake);
        let last = view.task(task).last_cpu;
        let fits = |cpu: &CpuId| view.is_idle_for(task, *cpu);
        if fits(&target) {
            return (target, Reason::new("its target is idle, whatever the sibling does"));
        }
        let shares = |cpu: &CpuId| view.layout.distance(target, *cpu) <= Distance::SameCache;
        if fits(&last) && shares(&last) {
            return (last, Reason::new("its last CPU is idle"));
        }
        if view.idle.is_empty() {
            return (target, Reason::new("no CPU is idle"));
        }
        let (near, mask) = (view.layout.same_cache(target), view.mask(task));
        let after = CpuId((target.0 + 1) % view.layout.cpus() as u32);
        if self.smt {
            if let Some(cpu) = CpuMask::next_in_all([&view.idle_cores, mask, near], after) {
                return (cpu, Reason::new("an idle core that shares the cache"));
            }
            if let Some(cpu) = view.online_siblings(last).find(|cpu| fits(cpu) && shares(cpu)) {
                return (cpu, Reason::new("an idle sibling of its last CPU"));
            }
        }
        match CpuMask::next_in_all([&view.idle, mask, near], after) {
            Some(cpu) => (cpu, Reason::new("an idle CPU that shares the cache")),
            None => (target, Reason::new("no CPU that shares the cache is idle")),
        }
    }

    /// A waiting task for a CPU that has none: from the longest queue, near ones first.
    fn fetch(
        &mut self,
        view: &View,
        cpu: CpuId,
        least: usize,
        answer: &mut Answer,
    ) -> Option<TaskId> {
        if self.crowded.is_empty() {
            return None;
        }
        let mut warm = false;
        for (level, farthest) in LEVELS.into_iter().enumerate() {
            let mut longest: Option<(usize, TaskId)> = None;
            for from in self.crowded_within(view, cpu, farthest) {
                answer.steps(1);
                let length = self.length(view, from);
                if length < least || longest.is_some_and(|(most, _)| length <= most) {
                    continue;
                }
                let tasks = self.queue(from).tasks().map(|(_, task)| task);
                let allowed = { tasks }.filter(|task| view.allowed(*task, cpu));
                let mut cold_ones = allowed.filter(|task| {
                    let cold = self.is_cold(view, *task, cpu);
                    warm |= !cold;
                    cold
                });
                if let Some(task) = cold_ones.next() {
                    longest = Some((length, task));
                }
            }
            if let Some((length, task)) = longest {
                self.failed[cpu.0 as usize] = false;
                self.looks[cpu.0 as usize][level].found();
                let from = self.tasks[task.index()].cpu;
                let reason = Reason::new("from the longest queue").with("length", length);
                answer.pull(task, from, cpu, reason);
                return Some(task);
            }
        }
        if view.current(cpu).is_some() || self.idle[cpu.0 as usize] {
            self.failed[cpu.0 as usize] = warm;
        }
        None
    }

    /// The kick of an idle CPU, which balances for all idle ones: each is told to take one of the tasks
    /// that wait here, one CPU of every idle core before their siblings.
    fn kick(&self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let queue = self.queue(cpu);
        let waits = |idle: &CpuId| queue.tasks().any(|(_, task)| view.allowed(task, *idle));
        let leads = |idle: &CpuId| {
            self.smt
                && view.is_core_idle(*idle)
                && view.online_siblings(*idle).all(|sibling| *idle < sibling)
        };
        let first = view.idle_cores.iter().filter(leads);
        let then = view.idle.iter().filter(|idle| !leads(idle));
        for idle in first.chain(then).filter(waits).take(queue.waiting.len()) {
            let reason = Reason::new("tasks wait on a busy CPU, and this one is idle");
            answer.resched(idle, None, reason.with("busy_cpu", cpu.0));
        }
    }

    fn relieve(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let core = view.layout.core(cpu).0 as usize;
        let lately = |then_ns: u64| view.now_ns < then_ns + self.balance_ns;
        let running = view.running_on_core(cpu);
        if !self.smt || running < 2 || self.relieved_ns[core].is_some_and(lately) {
            return;
        }
        let Some(task) = view.current(cpu) else { return };
        if view.idle_core_for(task).is_some() {
            self.relieved_ns[core] = Some(view.now_ns);
            answer.relieve(cpu, running);
        }
    }
}

impl Policy for Fair {
    fn ticks(&self) -> Ticks {
        Ticks::OF_TODAY
    }

    fn fork(&mut self, view: &View, task: TaskId, _: &mut Answer) {
        let facts = view.task(task);
        let entity = Entity { weight: weight_of(facts), ..Entity::default() };
        let own = Own {
            entity,
            class: facts.class,
            cpu: facts.last_cpu,
            place: None,
            counts: false,
            delayed: false,
            load: TaskLoad::new(view.now_ns),
            load_on: None,
        };
        keep(&mut self.tasks, view, task, own);
    }

    fn select_cpu(&mut self, view: &View, task: TaskId, wake: &Wake, answer: &mut Answer) -> CpuId {
        let (cpu, reason) = match wake.kind {
            WakeKind::New => self.idlest(view, task),
            _ if self.tasks[task.index()].delayed => {
                (self.tasks[task.index()].cpu, Reason::new("it has not left its queue"))
            }
            WakeKind::Woken | WakeKind::Moved => self.near_idle(view, task, wake),
        };
        answer.place(task, cpu, reason);
        cpu
    }

    fn enqueue(&mut self, view: &View, task: TaskId, cpu: CpuId, wake: &Wake, answer: &mut Answer) {
        let current = view.current(cpu);
        // The kernel brings the running task up to date only after it has looked at one that never left.
        let stayed = self.tasks[task.index()].delayed;
        if stayed {
            self.wake_delayed(view, task);
        }
        let over = current.is_some_and(|current| self.count(view, current));
        if !stayed {
            self.join(view, task, cpu);
        }
        if wake.kind == WakeKind::New {
            // New ones are let in with half a slice (PLACE_DEADLINE_INITIAL).
            let entity = &mut self.tasks[task.index()].entity;
            entity.deadline_ns = entity.virtual_ns + entity.scaled(self.slice_ns / 2);
        }
        self.wait(view, task);
        let Some(current) = current else {
            return answer.resched_idle(cpu, task);
        };
        let [own, other] = [task, current].map(|task| rank(view.task(task).class));
        let turn =
            own == other && own >= NORMAL && (over || self.comes_first(cpu, current, task, answer));
        if own < other || turn {
            answer.resched(cpu, Some(task), "its turn comes before that of the running task");
        }
    }

    fn pick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let mut reason = Reason::new("eligible, and the earliest deadline");
        let mut picked = self.earliest_awake(view, cpu, answer);
        if picked.is_none() {
            // A CPU that is about to start its only task keeps it (`busiest->nr_running > 1`).
            picked = self.fetch(view, cpu, 2, answer);
            reason = Reason::new("nothing waits here: taken from another queue");
            if let Some(task) = picked {
                self.move_to(view, task, cpu);
            }
        }
        match picked {
            Some(task) => {
                self.unwait(task);
                let entity = &mut self.tasks[task.index()].entity;
                entity.protected_ns = entity.deadline_ns;
            }
            None => reason = Reason::new("nothing waits that it may run"),
        }
        answer.pick(cpu, picked, reason);
        picked
    }

    fn update_idle(&mut self, _: &View, cpu: CpuId, idle: bool, _: &mut Answer) {
        self.idle[cpu.0 as usize] = idle;
    }

    fn stopping(&mut self, view: &View, cpu: CpuId, task: TaskId, stop: Stop, answer: &mut Answer) {
        self.count(view, task);
        if !stop.can_go_on() {
            let own = &self.tasks[task.index()];
            let is_ahead = own.entity.virtual_ns > self.queue(own.cpu).average();
            let normal = view.task(task).class == Class::Normal;
            return match stop == Stop::Blocked && is_ahead && normal {
                true => self.delay(task),
                false => self.leave(view, task),
            };
        }
        let idle = view.idle_core_for(task);
        let relieved = stop == Stop::Stopper && view.running_on_core(cpu) > 1;
        match idle.filter(|_| relieved) {
            Some(to) => {
                self.leave(view, task);
                self.join(view, task, to);
                self.wait(view, task);
                answer.give(task, cpu, to);
            }
            None => {
                if stop == Stop::Yielded {
                    let own = &mut self.tasks[task.index()].entity;
                    own.deadline_ns += own.scaled(self.slice_ns);
                }
                self.wait(view, task);
            }
        }
    }

    fn tick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        self.update_load(view, cpu);
        let Some(task) = view.current(cpu) else { return };
        let own = &mut self.tasks[task.index()];
        own.load.update(&self.decay, view.now_ns, own.counts);
        let spent = self.count(view, task);
        let fifo = matches!(view.task(task).class, Class::Fifo(_));
        if !self.queue(cpu).waiting.is_empty() {
            if spent && !fifo {
                answer.resched(cpu, Some(task), "its slice is over");
            }
            self.kick(view, cpu, answer);
        }
        self.relieve(view, cpu, answer);
        self.look_around(view, cpu, answer);
    }

    fn exec(&mut self, view: &View, task: TaskId, answer: &mut Answer) -> Option<CpuId> {
        let (cpu, reason) = self.idlest(view, task);
        let better = view.is_idle(cpu) && self.length(view, view.task(task).last_cpu) > 1;
        if better {
            answer.place(task, cpu, reason);
        }
        better.then_some(cpu)
    }

    fn changed(&mut self, view: &View, task: TaskId, change: Change, answer: &mut Answer) {
        let facts = view.task(task);
        if self.tasks[task.index()].delayed {
            self.unwait(task);
            self.leave(view, task);
        }
        let waits = self.tasks[task.index()].place.is_some();
        if change == Change::Mask {
            if waits && !view.allowed(task, self.tasks[task.index()].cpu) {
                let (cpu, reason) = self.idlest(view, task);
                let from = self.tasks[task.index()].cpu;
                self.move_to(view, task, cpu);
                answer.pull(task, from, cpu, reason);
                if view.runs_nothing(cpu) {
                    answer.resched_idle(cpu, task);
                }
            }
            return;
        }
        self.count(view, task);
        self.unwait(task);
        let counts = self.tasks[task.index()].counts;
        self.leave(view, task);
        self.tasks[task.index()].entity.weight = weight_of(facts);
        self.tasks[task.index()].class = facts.class;
        if counts {
            let cpu = self.tasks[task.index()].cpu;
            self.join(view, task, cpu);
        }
        if waits {
            self.wait(view, task);
        }
        if let TaskState::Running(cpu) = facts.state {
            answer.resched(cpu, Some(task), "its share changed");
        }
    }

    fn exit(&mut self, view: &View, task: TaskId, _: &mut Answer) {
        self.unwait(task);
        self.leave(view, task);
        self.take_load_out(task);
    }

    fn offline(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let queue = self.queue(cpu);
        let delayed = queue.delayed.iter().map(|(.., task)| *task);
        let all: Vec<TaskId> = queue.tasks().map(|(_, task)| task).chain(delayed).collect();
        for task in all {
            self.changed(view, task, Change::Mask, answer);
        }
    }

    fn queued(&self, each: &mut dyn FnMut(TaskId)) {
        self.queues.iter().flat_map(Queue::tasks).for_each(|(_, task)| each(task));
    }
}
