//! `core-queue`: one queue for each physical core, on the terms of today's kernels.
//!
//! It is Molnar's design of 2002 for a scheduler that knows its tasks by their CPU time: the queue of
//! a core holds what waits there in order of virtual time (CPU time divided by weight), and both
//! siblings draw from it. The five behaviours of the article are switches:
//!
//! * `wakeup`: a task that wakes on a busy CPU gets an idle sibling;
//! * `pickup`: a CPU runs whatever waits on its core, before it looks elsewhere;
//! * `affinity`: a task goes back to its core, whichever of the siblings it ran on;
//! * `passive`: a CPU without work, and now and then a busy one, takes a waiting task of a core that has
//!   more; whoever puts a task into the queue of a busy core tells an idle CPU, since idle CPUs of
//!   today have no tick;
//! * `active`: a core without work takes a *running* task of a core that runs several.
//!
//! `idle_core_first` has wake-ups look for an idle core before an idle sibling, as Linux and most
//! schedulers for sched_ext do; off is Molnar's order. The parameters are those of the live scheduler
//! ([`coretwin_base::core_queue`]).

use super::settings::{Parameter, Settings};
use super::weight::{WEIGHT, weight};
use super::{Actions, Change, Policy, Reason, Stop, Ticks, Wake};
use crate::kernel::layout::Layout;
use crate::kernel::view::{Class, TaskId, TaskState, View};
use coretwin_base::cpu_set::CpuId;
use std::collections::BTreeSet;

pub(super) const PARAMETERS: &[Parameter] = coretwin_base::core_queue::PARAMETERS;

/// Ticks a second: Debian's choice. Idle CPUs have none.
const HZ: u64 = 250;
/// Where a task stands in its queue: rank of its class, virtual time, order of arrival.
type Place = (u8, u64, u64, TaskId);

/// The policy.
#[derive(Debug)]
pub(super) struct CoreQueue {
    rules: Rules,
    cores: Vec<Core>,
    /// By slot of the task.
    tasks: Vec<Own>,
    /// Arrivals so far.
    arrivals: u64,
    /// Tasks that wait in any queue.
    waiting: usize,
}

#[derive(Debug)]
struct Rules {
    active: bool,
    active_interval_ns: u64,
    affinity: bool,
    balance_ns: u64,
    idle_core_first: bool,
    passive: bool,
    pickup: bool,
    preempt_ns: u64,
    slice_ns: u64,
    wakeup: bool,
}

/// A core.
#[derive(Debug, Default)]
struct Core {
    queue: BTreeSet<Place>,
    /// The most virtual time a task that ran here began with.
    now: u64,
    /// When a running task was last asked of it.
    asked_ns: Option<u64>,
}

/// What is kept of a task.
#[derive(Debug, Clone, Copy)]
struct Own {
    /// CPU time by weight, on the clock of its core.
    virtual_ns: u64,
    /// CPU time already counted in it.
    counted_ns: u64,
    /// The CPU it belongs to, and by that the core.
    home: CpuId,
    /// Its place in the queue of its core, if it waits.
    place: Option<Place>,
}

impl CoreQueue {
    pub(super) fn new(layout: &Layout, settings: &Settings) -> Self {
        let ns = |name, unit: u64| settings.number(name).unsigned_abs() * unit;
        Self {
            rules: Rules {
                active: settings.on("active"),
                active_interval_ns: ns("active_interval_ms", 1_000_000),
                affinity: settings.on("affinity"),
                balance_ns: ns("balance_ms", 1_000_000),
                idle_core_first: settings.on("idle_core_first"),
                passive: settings.on("passive"),
                pickup: settings.on("pickup"),
                preempt_ns: ns("preempt_us", 1000),
                slice_ns: ns("slice_us", 1000),
                wakeup: settings.on("wakeup"),
            },
            cores: layout.cores().iter().map(|_| Core::default()).collect(),
            tasks: Vec::new(),
            arrivals: 0,
            waiting: 0,
        }
    }

    /// Counts the CPU time of a task since it was last counted.
    fn count(&mut self, view: &View, task: TaskId) {
        let ran_ns = view.ran_ns(task);
        let own = &mut self.tasks[task.index()];
        let new_ns = ran_ns.saturating_sub(own.counted_ns);
        own.counted_ns = ran_ns;
        own.virtual_ns += new_ns * WEIGHT / weight(view.task(task).nice);
    }

    /// Puts a task into the queue of a CPU's core.
    fn insert(&mut self, view: &View, task: TaskId, cpu: CpuId) {
        let from = view.layout.core(self.tasks[task.index()].home).0 as usize;
        let to = view.layout.core(cpu).0 as usize;
        let slice = self.rules.slice_ns;
        let own = &mut self.tasks[task.index()];
        // Clocks of cores differ: what counts is how far before or behind its core it was.
        let moved = own.virtual_ns + self.cores[to].now;
        own.virtual_ns = moved.saturating_sub(self.cores[from].now);
        // One that slept long is a slice before the others, and no more.
        own.virtual_ns = own.virtual_ns.max(self.cores[to].now.saturating_sub(slice));
        own.home = cpu;
        self.arrivals += 1;
        let place = (rank(view.task(task).class), own.virtual_ns, self.arrivals, task);
        own.place = Some(place);
        self.cores[to].queue.insert(place);
        self.waiting += 1;
    }

    /// Takes a task out of its queue, if it waits in one.
    fn remove(&mut self, view: &View, task: TaskId) {
        let own = &mut self.tasks[task.index()];
        if let Some(place) = own.place.take() {
            let core = view.layout.core(own.home).0 as usize;
            self.cores[core].queue.remove(&place);
            self.waiting -= 1;
        }
    }

    /// Where a task that becomes runnable goes.
    fn place(&self, view: &View, task: TaskId) -> (CpuId, Reason) {
        let last = self.tasks[task.index()].home;
        let idle = |cpu: &CpuId| view.allowed(task, *cpu) && view.is_idle(*cpu);
        let idle_core = |cpu: &CpuId| idle(cpu) && view.is_core_idle(*cpu);
        if !self.rules.affinity {
            if let Some(cpu) = view.idle.iter().find(idle) {
                return (cpu, Reason::new("the first idle CPU, wherever it ran"));
            }
            return (self.shortest(view, task), Reason::new("the core with least to do"));
        }
        if self.rules.idle_core_first {
            if idle_core(&last) {
                return (last, Reason::new("its last CPU, of an idle core"));
            }
            if let Some(cpu) = view.idle_cores.iter().find(idle_core) {
                return (cpu, Reason::new("an idle core").with("last_cpu", last.0));
            }
        }
        if idle(&last) {
            return (last, Reason::new("its last CPU is idle"));
        }
        if self.rules.wakeup
            && let Some(cpu) = view.online_siblings(last).find(idle)
        {
            return (cpu, Reason::new("an idle sibling of its last CPU").with("last_cpu", last.0));
        }
        if view.allowed(task, last) {
            return (last, Reason::new("its last CPU, busy"));
        }
        let mut near = view.online_siblings(last);
        match near.find(|cpu| view.allowed(task, *cpu)) {
            Some(cpu) => (cpu, Reason::new("its last core, on the sibling it may run on")),
            None => (self.shortest(view, task), Reason::new("it may not run on its last core")),
        }
    }

    /// The CPU allowed to a task whose core has least to do.
    fn shortest(&self, view: &View, task: TaskId) -> CpuId {
        let allowed = view.online.iter().filter(|cpu| view.allowed(task, *cpu));
        let cpu = allowed.min_by_key(|cpu| (self.load(view, *cpu), !view.is_idle(*cpu), *cpu));
        cpu.unwrap_or_else(|| view.fallback(task))
    }

    /// Tasks that run or wait on a CPU's core.
    fn load(&self, view: &View, cpu: CpuId) -> usize {
        self.tasks_running(view, cpu) + self.cores[view.layout.core(cpu).0 as usize].queue.len()
    }

    fn tasks_running(&self, view: &View, cpu: CpuId) -> usize {
        let siblings = view.layout.siblings(cpu).iter();
        siblings.filter(|cpu| view.current(**cpu).is_some()).count()
    }

    /// Has somebody take notice of a task that waits.
    fn announce(&self, view: &View, task: TaskId, cpu: CpuId, actions: &mut Actions) {
        let idle = |cpu: &CpuId| view.allowed(task, *cpu) && view.is_idle(*cpu);
        if idle(&cpu) {
            return actions.resched(cpu, Some(task), Reason::new("idle, and has work now"));
        }
        if self.rules.pickup
            && self.rules.wakeup
            && let Some(sibling) = view.online_siblings(cpu).find(idle)
        {
            let reason = Reason::new("an idle sibling of its CPU");
            return actions.resched(sibling, Some(task), reason);
        }
        if let Some((victim, ahead_us)) = self.preempts(view, task, cpu) {
            let reason = Reason::new("has had less CPU time than what runs");
            return actions.resched(victim, Some(task), reason.with("less_us", ahead_us));
        }
        if self.rules.passive {
            let core = view.idle_cores.iter().find(idle);
            if let Some(taker) = core.or_else(|| view.idle.iter().find(idle)) {
                let reason = Reason::new("a task waits on a busy core, and this CPU is idle");
                actions.resched(taker, Some(task), reason);
            }
        }
    }

    /// The CPU of its core whose task a waiting one may displace, and by how much less CPU time.
    fn preempts(&self, view: &View, task: TaskId, cpu: CpuId) -> Option<(CpuId, u64)> {
        let own = &self.tasks[task.index()];
        let mut candidates = std::iter::once(cpu).chain(view.online_siblings(cpu));
        candidates.find_map(|cpu| {
            let current = view.current(cpu).filter(|_| view.allowed(task, cpu))?;
            let (class, other) = (view.task(task).class, view.task(current).class);
            let facts = &self.tasks[current.index()];
            let uncounted_ns = view.ran_ns(current).saturating_sub(facts.counted_ns);
            let theirs = facts.virtual_ns + uncounted_ns * WEIGHT / weight(view.task(current).nice);
            let less_ns = theirs.saturating_sub(own.virtual_ns);
            let beats = match rank(class).cmp(&rank(other)) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => less_ns > self.rules.preempt_ns,
                std::cmp::Ordering::Greater => false,
            };
            beats.then_some((cpu, less_ns / 1000))
        })
    }

    /// The first task of a core's queue that a CPU may run.
    fn first(&self, view: &View, core: usize, cpu: CpuId, only_own: bool) -> Option<TaskId> {
        let tasks = self.cores[core].queue.iter().map(|place| place.3);
        let own = |task: &TaskId| !only_own || self.tasks[task.index()].home == cpu;
        { tasks }.find(|task| view.allowed(*task, cpu) && own(task))
    }

    /// A waiting task of the busiest other core, if that has two more than this one.
    fn steal(&mut self, view: &View, cpu: CpuId, actions: &mut Actions) -> Option<TaskId> {
        let here = view.layout.core(cpu).0 as usize;
        let own = self.load(view, cpu);
        let mut busiest: Option<(usize, usize, TaskId)> = None;
        for (core, cpus) in view.layout.cores().iter().enumerate() {
            if core == here || self.cores[core].queue.is_empty() {
                continue;
            }
            actions.steps(1);
            let load = self.load(view, cpus[0]);
            let more = load > own + 1 && busiest.is_none_or(|(most, ..)| load > most);
            if let (true, Some(task)) = (more, self.first(view, core, cpu, false)) {
                busiest = Some((load, core, task));
            }
        }
        let (load, _, task) = busiest?;
        let from = self.tasks[task.index()].home;
        let reason = Reason::new("a busier core");
        actions.pull(task, from, cpu, reason.with("own", own).with("other", load));
        Some(task)
    }

    /// A busy CPU fetches a waiting task now and then, if a core has two more than its own.
    fn even_out(&mut self, view: &View, cpu: CpuId, actions: &mut Actions) {
        let due = view.now_ns % self.rules.balance_ns < view.tick_ns;
        if !due || !self.rules.passive || self.waiting == 0 {
            return;
        }
        if let Some(task) = self.steal(view, cpu, actions) {
            self.remove(view, task);
            self.insert(view, task, cpu);
        }
    }

    /// A core without work asks the core that runs most for one of its tasks, if that runs several.
    fn ask_for_running(&mut self, view: &View, idle: CpuId, actions: &mut Actions) {
        if !self.rules.active || self.load(view, idle) > 0 {
            return;
        }
        let mut asked: Option<(usize, CpuId)> = None;
        for cpus in view.layout.cores() {
            actions.steps(1);
            let cpu = cpus.iter().copied().find(|cpu| self.may_give(view, *cpu, idle));
            let running = self.tasks_running(view, cpus[0]);
            if let Some(cpu) = cpu.filter(|_| asked.is_none_or(|(most, _)| running > most)) {
                asked = Some((running, cpu));
            }
        }
        if let Some((running, cpu)) = asked {
            self.ask(view, cpu, running, actions);
        }
    }

    /// Whether a CPU runs a task beside a busy sibling that an idle one may run, and has not been
    /// asked of late.
    fn may_give(&self, view: &View, cpu: CpuId, idle: CpuId) -> bool {
        let core = &self.cores[view.layout.core(cpu).0 as usize];
        let lately = |asked_ns| view.now_ns < asked_ns + self.rules.active_interval_ns;
        self.tasks_running(view, cpu) > 1
            && !core.asked_ns.is_some_and(lately)
            && view.current(cpu).is_some_and(|task| view.allowed(task, idle))
    }

    /// The task that a stopper runs in place of goes to an idle core, if there still is one.
    fn give_away(&mut self, view: &View, cpu: CpuId, task: TaskId, actions: &mut Actions) {
        let idle = view.idle_cores.iter().find(|idle| view.allowed(task, *idle));
        match idle.filter(|_| self.tasks_running(view, cpu) > 1) {
            Some(to) => {
                self.insert(view, task, to);
                actions.pull(task, cpu, to, Reason::new("a core to itself"));
                actions.resched(to, Some(task), Reason::new("idle, and has work now"));
            }
            None => {
                self.insert(view, task, cpu);
                actions.note(cpu, Some(task), Reason::new("no need to move it any more"));
            }
        }
    }

    fn ask(&mut self, view: &View, cpu: CpuId, running: usize, actions: &mut Actions) {
        let core = view.layout.core(cpu).0 as usize;
        self.cores[core].asked_ns = Some(view.now_ns);
        let reason = Reason::new("its core runs several tasks, and another core is idle");
        actions.stopper(cpu, reason.with("running", running));
    }
}

/// Better classes first.
fn rank(class: Class) -> u8 {
    match class {
        Class::Fifo(priority) | Class::RoundRobin(priority) => 99_u8.saturating_sub(priority),
        Class::Normal => 100,
    }
}

impl Policy for CoreQueue {
    fn ticks(&self) -> Ticks {
        Ticks { period_ns: 1_000_000_000 / HZ, while_idle: false }
    }

    fn fork(&mut self, view: &View, task: TaskId, _: &mut Actions) {
        if self.tasks.len() < view.tasks.len() {
            let none = Own { virtual_ns: 0, counted_ns: 0, home: CpuId(0), place: None };
            self.tasks.resize(view.tasks.len(), none);
        }
        let home = view.task(task).last_cpu;
        let now = self.cores[view.layout.core(home).0 as usize].now;
        // It begins where its parent is, so that having children gains nothing.
        let parent = view.task(task).parent.map(|parent| {
            self.count(view, parent);
            self.tasks[parent.index()]
        });
        let near = parent.filter(|parent| view.layout.core(parent.home) == view.layout.core(home));
        let virtual_ns = near.map_or(now, |parent| parent.virtual_ns.max(now));
        self.tasks[task.index()] = Own { virtual_ns, counted_ns: 0, home, place: None };
    }

    fn select_cpu(&mut self, view: &View, task: TaskId, _: &Wake, actions: &mut Actions) -> CpuId {
        let (cpu, reason) = self.place(view, task);
        actions.place(task, cpu, reason);
        cpu
    }

    fn enqueue(&mut self, view: &View, task: TaskId, cpu: CpuId, _: &Wake, actions: &mut Actions) {
        self.insert(view, task, cpu);
        self.announce(view, task, cpu, actions);
    }

    fn pick(
        &mut self,
        view: &View,
        cpu: CpuId,
        _: Option<TaskId>,
        actions: &mut Actions,
    ) -> Option<TaskId> {
        let core = view.layout.core(cpu).0 as usize;
        let own = self.first(view, core, cpu, !self.rules.pickup);
        let reason = match own {
            Some(_) => Reason::new("least CPU time of those that wait on its core"),
            None => Reason::new("taken from a busier core"),
        };
        let picked = match own {
            None if self.rules.passive && self.waiting > 0 => self.steal(view, cpu, actions),
            own => own,
        };
        match picked {
            Some(task) => {
                self.remove(view, task);
                actions.pick(cpu, picked, reason);
            }
            None => actions.pick(cpu, None, Reason::new("no task waits that it may run")),
        }
        picked
    }

    fn running(&mut self, view: &View, cpu: CpuId, task: TaskId, _: &mut Actions) {
        let to = view.layout.core(cpu).0 as usize;
        let own = &mut self.tasks[task.index()];
        let from = view.layout.core(own.home).0 as usize;
        if from != to {
            own.virtual_ns =
                (own.virtual_ns + self.cores[to].now).saturating_sub(self.cores[from].now);
        }
        own.home = cpu;
        self.cores[to].now = self.cores[to].now.max(own.virtual_ns);
    }

    fn stopping(
        &mut self,
        view: &View,
        cpu: CpuId,
        task: TaskId,
        stop: Stop,
        actions: &mut Actions,
    ) {
        self.count(view, task);
        match stop {
            // Straight to the idle core: in its own queue a sibling would take it.
            Stop::Stopper => self.give_away(view, cpu, task, actions),
            _ if stop.can_go_on() => self.insert(view, task, cpu),
            _ => {}
        }
    }

    fn tick(&mut self, view: &View, cpu: CpuId, actions: &mut Actions) {
        let Some(task) = view.current(cpu) else { return };
        self.even_out(view, cpu, actions);
        let ran_ns = view.now_ns.saturating_sub(view.task(task).started_ns);
        if ran_ns < self.rules.slice_ns {
            return;
        }
        let core = view.layout.core(cpu).0 as usize;
        if self.first(view, core, cpu, !self.rules.pickup).is_some() {
            let reason = Reason::new("its slice is used up").with("ran_us", ran_ns / 1000);
            return actions.resched(cpu, Some(task), reason);
        }
        // Tasks that never wait never come by a wake-up: they are looked at here.
        let idle = view.idle_cores.iter().find(|idle| self.may_give(view, cpu, *idle));
        if self.rules.active && idle.is_some() {
            let running = self.tasks_running(view, cpu);
            self.ask(view, cpu, running, actions);
        }
    }

    fn update_idle(&mut self, view: &View, cpu: CpuId, idle: bool, actions: &mut Actions) {
        if idle {
            self.ask_for_running(view, cpu, actions);
        }
    }

    fn changed(&mut self, view: &View, task: TaskId, _: Change, actions: &mut Actions) {
        if view.task(task).state == TaskState::Runnable && self.tasks[task.index()].place.is_some()
        {
            self.remove(view, task);
            let (cpu, _) = self.place(view, task);
            self.insert(view, task, cpu);
            self.announce(view, task, cpu, actions);
        }
    }

    fn exit(&mut self, view: &View, task: TaskId, _: &mut Actions) {
        self.remove(view, task);
    }

    fn online(&mut self, _: &View, _: CpuId, _: &mut Actions) {}

    fn offline(&mut self, view: &View, cpu: CpuId, actions: &mut Actions) {
        let core = view.layout.core(cpu).0 as usize;
        let waiting: Vec<TaskId> = self.cores[core].queue.iter().map(|place| place.3).collect();
        for task in waiting {
            self.changed(view, task, Change::Mask, actions);
        }
    }

    fn queue_lock(&self, view: &View, cpu: CpuId) -> CpuId {
        view.layout.siblings(cpu).first().copied().unwrap_or(cpu)
    }

    fn queued(&self, each: &mut dyn FnMut(TaskId, CpuId)) {
        for place in self.cores.iter().flat_map(|core| &core.queue) {
            each(place.3, self.tasks[place.3.index()].home);
        }
    }
}
