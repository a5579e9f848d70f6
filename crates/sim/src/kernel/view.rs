//! What a policy sees of the machine. It may read all of it and change none: a policy returns
//! [`Answer`](crate::policies::Answer), and only the engine changes the world.

use super::{CpuId, CpuMask, Layout};

/// A task, by its slot. Slots are used again after a task is gone; [`TaskView::serial`] never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The slot as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The machine as it is at one moment.
#[derive(Debug, Clone)]
pub struct View {
    /// The time. The machine starts at 0.
    pub now_ns: u64,
    /// Time between two ticks of a CPU: 10 ms at HZ 100, 1 ms at HZ 1000.
    pub tick_ns: u64,
    /// Where the CPUs are.
    pub layout: Layout,
    /// Every CPU by number.
    pub cpus: Vec<CpuView>,
    /// Every task by slot, those that are gone included.
    pub tasks: Vec<TaskView>,
    /// Online CPUs.
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
}

/// One CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuView {
    /// Whether tasks may run here.
    pub online: bool,
    /// What it runs.
    pub current: Current,
    /// Whether it has been told to reschedule and has not yet done so.
    pub resched: bool,
    /// When it last chose what to run.
    pub scheduled_ns: u64,
}

/// What a CPU runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Current {
    /// Nothing; or it is about to choose, after the task it ran has blocked.
    Idle,
    /// A task.
    Task(TaskId),
    /// The stopper: the kernel's own thread of highest priority, which works for the policy
    /// (Linux: the migration thread).
    Stopper,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Not yet, or no longer there.
    Gone,
    /// Wants to run, and waits for a CPU.
    Runnable,
    /// Runs on this CPU.
    Running(CpuId),
    /// Waits for something other than a CPU.
    Blocked,
}

/// The scheduling class of a task (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Class {
    /// SCHED_OTHER.
    #[default]
    Normal,
    /// SCHED_RR, with a priority of 1 to 99.
    RoundRobin(u8),
    /// SCHED_FIFO, with a priority of 1 to 99.
    Fifo(u8),
}

/// One task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskView {
    /// Number of the task in order of creation, from 1.
    pub serial: u64,
    /// Its state.
    pub state: TaskState,
    /// Its scheduling class.
    pub class: Class,
    /// -20 to 19; lower is more.
    pub nice: i8,
    /// Where it may run: a number of [`View::masks`].
    pub mask: u32,
    /// The CPU it runs or last ran on. For a new task: its parent's.
    pub last_cpu: CpuId,
    /// Tasks of equal number share memory, as threads do.
    pub address_space: u32,
    /// The program it runs, by number, for reports.
    pub program: u32,
    /// The task that made it, if that still exists.
    pub parent: Option<TaskId>,
    /// Whether it is giving its CPU away (sched_yield): true until that CPU has chosen.
    pub yielded: bool,
    /// CPU time up to its last leaving of a CPU; see [`View::ran_ns`].
    pub ran_before_ns: u64,
    /// When it was made.
    pub born_ns: u64,
    /// When it last became runnable by a wake-up or its birth.
    pub woken_ns: u64,
    /// When it last got a CPU.
    pub started_ns: u64,
    /// When it last left a CPU; its birth, if it has not run.
    pub stopped_ns: u64,
}

impl View {
    /// The task of a slot.
    #[inline]
    pub fn task(&self, task: TaskId) -> &TaskView {
        &self.tasks[task.index()]
    }

    /// The CPU of a number.
    #[inline]
    pub fn cpu(&self, cpu: CpuId) -> &CpuView {
        &self.cpus[cpu.0 as usize]
    }

    /// Where a task may run, online or not.
    #[inline]
    pub fn mask(&self, task: TaskId) -> &CpuMask {
        &self.masks[self.task(task).mask as usize]
    }

    /// Whether a task may run on a CPU: its mask allows it, and the CPU is online.
    #[inline]
    pub fn allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        self.online.contains(cpu) && self.mask(task).contains(cpu)
    }

    /// The task that a CPU runs.
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

    /// Whether a CPU is in [`View::idle`].
    #[inline]
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        self.idle.contains(cpu)
    }

    /// Whether all online CPUs of a CPU's core are in [`View::idle`], it itself among them.
    #[inline]
    pub fn is_core_idle(&self, cpu: CpuId) -> bool {
        self.idle_cores.contains(cpu)
    }

    /// Whether a CPU is in [`View::idle`] and a task may run there.
    #[inline]
    pub fn is_idle_for(&self, task: TaskId, cpu: CpuId) -> bool {
        self.idle.contains(cpu) && self.mask(task).contains(cpu)
    }

    /// The first CPU of [`View::idle_cores`] where a task may run.
    pub fn idle_core_for(&self, task: TaskId) -> Option<CpuId> {
        self.mask(task).first_common(&self.idle_cores)
    }

    /// How many CPUs of a CPU's core run tasks.
    #[inline]
    pub fn running_on_core(&self, cpu: CpuId) -> usize {
        usize::from(self.running[self.layout.core(cpu).0 as usize])
    }

    /// Whether two or more CPUs of any core run tasks.
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
