//! What a policy sees of the machine. It may read all of it and change none: a policy returns
//! [`Answer`](crate::policies::Answer), and only the engine changes the world.

use super::co_run::{CoRun, Occupant, ProfileId};
use super::{CpuId, CpuMask, Layout};

/// A task, by its slot. Slots are used again after a task is gone; [`TaskView::serial`] never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl TaskId {
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone)]
pub struct View {
    /// The time. The machine starts at 0.
    pub now_ns: u64,
    /// Time between two ticks of a CPU: 10 ms at HZ 100, 1 ms at HZ 1000.
    pub tick_ns: u64,
    /// What a switch from one task to another takes.
    pub switch_ns: u64,
    pub layout: Layout,
    pub cpus: Vec<CpuView>,
    /// Every task by slot, those that are gone included.
    pub tasks: Vec<TaskView>,
    pub online: CpuMask,
    /// CPUs that are online, idle, and not yet told to reschedule. This is what sched_ext keeps as
    /// its mask of idle CPUs.
    pub idle: CpuMask,
    /// Those of `idle` whose online siblings are all in `idle` too: all CPUs of idle cores.
    pub idle_cores: CpuMask,
    /// The CPU masks that tasks refer to. The first is all CPUs.
    pub masks: Vec<CpuMask>,
    /// By core: how many of its CPUs run tasks.
    pub(super) running: Vec<u8>,
    /// Cores of which two or more CPUs run tasks.
    pub(super) shared_cores: u32,
    /// How fast the machine's work is, for a policy that is told to know it; no kernel does.
    pub oracle: Option<CoRun>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuView {
    pub online: bool,
    pub current: Current,
    /// Whether it has been told to reschedule and has not yet done so.
    pub resched: bool,
    pub scheduled_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Current {
    /// Nothing; or it is about to choose, after the task it ran has blocked.
    Idle,
    Task(TaskId),
    /// The stopper: the kernel's own thread of highest priority, which works for the policy
    /// (Linux: the migration thread).
    Stopper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Not yet, or no longer there.
    Gone,
    Runnable,
    Running(CpuId),
    Blocked,
}

/// The scheduling class of a task (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Class {
    /// SCHED_OTHER.
    #[default]
    Normal,
    /// SCHED_IDLE, or what else has next to no share: runs where nobody else would.
    Idle,
    /// SCHED_RR, with a priority of 1 to 99.
    RoundRobin(u8),
    /// SCHED_FIFO, with a priority of 1 to 99.
    Fifo(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskView {
    /// Number of the task in order of creation, from 1.
    pub serial: u64,
    pub state: TaskState,
    pub class: Class,
    /// -20 to 19; lower is more.
    pub nice: i8,
    /// `cpu.weight` of the group that it is alone in; 100 is the usual.
    pub group_weight: u32,
    /// Where it may run: a number of [`View::masks`].
    pub mask: u32,
    /// The CPU it runs or last ran on. For a new task: its parent's.
    pub last_cpu: CpuId,
    /// Tasks of equal number share memory, as threads do.
    pub address_space: u32,
    pub program: u32,
    pub parent: Option<TaskId>,
    /// Whether it is giving its CPU away (sched_yield): true until that CPU has chosen.
    pub yielded: bool,
    /// CPU time up to its last leaving of a CPU; see [`View::ran_ns`].
    pub ran_before_ns: u64,
    /// Uops it has done, times [`UOP_PER_NS`](super::co_run::UOP_PER_NS), while it or a sibling last changed.
    pub uops: u64,
    /// The kind of work it was last seen to do, for [`View::oracle`].
    pub(crate) profile: ProfileId,
    pub born_ns: u64,
    pub woken_ns: u64,
    pub started_ns: u64,
    /// When it last left a CPU; its birth, if it has not run.
    pub stopped_ns: u64,
}

impl View {
    #[inline]
    pub fn task(&self, task: TaskId) -> &TaskView {
        &self.tasks[task.index()]
    }

    #[inline]
    pub fn cpu(&self, cpu: CpuId) -> &CpuView {
        &self.cpus[cpu.0 as usize]
    }

    /// Where a task may run, online or not.
    #[inline]
    pub fn mask(&self, task: TaskId) -> &CpuMask {
        &self.masks[self.task(task).mask as usize]
    }

    #[inline]
    pub fn allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        self.online.contains(cpu) && self.mask(task).contains(cpu)
    }

    #[inline]
    pub fn current(&self, cpu: CpuId) -> Option<TaskId> {
        match self.cpu(cpu).current {
            Current::Task(task) => Some(task),
            Current::Idle | Current::Stopper => None,
        }
    }

    /// Whether a CPU is online and runs nothing, told to reschedule or not.
    #[inline]
    pub fn runs_nothing(&self, cpu: CpuId) -> bool {
        let cpu = self.cpu(cpu);
        cpu.online && cpu.current == Current::Idle
    }

    #[inline]
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        self.idle.contains(cpu)
    }

    /// Whether all online CPUs of a CPU's core are in [`View::idle`], it itself among them.
    #[inline]
    pub fn is_core_idle(&self, cpu: CpuId) -> bool {
        self.idle_cores.contains(cpu)
    }

    #[inline]
    pub fn is_idle_for(&self, task: TaskId, cpu: CpuId) -> bool {
        self.idle.contains(cpu) && self.mask(task).contains(cpu)
    }

    pub fn idle_core_for(&self, task: TaskId) -> Option<CpuId> {
        self.mask(task).first_common(&self.idle_cores)
    }

    #[inline]
    pub fn running_on_core(&self, cpu: CpuId) -> usize {
        usize::from(self.running[self.layout.core(cpu).0 as usize])
    }

    #[inline]
    pub fn is_any_core_shared(&self) -> bool {
        self.shared_cores > 0
    }

    /// The online siblings of a CPU, without itself.
    pub fn online_siblings(&self, cpu: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        let all = self.layout.siblings(cpu).iter().copied();
        all.filter(move |sibling| *sibling != cpu && self.online.contains(*sibling))
    }

    /// CPU time of a task until now, costs of the kernel included.
    #[inline]
    pub fn ran_ns(&self, task: TaskId) -> u64 {
        let task = self.task(task);
        match task.state {
            TaskState::Running(_) => task.ran_before_ns + (self.now_ns - task.started_ns),
            _ => task.ran_before_ns,
        }
    }

    /// What two tasks do side by side on a core, of what each does alone and times ONE, if the policy may know.
    pub fn oracle_of(&self, one: TaskId, other: TaskId) -> Option<u64> {
        let table = self.oracle.as_ref()?;
        let [one, other] = [one, other].map(|task| self.task(task).profile);
        let beside = |work, sibling| u64::from(table.beside(work, Occupant::Works(sibling)));
        Some(beside(one, other) + beside(other, one))
    }

    /// Ticks since the start: the kernel's jiffies.
    pub fn ticks(&self) -> u64 {
        self.now_ns / self.tick_ns
    }

    /// The CPU for a task that may run nowhere near: its last one if allowed, else the first
    /// allowed one; its last one if there is none, which cannot be while the engine runs.
    pub fn fallback(&self, task: TaskId) -> CpuId {
        let last = self.task(task).last_cpu;
        if self.allowed(task, last) {
            return last;
        }
        self.mask(task).first_common(&self.online).unwrap_or(last)
    }
}

/// How the engine keeps the view true: every change of a CPU's or task's state goes through here, so
/// that the masks of idle CPUs always agree.
impl View {
    pub(crate) fn new(layout: Layout, tick_ns: u64) -> Self {
        let cpu = CpuView { online: true, current: Current::Idle, resched: false, scheduled_ns: 0 };
        let all = CpuMask::all(layout.cpus());
        Self {
            now_ns: 0,
            tick_ns,
            switch_ns: 0,
            cpus: vec![cpu; layout.cpus()],
            tasks: Vec::new(),
            online: all.clone(),
            idle: all.clone(),
            idle_cores: all.clone(),
            masks: vec![all],
            running: vec![0; layout.cores().len()],
            shared_cores: 0,
            oracle: None,
            layout,
        }
    }

    pub(crate) fn new_task(&self, serial: u64, last_cpu: CpuId) -> TaskView {
        TaskView {
            serial,
            state: TaskState::Blocked,
            class: Class::Normal,
            nice: 0,
            group_weight: 100,
            mask: 0,
            last_cpu,
            address_space: 0,
            program: 0,
            parent: None,
            yielded: false,
            ran_before_ns: 0,
            uops: 0,
            profile: ProfileId::KERNEL,
            born_ns: self.now_ns,
            woken_ns: self.now_ns,
            started_ns: self.now_ns,
            stopped_ns: self.now_ns,
        }
    }

    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut TaskView {
        &mut self.tasks[task.index()]
    }

    #[inline]
    pub(crate) fn set_current(&mut self, cpu: CpuId, current: Current) {
        let before = std::mem::replace(&mut self.cpus[cpu.0 as usize].current, current);
        let is_task = |current| matches!(current, Current::Task(_));
        if is_task(before) != is_task(current) {
            let running = &mut self.running[self.layout.core(cpu).0 as usize];
            let was_shared = *running > 1;
            *running = if is_task(current) { *running + 1 } else { *running - 1 };
            self.shared_cores = self.shared_cores + u32::from(*running > 1) - u32::from(was_shared);
        }
        self.update_idle_masks(cpu);
    }

    #[inline]
    pub(crate) fn set_resched(&mut self, cpu: CpuId, resched: bool) {
        let facts = &mut self.cpus[cpu.0 as usize];
        if facts.resched != resched {
            facts.resched = resched;
            self.update_idle_masks(cpu);
        }
    }

    pub(crate) fn set_online(&mut self, cpu: CpuId, online: bool) {
        self.cpus[cpu.0 as usize].online = online;
        self.online.set(cpu, online);
        let idle = self.counts_as_idle(cpu);
        self.idle.set(cpu, idle);
        self.update_idle_core(cpu);
    }

    #[inline]
    fn counts_as_idle(&self, cpu: CpuId) -> bool {
        let facts = &self.cpus[cpu.0 as usize];
        facts.online && facts.current == Current::Idle && !facts.resched
    }

    #[inline]
    fn update_idle_masks(&mut self, cpu: CpuId) {
        let idle = self.counts_as_idle(cpu);
        if self.idle.contains(cpu) != idle {
            self.idle.set(cpu, idle);
            self.update_idle_core(cpu);
        }
    }

    #[inline]
    fn update_idle_core(&mut self, cpu: CpuId) {
        let siblings = self.layout.siblings(cpu);
        let whole =
            siblings.iter().all(|cpu| self.idle.contains(*cpu) || !self.online.contains(*cpu));
        for sibling in siblings {
            self.idle_cores.set(*sibling, whole && self.online.contains(*sibling));
        }
    }

    pub(crate) fn intern_mask(&mut self, mask: CpuMask) -> u32 {
        let known = self.masks.iter().position(|known| *known == mask);
        known.unwrap_or_else(|| {
            self.masks.push(mask);
            self.masks.len() - 1
        }) as u32
    }
}

#[cfg(test)]
impl View {
    pub(crate) fn with_task(&mut self, nice: i8, last_cpu: u32) -> TaskId {
        let serial = self.tasks.len() as u64 + 1;
        let mut task = self.new_task(serial, CpuId(last_cpu));
        task.nice = nice;
        task.state = TaskState::Runnable;
        self.tasks.push(task);
        TaskId(self.tasks.len() as u32 - 1)
    }

    pub(crate) fn run(&mut self, task: TaskId, cpu: u32) {
        let now_ns = self.now_ns;
        let facts = self.task_mut(task);
        facts.state = TaskState::Running(CpuId(cpu));
        facts.last_cpu = CpuId(cpu);
        facts.started_ns = now_ns;
        self.set_current(CpuId(cpu), Current::Task(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cores_follow_their_cpus() {
        let mut view = View::new(Layout::parse("2x2").expect("a machine"), 1_000_000);
        let idle = |view: &View| -> (Vec<u32>, Vec<u32>) {
            let list = |mask: &CpuMask| mask.iter().map(|cpu| cpu.0).collect();
            (list(&view.idle), list(&view.idle_cores))
        };
        let task = view.with_task(0, 0);
        view.run(task, 1);
        assert_eq!(idle(&view), (vec![0, 2, 3], vec![2, 3]));
        let other = view.with_task(0, 0);
        view.run(other, 0);
        assert_eq!((view.running_on_core(CpuId(1)), view.is_any_core_shared()), (2, true));
        view.set_current(CpuId(0), Current::Idle);
        assert_eq!((view.running_on_core(CpuId(0)), view.is_any_core_shared()), (1, false));
        view.set_resched(CpuId(2), true);
        assert_eq!(idle(&view), (vec![0, 3], vec![]));
        view.set_online(CpuId(1), false);
        assert_eq!(idle(&view), (vec![0, 3], vec![0]), "its only online CPU is idle");
        view.set_online(CpuId(1), true);
        assert_eq!(idle(&view), (vec![0, 3], vec![]));
        view.set_current(CpuId(1), Current::Idle);
        view.set_resched(CpuId(2), false);
        assert_eq!(idle(&view), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
    }
}
