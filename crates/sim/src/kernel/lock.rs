//! Locks that sleep: an owner, and who waits. A waiter that is woken tries again, and may find that
//! another was faster, as with futexes.

use super::view::TaskId;
use std::collections::VecDeque;

/// The lock.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    owner: Option<TaskId>,
    waiters: VecDeque<TaskId>,
}

impl Lock {
    /// Takes it if it is free.
    pub(crate) fn take(&mut self, task: TaskId) -> bool {
        let free = self.owner.is_none();
        if free {
            self.owner = Some(task);
        }
        free
    }

    pub(crate) fn wait(&mut self, task: TaskId) {
        self.waiters.push_back(task);
    }

    /// Gives it back: who may try now. An error if it is not the task's.
    pub(crate) fn give_back(&mut self, task: TaskId) -> Result<Option<TaskId>, ()> {
        if self.owner != Some(task) {
            return Err(());
        }
        self.owner = None;
        Ok(self.waiters.pop_front())
    }

    pub(crate) fn owner(&self) -> Option<TaskId> {
        self.owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_gives_it_back() {
        let mut lock = Lock::default();
        assert!(lock.take(TaskId(1)) && !lock.take(TaskId(2)));
        lock.wait(TaskId(2));
        assert_eq!(lock.give_back(TaskId(2)), Err(()));
        assert_eq!(lock.give_back(TaskId(1)), Ok(Some(TaskId(2))));
        assert!(lock.take(TaskId(3)), "it is free until the waiter has tried");
        assert_eq!(lock.owner(), Some(TaskId(3)));
    }
}
