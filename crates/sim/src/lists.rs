//! Doubly linked lists of slots, as old kernels have them: a slot is in one list at most, and leaves it
//! from any place without a search.

const NONE: u32 = u32::MAX;

/// The neighbours of every slot. One for all lists that share slots.
#[derive(Debug, Default)]
pub(crate) struct Links(Vec<Link>);

#[derive(Debug, Clone, Copy)]
struct Link {
    /// By [`End`]: the neighbour on that side.
    beside: [u32; 2],
    listed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Front,
    Back,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    /// By [`End`].
    ends: [u32; 2],
}

impl Default for List {
    fn default() -> Self {
        Self { ends: [NONE; 2] }
    }
}

impl List {
    pub(crate) fn is_empty(self) -> bool {
        self.ends[0] == NONE
    }

    /// The slot at an end.
    pub(crate) fn at(self, end: End) -> Option<u32> {
        some(self.ends[end as usize])
    }
}

fn some(slot: u32) -> Option<u32> {
    (slot != NONE).then_some(slot)
}

impl Links {
    pub(crate) fn grow(&mut self, slots: usize) {
        let none = Link { beside: [NONE; 2], listed: false };
        self.0.resize(slots.max(self.0.len()), none);
    }

    pub(crate) fn listed(&self, slot: u32) -> bool {
        self.0.get(slot as usize).is_some_and(|link| link.listed)
    }

    pub(crate) fn push(&mut self, list: &mut List, end: End, slot: u32) {
        let (end, other) = (end as usize, 1 - end as usize);
        let neighbour = std::mem::replace(&mut list.ends[end], slot);
        let mut beside = [NONE; 2];
        beside[other] = neighbour;
        self.0[slot as usize] = Link { beside, listed: true };
        match neighbour {
            NONE => list.ends[other] = slot,
            neighbour => self.0[neighbour as usize].beside[end] = slot,
        }
    }

    /// Takes a slot out of the list it is in.
    pub(crate) fn remove(&mut self, list: &mut List, slot: u32) {
        let link = &mut self.0[slot as usize];
        link.listed = false;
        let beside = link.beside;
        for (end, other) in [(0, 1), (1, 0)] {
            match beside[end] {
                NONE => list.ends[end] = beside[other],
                neighbour => self.0[neighbour as usize].beside[other] = beside[other],
            }
        }
    }

    /// The slots of a list, from an end of it.
    #[inline]
    pub(crate) fn slots(&self, list: List, from: End) -> impl Iterator<Item = u32> + '_ {
        let next = move |slot: &u32| some(self.0[*slot as usize].beside[1 - from as usize]);
        std::iter::successors(list.at(from), next)
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
            let mut list = List::default();
            let mut model: VecDeque<u32> = VecDeque::new();
            for (slot, front) in steps {
                match model.iter().position(|other| *other == slot) {
                    Some(index) => {
                        model.remove(index);
                        links.remove(&mut list, slot);
                    }
                    None if front => {
                        model.push_front(slot);
                        links.push(&mut list, End::Front, slot);
                    }
                    None => {
                        model.push_back(slot);
                        links.push(&mut list, End::Back, slot);
                    }
                }
                let forward: Vec<u32> = links.slots(list, End::Front).collect();
                let mut backward: Vec<u32> = links.slots(list, End::Back).collect();
                backward.reverse();
                prop_assert_eq!(&forward, &Vec::from(model.clone()));
                prop_assert_eq!(&backward, &forward);
                prop_assert_eq!(list.is_empty(), forward.is_empty());
                prop_assert!((0..12).all(|slot| links.listed(slot) == model.contains(&slot)));
            }
        }
    }
}
