//! A set-associative array of tags with least-recently-used replacement: caches, translation
//! buffers and uop caches are made of it.
//!
//! A set is kept in order of use, most recent first, so a hit is usually the first comparison.
//! An entry is the whole key and a dirty bit; keys are below 2^31.

use super::MAX_THREADS;
use crate::core::preset::{Cache, Sharing};

const EMPTY: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Evicted {
    pub(super) key: u32,
    pub(super) dirty: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Tags {
    entries: Vec<u32>,
    /// For the aliasing rule: the linear bits of each entry that must differ within a set.
    aliases: Vec<u32>,
    sets: u32,
    /// `sets - 1` where that is a mask, else 0.
    mask: u32,
    ways: usize,
    sharing: Sharing,
    /// First way and number of ways that each thread sees.
    part: [(usize, usize); MAX_THREADS],
    /// Where each thread's copy begins.
    copy: [usize; MAX_THREADS],
}

impl Tags {
    /// An empty array for `threads` hardware threads; `aliased` where the aliasing rule holds.
    pub(super) fn new(
        sets: u32,
        ways: usize,
        sharing: Sharing,
        threads: usize,
        aliased: bool,
    ) -> Self {
        let size = sets as usize * ways;
        let copies = if sharing == Sharing::Replicated { threads } else { 1 };
        let mut copy = [0; MAX_THREADS];
        for (thread, start) in copy.iter_mut().enumerate() {
            *start = if copies > 1 { thread % copies * size } else { 0 };
        }
        Self {
            entries: vec![EMPTY; size * copies],
            aliases: if aliased { vec![0; size * copies] } else { Vec::new() },
            sets,
            mask: if sets.is_power_of_two() { sets - 1 } else { 0 },
            ways,
            sharing,
            part: [(0, ways); MAX_THREADS],
            copy,
        }
    }

    /// The empty array of a cache.
    pub(super) fn of_cache(cache: &Cache, line_bytes: u16, threads: usize, aliased: bool) -> Self {
        let ways = usize::from(cache.ways);
        let sets = (cache.bytes / u64::from(line_bytes) / ways as u64).max(1) as u32;
        Self::new(sets, ways, cache.sharing, threads, aliased)
    }

    /// How many keys a thread's copy has room for.
    pub(super) fn entries(&self) -> u64 {
        u64::from(self.sets) * self.ways as u64
    }

    /// Divides the ways among the threads that are awake, where that is how they are shared.
    pub(super) fn divide(&mut self, awake: [bool; MAX_THREADS]) {
        if self.sharing != Sharing::StaticWays {
            return;
        }
        let parts = awake.iter().filter(|on| **on).count().max(1);
        let ways = (self.ways / parts).max(1);
        let mut next = 0;
        for (thread, on) in awake.into_iter().enumerate() {
            if on {
                self.part[thread] = (next * ways % self.ways, ways);
                next += 1;
            }
        }
    }

    #[inline(always)]
    fn range(&self, thread: usize, key: u32) -> std::ops::Range<usize> {
        let set = if self.mask != 0 || self.sets == 1 { key & self.mask } else { key % self.sets };
        let (first, ways) = self.part[thread];
        let start = self.copy[thread] + set as usize * self.ways + first;
        start..start + ways
    }

    /// Whether the key is there; nothing changes.
    #[inline(always)]
    pub(super) fn holds(&self, thread: usize, key: u32) -> bool {
        self.entries[self.range(thread, key)].iter().any(|entry| entry >> 1 == key)
    }

    /// Whether the key is there; it becomes the most recent of its set.
    #[inline(always)]
    pub(super) fn touch(&mut self, thread: usize, key: u32) -> bool {
        self.touch_as(thread, key, false)
    }

    /// As [`Self::touch`]; where the key is there and `dirty`, it is marked so.
    #[inline(always)]
    pub(super) fn touch_as(&mut self, thread: usize, key: u32, dirty: bool) -> bool {
        let range = self.range(thread, key);
        let start = range.start;
        let set = &mut self.entries[range];
        if set[0] >> 1 == key {
            set[0] |= u32::from(dirty);
            return true;
        }
        let Some(place) = set.iter().position(|entry| entry >> 1 == key) else { return false };
        let entry = set[place] | u32::from(dirty);
        set.copy_within(0..place, 1);
        set[0] = entry;
        self.move_alias(start, place);
        true
    }

    fn move_alias(&mut self, start: usize, place: usize) {
        if !self.aliases.is_empty() {
            let alias = self.aliases[start + place];
            self.aliases.copy_within(start..start + place, start + 1);
            self.aliases[start] = alias;
        }
    }

    /// Puts a key that is not there in as the most recent of its set.
    #[inline]
    pub(super) fn insert(&mut self, thread: usize, key: u32, dirty: bool) -> Option<Evicted> {
        let range = self.range(thread, key);
        let set = &mut self.entries[range];
        let last = set.len() - 1;
        let out = set[last];
        set.copy_within(0..last, 1);
        set[0] = key << 1 | u32::from(dirty);
        (out != EMPTY).then_some(Evicted { key: out >> 1, dirty: out & 1 == 1 })
    }

    /// As [`Self::insert`], under the aliasing rule: an entry of the set with the same `alias`
    /// goes out in place of the oldest. The flag tells whether it was the rule that chose.
    pub(super) fn insert_aliased(
        &mut self,
        thread: usize,
        key: u32,
        dirty: bool,
        alias: u32,
    ) -> (Option<Evicted>, bool) {
        let range = self.range(thread, key);
        let start = range.start;
        let last = range.len() - 1;
        let clash = range
            .clone()
            .position(|place| self.entries[place] != EMPTY && self.aliases[place] == alias);
        let place = clash.unwrap_or(last);
        let out = self.entries[start + place];
        self.entries.copy_within(start..start + place, start + 1);
        self.entries[start] = key << 1 | u32::from(dirty);
        self.move_alias(start, place);
        self.aliases[start] = alias;
        let evicted = (out != EMPTY).then_some(Evicted { key: out >> 1, dirty: out & 1 == 1 });
        (evicted, clash.is_some_and(|clash| clash != last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recent_goes_out() {
        let mut tags = Tags::new(1, 2, Sharing::Shared, 2, false);
        assert_eq!(tags.insert(0, 1, false), None);
        assert_eq!(tags.insert(0, 2, true), None);
        assert!(tags.touch(1, 1), "shared");
        assert_eq!(tags.insert(0, 3, false), Some(Evicted { key: 2, dirty: true }));
        assert!(tags.holds(0, 1) && tags.holds(0, 3) && !tags.holds(0, 2));
    }

    #[test]
    fn ways_are_divided_and_recombined() {
        let mut tags = Tags::new(1, 4, Sharing::StaticWays, 2, false);
        tags.divide([true, true, false, false]);
        for key in 0..4 {
            let _ = tags.insert(0, key, false);
        }
        assert!(tags.holds(0, 3) && tags.holds(0, 2) && !tags.holds(0, 1));
        assert!(!tags.holds(1, 3), "the other half");
        tags.divide([true, false, false, false]);
        for key in 4..7 {
            let _ = tags.insert(0, key, false);
        }
        assert!(tags.holds(0, 3), "four ways again");
    }

    #[test]
    fn an_alias_goes_out_before_the_oldest() {
        let mut tags = Tags::new(1, 4, Sharing::Shared, 1, true);
        for (key, alias) in [(1, 7), (2, 8), (3, 9)] {
            assert_eq!(tags.insert_aliased(0, key, false, alias), (None, false));
        }
        let (evicted, by_rule) = tags.insert_aliased(0, 4, false, 8);
        assert_eq!((evicted.map(|out| out.key), by_rule), (Some(2), true));
        assert!(tags.holds(0, 1));
    }
}
