//! Doubly linked lists of tasks, as old kernels have them: a task is in one list at most, and leaves
//! it from any place without a search.

use crate::kernel::TaskId;

const NONE: u32 = u32::MAX;

/// The neighbours of every task, by slot. One for all lists that share tasks.
#[derive(Debug, Default)]
pub(super) struct Links {
    links: Vec<Link>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
    listed: bool,
}

/// A list; its tasks are in [`Links`].
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };

    pub(super) fn is_empty(self) -> bool {
        self.first == NONE
    }

    pub(super) fn first(self) -> Option<TaskId> {
        some(self.first)
    }

    pub(super) fn last(self) -> Option<TaskId> {
        some(self.last)
    }
}

fn some(slot: u32) -> Option<TaskId> {
    (slot != NONE).then_some(TaskId(slot))
}

impl Links {
    pub(super) fn grow(&mut self, slots: usize) {
        if self.links.len() < slots {
            self.links.resize(slots, Link { before: NONE, after: NONE, listed: false });
        }
    }

    pub(super) fn listed(&self, task: TaskId) -> bool {
        self.links.get(task.index()).is_some_and(|link| link.listed)
    }

    /// The next one towards the end.
    pub(super) fn after(&self, task: TaskId) -> Option<TaskId> {
        some(self.links[task.index()].after)
    }

    /// The next one towards the beginning.
    pub(super) fn before(&self, task: TaskId) -> Option<TaskId> {
        some(self.links[task.index()].before)
    }

    pub(super) fn push_front(&mut self, list: &mut List, task: TaskId) {
        self.links[task.index()] = Link { before: NONE, after: list.first, listed: true };
        match some(list.first) {
            Some(first) => self.links[first.index()].before = task.0,
            None => list.last = task.0,
        }
        list.first = task.0;
    }

    pub(super) fn push_back(&mut self, list: &mut List, task: TaskId) {
        self.links[task.index()] = Link { before: list.last, after: NONE, listed: true };
        match some(list.last) {
            Some(last) => self.links[last.index()].after = task.0,
            None => list.first = task.0,
        }
        list.last = task.0;
    }

    /// Takes a task out of the list it is in.
    pub(super) fn remove(&mut self, list: &mut List, task: TaskId) {
        let link = self.links[task.index()];
        match some(link.before) {
            Some(before) => self.links[before.index()].after = link.after,
            None => list.first = link.after,
        }
        match some(link.after) {
            Some(after) => self.links[after.index()].before = link.before,
            None => list.last = link.before,
        }
        self.links[task.index()].listed = false;
    }

    /// The tasks of a list from its beginning.
    pub(super) fn tasks(&self, list: List) -> impl Iterator<Item = TaskId> + '_ {
        std::iter::successors(list.first(), |task| self.after(*task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn lists_do_what_a_deque_does(steps in prop::collection::vec((0_u32..12, any::<bool>()), 0..200)) {
            let mut links = Links::default();
            links.grow(12);
            let mut list = List::EMPTY;
            let mut model: VecDeque<u32> = VecDeque::new();
            for (slot, front) in steps {
                let task = TaskId(slot);
                match model.iter().position(|other| *other == slot) {
                    Some(index) => {
                        model.remove(index);
                        links.remove(&mut list, task);
                    }
                    None if front => {
                        model.push_front(slot);
                        links.push_front(&mut list, task);
                    }
                    None => {
                        model.push_back(slot);
                        links.push_back(&mut list, task);
                    }
                }
                let forward: Vec<u32> = links.tasks(list).map(|task| task.0).collect();
                let backward = std::iter::successors(list.last(), |task| links.before(*task));
                let mut backward: Vec<u32> = backward.map(|task| task.0).collect();
                backward.reverse();
                prop_assert_eq!(&forward, &Vec::from(model.clone()));
                prop_assert_eq!(&backward, &forward);
                prop_assert_eq!(list.is_empty(), forward.is_empty());
                prop_assert!((0..12).all(|slot| links.listed(TaskId(slot)) == model.contains(&slot)));
            }
        }
    }
}
