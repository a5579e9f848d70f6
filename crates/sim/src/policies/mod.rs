//! Scheduling policies: one file each, listed once in [`table`].
//!
//! A policy is asked by the engine and answers; it changes nothing but its own queues. Its questions
//! mirror the kernel's `sched_ext_ops` (include/linux/sched/ext.h), with those added that older
//! kernels need. What it wants done to the machine it returns as [`Answer`], each with a reason.
//!
//! A policy keeps the queues of runnable tasks itself, in whatever form the kernel it models did. The
//! engine keeps it honest: a task that is picked must be runnable, allowed there and running nowhere
//! else, and [`Policy::queued`] must name every waiting task exactly once.
//!
//! The order of questions:
//! * a new task: `fork`, `select_cpu`, `enqueue`;
//! * a wake-up: `select_cpu`, `enqueue`;
//! * a CPU that reschedules: `stopping` for the task it ran, if any; `pick`; then `running` for the
//!   task picked, even if it is the one that ran, or `update_idle` if there is none and the CPU was
//!   not idle before;
//! * a task that ends: `stopping` with [`Stop::Exited`], `exit`, then the CPU's `pick`.

mod answer;
mod core_queue;
mod fair;
mod linux_2_4_19;
mod linux_2_5;
mod one_per_core;
pub mod table;
mod weight;

pub use answer::{Action, Answer, Decision, Reason, What};
pub use table::{POLICIES, Parameter, PolicyEntry, Promise, Settings, policy};

use crate::kernel::{CpuId, TaskId, View};

/// A scheduling policy. A question without default must be answered; the others may be ignored.
///
/// `view` is the machine at the moment of the question. In [`Policy::stopping`] and [`Policy::pick`]
/// the task that was running and can go on is still `Running` there.
pub trait Policy {
    fn ticks(&self) -> Ticks;

    /// A task was made; it is not runnable yet. Its parent is in the view. Kernels divide what is
    /// left of the parent's time slice here.
    fn fork(&mut self, _: &View, _: TaskId, _: &mut Answer) {}

    /// Which CPU a task that becomes runnable goes to. The engine passes the answer to `enqueue`; an
    /// answer that is not allowed is an error. Default: where it last ran.
    fn select_cpu(&mut self, view: &View, task: TaskId, _: &Wake, _: &mut Answer) -> CpuId {
        view.fallback(task)
    }

    /// A task became runnable, and belongs in a queue now. The answer may have CPUs reschedule.
    fn enqueue(&mut self, view: &View, task: TaskId, cpu: CpuId, wake: &Wake, answer: &mut Answer);

    /// The task that a CPU runs next; `None`: it goes idle. If the task it ran is still runnable, it is the
    /// CPU's current one; `stopping` came before. A task picked is the CPU's until `stopping`.
    fn pick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer) -> Option<TaskId>;

    /// A task begins to run on a CPU, or goes on after a `pick` that chose it again.
    fn running(&mut self, _: &View, _: CpuId, _: TaskId, _: &mut Answer) {}

    /// The task of a CPU stops, or may stop. If it can go on ([`Stop::can_go_on`]) it is runnable,
    /// and belongs in a queue now unless the policy keeps running tasks in their queues.
    fn stopping(&mut self, view: &View, cpu: CpuId, task: TaskId, stop: Stop, answer: &mut Answer);

    /// The clock of a CPU ticked. Asked of idle CPUs too if [`Ticks::while_idle`].
    fn tick(&mut self, view: &View, cpu: CpuId, answer: &mut Answer);

    /// A CPU went idle (after `pick` gave nothing), or stopped being idle (before `running`).
    fn update_idle(&mut self, _: &View, _: CpuId, _idle: bool, _: &mut Answer) {}

    /// The stopper that was asked for with [`What::Stopper`] runs on this CPU. The task that ran
    /// there has been through `stopping` and waits; `pick` follows.
    fn stopper(&mut self, _: &View, _: CpuId, _: &mut Answer) {}

    /// A running task is about to start another program, when it has the least to lose by moving
    /// (`sched_exec`). An answer other than its CPU moves it: `stopping`, then `enqueue` there.
    fn exec(&mut self, _: &View, _: TaskId, _: &mut Answer) -> Option<CpuId> {
        None
    }

    /// Mask, nice value or class of a task changed; the view has the new one. A task that waits where
    /// it may no longer run must be moved to another queue. The engine itself has a CPU reschedule
    /// whose running task may no longer run there; that task is `enqueue`d anew with
    /// [`WakeKind::Moved`].
    fn changed(&mut self, view: &View, task: TaskId, change: Change, answer: &mut Answer);

    /// A task ended. Whatever is kept for its slot must be forgotten.
    fn exit(&mut self, _: &View, _: TaskId, _: &mut Answer) {}

    /// A CPU came online; it is idle, and reschedules next.
    fn online(&mut self, _: &View, _: CpuId, _: &mut Answer) {}

    /// A CPU went offline. The task it ran has been through `stopping` and waits. Every task that
    /// waits where it can no longer run must be moved; masks without any online CPU have been
    /// widened to all before this question. The view does not change between two answers: one that wakes a
    /// CPU for each such task must not choose the same idle CPU twice.
    fn offline(&mut self, view: &View, cpu: CpuId, answer: &mut Answer);

    /// The CPU by whose number the lock of this CPU's queue is known: CPUs that share a queue name the
    /// same one, and wait for each other while they go through it. Default: a queue for each CPU.
    fn queue_lock(&self, _: &View, cpu: CpuId) -> CpuId {
        cpu
    }

    /// Whether it is to be told how fast work is beside other work ([`View::oracle`]).
    fn knows_speeds(&self) -> bool {
        false
    }

    /// Every task in a queue, in any order. For checks; never asked for in a question above. Running
    /// tasks may be named if they are kept.
    fn queued(&self, each: &mut dyn FnMut(TaskId));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// Time between two ticks of a CPU, 1 µs to 1 s.
    pub period_ns: u64,
    /// Whether idle CPUs tick too (kernels before dynamic ticks, 2.6.21).
    pub while_idle: bool,
}

impl Ticks {
    /// 250 a second, Debian's choice, and none while idle.
    const OF_TODAY: Self = Self { period_ns: 1_000_000_000 / 250, while_idle: false };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    pub kind: WakeKind,
    /// Whether the waker says that it is about to wait itself (a "sync" wake-up).
    pub sync: bool,
    /// The CPU on which the code of the wake-up runs: the waker's, or that of the interrupt.
    pub here: CpuId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WakeKind {
    New,
    Woken,
    /// It ran where it may no longer run: its mask changed, or it moves at exec. `select_cpu` is not
    /// asked if the policy has just chosen the CPU itself.
    Moved,
}

/// Why the task of a CPU stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    Rescheduled,
    /// It gave the CPU away (sched_yield).
    Yielded,
    Stopper,
    Offline,
    /// It may no longer run here, and will be enqueued anew; it must not be queued now.
    Moved,
    Blocked,
    Exited,
}

impl Stop {
    /// Whether it is still runnable and belongs in a queue.
    pub fn can_go_on(self) -> bool {
        matches!(self, Self::Rescheduled | Self::Yielded | Self::Stopper | Self::Offline)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    Mask,
    Nice,
    Class,
}

/// Keeps what a policy knows of a new task, by the task's slot.
fn keep<T: Clone>(slots: &mut Vec<T>, view: &View, task: TaskId, own: T) {
    if slots.len() < view.tasks.len() {
        slots.resize(view.tasks.len(), own.clone());
    }
    slots[task.index()] = own;
}
