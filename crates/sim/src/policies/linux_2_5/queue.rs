//! A queue: two arrays of lists by priority. A task stays in its list while it runs.

use super::arithmetic::PRIORITIES;
use crate::kernel::TaskId;
use crate::policies::lists::{Links, List};

/// Words of a map with a bit for each priority.
const WORDS: usize = PRIORITIES.div_ceil(64);

/// Lists by priority, with a map of those that are not empty.
#[derive(Debug, Clone)]
struct Array {
    lists: Vec<List>,
    filled: [u64; WORDS],
    tasks: usize,
}

/// A queue, of a CPU or of the CPUs of a core.
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
        let array = Array { lists: vec![List::EMPTY; PRIORITIES], filled: [0; WORDS], tasks: 0 };
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

    /// Puts a task at the end of its list.
    pub(super) fn insert(&mut self, links: &mut Links, array: usize, priority: u8, task: TaskId) {
        let array = &mut self.arrays[array];
        let index = usize::from(priority);
        links.push_back(&mut array.lists[index], task);
        array.filled[index / 64] |= 1 << (index % 64);
        array.tasks += 1;
    }

    pub(super) fn remove(&mut self, links: &mut Links, array: usize, priority: u8, task: TaskId) {
        let array = &mut self.arrays[array];
        let index = usize::from(priority);
        links.remove(&mut array.lists[index], task);
        if array.lists[index].is_empty() {
            array.filled[index / 64] &= !(1 << (index % 64));
        }
        array.tasks -= 1;
    }

    /// The tasks of an array, best priority first; within one from the head of its list, which has
    /// waited longest, or from its tail.
    pub(super) fn tasks<'a>(
        &'a self,
        links: &'a Links,
        array: usize,
        from_tail: bool,
    ) -> impl Iterator<Item = TaskId> + 'a {
        let array = &self.arrays[array];
        let lists = (0..WORDS).flat_map(|word| Bits { word, left: array.filled[word] });
        lists.flat_map(move |index| {
            let list = array.lists[index];
            let first = if from_tail { list.last() } else { list.first() };
            let next = move |task: &TaskId| {
                if from_tail { links.before(*task) } else { links.after(*task) }
            };
            std::iter::successors(first, next)
        })
    }
}

/// The priorities set in a word of the map.
struct Bits {
    word: usize,
    left: u64,
}

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let bit = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(self.word * 64 + bit)
    }
}
