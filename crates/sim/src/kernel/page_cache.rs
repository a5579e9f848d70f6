//! The page cache: pages of files in memory. The least recently used page is evicted first, a dirty
//! one only once it is written back.

use super::TaskId;
use crate::lists::{End, Links, List};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageState {
    Clean,
    /// More than is on disk, since then.
    Dirty {
        since_ns: u64,
        /// Its place in the order of writing.
        order: u64,
    },
    Reading,
    /// It is being written back; `again` if it was written anew meanwhile.
    Writing {
        again: bool,
    },
}

#[derive(Debug)]
struct Page {
    file: u32,
    number: u64,
    state: PageState,
    waiters: Vec<TaskId>,
}

#[derive(Debug)]
pub(crate) struct PageCache {
    limit: usize,
    places: BTreeMap<(u32, u64), u32>,
    pages: Vec<Page>,
    free: Vec<u32>,
    /// Every page, the most recently used in front.
    used: List,
    links: Links,
    dirty: BTreeMap<u64, u32>,
    order: u64,
    /// Pages on their way to the disk.
    pub(crate) writing: usize,
    pub(crate) evicted: u64,
}

const SEARCH: usize = 64;

impl PageCache {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit: limit as usize,
            places: BTreeMap::new(),
            pages: Vec::new(),
            free: Vec::new(),
            used: List::default(),
            links: Links::default(),
            dirty: BTreeMap::new(),
            order: 0,
            writing: 0,
            evicted: 0,
        }
    }

    pub(crate) fn find(&self, file: u32, number: u64) -> Option<u32> {
        self.places.get(&(file, number)).copied()
    }

    pub(crate) fn state(&self, slot: u32) -> PageState {
        self.pages[slot as usize].state
    }

    pub(crate) fn key(&self, slot: u32) -> (u32, u64) {
        let page = &self.pages[slot as usize];
        (page.file, page.number)
    }

    /// Written pages, those on their way to the disk included.
    pub(crate) fn unwritten(&self) -> usize {
        self.dirty.len() + self.writing
    }

    pub(crate) fn touch(&mut self, slot: u32) {
        if self.used.at(End::Front) != Some(slot) {
            self.links.remove(&mut self.used, slot);
            self.links.push(&mut self.used, End::Front, slot);
        }
    }

    /// Adds a page that is not cached; `None` if no cached page can be evicted now.
    pub(crate) fn add(&mut self, file: u32, number: u64, state: PageState) -> Option<u32> {
        if self.places.len() >= self.limit {
            self.evict()?;
        }
        let page = Page { file, number, state, waiters: Vec::new() };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.pages[slot as usize] = page;
                slot
            }
            None => {
                self.pages.push(page);
                self.pages.len() as u32 - 1
            }
        };
        self.places.insert((file, number), slot);
        self.links.grow(self.pages.len());
        self.links.push(&mut self.used, End::Front, slot);
        Some(slot)
    }

    pub(crate) fn mark_dirty(&mut self, slot: u32, now_ns: u64) {
        match self.pages[slot as usize].state {
            PageState::Dirty { .. } => {}
            PageState::Writing { .. } => {
                self.pages[slot as usize].state = PageState::Writing { again: true };
            }
            PageState::Clean | PageState::Reading => {
                self.order += 1;
                self.dirty.insert(self.order, slot);
                let state = PageState::Dirty { since_ns: now_ns, order: self.order };
                self.pages[slot as usize].state = state;
            }
        }
    }

    /// The page that was written longest ago, and when, of those not on their way to the disk.
    pub(crate) fn oldest_dirty(&self) -> Option<(u32, u64)> {
        let slot = *self.dirty.values().next()?;
        match self.state(slot) {
            PageState::Dirty { since_ns, .. } => Some((slot, since_ns)),
            _ => None,
        }
    }

    pub(crate) fn begin_writing(&mut self, slot: u32) {
        if let PageState::Dirty { order, .. } = self.state(slot) {
            self.dirty.remove(&order);
            self.writing += 1;
            self.pages[slot as usize].state = PageState::Writing { again: false };
        }
    }

    /// A page was read or written: the tasks that waited for it.
    pub(crate) fn finish(&mut self, slot: u32, now_ns: u64) -> Vec<TaskId> {
        let page = &mut self.pages[slot as usize];
        let waiters = std::mem::take(&mut page.waiters);
        let before = std::mem::replace(&mut page.state, PageState::Clean);
        if let PageState::Writing { again } = before {
            self.writing -= 1;
            if again {
                self.mark_dirty(slot, now_ns);
            }
        }
        waiters
    }

    pub(crate) fn wait(&mut self, slot: u32, task: TaskId) {
        self.pages[slot as usize].waiters.push(task);
    }

    pub(crate) fn of_file(&self, file: u32) -> Vec<u32> {
        self.places.range((file, 0)..=(file, u64::MAX)).map(|(_, slot)| *slot).collect()
    }

    /// Forgets a page, unless it is on its way from or to the disk.
    pub(crate) fn forget(&mut self, slot: u32) {
        match self.state(slot) {
            PageState::Reading | PageState::Writing { .. } => return,
            PageState::Dirty { order, .. } => {
                self.dirty.remove(&order);
            }
            PageState::Clean => {}
        }
        self.links.remove(&mut self.used, slot);
        self.places.remove(&self.key(slot));
        self.free.push(slot);
    }

    fn evict(&mut self) -> Option<()> {
        for _ in 0..SEARCH {
            let slot = self.used.at(End::Back)?;
            if self.state(slot) == PageState::Clean {
                self.forget(slot);
                self.evicted += 1;
                return Some(());
            }
            // What cannot go now is looked at again after the others.
            self.touch(slot);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_clean_page_goes() {
        let mut cache = PageCache::new(3);
        let slots: Vec<u32> =
            (0..3).filter_map(|page| cache.add(0, page, PageState::Clean)).collect();
        cache.touch(slots[0]);
        cache.mark_dirty(slots[1], 7);
        assert!(cache.add(0, 3, PageState::Clean).is_some());
        let there: Vec<bool> = (0..4).map(|page| cache.find(0, page).is_some()).collect();
        assert_eq!(there, [true, true, false, true], "page 1 is older, but dirty");
        assert_eq!(cache.evicted, 1);
    }

    #[test]
    fn nothing_dirty_is_lost() {
        let mut cache = PageCache::new(2);
        let slots: Vec<u32> =
            (0..2).filter_map(|page| cache.add(0, page, PageState::Clean)).collect();
        slots.iter().for_each(|slot| cache.mark_dirty(*slot, 5));
        assert_eq!(cache.add(0, 2, PageState::Clean), None, "all memory is dirty");
        assert_eq!(cache.oldest_dirty(), Some((slots[0], 5)));
        cache.begin_writing(slots[0]);
        cache.wait(slots[0], TaskId(4));
        cache.mark_dirty(slots[0], 6);
        assert_eq!((cache.unwritten(), cache.writing), (2, 1));
        assert_eq!(cache.finish(slots[0], 9), [TaskId(4)]);
        assert_eq!(cache.oldest_dirty(), Some((slots[1], 5)), "page 0 was written anew");
        cache.begin_writing(slots[1]);
        cache.finish(slots[1], 9);
        assert_eq!((cache.unwritten(), cache.writing), (1, 0));
        assert!(cache.add(0, 2, PageState::Clean).is_some());
    }
}
