//! Each CPU's place: package, node, and the CPUs of its core, offline ones included where known.

use crate::cpuinfo::Parsed;
use crate::root::{CPUS, Root};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::SmtControl;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) cpu: CpuId,
    pub(super) package: u32,
    pub(super) node: u32,
    pub(super) core_id: Option<i64>,
    pub(super) cluster: Option<i64>,
    /// CPUs of its core, itself included.
    pub(super) siblings: CpuSet,
    /// Where the siblings come from, if not from the kernel.
    pub(super) source: Option<String>,
}

/// Places of all present CPUs as the kernel tells them, what is doubtful about them, and the online
/// CPUs of which no file names the core.
pub(super) fn places(
    root: &Root,
    cpuinfo: &Parsed,
    present: &CpuSet,
    online: &CpuSet,
) -> (BTreeMap<CpuId, Place>, Vec<String>, CpuSet) {
    let nodes = nodes(root);
    let mut doubts = Vec::new();
    let (mut unlisted, mut unknown) = (CpuSet::new(), CpuSet::new());
    let mut places: BTreeMap<CpuId, Place> = BTreeMap::new();
    for cpu in present.iter() {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        let listed = match siblings(root, &topology) {
            Ok(listed) => listed,
            Err(doubt) => {
                doubts.push(doubt);
                None
            }
        };
        let from_cpuinfo = cpuinfo.processors.iter().find(|processor| processor.cpu == cpu);
        let mut siblings = listed.clone().unwrap_or_default().intersection(present);
        if listed.is_none() && online.contains(cpu) {
            unlisted.insert(cpu);
            siblings = cpuinfo_siblings(cpuinfo, cpu);
            // A machine of one CPU has one core, whoever says so.
            if siblings.is_empty() && present.len() > 1 {
                unknown.insert(cpu);
            }
        }
        siblings.insert(cpu);
        // The kernel writes -1 for a package or cluster that the firmware does not describe, and
        // on x86 65535 (BAD_APICID) for a cluster that the processor does not enumerate.
        let number = |file: &str| {
            root.number::<i64>(&format!("{topology}/{file}")).filter(|number| *number >= 0)
        };
        let package = number("physical_package_id").and_then(|number| u32::try_from(number).ok());
        let place = Place {
            cpu,
            package: package.or_else(|| from_cpuinfo?.package).unwrap_or(0),
            node: node_of(root, &nodes, cpu),
            core_id: number("core_id").or_else(|| from_cpuinfo?.core_id),
            cluster: number("cluster_id").filter(|cluster| *cluster != 65_535),
            siblings,
            source: None,
        };
        places.insert(cpu, place);
    }
    if !unlisted.is_empty() {
        doubts.push(format!(
            "sysfs lists no siblings for CPUs {unlisted}, so /proc/cpuinfo is all there is"
        ));
    }
    if !unknown.is_empty() {
        doubts.push(format!(
            "/proc/cpuinfo names no core of CPUs {unknown}, so which of them share one is unknown"
        ));
    }
    doubts.extend(disagreements(&mut places));
    (places, doubts, unknown)
}

/// The kernel's list for one CPU: the newer name first, then the older (both since 5.3).
fn siblings(root: &Root, topology: &str) -> Result<Option<CpuSet>, String> {
    for file in ["core_cpus_list", "thread_siblings_list"] {
        let path = format!("{topology}/{file}");
        match root.cpus(&path) {
            Ok(Some(list)) => return Ok(Some(list)),
            Ok(None) => {}
            Err(bad) => return Err(bad.to_string()),
        }
    }
    Ok(None)
}

fn cpuinfo_siblings(cpuinfo: &Parsed, cpu: CpuId) -> CpuSet {
    let same = |core: (Option<u32>, i64)| {
        cpuinfo
            .processors
            .iter()
            .filter(move |other| other.core_id == Some(core.1) && other.package == core.0)
            .map(|other| other.cpu)
            .collect()
    };
    let own = cpuinfo.processors.iter().find(|processor| processor.cpu == cpu);
    own.and_then(|own| Some((own.package, own.core_id?))).map_or_else(CpuSet::new, same)
}

/// Two CPUs are siblings only if each lists the other; a list that is not returned is cut.
fn disagreements(places: &mut BTreeMap<CpuId, Place>) -> Vec<String> {
    let lists: BTreeMap<CpuId, CpuSet> =
        places.iter().map(|(cpu, place)| (*cpu, place.siblings.clone())).collect();
    let mut doubts = Vec::new();
    for (cpu, place) in places {
        let strangers: CpuSet =
            place.siblings.iter().filter(|other| lists.get(other) != lists.get(cpu)).collect();
        if !strangers.is_empty() {
            doubts.push(format!(
                "CPU {cpu} lists CPU {strangers} as a sibling, which gives another list"
            ));
            place.siblings = place.siblings.difference(&strangers);
        }
    }
    doubts
}

fn nodes(root: &Root) -> BTreeMap<CpuId, u32> {
    let mut nodes = BTreeMap::new();
    for node in root.numbered("sys/devices/system/node", "node") {
        let list = root.cpus(&format!("sys/devices/system/node/node{node}/cpulist"));
        for cpu in list.ok().flatten().unwrap_or_default().iter() {
            nodes.insert(cpu, node);
        }
    }
    nodes
}

/// A CPU's own link to its node stays when the CPU goes offline; the node's list then omits it.
fn node_of(root: &Root, nodes: &BTreeMap<CpuId, u32>, cpu: CpuId) -> u32 {
    let link = || root.numbered(&format!("{CPUS}/cpu{cpu}"), "node").first().copied();
    nodes.get(&cpu).copied().or_else(link).unwrap_or(0)
}

/// Gives offline CPUs their siblings, which the kernel's lists omit: from memory if it still
/// agrees with what the kernel says of the online ones, else from the numbering. Returns the
/// offline CPUs whose siblings stay unknown.
pub(super) fn complete(
    places: &mut BTreeMap<CpuId, Place>,
    online: &CpuSet,
    remembered: Option<BTreeMap<CpuId, Place>>,
    control: Option<&SmtControl>,
    hybrid: bool,
) -> CpuSet {
    if let Some(remembered) = remembered.filter(|remembered| agrees(remembered, places, online)) {
        for (cpu, old) in remembered {
            if let Some(place) = places.get_mut(&cpu) {
                if !online.contains(cpu) {
                    *place = Place { node: place.node, ..old };
                } else {
                    place.siblings = old.siblings;
                }
            }
        }
        return CpuSet::new();
    }
    let groups = if hybrid { Vec::new() } else { inferred(places, online, control) };
    for group in &groups {
        let known = group.iter().find(|cpu| online.contains(*cpu));
        let twin = known.and_then(|cpu| places.get(&cpu)).cloned();
        for cpu in group.iter() {
            let Some(place) = places.get_mut(&cpu) else { continue };
            place.siblings = group.clone();
            if !online.contains(cpu) {
                place.source = Some("inferred from how the other CPUs are numbered".to_owned());
                if let Some(twin) = &twin {
                    place.package = twin.package;
                    place.core_id = twin.core_id;
                    place.cluster = twin.cluster;
                }
            }
        }
    }
    strangers(places, online)
}

/// Marks the offline CPUs of which nothing is known, and gives them the package of their node.
fn strangers(places: &mut BTreeMap<CpuId, Place>, online: &CpuSet) -> CpuSet {
    let mut unknown = CpuSet::new();
    let packages: BTreeMap<u32, u32> = places
        .values()
        .filter(|place| online.contains(place.cpu))
        .map(|place| (place.node, place.package))
        .collect();
    for place in places.values_mut() {
        if online.contains(place.cpu) || place.source.is_some() || place.siblings.len() > 1 {
            continue;
        }
        place.package = packages.get(&place.node).copied().unwrap_or(place.package);
        place.source = Some(
            "unknown: the kernel lists no siblings of an offline CPU, and none were seen earlier"
                .to_owned(),
        );
        unknown.insert(place.cpu);
    }
    unknown
}

fn agrees(
    remembered: &BTreeMap<CpuId, Place>,
    places: &BTreeMap<CpuId, Place>,
    online: &CpuSet,
) -> bool {
    places.values().filter(|place| online.contains(place.cpu)).all(|place| {
        remembered.get(&place.cpu).is_some_and(|old| {
            old.siblings.intersection(online) == place.siblings && old.package == place.package
        })
    })
}

/// Cores with offline CPUs, as the numbering suggests them.
fn inferred(
    places: &BTreeMap<CpuId, Place>,
    online: &CpuSet,
    control: Option<&SmtControl>,
) -> Vec<CpuSet> {
    let widest = places.values().max_by_key(|place| place.siblings.len());
    match widest {
        Some(widest) if widest.siblings.len() > 1 => by_example(places, online, &widest.siblings),
        // With no core to look at, the switch must say that it took the siblings away.
        _ => match control {
            Some(SmtControl::Off | SmtControl::ForceOff) => by_halves(places, online),
            _ => Vec::new(),
        },
    }
}

/// Groups built like an example core: the same distances between the numbers of its CPUs.
fn by_example(places: &BTreeMap<CpuId, Place>, online: &CpuSet, example: &CpuSet) -> Vec<CpuSet> {
    let Some(base) = example.first() else { return Vec::new() };
    let distances: Vec<u32> = example.iter().map(|cpu| cpu.0 - base.0).collect();
    let width = u32::try_from(distances.len()).unwrap_or(u32::MAX);
    let adjacent = distances.last() == Some(&(width - 1));
    // An offline CPU that a list names all the same needs no guess, and none may contradict the list.
    let offline = |cpu: &CpuId| {
        !online.contains(*cpu) && places.get(cpu).is_some_and(|place| place.siblings.len() == 1)
    };
    let group_from = |low: u32| -> Option<CpuSet> {
        if adjacent && low % width != base.0 % width {
            return None;
        }
        let group: CpuSet = distances
            .iter()
            .map(|distance| low.checked_add(*distance).map(CpuId))
            .collect::<Option<_>>()?;
        let members: CpuSet = group.iter().filter(|cpu| online.contains(*cpu)).collect();
        let one_core = members.iter().all(|cpu| places[&cpu].siblings == members);
        (group.iter().all(|cpu| online.contains(cpu) || offline(&cpu)) && one_core).then_some(group)
    };
    let mut groups: Vec<CpuSet> = Vec::new();
    for cpu in places.keys().filter(|cpu| offline(cpu)) {
        if groups.iter().any(|group| group.contains(*cpu)) {
            continue;
        }
        let mut candidates = distances
            .iter()
            .filter_map(|distance| group_from(cpu.0.checked_sub(*distance)?))
            .filter(|group| groups.iter().all(|taken| taken.intersection(group).is_empty()));
        // Two ways to read the numbering are no answer.
        if let (Some(group), None) = (candidates.next(), candidates.next()) {
            groups.push(group);
        }
    }
    groups
}

/// With SMT switched off every core keeps its first CPU: either each online CPU is followed by
/// its offline siblings, or the online CPUs are the first half and the rest follow in order.
fn by_halves(places: &BTreeMap<CpuId, Place>, online: &CpuSet) -> Vec<CpuSet> {
    let present: Vec<CpuId> = places.keys().copied().collect();
    let width = present.len() / online.len().max(1);
    if width < 2 || width * online.len() != present.len() {
        return Vec::new();
    }
    let first_of = |group: &[CpuId]| {
        online.contains(group[0]) && group[1..].iter().all(|cpu| !online.contains(*cpu))
    };
    if present.chunks(width).all(first_of) {
        return present.chunks(width).map(|group| group.iter().copied().collect()).collect();
    }
    let rows: Vec<&[CpuId]> = present.chunks(online.len()).collect();
    if rows[0].iter().all(|cpu| online.contains(*cpu)) {
        return (0..online.len()).map(|core| rows.iter().map(|row| row[core]).collect()).collect();
    }
    Vec::new()
}
