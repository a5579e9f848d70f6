//! What hides or removes CPUs: offline CPUs, cpusets, affinity, quotas, boot options.

use super::cores::Place;
use crate::root::{CPUS, Root};
use crate::{Error, affinity, cgroup::Cgroups};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// The CPUs this process may use, and in words what keeps it from the others.
///
/// The affinity mask the kernel reports is already cut to the cpuset; reading both tells which of
/// the two is to blame.
pub(super) fn read(
    root: &Root,
    places: &BTreeMap<CpuId, Place>,
    present: &CpuSet,
    online: &CpuSet,
) -> Result<(CpuSet, Vec<String>), Error> {
    let mut limits = Vec::new();
    let offline = present.difference(online);
    if !offline.is_empty() {
        limits.push(format!("offline: CPUs {offline}"));
    }
    let cgroups = Cgroups::read(root);
    let mut allowed = online.clone();
    let cpuset = cgroups.effective_cpus(root);
    if let Some((folder, text)) = cpuset
        && let Ok(cpus) = CpuSet::parse(&text)
        && !online.is_subset(&cpus)
        && !cpus.is_empty()
    {
        limits.push(format!("the cpuset {folder} allows CPUs {cpus}"));
        allowed = allowed.intersection(&cpus);
    }
    if let Some(mask) = affinity::mask(root)?
        && !allowed.is_subset(&mask)
    {
        limits.push(format!("the affinity of this process allows CPUs {mask}"));
        allowed = allowed.intersection(&mask);
    }
    limits.extend(half_cores(places, online, &allowed));
    if let Some(quota) = cgroups.cpu_quota(root) {
        limits.push(format!("a cgroup quota allows the CPU time of {quota:.2} CPUs"));
    }
    if let Some(isolated) = root.cpus(&format!("{CPUS}/isolated")).ok().flatten()
        && !isolated.is_empty()
    {
        limits.push(format!("isolated: the scheduler balances nothing onto CPUs {isolated}"));
    }
    let options = boot_options(&root.text("proc/cmdline").unwrap_or_default());
    if !options.is_empty() {
        limits.push(format!("the kernel was booted with {options}"));
    }
    Ok((allowed, limits))
}

/// Cores of which we have some online CPUs and others not: the rest of the core belongs to
/// somebody else, whose work slows ours.
fn half_cores(
    places: &BTreeMap<CpuId, Place>,
    online: &CpuSet,
    allowed: &CpuSet,
) -> Option<String> {
    let foreign: CpuSet = places
        .values()
        .filter(|place| allowed.contains(place.cpu))
        .flat_map(|place| place.siblings.iter())
        .filter(|sibling| online.contains(*sibling) && !allowed.contains(*sibling))
        .collect();
    (!foreign.is_empty()).then(|| {
        format!("not ours, but on a core with ours: CPUs {foreign}; others may be busy there")
    })
}

fn boot_options(command_line: &str) -> String {
    let removes = |word: &&str| {
        word.contains("nosmt")
            || ["smt=", "maxcpus=", "nr_cpus=", "isolcpus="].iter().any(|key| word.starts_with(key))
    };
    command_line.split_whitespace().filter(removes).collect::<Vec<_>>().join(" ")
}
