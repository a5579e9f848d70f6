//! Finds deadlocks, and says which task waits for what.

use super::Engine;
use crate::kernel::{Cause, Failure, TaskId, TaskState, Waiting};

const LINES: usize = 40;

impl Engine<'_> {
    /// Whether nothing is under way that could wake a task.
    pub(super) fn is_stuck(&self) -> bool {
        self.alive.awaited > 0
            && self.alive.timers == 0
            && self.next_start == self.starts.len()
            && !self.storage.is_busy()
    }

    #[cold]
    pub(super) fn deadlock(&self) -> Box<Failure> {
        let waits = |(index, _)| TaskId(index as u32);
        let tasks = self.view.tasks.iter().enumerate();
        let blocked: Vec<TaskId> =
            tasks.filter(|(_, facts)| facts.state == TaskState::Blocked).map(waits).collect();
        let what = format!("{} tasks wait, and nothing is under way", blocked.len());
        let mut failure = self.fail(Cause::Deadlock, what);
        failure.lines = blocked.iter().take(LINES).map(|task| self.waits_for(*task)).collect();
        if blocked.len() > LINES {
            failure.lines.push(format!("and {} more", blocked.len() - LINES));
        }
        failure
    }

    /// The failure, if a task that would wait for a lock would wait for itself.
    pub(super) fn circle(&self, task: TaskId, lock: usize) -> Option<Box<Failure>> {
        let mut lines =
            vec![format!("{} waits for lock {lock}{}", self.name_of(task), self.held_by(lock))];
        let mut next = self.locks[lock].owner();
        // No chain is longer than there are locks, for each has one owner.
        for _ in 0..=self.locks.len() {
            let owner = next?;
            if owner == task {
                let what = format!("{} waits for itself", self.name_of(task));
                let mut failure = self.fail(Cause::Deadlock, what);
                failure.lines = lines;
                return Some(failure);
            }
            let Waiting::Lock(wanted) = self.tasks[owner.index()].waiting else { return None };
            if lines.len() < LINES {
                lines.push(self.waits_for(owner));
            }
            next = self.locks[wanted as usize].owner();
        }
        None
    }

    fn held_by(&self, lock: usize) -> String {
        let owner = self.locks[lock].owner();
        owner.map_or_else(String::new, |owner| format!(", held by {}", self.name_of(owner)))
    }

    fn waits_for(&self, task: TaskId) -> String {
        let own = &self.tasks[task.index()];
        let what = match own.waiting {
            Waiting::No => "nothing".to_owned(),
            Waiting::Timer => "a time".to_owned(),
            Waiting::Bytes(socket) => {
                let held = self.sockets[socket as usize].held_bytes();
                format!("{} bytes of socket {socket}, which holds {held}", own.amount)
            }
            Waiting::Room(socket) => {
                let size = self.sockets[socket as usize].spec.buffer_bytes;
                format!("room for {} bytes in socket {socket} of {size}", own.amount)
            }
            Waiting::Semaphore(semaphore) => {
                let value = self.semaphores[semaphore as usize].value();
                format!("semaphore {semaphore}, which has {value}")
            }
            Waiting::Lock(lock) => format!("lock {lock}{}", self.held_by(lock as usize)),
            Waiting::Barrier(barrier) => {
                let (here, of) = self.barriers[barrier as usize].state();
                format!("barrier {barrier}, where {here} of {of} are")
            }
            Waiting::Children => format!("its {} children", own.family.alive),
            Waiting::Disk => "the disk".to_owned(),
            Waiting::Written => "pages on their way to the disk".to_owned(),
            Waiting::Throttled => "room for written pages".to_owned(),
        };
        let server = if own.server { " (a server)" } else { "" };
        format!("{}{server}, at its step {}, waits for {what}", self.name_of(task), own.step)
    }
}
