//! Where each CPU is: dense core numbers for every CPU that there can be.

use crate::Error;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::Topology;
use std::collections::BTreeMap;
#[cfg(feature = "bpf")]
use std::collections::BTreeSet;

/// As in `c/live.h`.
pub(super) const CPUS_MAX: usize = 1024;
/// As in `c/live.h`.
pub(super) const THREADS_MAX: usize = 8;

/// Cores and their CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// By CPU.
    pub(super) places: Vec<Place>,
    /// The CPUs of each core, in order.
    pub(super) cores: Vec<Vec<u32>>,
}

/// Where a CPU is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The core, by a dense number of our own.
    pub(super) core: u32,
    /// The package, by the kernel's number.
    pub(super) package: u32,
    /// The last-level cache: its index in the topology or, where one CPU's is not known, the package.
    pub(super) cache: u32,
    /// Its siblings cannot be known: it has never been online, or it is not even present. It has a
    /// number of its own.
    pub(super) unknown: bool,
}

impl Places {
    /// Numbers the cores of a machine. CPUs that are `possible` and not in the topology are unknown.
    pub(super) fn of(topology: &Topology, possible: &CpuSet) -> Result<Self, Error> {
        let present = topology.cpus.iter().map(|cpu| cpu.cpu.0);
        let cpus = possible.iter().map(|cpu| cpu.0).chain(present).max().map_or(0, |cpu| cpu + 1);
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        let mut cores: Vec<Vec<u32>> = Vec::new();
        let mut places = Vec::new();
        let has_caches = topology.cpus.iter().all(|cpu| cpu.llc.is_some());
        for number in 0..cpus {
            let cpu = topology.cpus.iter().find(|cpu| cpu.cpu.0 == number);
            // An offline CPU without siblings may have some that the kernel does not tell.
            let known = cpu.filter(|cpu| cpu.online || !cpu.siblings.is_empty());
            let next = cores.len() as u32;
            let core = known.map_or(next, |cpu| *numbers.entry(cpu.core.0).or_insert(next));
            if core == next {
                cores.push(Vec::new());
            }
            cores[core as usize].push(number);
            let package = cpu.map_or(0, |cpu| cpu.package);
            let cache = cpu.and_then(|cpu| cpu.llc).filter(|_| has_caches).unwrap_or(package);
            places.push(Place { core, package, cache, unknown: known.is_none() });
        }
        let threads = cores.iter().map(Vec::len).max().unwrap_or(0);
        if places.len() > CPUS_MAX || threads > THREADS_MAX {
            return Err(Error::TooLarge {
                cpus: places.len(),
                threads,
                cpus_max: CPUS_MAX,
                threads_max: THREADS_MAX,
            });
        }
        Ok(Self { places, cores })
    }

    /// How many last-level caches there are.
    #[cfg(feature = "bpf")]
    pub(super) fn caches(&self) -> u32 {
        self.places.iter().map(|place| place.cache).collect::<BTreeSet<_>>().len() as u32
    }

    /// What differs of the CPUs that both know; `None` if nothing does.
    pub(super) fn difference(&self, later: &Self) -> Option<String> {
        if self.places.len() != later.places.len() {
            return Some(format!("{} CPUs, then {}", self.places.len(), later.places.len()));
        }
        let of = |places: &Self, cpu: usize| places.cores[places.places[cpu].core as usize].clone();
        (0..self.places.len()).find_map(|cpu| {
            let (then, now) = (of(self, cpu), of(later, cpu));
            (then != now)
                .then(|| format!("CPU {cpu} was on a core with {then:?} and now with {now:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::machine::cpu_set::{CoreId, CpuId};

    fn topology(cpus: &[(u32, u32, bool, &str)]) -> Topology {
        let mut topology = Topology::regular(1, 1, cpus.len() as u32);
        for (cpu, &(number, core, online, siblings)) in topology.cpus.iter_mut().zip(cpus) {
            cpu.cpu = CpuId(number);
            cpu.core = CoreId(core);
            cpu.online = online;
            cpu.siblings = set(siblings);
        }
        topology
    }

    fn set(text: &str) -> CpuSet {
        CpuSet::parse(text).expect("list")
    }

    #[test]
    fn cores_are_numbered_densely_whatever_the_kernel_calls_them() {
        let machine = topology(&[
            (0, 7, true, "2"),
            (1, 40, true, "3"),
            (2, 7, true, "0"),
            (3, 40, false, "1"),
        ]);
        let places = Places::of(&machine, &set("0-3")).expect("places");
        assert_eq!(places.cores, [vec![0, 2], vec![1, 3]]);
        assert!(places.places.iter().all(|place| !place.unknown));
        assert_eq!(places.difference(&places), None);
    }

    #[test]
    fn cpus_of_which_nothing_is_known_have_numbers_of_their_own() {
        let machine = topology(&[(0, 0, true, ""), (1, 0, false, "")]);
        let places = Places::of(&machine, &set("0-3")).expect("places");
        assert_eq!(places.cores, [vec![0], vec![1], vec![2], vec![3]]);
        let unknown: Vec<bool> = places.places.iter().map(|place| place.unknown).collect();
        assert_eq!(unknown, [false, true, true, true]);
        let later = topology(&[(0, 0, true, "1"), (1, 0, true, "0")]);
        let later = Places::of(&later, &set("0-3")).expect("places");
        let words = places.difference(&later).expect("changed");
        assert!(words.contains("CPU 0") && words.contains("[0, 1]"), "{words}");
    }

    #[test]
    fn a_machine_too_large_is_refused() {
        let error = Places::of(&topology(&[(0, 0, true, "")]), &set("0-2000")).expect_err("large");
        assert!(error.to_string().contains("2001 CPUs"), "{error}");
    }
}
