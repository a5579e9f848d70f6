//! Which CPUs are taken to share a core, and who says so.

use crate::machine::cpu_set::{BadCpuList, CpuId, CpuSet};
use crate::machine::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiblingsOrigin {
    #[default]
    Kernel,
    /// A `probe` of this boot, by contention.
    Probed,
    /// The user; where the CPUs share no core, the result says what it would be if they did.
    Given,
}

/// The sibling map: every online CPU in exactly one core.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Siblings {
    pub origin: SiblingsOrigin,
    /// CPUs of each core, ordered by their first CPU. A CPU that shares with nobody stands alone.
    pub cores: Vec<CpuSet>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSiblings {
    #[error(
        "siblings '{group}': {bad}; write the CPUs of a core with + between them and a comma between cores, like 0+1,2+3"
    )]
    Cpu { group: String, bad: BadCpuList },
    #[error("CPU {cpu} is in two places of the siblings '{text}': a CPU belongs to one core")]
    Twice { cpu: CpuId, text: String },
    #[error("siblings name CPU {cpu}, which is not online here; online: {online}")]
    Absent { cpu: CpuId, online: CpuSet },
}

impl Siblings {
    pub fn of_kernel(topology: &Topology) -> Self {
        let mut cores = BTreeMap::<_, CpuSet>::new();
        for cpu in topology.cpus.iter().filter(|cpu| cpu.online) {
            cores.entry(cpu.core).or_default().insert(cpu.cpu);
        }
        Self::new(SiblingsOrigin::Kernel, cores.into_values().collect(), &topology.online)
    }

    /// Groups found by a probe; every other CPU stands alone.
    pub fn of_probe(groups: &[CpuSet], online: &CpuSet) -> Self {
        let groups = groups.iter().map(|group| group.intersection(online)).collect();
        Self::new(SiblingsOrigin::Probed, groups, online)
    }

    /// Reads `0+1,2+3`: the CPUs of a core joined by `+`, cores by `,`. CPUs that are not named stand
    /// alone. Errors: [`BadSiblings`] naming the group or the CPU.
    pub fn parse(text: &str, online: &CpuSet) -> Result<Self, BadSiblings> {
        let mut named = CpuSet::new();
        let mut cores = Vec::new();
        for group in text.split(',') {
            let mut core = CpuSet::new();
            for word in group.split('+') {
                let bad = |bad| BadSiblings::Cpu { group: group.to_owned(), bad };
                let empty =
                    || BadCpuList { text: group.to_owned(), why: "a number is missing".to_owned() };
                let cpus = CpuSet::parse(word).map_err(bad)?;
                if cpus.is_empty() {
                    return Err(bad(empty()));
                }
                for cpu in cpus.iter() {
                    if named.contains(cpu) {
                        return Err(BadSiblings::Twice { cpu, text: text.to_owned() });
                    }
                    if !online.contains(cpu) {
                        return Err(BadSiblings::Absent { cpu, online: online.clone() });
                    }
                    named.insert(cpu);
                    core.insert(cpu);
                }
            }
            cores.push(core);
        }
        Ok(Self::new(SiblingsOrigin::Given, cores, online))
    }

    fn new(origin: SiblingsOrigin, mut cores: Vec<CpuSet>, online: &CpuSet) -> Self {
        let named: CpuSet = cores.iter().flat_map(CpuSet::iter).collect();
        cores.extend(online.difference(&named).iter().map(|cpu| [cpu].into_iter().collect()));
        cores.retain(|core| !core.is_empty());
        cores.sort_by_key(CpuSet::first);
        Self { origin, cores }
    }

    pub fn cpus(&self) -> CpuSet {
        self.cores.iter().flat_map(CpuSet::iter).collect()
    }

    /// Index of the core a CPU belongs to, in [`Self::cores`].
    pub fn core_of(&self, cpu: CpuId) -> Option<usize> {
        self.cores.iter().position(|core| core.contains(cpu))
    }

    /// The largest number of CPUs of a core; 1 where there are no siblings.
    pub fn threads_per_core_max(&self) -> usize {
        self.cores.iter().map(CpuSet::len).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(text: &str) -> CpuSet {
        CpuSet::parse(text).expect("list")
    }

    #[test]
    fn given_siblings_are_read_and_the_rest_stands_alone() {
        let map = Siblings::parse("2+0, 4+5-6", &cpus("0-6")).expect("map");
        let cores: Vec<String> = map.cores.iter().map(CpuSet::to_string).collect();
        assert_eq!(cores, ["0,2", "1", "3", "4-6"]);
        assert_eq!((map.core_of(CpuId(5)), map.core_of(CpuId(9))), (Some(3), None));
        assert_eq!(map.threads_per_core_max(), 3);
        assert_eq!(map.cpus(), cpus("0-6"));
    }

    #[test]
    fn what_is_wrong_with_siblings_is_named() {
        for (text, part) in [
            ("0+1,1+2", "CPU 1 is in two places"),
            ("0+0", "CPU 0 is in two places"),
            ("0+9", "CPU 9, which is not online here; online: 0-3"),
            ("0+x", "'x' is not a number"),
            ("0+", "a number is missing"),
            ("", "a number is missing"),
        ] {
            let error = Siblings::parse(text, &cpus("0-3")).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_kernels_map_and_a_probe_cover_every_online_cpu() {
        let mut machine = Topology::regular(1, 2, 2);
        machine.online = cpus("0-2");
        machine.cpus[3].online = false;
        let cores = |map: Siblings| map.cores.iter().map(CpuSet::to_string).collect::<Vec<_>>();
        assert_eq!(cores(Siblings::of_kernel(&machine)), ["0-1", "2"]);
        assert_eq!(cores(Siblings::of_probe(&[cpus("1-2")], &machine.online)), ["0", "1-2"]);
    }
}
