//! What tasks wait for each other at: semaphores, locks, barriers.

use super::TaskId;
use std::collections::VecDeque;

/// A SysV semaphore: a number, and the tasks that wait for it to grow.
#[derive(Debug)]
pub(crate) struct Semaphore {
    pub(crate) value: u64,
    waiters: VecDeque<(TaskId, u32)>,
}

impl Semaphore {
    pub(crate) fn new(value: u32) -> Self {
        Self { value: u64::from(value), waiters: VecDeque::new() }
    }

    /// Takes `count`, or waits. A task that comes while there is enough takes it, waiters or not.
    pub(crate) fn down(&mut self, task: TaskId, count: u32) -> bool {
        let enough = self.value >= u64::from(count);
        if enough {
            self.value -= u64::from(count);
        } else {
            self.waiters.push_back((task, count));
        }
        enough
    }

    pub(crate) fn up(&mut self, count: u32) {
        self.value = self.value.saturating_add(u64::from(count));
    }

    /// The first waiter that has enough now; it is given its share (as Linux's `update_queue`, which
    /// passes over those that need more).
    pub(crate) fn next(&mut self) -> Option<TaskId> {
        let enough = |(_, count): &(TaskId, u32)| self.value >= u64::from(*count);
        let (task, count) =
            self.waiters.iter().position(enough).and_then(|at| self.waiters.remove(at))?;
        self.value -= u64::from(count);
        Some(task)
    }
}

/// A lock that sleeps: its owner, and the tasks that wait. A waiter that is woken tries again, and may
/// find that another was faster, as with futexes.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    pub(crate) owner: Option<TaskId>,
    pub(crate) waiters: VecDeque<TaskId>,
}

impl Lock {
    pub(crate) fn take(&mut self, task: TaskId) -> bool {
        let free = self.owner.is_none();
        if free {
            self.owner = Some(task);
        }
        free
    }

    /// Releases the lock: the waiter that may try now. An error if `task` does not hold it.
    pub(crate) fn give_back(&mut self, task: TaskId) -> Result<Option<TaskId>, ()> {
        if self.owner != Some(task) {
            return Err(());
        }
        self.owner = None;
        Ok(self.waiters.pop_front())
    }
}

#[derive(Debug)]
pub(crate) struct Barrier {
    /// How many must come.
    pub(crate) tasks: usize,
    pub(crate) waiters: Vec<TaskId>,
}

impl Barrier {
    pub(crate) fn new(tasks: u32) -> Self {
        Self { tasks: tasks as usize, waiters: Vec::new() }
    }

    /// Comes to the barrier. If that makes it full, returns the tasks that wait; else waits.
    pub(crate) fn come(&mut self, task: TaskId) -> Option<Vec<TaskId>> {
        if self.waiters.len() + 1 >= self.tasks {
            return Some(std::mem::take(&mut self.waiters));
        }
        self.waiters.push(task);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_need_less_pass_those_who_need_more() {
        let mut semaphore = Semaphore::new(1);
        assert!(semaphore.down(TaskId(0), 1));
        assert!(!semaphore.down(TaskId(1), 3));
        assert!(!semaphore.down(TaskId(2), 1));
        semaphore.up(2);
        assert_eq!([semaphore.next(), semaphore.next()], [Some(TaskId(2)), None]);
        semaphore.up(2);
        assert_eq!((semaphore.next(), semaphore.value), (Some(TaskId(1)), 0));
    }

    #[test]
    fn the_last_at_a_barrier_frees_the_others() {
        let mut barrier = Barrier::new(3);
        assert_eq!([barrier.come(TaskId(0)), barrier.come(TaskId(1))], [None, None]);
        assert_eq!(barrier.come(TaskId(2)), Some(vec![TaskId(0), TaskId(1)]));
        assert_eq!((barrier.waiters.len(), barrier.tasks), (0, 3));
    }

    #[test]
    fn only_the_owner_gives_it_back() {
        let mut lock = Lock::default();
        assert!(lock.take(TaskId(1)) && !lock.take(TaskId(2)));
        lock.waiters.push_back(TaskId(2));
        assert_eq!(lock.give_back(TaskId(2)), Err(()));
        assert_eq!(lock.give_back(TaskId(1)), Ok(Some(TaskId(2))));
        assert!(lock.take(TaskId(3)), "it is free until the waiter has tried");
        assert_eq!(lock.owner, Some(TaskId(3)));
    }
}
