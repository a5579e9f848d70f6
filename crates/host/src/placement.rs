//! Which CPUs each role of a workload gets, for a placement within an arm. Pure.

use coretwin_base::machine::cpu_set::{CoreId, CpuId, CpuSet};
use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::topology::{Cpu, Topology};
use std::collections::BTreeMap;

/// One CPU set per role (chat has two, server and client); none at all for `free`, where every role
/// may use all CPUs of the arm. The lowest numbers win, so that arms which share CPUs place alike.
/// Errors: a sentence: why this arm has no such placement.
pub fn roles(
    topology: &Topology,
    cpus: &CpuSet,
    placement: Placement,
    roles: usize,
) -> Result<Vec<CpuSet>, String> {
    if placement == Placement::Free {
        return Ok(Vec::new());
    }
    let usable: Vec<&Cpu> =
        topology.cpus.iter().filter(|cpu| cpu.online && cpus.contains(cpu.cpu)).collect();
    let Some(first) = usable.first() else {
        return Err(format!("none of the arm's CPUs ({cpus}) is online"));
    };
    if placement == Placement::SameCpu {
        return Ok(vec![one(first.cpu); roles.max(1)]);
    }
    if roles < 2 {
        return Err(format!(
            "the placement {placement} separates the roles of a workload, and this one has one"
        ));
    }
    let chosen = match placement {
        Placement::Siblings => siblings(&usable, roles)?,
        Placement::Cores => cores(&usable, roles)?,
        _ => packages(&usable, roles)?,
    };
    Ok(chosen.into_iter().map(one).collect())
}

fn one(cpu: CpuId) -> CpuSet {
    [cpu].into_iter().collect()
}

fn by_core(usable: &[&Cpu]) -> BTreeMap<CoreId, Vec<CpuId>> {
    let mut cores: BTreeMap<CoreId, Vec<CpuId>> = BTreeMap::new();
    for cpu in usable {
        cores.entry(cpu.core).or_default().push(cpu.cpu);
    }
    cores
}

fn siblings(usable: &[&Cpu], roles: usize) -> Result<Vec<CpuId>, String> {
    let cores = by_core(usable);
    let widest = cores.values().map(Vec::len).max().unwrap_or(0);
    match cores.into_values().find(|cpus| cpus.len() >= roles) {
        Some(cpus) => Ok(cpus[..roles].to_vec()),
        None if widest < 2 => {
            Err("no core has two CPUs in this arm, so nothing can be placed on siblings".to_owned())
        }
        None => Err(format!(
            "the placement siblings needs {roles} CPUs of one core, and this arm has at most \
             {widest}"
        )),
    }
}

/// Cores of one type and as near to each other as there are enough: behind one last-level cache,
/// else in one package, else anywhere; so that `cores` is not `packages` by accident.
fn cores(usable: &[&Cpu], roles: usize) -> Result<Vec<CpuId>, String> {
    let mut heads: BTreeMap<CoreId, &Cpu> = BTreeMap::new();
    for cpu in usable {
        heads.entry(cpu.core).or_insert(cpu);
    }
    let heads: Vec<&Cpu> = heads.into_values().collect();
    enough(heads.len(), roles, "cores")?;
    // From nearest to farthest: what two cores must have in common.
    for depth in (0..=3).rev() {
        let same = |a: &Cpu, b: &Cpu| {
            (depth < 1 || a.core_type == b.core_type)
                && (depth < 2 || a.package == b.package)
                && (depth < 3 || a.llc == b.llc)
        };
        for head in &heads {
            let group: Vec<CpuId> =
                heads.iter().filter(|other| same(head, other)).map(|cpu| cpu.cpu).collect();
            if group.len() >= roles {
                return Ok(group[..roles].to_vec());
            }
        }
    }
    Err(format!("this arm has no {roles} cores"))
}

fn enough(there: usize, roles: usize, what: &str) -> Result<(), String> {
    if there >= roles {
        return Ok(());
    }
    Err(format!("the placement {what} needs {roles} {what}, and this arm has {there}"))
}

fn packages(usable: &[&Cpu], roles: usize) -> Result<Vec<CpuId>, String> {
    let mut heads: BTreeMap<u32, CpuId> = BTreeMap::new();
    for cpu in usable {
        heads.entry(cpu.package).or_insert(cpu.cpu);
    }
    enough(heads.len(), roles, "packages")?;
    Ok(heads.into_values().take(roles).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fake, topology};

    fn read(machine: &str) -> Topology {
        let (_folder, root) = fake::written(machine);
        topology::read(&root).expect("topology")
    }

    fn placed(topology: &Topology, cpus: &str, placement: Placement, count: usize) -> String {
        let cpus = CpuSet::parse(cpus).expect("cpus");
        match roles(topology, &cpus, placement, count) {
            Ok(sets) => sets.iter().map(CpuSet::to_string).collect::<Vec<_>>().join(" "),
            Err(why) => why,
        }
    }

    #[test]
    fn each_placement_on_a_server_of_two_packages() {
        let server = read("server-halves");
        let on = |placement| placed(&server, "0-31", placement, 2);
        assert_eq!(on(Placement::Free), "");
        assert_eq!(on(Placement::SameCpu), "0 0");
        assert_eq!(on(Placement::Siblings), "0 16");
        assert_eq!(on(Placement::Cores), "0 1");
        assert_eq!(on(Placement::Packages), "0 8");
        let on = |cpus: &str, placement, count| placed(&server, cpus, placement, count);
        assert!(on("0-7", Placement::Siblings, 2).contains("no core has two CPUs in this arm"));
        assert!(on("0,16", Placement::Cores, 2).contains("needs 2 cores, and this arm has 1"));
        assert!(on("0-7", Placement::Packages, 2).contains("needs 2 packages"));
        assert!(on("0-31", Placement::Siblings, 3).contains("at most 2"));
        assert!(on("0-31", Placement::Cores, 1).contains("this one has one"));
        assert!(on("900", Placement::SameCpu, 2).contains("is online"));
        assert_eq!(on("1,17", Placement::SameCpu, 1), "1");
    }

    #[test]
    fn cores_stay_behind_one_cache_and_of_one_type() {
        // Of the first cache only CPU 3 is left, so both come from the second.
        assert_eq!(placed(&read("amd-many-caches"), "3-6", Placement::Cores, 2), "4 5");
        // CPU 1 is the sibling of CPU 0, the rest are E cores.
        let hybrid = read("hybrid");
        assert_eq!(placed(&hybrid, "0-1,16-19", Placement::Cores, 2), "16 17");
        assert_eq!(placed(&hybrid, "0,16", Placement::Cores, 2), "0 16");
    }
}
