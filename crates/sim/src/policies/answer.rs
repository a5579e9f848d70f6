//! What a policy answers: wishes for the engine, and notes for the log of decisions, each with a reason.

use crate::kernel::{CpuId, TaskId};
use std::fmt;

/// What the engine shall do, or what the policy did in its own queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Have a CPU reschedule soon: at once if the question came from that CPU, else when the
    /// interrupt reaches it. A CPU with a pending reschedule is not interrupted again.
    Resched(CpuId),
    Stopper(CpuId),
    /// A note: a waiting task was moved from one CPU's queue to another's.
    Pull {
        from: CpuId,
        to: CpuId,
    },
    /// A note: the queue chosen for a task.
    Place(CpuId),
    /// A note: the task picked for a CPU, or that it goes idle.
    Pick(CpuId),
    /// A note of anything else that a reader of the log must know, about a CPU.
    Note(CpuId),
}

const NUMBERS_MAX: usize = 4;

/// Why: a short clause, and the numbers that decided. Small and without allocation: a run makes
/// millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    text: &'static str,
    numbers: [(&'static str, i64); NUMBERS_MAX],
}

impl Reason {
    /// A clause: `its last CPU is idle`.
    #[inline]
    pub const fn new(text: &'static str) -> Self {
        Self { text, numbers: [("", 0); NUMBERS_MAX] }
    }

    /// With a number that mattered, at most four of them; further ones are dropped.
    #[inline]
    pub fn with(mut self, name: &'static str, number: impl TryInto<i64>) -> Self {
        if let Some(free) = self.numbers.iter_mut().find(|(name, _)| name.is_empty()) {
            *free = (name, number.try_into().unwrap_or(i64::MAX));
        }
        self
    }

    pub fn text(&self) -> &'static str {
        self.text
    }

    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, i64)> + '_ {
        self.numbers.iter().copied().take_while(|(name, _)| !name.is_empty())
    }
}

impl From<&'static str> for Reason {
    #[inline]
    fn from(text: &'static str) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text)?;
        for (index, (name, number)) in self.numbers().enumerate() {
            write!(formatter, "{}{name} {number}", if index == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    pub what: What,
    pub task: Option<TaskId>,
    pub reason: Reason,
}

#[derive(Debug, Default)]
pub struct Answer {
    list: Vec<Action>,
    steps: u64,
    logged: bool,
}

impl Answer {
    /// An empty answer. Notes are kept only if there is a log to write them to.
    pub fn new(logged: bool) -> Self {
        Self { list: Vec::new(), steps: 0, logged }
    }

    #[inline]
    pub fn resched(&mut self, cpu: CpuId, task: Option<TaskId>, reason: impl Into<Reason>) {
        self.list.push(Action { what: What::Resched(cpu), task, reason: reason.into() });
    }

    pub fn resched_idle(&mut self, cpu: CpuId, task: TaskId) {
        self.resched(cpu, Some(task), "idle, and has work now");
    }

    /// Notes that a task that shared its core was given to an idle one, and has that run it.
    pub fn give(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        self.pull(task, from, to, "a core to itself");
        self.resched_idle(to, task);
    }

    /// Has the stopper of a CPU whose core runs several tasks make one of them move to an idle core.
    pub fn relieve(&mut self, cpu: CpuId, running: usize) {
        let reason = Reason::new("its core runs several tasks, and another core is idle");
        self.stopper(cpu, reason.with("running", running));
    }

    pub fn stopper(&mut self, cpu: CpuId, reason: impl Into<Reason>) {
        self.list.push(Action { what: What::Stopper(cpu), task: None, reason: reason.into() });
    }

    #[inline]
    pub fn pull(&mut self, task: TaskId, from: CpuId, to: CpuId, reason: impl Into<Reason>) {
        // Counted by the engine, so it is kept without a log, too.
        self.list.push(Action {
            what: What::Pull { from, to },
            task: Some(task),
            reason: reason.into(),
        });
    }

    #[inline]
    pub fn place(&mut self, task: TaskId, cpu: CpuId, reason: impl Into<Reason>) {
        self.note_of(What::Place(cpu), Some(task), reason);
    }

    #[inline]
    pub fn pick(&mut self, cpu: CpuId, task: Option<TaskId>, reason: impl Into<Reason>) {
        self.note_of(What::Pick(cpu), task, reason);
    }

    #[inline]
    pub fn note(&mut self, cpu: CpuId, task: Option<TaskId>, reason: impl Into<Reason>) {
        self.note_of(What::Note(cpu), task, reason);
    }

    #[inline]
    fn note_of(&mut self, what: What, task: Option<TaskId>, reason: impl Into<Reason>) {
        if self.logged {
            self.list.push(Action { what, task, reason: reason.into() });
        }
    }

    /// Charges steps of work that grows with the number of tasks or CPUs:
    /// a task scored, a queue looked at. The engine charges them to the CPU that asked
    /// ([`Costs::policy_step_ns`](crate::kernel::costs::Costs::policy_step_ns)).
    #[inline]
    pub fn steps(&mut self, steps: u64) {
        self.steps += steps;
    }

    pub fn list(&self) -> &[Action] {
        &self.list
    }

    pub(crate) fn stop_notes(&mut self) {
        self.logged = false;
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[inline]
    pub(crate) fn take_steps(&mut self) -> u64 {
        std::mem::take(&mut self.steps)
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.list.clear();
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub at_ns: u64,
    /// The CPU whose code asked the policy.
    pub asked_on: CpuId,
    pub what: What,
    /// The task it is about: its serial number and its program.
    pub task: Option<(u64, u32)>,
    pub reason: Reason,
}

impl Decision {
    /// The verb of the line, and the CPU it is about.
    pub fn verb(&self) -> (&'static str, CpuId) {
        match self.what {
            What::Resched(cpu) => ("resched", cpu),
            What::Stopper(cpu) => ("stopper", cpu),
            What::Pull { to, .. } => ("pull", to),
            What::Place(cpu) => ("place", cpu),
            What::Pick(cpu) => ("pick", cpu),
            What::Note(cpu) => ("note", cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_says_which_numbers_decided() {
        let reason = Reason::new("better priority").with("own", 115).with("current", 120);
        assert_eq!(reason.to_string(), "better priority: own 115, current 120");
        let crowded = (0..9).fold(Reason::new("many"), |reason, n| reason.with("n", n));
        assert_eq!(crowded.to_string(), "many: n 0, n 1, n 2, n 3");
    }
}
