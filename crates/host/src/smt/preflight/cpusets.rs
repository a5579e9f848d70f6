//! CPU sets of control groups that lose CPUs (cgroups(7), Documentation/admin-guide/cgroup-v1/
//! cpusets.rst and cgroup-v2.rst).

use super::finding::{Finding, Kind, shortened};
use crate::root::Root;
use crate::smt::capture;
use crate::smt::saved::Cpuset;
use coretwin_base::machine::cpu_set::CpuSet;

pub(super) fn find(root: &Root, going: &CpuSet) -> Vec<Finding> {
    let sets = capture::cpusets(root);
    let losing: Vec<&Cpuset> =
        sets.iter().filter(|set| !set.effective.intersection(going).is_empty()).collect();
    [narrowed(&losing), emptied(&losing, going), partitions(&losing, going)]
        .into_iter()
        .flatten()
        .collect()
}

fn named(sets: &[&Cpuset]) -> String {
    let names: Vec<String> =
        sets.iter().map(|set| format!("/{} (CPUs {})", set.path, set.effective)).collect();
    shortened(&names)
}

fn narrowed(losing: &[&Cpuset]) -> Option<Finding> {
    let sets: Vec<&Cpuset> = losing.iter().copied().filter(|set| set.version == 1).collect();
    (!sets.is_empty()).then(|| {
        Finding::new(
            Kind::CpusetV1,
            format!("CPU sets of control groups version 1: {}", named(&sets)),
            "the kernel takes CPUs that go out of them and does not give them back; containers of \
             Docker, LXC and Kubernetes then keep fewer CPUs",
            "nothing: they are saved and put back; look at them if something else changes them \
             meanwhile",
        )
    })
}

/// Those that lose every CPU: the kernel moves their tasks to the group above, and that cannot be
/// undone for tasks that come meanwhile.
fn emptied(losing: &[&Cpuset], going: &CpuSet) -> Option<Finding> {
    let sets: Vec<&Cpuset> = losing
        .iter()
        .copied()
        .filter(|set| set.version == 1 && set.effective.is_subset(going) && !set.tasks.is_empty())
        .collect();
    (!sets.is_empty()).then(|| Finding {
        blocks: true,
        ..Finding::new(
            Kind::CpusetV1,
            format!("CPU sets of control groups version 1 that lose every CPU: {}", named(&sets)),
            "the kernel moves their tasks to the group above, out of their limits",
            "stop what runs in them, or give each a CPU that stays",
        )
    })
}

fn partitions(losing: &[&Cpuset], going: &CpuSet) -> Option<Finding> {
    let kind = |set: &Cpuset| set.partition.clone().unwrap_or_default();
    let sets: Vec<&Cpuset> = losing
        .iter()
        .copied()
        .filter(|set| ["root", "isolated"].iter().any(|word| kind(set) == *word))
        .collect();
    let blocks = sets.iter().any(|set| kind(set) == "isolated" || set.effective.is_subset(going));
    let names: Vec<String> = sets
        .iter()
        .map(|set| format!("/{} ({}, CPUs {})", set.path, kind(set), set.effective))
        .collect();
    (!sets.is_empty()).then(|| Finding {
        blocks,
        ..Finding::new(
            Kind::CpusetPartition,
            format!("partitions of CPUs: {}", shortened(&names)),
            "a partition that loses its CPUs becomes invalid, and an isolated one no longer keeps \
             others off; its owner counts on them",
            "stop its owner and make it a member (cpuset.cpus.partition) first",
        )
    })
}
