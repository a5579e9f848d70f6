//! `linux-2.4.19`: one list of runnable tasks for all CPUs, and a goodness for each task.
//!
//! A CPU that reschedules scores every runnable task and takes the best. A task spends its counter tick
//! by tick; when all that could run here have spent theirs, every task of the system, the sleeping
//! ones too, gets half of what it has left and a new slice. A task that becomes runnable looks for a
//! CPU: the one it last ran on if that is idle, then any idle one, then the running task that it beats
//! by most. The one rule for Hyper-Threading, `ht_rule`, is in that search: of idle CPUs, one whose
//! sibling is idle too is taken at once, so that a whole core is used before half of one.
//!
//! A CPU that was told to run one task runs the best one: two tasks whose last CPU is the same idle one
//! may both ask for it. The second then waits there beside other idle CPUs until the first is preempted
//! and looks for a CPU itself. That is the kernel's own behaviour, not a fault of the model.
//!
//! Source: kernel/sched.c of Linux 2.4 as read for the reference of this project. A woken task joins the head
//! of the list: a patch against 2.4.19 (Davda, linux-kernel, 13 August 2002) takes that line out for the tail,
//! which is a parameter. Our own choices, where the source is silent: what a child has left is its parent's at the child's end, not when the parent
//! waits for it; a task whose mask or class changes while it waits looks for a CPU; a CPU that goes
//! offline has all that wait do so.

use super::{Answer, Change, Parameter, Policy, Reason, Settings, Stop, Ticks, Wake};
use crate::kernel::{Class, CpuId, Layout, TaskId, TaskState, View};
use crate::lists::{End, Links, List};
use coretwin_base::simulation::linux_2_4_19::{self as decide, HZ};

/// What the live scheduler has, and what a kernel cannot leave out.
pub(super) const PARAMETERS: &[Parameter] = {
    let [ht_rule, wake_tail] = decide::PARAMETERS;
    const LIST_LOCK: Parameter = Parameter::switch(
        "list_lock",
        true,
        "CPUs wait for each other's use of the list; off only to see what that costs",
    );
    &[ht_rule, LIST_LOCK, wake_tail]
};

/// Where real-time tasks begin.
const REAL_TIME_BASE: i64 = 1000;
const NO_TASK: i64 = -1000;
#[derive(Debug)]
pub(super) struct Linux2419 {
    ht_rule: bool,
    list_lock: bool,
    wake_tail: bool,
    links: Links,
    runnable: List,
    /// Ticks left of each task's slice, by slot.
    counters: Vec<i64>,
    /// By CPU: the task it preempts, which looks for another CPU once the next task runs.
    left: Vec<Option<TaskId>>,
    /// The memory of the task each CPU ran last; an idle CPU keeps it.
    memory: Vec<Option<u32>>,
}

/// The slice of a nice value, in ticks: 60 ms for nice 0 at HZ 100.
fn slice(nice: i8) -> i64 {
    decide::slice(i64::from(nice))
}

impl Linux2419 {
    pub(super) fn new(layout: &Layout, settings: &Settings) -> Self {
        Self {
            ht_rule: settings.on("ht_rule"),
            list_lock: settings.on("list_lock"),
            wake_tail: settings.on("wake_tail"),
            links: Links::default(),
            runnable: List::default(),
            counters: Vec::new(),
            left: vec![None; layout.cpus()],
            memory: vec![None; layout.cpus()],
        }
    }

    /// Goodness of a task on a CPU that last ran this memory.
    fn goodness(&self, view: &View, task: TaskId, cpu: CpuId, memory: Option<u32>) -> i64 {
        let facts = view.task(task);
        if facts.yielded {
            return -1;
        }
        let priority = match facts.class {
            Class::RoundRobin(priority) | Class::Fifo(priority) => i64::from(priority),
            Class::Normal | Class::Idle => {
                let same_memory = memory == Some(facts.address_space);
                let counter = self.counters[task.index()];
                return decide::goodness(
                    counter,
                    i64::from(facts.nice),
                    facts.last_cpu == cpu,
                    same_memory,
                );
            }
        };
        REAL_TIME_BASE + priority
    }

    fn best(&self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<(TaskId, i64)> {
        let mut best = (None, NO_TASK);
        let mut scored = 0;
        for task in self.tasks() {
            let free = match view.task(task).state {
                TaskState::Running(elsewhere) => elsewhere == cpu,
                _ => true,
            };
            if !free || !view.allowed(task, cpu) {
                continue;
            }
            scored += 1;
            let goodness = self.goodness(view, task, cpu, self.memory[cpu.0 as usize]);
            if goodness > best.1 {
                best = (Some(task), goodness);
            }
        }
        answer.steps(scored);
        best.0.map(|task| (task, best.1))
    }

    fn recalculate(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let mut tasks = 0_u64;
        for (counter, facts) in self.counters.iter_mut().zip(&view.tasks) {
            if facts.state != TaskState::Gone {
                *counter = decide::renewed(*counter, i64::from(facts.nice), 1);
                tasks += 1;
            }
        }
        answer.steps(tasks);
        let reason = Reason::new("all slices are used up: new ones for every task");
        answer.note(cpu, None, reason.with("tasks", tasks));
    }

    /// Finds a CPU for a runnable task that has none, and has that CPU reschedule.
    fn find_cpu(&self, view: &View, task: TaskId, answer: &mut Answer) {
        let last = view.task(task).last_cpu;
        if view.allowed(task, last) && view.runs_nothing(last) {
            return answer.resched(last, Some(task), "its last CPU is idle");
        }
        let mut idle: Option<CpuId> = None;
        let mut weakest: Option<(CpuId, i64)> = None;
        for cpu in view.layout.all().filter(|cpu| view.allowed(task, *cpu)) {
            answer.steps(1);
            if view.runs_nothing(cpu) {
                if self.ht_rule && core_is_idle(view, cpu) {
                    return answer.resched(cpu, Some(task), "an idle CPU of an idle core");
                }
                let longer = |best: CpuId| view.cpu(cpu).scheduled_ns < view.cpu(best).scheduled_ns;
                if idle.is_none_or(longer) {
                    idle = Some(cpu);
                }
            } else if idle.is_none() {
                let Some(current) = view.current(cpu) else { continue };
                let memory = Some(view.task(current).address_space);
                let gain = self.goodness(view, task, cpu, memory)
                    - self.goodness(view, current, cpu, memory);
                if gain > weakest.map_or(0, |(_, gain)| gain) {
                    weakest = Some((cpu, gain));
                }
            }
        }
        match (idle, weakest) {
            (Some(cpu), _) => {
                answer.resched(cpu, Some(task), "the CPU that is idle longest");
            }
            (None, Some((cpu, gain))) => {
                let reason = Reason::new("better than the running task").with("gain", gain);
                answer.resched(cpu, Some(task), reason);
            }
            (None, None) => {
                answer.note(last, Some(task), "better than no running task: waits");
            }
        }
    }

    fn tasks(&self) -> impl Iterator<Item = TaskId> {
        self.links.slots(self.runnable, End::Front).map(TaskId)
    }

    fn remove(&mut self, task: TaskId) {
        if self.links.listed(task.0) {
            self.links.remove(&mut self.runnable, task.0);
        }
    }

    /// A preempted task looks for another CPU, as after every switch.
    fn hand_over(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let left = self.left[cpu.0 as usize].take();
        let waits = |task: &TaskId| view.task(*task).state == TaskState::Runnable;
        if let Some(task) = left.filter(waits) {
            self.find_cpu(view, task, answer);
        }
    }
}

/// Whether the CPU's core has two CPUs online, and the other one is idle too.
fn core_is_idle(view: &View, cpu: CpuId) -> bool {
    let mut siblings = view.online_siblings(cpu);
    let first = siblings.next();
    first.is_some_and(|sibling| view.runs_nothing(sibling)) && siblings.next().is_none()
}

impl Policy for Linux2419 {
    fn ticks(&self) -> Ticks {
        Ticks { period_ns: 1_000_000_000 / HZ, while_idle: true }
    }

    fn fork(&mut self, view: &View, task: TaskId, answer: &mut Answer) {
        self.links.grow(view.tasks.len());
        self.counters.resize(view.tasks.len().max(self.counters.len()), 0);
        let facts = view.task(task);
        let Some(parent) = facts.parent else {
            self.counters[task.index()] = slice(facts.nice);
            return;
        };
        let (left, child) = decide::forked(self.counters[parent.index()]);
        self.counters[task.index()] = child;
        self.counters[parent.index()] = left;
        if let (0, TaskState::Running(cpu)) = (left, view.task(parent).state) {
            answer.resched(cpu, Some(parent), "its child has the rest of its slice");
        }
    }

    fn enqueue(&mut self, view: &View, task: TaskId, _: CpuId, wake: &Wake, answer: &mut Answer) {
        let end = if self.wake_tail { End::Back } else { End::Front };
        self.links.push(&mut self.runnable, end, task.0);
        if wake.sync && view.allowed(task, wake.here) {
            return answer.note(
                wake.here,
                Some(task),
                "its waker is about to wait: no CPU is looked for",
            );
        }
        self.find_cpu(view, task, answer);
    }

    fn pick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId> {
        let previous = view.current(cpu);
        if let Some(previous) = previous {
            let facts = view.task(previous);
            let spent = self.counters[previous.index()] == 0;
            if matches!(facts.class, Class::RoundRobin(_)) && spent {
                self.counters[previous.index()] = slice(facts.nice);
                self.links.remove(&mut self.runnable, previous.0);
                self.links.push(&mut self.runnable, End::Back, previous.0);
            }
        }
        let mut best = self.best(view, cpu, answer);
        if best.is_some_and(|(_, goodness)| goodness == 0) {
            self.recalculate(view, cpu, answer);
            best = self.best(view, cpu, answer);
        }
        let picked = best.map(|(task, _)| task);
        match best {
            Some((_, goodness)) => {
                let reason = Reason::new("the best goodness").with("goodness", goodness);
                answer.pick(cpu, picked, reason);
            }
            None => answer.pick(cpu, None, "no task waits that may run here"),
        }
        // One that gave its CPU away looks for no other.
        let away = |task: &TaskId| Some(*task) != picked && !view.task(*task).yielded;
        self.left[cpu.0 as usize] = previous.filter(away);
        picked
    }

    fn running(&mut self, view: &View, cpu: CpuId, task: TaskId, answer: &mut Answer) {
        self.memory[cpu.0 as usize] = Some(view.task(task).address_space);
        self.hand_over(view, cpu, answer);
    }

    fn stopping(&mut self, _: &View, _: CpuId, task: TaskId, stop: Stop, _: &mut Answer) {
        // A task stays in the list while it runs.
        if !stop.can_go_on() {
            self.remove(task);
        }
    }

    fn tick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        let Some(task) = view.current(cpu) else { return };
        let counter = &mut self.counters[task.index()];
        *counter = decide::ticked(*counter);
        if *counter == 0 && !matches!(view.task(task).class, Class::Fifo(_)) {
            answer.resched(cpu, Some(task), "its slice is used up");
        }
    }

    fn update_idle(&mut self, view: &View, cpu: CpuId, idle: bool, answer: &mut Answer) {
        if idle {
            self.hand_over(view, cpu, answer);
        }
    }

    fn exec(&mut self, view: &View, task: TaskId, _: &mut Answer) -> Option<CpuId> {
        // The task has new memory, which is then the memory its CPU last ran; 2.4 moves nothing here.
        let facts = view.task(task);
        if let TaskState::Running(cpu) = facts.state {
            self.memory[cpu.0 as usize] = Some(facts.address_space);
        }
        None
    }

    fn changed(&mut self, view: &View, task: TaskId, change: Change, answer: &mut Answer) {
        // 2.4 leaves this to the caller; without it a CPU newly allowed would idle beside the task.
        if change != Change::Nice && view.task(task).state == TaskState::Runnable {
            self.find_cpu(view, task, answer);
        }
    }

    fn exit(&mut self, view: &View, task: TaskId, _: &mut Answer) {
        self.remove(task);
        let left = std::mem::take(&mut self.counters[task.index()]);
        if let Some(parent) = view.task(task).parent {
            let counter = &mut self.counters[parent.index()];
            *counter = decide::given_back(*counter, left);
        }
    }

    fn offline(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) {
        self.left[cpu.0 as usize] = None;
        for task in self.tasks() {
            if view.task(task).state == TaskState::Runnable {
                self.find_cpu(view, task, answer);
            }
        }
    }

    fn queue_lock(&self, _: &View, cpu: CpuId) -> CpuId {
        if self.list_lock { CpuId(0) } else { cpu }
    }

    fn queued(&self, each: &mut dyn FnMut(TaskId)) {
        self.tasks().for_each(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::WakeKind;

    fn machine(layout: &str, settings: &str) -> (View, Linux2419) {
        let view = View::new(Layout::parse(layout).expect(layout), 10_000_000);
        let settings = Settings::parse(settings).expect(settings);
        let policy = Linux2419::new(&view.layout, &settings);
        (view, policy)
    }

    const WOKEN: Wake = Wake { kind: WakeKind::Woken, sync: false, here: CpuId(0) };

    /// A task that waits in the list, with a full slice; gives the CPU it asked for.
    fn waits(view: &mut View, policy: &mut Linux2419, nice: i8, last_cpu: u32) -> TaskId {
        let task = view.with_task(nice, last_cpu);
        let mut answer = Answer::new(true);
        policy.fork(view, task, &mut answer);
        policy.enqueue(view, task, CpuId(last_cpu), &WOKEN, &mut answer);
        task
    }

    fn woken(view: &View, policy: &mut Linux2419, task: TaskId) -> String {
        let mut answer = Answer::new(true);
        policy.enqueue(view, task, view.task(task).last_cpu, &WOKEN, &mut answer);
        policy.remove(task);
        let lines =
            answer.list().iter().map(|action| format!("{:?} {}", action.what, action.reason));
        lines.collect::<Vec<String>>().join("; ")
    }

    #[test]
    fn goodness_is_the_sum_of_its_parts() {
        let (mut view, mut policy) = machine("1x2", "linux-2.4.19");
        let task = waits(&mut view, &mut policy, 0, 0);
        let memory = Some(view.task(task).address_space);
        let of = |policy: &Linux2419, view: &View, cpu, memory| {
            policy.goodness(view, task, CpuId(cpu), memory)
        };
        assert_eq!(of(&policy, &view, 1, None), 6 + 20);
        assert_eq!(of(&policy, &view, 0, None), 6 + 15 + 20);
        assert_eq!(of(&policy, &view, 0, memory), 6 + 15 + 1 + 20);
        policy.counters[0] = 0;
        assert_eq!(of(&policy, &view, 0, memory), 0, "a spent slice leaves nothing");
        view.task_mut(task).class = Class::RoundRobin(7);
        assert_eq!(of(&policy, &view, 0, memory), 1007);
        view.task_mut(task).yielded = true;
        assert_eq!(of(&policy, &view, 0, memory), -1);
    }

    #[test]
    fn spent_slices_are_renewed_for_sleepers_too() {
        let (mut view, mut policy) = machine("1x1", "linux-2.4.19");
        let (runs, sleeps) =
            (waits(&mut view, &mut policy, 0, 0), waits(&mut view, &mut policy, 0, 0));
        policy.remove(sleeps);
        view.task_mut(sleeps).state = TaskState::Blocked;
        let mut counters = Vec::new();
        for _ in 0..6 {
            policy.counters[runs.index()] = 0;
            let mut answer = Answer::new(true);
            assert_eq!(policy.pick(&view, CpuId(0), &mut answer), Some(runs));
            counters.push(policy.counters[sleeps.index()]);
        }
        // 6, then half and 6 more each time: it nears twice a slice, and does not pass it.
        assert_eq!(counters, [9, 10, 11, 11, 11, 11]);
        assert_eq!(policy.counters[runs.index()], 6);
    }

    #[test]
    fn a_fork_halves_the_slice_and_an_exit_gives_back() {
        let (mut view, mut policy) = machine("1x1", "linux-2.4.19");
        let parent = waits(&mut view, &mut policy, 0, 0);
        view.run(parent, 0);
        policy.counters[0] = 5;
        let child = view.with_task(0, 0);
        view.task_mut(child).parent = Some(parent);
        let mut answer = Answer::new(true);
        policy.fork(&view, child, &mut answer);
        assert_eq!((policy.counters[0], policy.counters[1]), (2, 3));
        policy.exit(&view, child, &mut answer);
        assert_eq!((policy.counters[0], policy.counters[1]), (5, 0));
        policy.counters[0] = 1;
        policy.fork(&view, child, &mut answer);
        assert_eq!((policy.counters[0], policy.counters[1]), (0, 1));
        assert_eq!(answer.list().len(), 1, "a parent without a slice reschedules");
    }

    #[test]
    fn the_search_prefers_the_last_cpu_then_an_idle_core() {
        let (mut view, mut policy) = machine("2x2", "linux-2.4.19");
        let hog = waits(&mut view, &mut policy, 0, 0);
        view.run(hog, 0);
        let task = view.with_task(0, 1);
        policy.fork(&view, task, &mut Answer::new(true));
        // Its last CPU is idle, beside a busy sibling, while another core is idle: 2.4 stays.
        assert_eq!(woken(&view, &mut policy, task), "Resched(CpuId(1)) its last CPU is idle");
        view.task_mut(task).last_cpu = CpuId(0);
        view.cpus[3].scheduled_ns = 0;
        view.cpus[1].scheduled_ns = 5;
        view.cpus[2].scheduled_ns = 9;
        assert_eq!(
            woken(&view, &mut policy, task),
            "Resched(CpuId(2)) an idle CPU of an idle core"
        );
        policy.ht_rule = false;
        assert_eq!(
            woken(&view, &mut policy, task),
            "Resched(CpuId(3)) the CPU that is idle longest"
        );
    }

    #[test]
    fn without_an_idle_cpu_the_weakest_task_is_beaten() {
        let (mut view, mut policy) = machine("2x1", "linux-2.4.19");
        for cpu in 0..2 {
            let hog = waits(&mut view, &mut policy, 0, cpu);
            view.run(hog, cpu);
        }
        policy.counters[0] = 4;
        policy.counters[1] = 2;
        let task = view.with_task(-10, 0);
        view.task_mut(task).address_space = 1;
        policy.fork(&view, task, &mut Answer::new(true));
        // On CPU 0: 8+15+30 against 4+15+1+20; on CPU 1: 8+30 against 2+15+1+20, which is no gain.
        let asked = woken(&view, &mut policy, task);
        assert_eq!(asked, "Resched(CpuId(0)) better than the running task: gain 13");
        view.task_mut(task).nice = 0;
        policy.counters[2] = 2;
        let asked = woken(&view, &mut policy, task);
        assert_eq!(asked, "Note(CpuId(0)) better than no running task: waits");
    }

    #[test]
    fn a_synchronous_wake_up_looks_for_no_cpu() {
        let (mut view, mut policy) = machine("2x1", "linux-2.4.19");
        let task = view.with_task(0, 1);
        let mut answer = Answer::new(true);
        policy.fork(&view, task, &mut answer);
        policy.enqueue(&view, task, CpuId(1), &Wake { sync: true, ..WOKEN }, &mut answer);
        assert!(
            matches!(answer.list(), [only] if matches!(only.what, super::super::What::Note(_)))
        );
    }
}
