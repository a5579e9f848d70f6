//! `core-queue`: one queue for each physical core, on the terms of today's kernels.
//!
//! It is Molnar's design of 2002 for a scheduler that knows its tasks by their CPU time: the queue of
//! a core holds what waits there in order of virtual time (CPU time divided by weight), and both
//! siblings draw from it; tasks that may not run on all of them have a queue of their CPU. The five behaviours of the article are switches:
//!
//! * `wakeup`: a task that wakes on a busy CPU gets an idle sibling;
//! * `pickup`: a CPU runs whatever waits on its core, before it looks elsewhere;
//! * `affinity`: a task goes back to its core, whichever of the siblings it ran on;
//! * `passive`: a CPU without work, and now and then a busy one, takes a waiting task of a core that has
//!   more; a task that joins the queue of a busy core has an idle CPU kicked, since idle CPUs of
//!   today have no tick;
//! * `active`: a core without work takes a *running* task of a core that runs several.
//!
//! `idle_core_first` has wake-ups look for an idle core before an idle sibling, as Linux and most
//! schedulers for sched_ext do; off is Molnar's order. The parameters are those of the live scheduler
//! ([`coretwin_base::simulation::core_queue`]).

mod queues;

use super::weight::{rank, weight};
use super::{Answer, Change, Parameter, Policy, Reason, Settings, Stop, Ticks, Wake, keep};
use crate::kernel::{CpuId, Layout, TaskId, TaskState, View};
use queues::{Candidate, Own, Place, Queues, by_weight};

pub(super) const PARAMETERS: &[Parameter] = coretwin_base::simulation::core_queue::PARAMETERS;

#[derive(Debug)]
pub(super) struct CoreQueue {
    rules: Rules,
    queues: Queues,
    /// By core: when a running task was last asked of it.
    asked_ns: Vec<Option<u64>>,
    /// By slot of the task.
    tasks: Vec<Own>,
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
            queues: Queues::new(layout, ns("slice_us", 1000)),
            asked_ns: vec![None; layout.cores().len()],
            tasks: Vec::new(),
        }
    }

    /// Counts the CPU time of a task since it was last counted.
    fn count(&mut self, view: &View, task: TaskId) {
        let ran_ns = view.ran_ns(task);
        let own = &mut self.tasks[task.index()];
        let new_ns = ran_ns.saturating_sub(own.counted_ns);
        own.counted_ns = ran_ns;
        own.virtual_ns += by_weight(new_ns, weight(view.task(task).nice));
    }

    /// The queue in which a task waits for a CPU or its core.
    fn queue_of(&self, view: &View, task: TaskId, cpu: CpuId) -> usize {
        let fits = || {
            let mask = view.mask(task);
            view.task(task).mask == 0
                || view.layout.siblings(cpu).iter().all(|sibling| mask.contains(*sibling))
        };
        match self.rules.pickup && fits() {
            true => view.layout.core(cpu).0 as usize,
            false => self.queues.of_cpu(cpu),
        }
    }

    /// Puts a task into the queue of a CPU or its core.
    fn insert(&mut self, view: &View, task: TaskId, cpu: CpuId) {
        let queue = self.queue_of(view, task, cpu);
        let own = &mut self.tasks[task.index()];
        self.queues.move_home(own, cpu, queue);
        self.queues.insert(own, task, rank(view.task(task).class));
    }

    /// Takes a task out of its queue, if it waits in one.
    fn remove(&mut self, task: TaskId) {
        self.queues.remove(&mut self.tasks[task.index()]);
    }

    /// Where a task that becomes runnable goes.
    fn place(&self, view: &View, task: TaskId) -> (CpuId, Reason) {
        let last = self.tasks[task.index()].home;
        let idle = |cpu: &CpuId| view.is_idle_for(task, *cpu);
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
        let core = view.layout.core(cpu).0 as usize;
        view.running_on_core(cpu) + self.queues.waiting(core)
    }

    /// Has a CPU reschedule for a task that waits, if one should.
    fn announce(&mut self, view: &View, task: TaskId, cpu: CpuId, answer: &mut Answer) {
        let idle = |cpu: &CpuId| view.is_idle_for(task, *cpu);
        if idle(&cpu) {
            return answer.resched_idle(cpu, task);
        }
        let is_bound = self.queues.is_of_cpu(self.tasks[task.index()].queue);
        if !is_bound
            && self.rules.wakeup
            && let Some(sibling) = view.online_siblings(cpu).find(idle)
        {
            let reason = Reason::new("an idle sibling of its CPU");
            return answer.resched(sibling, Some(task), reason);
        }
        if let Some((victim, ahead_us)) = self.preempts(view, task, cpu) {
            let reason = Reason::new("has had less CPU time than what runs");
            return answer.resched(victim, Some(task), reason.with("less_us", ahead_us));
        }
        if self.rules.passive {
            let core = view.idle_cores.iter().find(idle);
            if let Some(taker) = core.or_else(|| view.idle.iter().find(idle)) {
                let reason = Reason::new("a task waits on a busy core, and this CPU is idle");
                answer.resched(taker, Some(task), reason);
            }
        }
    }

    /// The CPU of its core whose task a waiting one may displace, and by how much less CPU time: its own
    /// CPU first, and alone if none else takes from its queue.
    fn preempts(&mut self, view: &View, task: TaskId, cpu: CpuId) -> Option<(CpuId, u64)> {
        let is_bound = self.queues.is_of_cpu(self.tasks[task.index()].queue);
        let others = view.online_siblings(cpu).filter(|_| !is_bound);
        std::iter::once(cpu).chain(others).find_map(|cpu| {
            let current = view.current(cpu).filter(|_| view.allowed(task, cpu))?;
            let (class, other) = (view.task(task).class, view.task(current).class);
            let less_ns = self.less(view, task, current, cpu);
            let beats = match rank(class).cmp(&rank(other)) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => less_ns > self.rules.preempt_ns as i64,
                std::cmp::Ordering::Greater => false,
            };
            beats.then_some((cpu, less_ns.max(0) as u64 / 1000))
        })
    }

    /// How much less CPU time a task that waits has had than the one that a CPU runs.
    fn less(&mut self, view: &View, task: TaskId, current: TaskId, cpu: CpuId) -> i64 {
        let (own, facts) = (&self.tasks[task.index()], &self.tasks[current.index()]);
        let weight = |task| weight(view.task(task).nice);
        let waits = Candidate { virtual_ns: own.virtual_ns, weight: weight(task) };
        let uncounted_ns = view.ran_ns(current).saturating_sub(facts.counted_ns);
        let virtual_ns = facts.virtual_ns + by_weight(uncounted_ns, weight(current));
        let runs = Candidate { virtual_ns, weight: weight(current) };
        match (self.queues.is_of_cpu(own.queue), self.queues.is_of_cpu(facts.queue)) {
            (true, false) => -self.queues.ahead(cpu, waits, runs),
            (false, true) => self.queues.ahead(cpu, runs, waits),
            _ => runs.virtual_ns - waits.virtual_ns,
        }
    }

    /// The first task in the queues of a CPU.
    fn own_first(&mut self, view: &View, cpu: CpuId) -> Option<TaskId> {
        let core = view.layout.core(cpu).0 as usize;
        let own = self.queues.first(view, self.queues.of_cpu(cpu), cpu);
        let shared = self.queues.first(view, core, cpu);
        self.queues.sooner(view, cpu, own, shared).map(|place| place.3)
    }

    /// A task in the queues of another core that a CPU may run.
    fn first_of(&self, view: &View, core: usize, cpu: CpuId) -> Option<TaskId> {
        let first = |queue| self.queues.first(view, queue, cpu).map(|place: Place| place.3);
        let mut others = view.layout.cores()[core].iter();
        first(core).or_else(|| others.find_map(|other| first(self.queues.of_cpu(*other))))
    }

    /// A waiting task of the busiest other core, if that has two more than this one.
    fn steal(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let here = view.layout.core(cpu).0 as usize;
        let own = self.load(view, cpu);
        let mut busiest: Option<(usize, usize, TaskId)> = None;
        for core in self.queues.crowded().filter(|core| *core != here) {
            answer.steps(1);
            let load = self.load(view, view.layout.cores()[core][0]);
            let more = load > own + 1 && busiest.is_none_or(|(most, ..)| load > most);
            if let (true, Some(task)) = (more, self.first_of(view, core, cpu)) {
                busiest = Some((load, core, task));
            }
        }
        let (load, _, task) = busiest?;
        let from = self.tasks[task.index()].home;
        let reason = Reason::new("a busier core");
        answer.pull(task, from, cpu, reason.with("own", own).with("other", load));
        Some(task)
    }

    /// A busy CPU fetches a waiting task now and then, if a core has two more than its own.
    fn even_out(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let due = view.now_ns % self.rules.balance_ns < view.tick_ns;
        if !due || !self.rules.passive || self.queues.is_empty() {
            return;
        }
        if let Some(task) = self.steal(view, cpu, answer) {
            self.remove(task);
            self.insert(view, task, cpu);
        }
    }

    /// A core without work asks the core that runs most for one of its tasks, if that runs several.
    fn ask_for_running(&mut self, view: &View, idle: CpuId, answer: &mut Answer) {
        if !self.rules.active || self.load(view, idle) > 0 {
            return;
        }
        let mut asked: Option<(usize, CpuId)> = None;
        // Charged for every core, although `shared` says whether the search can succeed.
        answer.steps(view.layout.cores().len() as u64);
        let shared = view.is_any_core_shared();
        for cpus in view.layout.cores().iter().filter(|_| shared) {
            let cpu = cpus.iter().copied().find(|cpu| self.may_give(view, *cpu, idle));
            let running = view.running_on_core(cpus[0]);
            if let Some(cpu) = cpu.filter(|_| asked.is_none_or(|(most, _)| running > most)) {
                asked = Some((running, cpu));
            }
        }
        if let Some((running, cpu)) = asked {
            self.ask(view, cpu, running, answer);
        }
    }

    /// Whether a CPU runs, beside a busy sibling, a task that an idle CPU may run, and was not asked
    /// within the last interval.
    fn may_give(&self, view: &View, cpu: CpuId, idle: CpuId) -> bool {
        let asked_ns = self.asked_ns[view.layout.core(cpu).0 as usize];
        let lately = |asked_ns| view.now_ns < asked_ns + self.rules.active_interval_ns;
        view.running_on_core(cpu) > 1
            && !asked_ns.is_some_and(lately)
            && view.current(cpu).is_some_and(|task| view.allowed(task, idle))
    }

    /// The task that a stopper runs in place of goes to an idle core, if there still is one.
    fn give_away(&mut self, view: &View, cpu: CpuId, task: TaskId, answer: &mut Answer) {
        let idle = view.idle_core_for(task);
        match idle.filter(|_| view.running_on_core(cpu) > 1) {
            Some(to) => {
                self.insert(view, task, to);
                answer.give(task, cpu, to);
            }
            None => {
                self.insert(view, task, cpu);
                answer.note(cpu, Some(task), Reason::new("no need to move it any more"));
            }
        }
    }

    fn ask(&mut self, view: &View, cpu: CpuId, running: usize, answer: &mut Answer) {
        self.asked_ns[view.layout.core(cpu).0 as usize] = Some(view.now_ns);
        answer.relieve(cpu, running);
    }
}

impl Policy for CoreQueue {
    fn ticks(&self) -> Ticks {
        Ticks::OF_TODAY
    }

    fn fork(&mut self, view: &View, task: TaskId, _: &mut Answer) {
        let home = view.task(task).last_cpu;
        let queue = view.layout.core(home).0 as usize;
        // It begins where its parent is, so that having children gains nothing.
        let parent = view.task(task).parent;
        if let Some(parent) = parent {
            self.count(view, parent);
        }
        let parent = parent.map(|parent| &self.tasks[parent.index()]);
        let virtual_ns = self.queues.of_child(queue, parent);
        let own = Own { virtual_ns, counted_ns: 0, home, queue, place: None };
        keep(&mut self.tasks, view, task, own);
    }

    fn select_cpu(&mut self, view: &View, task: TaskId, _: &Wake, answer: &mut Answer) -> CpuId {
        let (cpu, reason) = self.place(view, task);
        answer.place(task, cpu, reason);
        cpu
    }

    fn enqueue(&mut self, view: &View, task: TaskId, cpu: CpuId, _: &Wake, answer: &mut Answer) {
        self.insert(view, task, cpu);
        self.announce(view, task, cpu, answer);
    }

    fn pick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let own = self.own_first(view, cpu);
        let reason = match own {
            Some(_) => Reason::new("least CPU time of those that wait on its core"),
            None => Reason::new("taken from a busier core"),
        };
        let picked = match own {
            None if self.rules.passive && !self.queues.is_empty() => self.steal(view, cpu, answer),
            own => own,
        };
        match picked {
            Some(task) => {
                self.remove(task);
                answer.pick(cpu, picked, reason);
            }
            None => answer.pick(cpu, None, Reason::new("no task waits that it may run")),
        }
        picked
    }

    fn running(&mut self, view: &View, cpu: CpuId, task: TaskId, _: &mut Answer) {
        let queue = self.queue_of(view, task, cpu);
        let own = &mut self.tasks[task.index()];
        self.queues.move_home(own, cpu, queue);
        self.queues.begin(own);
    }

    fn stopping(&mut self, view: &View, cpu: CpuId, task: TaskId, stop: Stop, answer: &mut Answer) {
        self.count(view, task);
        match stop {
            // Straight to the idle core: in its own queue a sibling would take it.
            Stop::Stopper => self.give_away(view, cpu, task, answer),
            _ if stop.can_go_on() => self.insert(view, task, cpu),
            _ => {}
        }
    }

    fn tick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let Some(task) = view.current(cpu) else { return };
        self.even_out(view, cpu, answer);
        let ran_ns = view.now_ns.saturating_sub(view.task(task).started_ns);
        if ran_ns < self.rules.slice_ns {
            return;
        }
        if self.own_first(view, cpu).is_some() {
            let reason = Reason::new("its slice is used up").with("ran_us", ran_ns / 1000);
            return answer.resched(cpu, Some(task), reason);
        }
        // Tasks that never sleep are never placed by a wake-up: they are balanced here.
        let idle = view.idle_cores.iter().find(|idle| self.may_give(view, cpu, *idle));
        if self.rules.active && idle.is_some() {
            let running = view.running_on_core(cpu);
            self.ask(view, cpu, running, answer);
        }
    }

    fn update_idle(&mut self, view: &View, cpu: CpuId, idle: bool, answer: &mut Answer) {
        if idle {
            self.ask_for_running(view, cpu, answer);
        }
    }

    fn changed(&mut self, view: &View, task: TaskId, _: Change, answer: &mut Answer) {
        if view.task(task).state == TaskState::Runnable && self.tasks[task.index()].place.is_some()
        {
            self.remove(task);
            let (cpu, _) = self.place(view, task);
            self.insert(view, task, cpu);
            self.announce(view, task, cpu, answer);
        }
    }

    fn exit(&mut self, _: &View, task: TaskId, _: &mut Answer) {
        self.remove(task);
    }

    fn offline(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let core = view.layout.core(cpu).0 as usize;
        let siblings = view.layout.siblings(cpu).iter();
        let of_cpus = siblings.map(|cpu| self.queues.of_cpu(*cpu));
        let queues: Vec<usize> = std::iter::once(core).chain(of_cpus).collect();
        let waiting = self.queues.tasks_in(&queues);
        for task in waiting {
            self.changed(view, task, Change::Mask, answer);
        }
    }

    fn queue_lock(&self, view: &View, cpu: CpuId) -> CpuId {
        view.layout.siblings(cpu).first().copied().unwrap_or(cpu)
    }

    fn queued(&self, each: &mut dyn FnMut(TaskId)) {
        self.queues.tasks().for_each(each);
    }
}
