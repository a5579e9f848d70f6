//! `core-queue`: one queue for each physical core, on the terms of today's kernels.
//!
//! It is Molnar's design of 2002 for a scheduler that knows its tasks by their CPU time: the queue of
//! a core holds what waits there in order of virtual time (CPU time divided by weight), and both
//! siblings draw from it; tasks that may not run on all of them have a queue of their CPU. The five behaviours of the article are switches:
//!
//! * `wakeup`: a task that wakes on a busy CPU gets an idle sibling;
//! * `pickup`: a CPU runs whatever waits on its core, before it looks elsewhere;
//! * `affinity`: a task goes back to its core, whichever of the siblings it ran on;
//! * `passive`: tasks that start or wait leave a busy core: for an idle CPU anywhere or, when they wake, for
//!   a less crowded core; a CPU without work takes any that it may run; and a core that has less than
//!   another owes itself half of the difference, which its CPUs take in turns with its own;
//! * `active`: a core without work takes a *running* task of a core that runs several.
//!
//! `follow` is of today: a task whose waker is about to wait, and keeps its word, runs next on that CPU.
//! `idle_core_first` has wake-ups look for an idle core before an idle sibling, as Linux and most
//! schedulers for sched_ext do; off is Molnar's order. The parameters are those of the live scheduler
//! ([`coretwin_base::simulation::core_queue`]), and so are the pure decisions.
//!
//! Tasks change cores when they wake or start, or when a CPU of another core takes them to run: never
//! from queue to queue.

mod partner;
mod place;
mod queues;

use super::weight::{NORMAL, rank, weight_of};
use super::{
    Answer, Change, Parameter, Policy, Reason, Settings, Stop, Ticks, Wake, WakeKind, keep,
};
use crate::kernel::{CpuId, Layout, TaskId, TaskState, View};
use coretwin_base::simulation::core_queue::{PARAMETERS as LIVE, decide};
use partner::Partners;
use queues::{Candidate, Own, Place, Queues, by_weight};

/// Those of the live scheduler, and what is only simulated.
pub(super) const PARAMETERS: &[Parameter] = &{
    let about = "of the first tasks, the best partner of what a sibling runs: 1 learnt, 2 known; only simulated";
    let mut all = [Parameter::number("partner", 0, (0, 2), about); LIVE.len() + 1];
    let mut index = 0;
    while index < LIVE.len() {
        all[index] = LIVE[index];
        index += 1;
    }
    all
};

#[derive(Debug)]
pub(super) struct CoreQueue {
    rules: Rules,
    queues: Queues,
    /// By core.
    cores: Vec<Core>,
    /// By CPU: the core that its next wake-up looks at besides those of the task and the waker.
    probes: Vec<usize>,
    /// By CPU: the task that ran until it picks the next.
    displaced: Vec<Option<TaskId>>,
    /// By CPU.
    said: Vec<Said>,
    /// By slot of the task.
    tasks: Vec<Own>,
    /// With `partner`.
    partners: Option<Partners>,
    knows_speeds: bool,
}

/// What the task that a CPU runs has said.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    /// When it first said that it is about to wait.
    at_ns: Option<u64>,
    /// The task that runs here next: one that it woke then, or the waker whose place it took.
    follower: Option<TaskId>,
    /// Whether the follower takes its place at once; then the task whose place it took.
    hands_over: bool,
    waker: Option<TaskId>,
    /// When the first of the tasks began that have followed each other since.
    since_ns: u64,
    /// How many tasks what runs here has woken.
    wakes: u32,
}

#[derive(Debug, Clone, Default)]
struct Core {
    /// When a running task was last asked of it.
    asked_ns: Option<u64>,
    /// When it last looked at others, and how often it has.
    looked_ns: u64,
    looks: u32,
    /// Tasks that it shall take from another core, and whether the next one is of these.
    owed: u32,
    owed_from: usize,
    turn: bool,
}

#[derive(Debug)]
struct Rules {
    active: bool,
    active_interval_ns: u64,
    affinity: bool,
    balance_ns: u64,
    follow: bool,
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
                follow: settings.on("follow"),
                idle_core_first: settings.on("idle_core_first"),
                passive: settings.on("passive"),
                pickup: settings.on("pickup"),
                preempt_ns: ns("preempt_us", 1000),
                slice_ns: ns("slice_us", 1000),
                wakeup: settings.on("wakeup"),
            },
            queues: Queues::new(layout, ns("slice_us", 1000)),
            cores: vec![Core::default(); layout.cores().len()],
            probes: vec![0; layout.cpus()],
            displaced: vec![None; layout.cpus()],
            said: vec![Said::default(); layout.cpus()],
            tasks: Vec::new(),
            partners: (settings.number("partner") > 0).then(|| Partners::new(layout.cpus())),
            knows_speeds: settings.number("partner") == 2,
        }
    }

    /// Counts the CPU time of a task since it was last counted.
    fn count(&mut self, view: &View, task: TaskId) {
        let ran_ns = view.ran_ns(task);
        let own = &mut self.tasks[task.index()];
        let new_ns = ran_ns.saturating_sub(own.counted_ns);
        own.counted_ns = ran_ns;
        own.virtual_ns += by_weight(new_ns, weight_of(view.task(task)));
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
        self.arrive(view, task, cpu, false);
    }

    fn arrive(&mut self, view: &View, task: TaskId, cpu: CpuId, wakes: bool) {
        let queue = self.queue_of(view, task, cpu);
        let own = &mut self.tasks[task.index()];
        let weight = weight_of(view.task(task));
        self.queues.move_home(own, cpu, queue, weight);
        self.queues.insert(own, (task, rank(view.task(task).class)), view, (wakes, weight));
    }

    /// Takes a task out of its queue, if it waits in one.
    fn remove(&mut self, task: TaskId) {
        self.queues.remove(&mut self.tasks[task.index()]);
    }

    /// Has a CPU reschedule for a task that waits, if one should.
    fn announce(&mut self, view: &View, task: TaskId, cpu: CpuId, answer: &mut Answer) {
        if view.is_idle_for(task, cpu) {
            return answer.resched_idle(cpu, task);
        }
        if self.tell_sibling(view, task, cpu, answer) || self.tell_idle(view, task, answer) {
            return;
        }
        if let Some((victim, ahead_us)) = self.preempts(view, task, cpu) {
            let reason = Reason::new("has had less CPU time than what runs");
            answer.resched(victim, Some(task), reason.with("less_us", ahead_us));
        }
    }

    /// Has an idle sibling take a task that waits for its CPU.
    fn tell_sibling(&self, view: &View, task: TaskId, cpu: CpuId, answer: &mut Answer) -> bool {
        let is_bound = self.queues.is_of_cpu(self.tasks[task.index()].queue);
        let mut siblings = view.online_siblings(cpu).filter(|_| !is_bound && self.rules.wakeup);
        let sibling = siblings.find(|cpu| view.is_idle_for(task, *cpu));
        if let Some(sibling) = sibling {
            answer.resched(sibling, Some(task), Reason::new("an idle sibling of its CPU"));
        }
        sibling.is_some()
    }

    /// Has an idle CPU anywhere take a task that waits on a busy core.
    fn tell_idle(&self, view: &View, task: TaskId, answer: &mut Answer) -> bool {
        let taker = view.idle_core_for(task).or_else(|| view.mask(task).first_common(&view.idle));
        let taker = taker.filter(|_| self.rules.passive);
        if let Some(taker) = taker {
            let reason = Reason::new("a task waits on a busy core, and this CPU is idle");
            answer.resched(taker, Some(task), reason);
        }
        taker.is_some()
    }

    /// One more idle CPU is told if more tasks wait on a core of which one was just taken, besides the one that
    /// this displaced.
    fn tell_next(&self, view: &View, core: usize, displaced: Option<TaskId>, answer: &mut Answer) {
        let others = |queue| self.queues.tasks_in(queue).find(|task| Some(*task) != displaced);
        if !view.idle.is_empty()
            && let Some(task) = self.queues_of(view, core).find_map(others)
        {
            self.tell_idle(view, task, answer);
        }
    }

    /// The CPU of its core whose task a waiting one may displace, and by how much less CPU time: its own
    /// CPU first, and alone if none else takes from its queue.
    fn preempts(&mut self, view: &View, task: TaskId, cpu: CpuId) -> Option<(CpuId, u64)> {
        let is_bound = self.queues.is_of_cpu(self.tasks[task.index()].queue);
        let others = view.online_siblings(cpu).filter(|_| !is_bound);
        let most_ns = self.rules.preempt_ns as i64;
        std::iter::once(cpu).chain(others).find_map(|cpu| {
            let current = view.current(cpu).filter(|_| view.allowed(task, cpu))?;
            let ranks = [task, current].map(|task| rank(view.task(task).class));
            let less_ns = self.less(view, task, current, cpu);
            let wakes = self.said[cpu.0 as usize].wakes;
            let beats = ranks[0] < ranks[1]
                || (ranks[0] == ranks[1] && decide::displaces(less_ns, most_ns, wakes));
            beats.then_some((cpu, less_ns.max(0) as u64 / 1000))
        })
    }

    /// How much less CPU time a task that waits has had than the one that a CPU runs.
    fn less(&mut self, view: &View, task: TaskId, current: TaskId, cpu: CpuId) -> i64 {
        let (own, facts) = (&self.tasks[task.index()], &self.tasks[current.index()]);
        let weight = |task| weight_of(view.task(task));
        let waits = Candidate { virtual_ns: own.virtual_ns + own.later, weight: weight(task) };
        let uncounted_ns = view.ran_ns(current).saturating_sub(facts.counted_ns);
        let virtual_ns = facts.virtual_ns + by_weight(uncounted_ns, weight(current));
        let runs = Candidate { virtual_ns, weight: weight(current) };
        match (self.queues.is_of_cpu(own.queue), self.queues.is_of_cpu(facts.queue)) {
            (true, false) => -self.queues.ahead(cpu, waits, runs),
            (false, true) => self.queues.ahead(cpu, runs, waits),
            _ => runs.virtual_ns - waits.virtual_ns,
        }
    }

    /// The task that follows the one that ran on a CPU, if none of a better class waits.
    fn follower(&self, view: &View, cpu: CpuId) -> Option<Place> {
        let place = self.tasks[self.said[cpu.0 as usize].follower?.index()].place?;
        let head = self.queues.heads(view, view.layout.core(cpu).0 as usize, cpu).next();
        let is_first = head.is_none_or(|head| head.0 >= place.0);
        (is_first && view.allowed(place.3, cpu)).then_some(place)
    }

    /// The first task of a queue that a CPU may run, but for those that follow the task of another CPU.
    fn first(&self, view: &View, queue: usize, cpu: CpuId) -> Option<Place> {
        let follows = |place: &Place| {
            let home = self.tasks[place.3.index()].home;
            home != cpu && self.said[home.0 as usize].follower == Some(place.3)
        };
        self.queues.heads(view, queue, cpu).find(|place| !follows(place))
    }

    /// The first task in the queues of a CPU.
    fn own_first(&mut self, view: &View, cpu: CpuId) -> Option<Place> {
        let core = view.layout.core(cpu).0 as usize;
        let own = self.first(view, self.queues.of_cpu(cpu), cpu);
        let shared = self.first(view, core, cpu);
        let tasks = &self.tasks;
        self.queues.sooner(view, cpu, own, shared, |task| tasks[task.index()].virtual_ns)
    }

    /// The queue of a core and those of its CPUs.
    fn queues_of(&self, view: &View, core: usize) -> impl Iterator<Item = usize> {
        let of_cpus = view.layout.cores()[core].iter().map(|cpu| self.queues.of_cpu(*cpu));
        std::iter::once(core).chain(of_cpus)
    }

    /// A task in the queues of another core that a CPU may run. What an idle CPU has been told of is that
    /// CPU's, as the live scheduler puts it past the queues. One that is about to pick was not told.
    fn first_of(&self, view: &View, core: usize, cpu: CpuId) -> Option<TaskId> {
        let first = self.queues_of(view, core).find_map(|queue| self.first(view, queue, cpu));
        let told = |cpu: CpuId| view.runs_nothing(cpu) && self.displaced[cpu.0 as usize].is_none();
        first.map(|place| place.3).filter(|task| !told(self.tasks[task.index()].home))
    }

    /// The next of the tasks that a CPU's core owes itself, if it is their turn.
    fn take_owed(&mut self, view: &View, cpu: CpuId, own: Option<Place>) -> Option<TaskId> {
        let here = view.layout.core(cpu).0 as usize;
        let displaced = self.displaced[cpu.0 as usize];
        let core = &mut self.cores[here];
        let waits = |head: Place| Some(head.3) != displaced && Queues::is_overdue(view, head);
        let goes_next = |head: Place| head.0 < NORMAL || waits(head);
        if core.owed == 0 || own.is_some_and(goes_next) {
            return None;
        }
        core.turn = !core.turn;
        if own.is_some() && !core.turn {
            return None;
        }
        let from = core.owed_from;
        // The one displaced waits, and still counts as running, unless its CPU went meanwhile.
        let load = self.load(view, cpu).saturating_sub(usize::from(displaced.is_some()));
        let more = self.load(view, view.layout.cores()[from][0]) > load;
        let task = if more { self.first_of(view, from, cpu) } else { None };
        let core = &mut self.cores[here];
        core.owed = if task.is_some() { core.owed - 1 } else { 0 };
        task
    }

    /// A core looks now and then whether another has more than it, and what it owes itself then.
    fn look(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let here = view.layout.core(cpu).0 as usize;
        if !self.rules.passive || view.now_ns < self.cores[here].looked_ns + self.rules.balance_ns {
            return;
        }
        let looks = self.cores[here].looks;
        let mut busiest = (0, here);
        for core in self.queues.crowded().filter(|core| *core != here) {
            let first = view.layout.cores()[core][0];
            if decide::is_wide(looks) || view.layout.same_cache(cpu).contains(first) {
                answer.steps(1);
                busiest = busiest.max((self.load(view, first), core));
            }
        }
        let [own, most] = [self.load(view, cpu), busiest.0].map(|load| load as u32);
        let core = &mut self.cores[here];
        (core.looked_ns, core.looks) = (view.now_ns, looks.wrapping_add(1));
        (core.owed, core.owed_from) = (decide::owed(own, most, here as u32, looks), busiest.1);
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
        let asked_ns = self.cores[view.layout.core(cpu).0 as usize].asked_ns;
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
        self.cores[view.layout.core(cpu).0 as usize].asked_ns = Some(view.now_ns);
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
        let own = Own {
            virtual_ns,
            counted_ns: 0,
            lag: None,
            later: 0,
            word: 0,
            handed: 0,
            passed: 0,
            home,
            queue,
            place: None,
        };
        keep(&mut self.tasks, view, task, own);
    }

    fn select_cpu(&mut self, view: &View, task: TaskId, wake: &Wake, answer: &mut Answer) -> CpuId {
        self.said[wake.here.0 as usize].wakes += 1;
        if self.follows(view, task, wake) {
            answer.place(task, wake.here, "its waker is about to wait");
            return wake.here;
        }
        let (cpu, reason) = self.place(view, task, wake, answer);
        // Another CPU took it before its turn came there.
        let said = &mut self.said[cpu.0 as usize];
        said.follower = said.follower.filter(|it| *it != task);
        answer.place(task, cpu, reason);
        cpu
    }

    fn enqueue(&mut self, view: &View, task: TaskId, cpu: CpuId, wake: &Wake, answer: &mut Answer) {
        // The live scheduler has those that follow, and those for whom a CPU is idle, past the queues.
        let said = self.said[cpu.0 as usize];
        let waits = said.follower != Some(task) && !view.is_idle_for(task, cpu);
        self.arrive(view, task, cpu, waits && wake.kind == WakeKind::Woken);
        // One that follows its waker is told to nobody: the CPU is about to be free.
        if said.follower != Some(task) {
            self.announce(view, task, cpu, answer);
        } else if said.hands_over {
            answer.resched(cpu, Some(task), "takes the place of its waker, which is about to wait");
        }
    }

    fn pick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let follower = self.follower(view, cpu);
        let own = match follower.or_else(|| self.own_first(view, cpu)) {
            Some(head) if follower.is_none() => Some(self.partner(view, cpu, head)),
            own => own,
        };
        let owed = if follower.is_some() { None } else { self.take_owed(view, cpu, own) };
        let displaced = self.displaced[cpu.0 as usize].take();
        let taken = owed.or_else(|| match own {
            None if self.rules.passive => self.take_any(view, cpu, answer),
            _ => None,
        });
        if let Some(task) = taken {
            let from = self.tasks[task.index()].home;
            answer.pull(task, from, cpu, Reason::new("a busier core"));
        }
        let picked = taken.or(own.map(|place| place.3));
        let reason = match (taken, own) {
            (Some(_), _) => Reason::new("taken from a busier core"),
            (None, Some(_)) => Reason::new("least CPU time of those that wait on its core"),
            (None, None) => Reason::new("no task waits that it may run"),
        };
        if let Some(task) = picked {
            let core = view.layout.core(self.tasks[task.index()].home).0 as usize;
            self.remove(task);
            self.tell_next(view, core, displaced, answer);
        }
        answer.pick(cpu, picked, reason);
        let waits = |task: &TaskId| self.tasks[task.index()].place.is_some();
        // Whose place was taken follows in turn.
        let said = &mut self.said[cpu.0 as usize];
        let handed = said.hands_over && follower.is_some();
        said.waker = displaced.filter(|_| handed);
        if let Some(task) = displaced.filter(waits).filter(|_| !handed)
            && !self.tell_sibling(view, task, cpu, answer)
        {
            self.tell_idle(view, task, answer);
        }
        picked
    }

    fn running(&mut self, view: &View, cpu: CpuId, task: TaskId, _: &mut Answer) {
        let queue = self.queue_of(view, task, cpu);
        if let Some(partners) = &mut self.partners {
            partners.changes(view, cpu, Some(task));
        }
        let own = &mut self.tasks[task.index()];
        own.passed = 0;
        self.queues.move_home(own, cpu, queue, weight_of(view.task(task)));
        self.queues.begin(own);
        let said = &mut self.said[cpu.0 as usize];
        let since_ns = if said.follower == Some(task) { said.since_ns } else { view.now_ns };
        *said = Said { since_ns, follower: said.waker, ..Said::default() };
    }

    fn stopping(&mut self, view: &View, cpu: CpuId, task: TaskId, stop: Stop, answer: &mut Answer) {
        self.count(view, task);
        if let Some(partners) = &mut self.partners {
            partners.changes(view, cpu, None);
        }
        let own = &mut self.tasks[task.index()];
        if self.said[cpu.0 as usize].hands_over && stop.can_go_on() {
            own.handed += 1;
        } else if let Some(at_ns) = self.said[cpu.0 as usize].at_ns.take() {
            let waits = matches!(stop, Stop::Blocked | Stop::Exited);
            own.word = decide::word(own.word, waits, view.now_ns.saturating_sub(at_ns));
            own.handed = 0;
        }
        match stop {
            // Straight to the idle core: in its own queue a sibling would take it.
            Stop::Stopper => self.give_away(view, cpu, task, answer),
            _ if stop.can_go_on() => {
                self.insert(view, task, cpu);
                self.displaced[cpu.0 as usize] = Some(task);
            }
            _ => {
                let weight = weight_of(view.task(task));
                self.queues.sleep(&mut self.tasks[task.index()], weight);
            }
        }
    }

    fn tick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let Some(task) = view.current(cpu) else { return };
        self.look(view, cpu, answer);
        // The waker did not wait: who followed it is for others, too.
        let follower = self.said[cpu.0 as usize].follower.take();
        if let Some(follower) = follower.filter(|it| self.tasks[it.index()].place.is_some()) {
            self.announce(view, follower, cpu, answer);
        }
        let ran_ns = view.now_ns.saturating_sub(view.task(task).started_ns);
        if ran_ns < self.rules.slice_ns {
            return;
        }
        let owed = self.cores[view.layout.core(cpu).0 as usize].owed;
        if owed > 0 || self.own_first(view, cpu).is_some() {
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
            let here = self.tasks[task.index()].home;
            let wake = Wake { kind: WakeKind::Moved, sync: false, here };
            let (cpu, _) = self.place(view, task, &wake, answer);
            self.insert(view, task, cpu);
            self.announce(view, task, cpu, answer);
        }
    }

    fn exit(&mut self, _: &View, task: TaskId, _: &mut Answer) {
        self.remove(task);
    }

    fn offline(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let core = view.layout.core(cpu).0 as usize;
        let waiting = self.queues_of(view, core).flat_map(|it| self.queues.tasks_in(it));
        let waiting: Vec<_> = waiting.collect();
        waiting.iter().for_each(|task| self.changed(view, *task, Change::Mask, answer));
    }

    fn knows_speeds(&self) -> bool {
        self.knows_speeds
    }

    fn queue_lock(&self, view: &View, cpu: CpuId) -> CpuId {
        view.layout.siblings(cpu).first().copied().unwrap_or(cpu)
    }

    fn queued(&self, each: &mut dyn FnMut(TaskId)) {
        self.queues.tasks().for_each(each);
    }
}
