//! Who ran beside whom, as glimpsed: now and then every CPU's task is read. Pure.
//!
//! Estimates, right to about one over the root of the number of glimpses. The program counts each
//! task's time exactly without them, but not beside which other task it was, nor what other cores did.

use super::{PairTime, SiblingMap};
use coretwin_base::machine::cpu_set::CpuId;
use std::collections::BTreeMap;

/// Pairs that are counted; whoever comes later in a window has no place.
const PAIRS_MAX: usize = 4096;

/// What was glimpsed in a window.
#[derive(Debug, Default)]
pub(super) struct Glimpses {
    count: u64,
    /// Cores with two and more busy while as many others had none, added up.
    clashes: u64,
    /// How often two tasks, by their addresses, were seen on siblings.
    pairs: BTreeMap<(u64, u64), u64>,
}

impl Glimpses {
    /// Adds one: the task of every CPU that is online, `None` if it idles.
    pub(super) fn add(&mut self, map: &SiblingMap, tasks: &BTreeMap<CpuId, Option<u64>>) {
        self.count += 1;
        let (mut shared, mut idle) = (0, 0);
        for core in map.cores() {
            let online: Vec<&Option<u64>> = core.iter().filter_map(|cpu| tasks.get(&cpu)).collect();
            let mut busy: Vec<u64> = online.iter().copied().copied().flatten().collect();
            shared += u64::from(busy.len() > 1);
            idle += u64::from(busy.is_empty() && !online.is_empty());
            busy.sort_unstable();
            for (at, &one) in busy.iter().enumerate() {
                for &other in &busy[at + 1..] {
                    self.add_pair(one, other);
                }
            }
        }
        self.clashes += shared.min(idle);
    }

    fn add_pair(&mut self, one: u64, other: u64) {
        if let Some(count) = self.pairs.get_mut(&(one, other)) {
            *count += 1;
        } else if self.pairs.len() < PAIRS_MAX {
            self.pairs.insert((one, other), 1);
        }
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Of a window of so many nanoseconds: how long cores shared while as many others idled; none
    /// without a glimpse.
    pub(super) fn clash_ns(&self, length_ns: u64) -> Option<u64> {
        (self.count > 0).then(|| length_ns * self.clashes / self.count)
    }

    /// Of a window of so many nanoseconds: who was beside whom, where it is known who that is.
    pub(super) fn pairs(&self, length_ns: u64, tid: impl Fn(u64) -> Option<u32>) -> Vec<PairTime> {
        let pair = |(&(one, other), &count): (&(u64, u64), &u64)| {
            let (one, other) = (tid(one)?, tid(other)?);
            let together_ns = length_ns * count / self.count.max(1);
            Some(PairTime { a: one.min(other), b: one.max(other), together_ns })
        };
        self.pairs.iter().filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::machine::cpu_set::CpuSet;

    fn map(online: &str, cores: &[&str]) -> SiblingMap {
        let set = |list: &str| CpuSet::parse(list).expect("a list");
        let cores: Vec<CpuSet> = cores.iter().map(|list| set(list)).collect();
        SiblingMap::new(&set(online), &set(online), &cores).expect("a map")
    }

    fn glimpse(tasks: &[(u32, u64)]) -> BTreeMap<CpuId, Option<u64>> {
        tasks.iter().map(|&(cpu, task)| (CpuId(cpu), Some(task).filter(|&task| task > 0))).collect()
    }

    #[test]
    fn a_clash_is_a_shared_core_beside_an_idle_one() {
        let map = map("0-7", &["0-1", "2-3", "4-5", "6-7"]);
        let mut glimpses = Glimpses::default();
        assert_eq!(glimpses.clash_ns(100), None);
        // Two shared, one idle, one offline: there is room for one of the two.
        let tasks = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (5, 0)];
        glimpses.add(&map, &glimpse(&tasks));
        assert_eq!(glimpses.clash_ns(100), Some(100));
        // Nobody shares.
        glimpses.add(&map, &glimpse(&[(0, 1), (1, 0), (2, 2), (3, 0), (4, 0), (5, 0)]));
        assert_eq!(glimpses.clash_ns(100), Some(50));
    }

    #[test]
    fn pairs_are_those_of_one_core_and_named_where_known() {
        let map = map("0-5", &["0-3", "4-5"]);
        let mut glimpses = Glimpses::default();
        glimpses.add(&map, &glimpse(&[(0, 30), (1, 10), (2, 0), (3, 20), (4, 40), (5, 50)]));
        glimpses.add(&map, &glimpse(&[(0, 10), (1, 30), (2, 0), (3, 0), (4, 40), (5, 0)]));
        let name = |address: u64| (address != 50).then_some(u32::try_from(address).expect("small"));
        let pair = |a, b, together_ns| PairTime { a, b, together_ns };
        assert_eq!(
            glimpses.pairs(1000, name),
            [pair(10, 20, 500), pair(10, 30, 1000), pair(20, 30, 500)]
        );
    }

    #[test]
    fn pairs_without_end_do_not_grow_without_end() {
        let map = map("0-1", &["0-1"]);
        let mut glimpses = Glimpses::default();
        for task in 1..10_000 {
            glimpses.add(&map, &glimpse(&[(0, task), (1, task + 1)]));
        }
        assert_eq!(glimpses.pairs.len(), PAIRS_MAX);
    }
}
