//! A queue: two arrays of lists by priority. A task stays in its list while it runs.

use super::arithmetic::PRIORITIES;
use crate::kernel::{CpuId, CpuMask, TaskId};
use crate::lists::{End, Links, List};

/// Lists by priority, with the set of those that are not empty; its members are priorities.
#[derive(Debug, Clone)]
struct Array {
    lists: Vec<List>,
    filled: CpuMask,
    tasks: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Queue {
    arrays: [Array; 2],
    active: usize,
    /// The tick at which the first of the expired tasks expired; `None` without expired tasks.
    pub(super) expired_since: Option<u64>,
    /// Whether a running task of this queue is wanted by an idle one, or so `-f3` believes.
    pub(super) wanted: bool,
}

impl Queue {
    pub(super) fn new() -> Self {
        let (lists, filled) = (vec![List::default(); PRIORITIES], CpuMask::empty(PRIORITIES));
        let array = Array { lists, filled, tasks: 0 };
        Self { arrays: [array.clone(), array], active: 0, expired_since: None, wanted: false }
    }

    /// Its tasks, those that run included.
    pub(super) fn len(&self) -> usize {
        self.arrays[0].tasks + self.arrays[1].tasks
    }

    pub(super) fn active(&self) -> usize {
        self.active
    }

    pub(super) fn expired(&self) -> usize {
        1 - self.active
    }

    /// Swaps the arrays if the active one is empty.
    pub(super) fn swap_if_spent(&mut self) -> bool {
        let spent = self.arrays[self.active].tasks == 0;
        if spent {
            self.active = self.expired();
            self.expired_since = None;
        }
        spent
    }

    pub(super) fn insert(&mut self, links: &mut Links, array: usize, priority: u8, task: TaskId) {
        let array = &mut self.arrays[array];
        links.push(&mut array.lists[usize::from(priority)], End::Back, task.0);
        array.filled.insert(CpuId(priority.into()));
        array.tasks += 1;
    }

    pub(super) fn remove(&mut self, links: &mut Links, array: usize, priority: u8, task: TaskId) {
        let array = &mut self.arrays[array];
        let list = &mut array.lists[usize::from(priority)];
        links.remove(list, task.0);
        array.filled.set(CpuId(priority.into()), !list.is_empty());
        array.tasks -= 1;
    }

    /// The tasks of an array, best priority first; within one from the front of its list, which has
    /// waited longest, or from its back.
    pub(super) fn tasks<'a>(
        &'a self,
        links: &'a Links,
        array: usize,
        from: End,
    ) -> impl Iterator<Item = TaskId> + 'a {
        let array = &self.arrays[array];
        let list = |priority: CpuId| array.lists[priority.0 as usize];
        array.filled.iter().flat_map(move |one| links.slots(list(one), from)).map(TaskId)
    }
}
