//! Who shares a core with whom: the topology reader.
//!
//! Order of work: which CPUs exist and which are online; for each its package, node and siblings
//! ([`cores`]); the siblings of offline CPUs, which the kernel leaves out, from an earlier reading
//! ([`memory`]) or from the numbering; caches; core types; the SMT switch; what hides CPUs from
//! us; and last how far all of it can be believed ([`trust`]).

mod caches;
mod cores;
mod kinds;
mod memory;
mod smt;
mod trust;
mod visibility;

use memory::SYSTEM_STATE;
pub use memory::state_folder;
pub(crate) use smt::{FORCED_OFF, READ_ONLY};

use crate::Error;
use crate::cpuinfo::{self, Parsed};
use crate::root::{CPUS, Root};
use cores::Place;
use coretwin_base::machine::cpu_set::{CoreId, CpuId, CpuSet};
use coretwin_base::machine::topology::{Cpu, CpuInfo, SiblingsAgree, Topology};
use coretwin_base::schema::SCHEMA;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the topology. Siblings of offline CPUs are taken from the system's state folder
/// (`/var/lib/coretwin`) if they were remembered there; nothing is written. Errors: [`Error`] if no
/// file tells which CPUs there are, or the list of them is no CPU list.
pub fn read(root: &Root) -> Result<Topology, Error> {
    read_with(root, &root.path(SYSTEM_STATE))
}

/// Reads the topology with the siblings remembered in a state folder (see [`state_folder`]), and
/// when every CPU is online remembers them there. That the folder cannot be written is no error:
/// remembering is a convenience.
pub fn read_and_remember(root: &Root, state: &Path) -> Result<Topology, Error> {
    let topology = read_with(root, state)?;
    let _ = memory::store(state, &topology);
    Ok(topology)
}

fn read_with(root: &Root, state: &Path) -> Result<Topology, Error> {
    let cpuinfo = cpuinfo::read(root).unwrap_or_default();
    let present = present(root, &cpuinfo)?;
    let online = match root.cpus(&format!("{CPUS}/online"))? {
        Some(online) => online.intersection(&present),
        None => present.clone(),
    };
    let hypervisor = trust::hypervisor(root, &cpuinfo);
    let smt = smt::read(root, hypervisor.as_deref());
    let (mut places, mut doubts, cores_unknown) = cores::places(root, &cpuinfo, &present, &online);
    let kinds = kinds::read(root, &online);
    if online != present {
        let remembered = memory::load(state, &cpuinfo.summary(), &present);
        let hybrid = !kinds.is_empty();
        let unknown =
            cores::complete(&mut places, &online, remembered, smt.control.as_ref(), hybrid);
        if !unknown.is_empty() {
            doubts.push(format!(
                "the siblings of offline CPUs {unknown} are unknown; bring them online once, and \
                 they will be remembered"
            ));
        }
    }
    let caches = caches::read(root, &online);
    let (allowed, limits) = visibility::read(root, &places, &present, &online)?;
    let cpus = assemble(root, &places, &online, &caches, &kinds);
    doubts.extend(trust::contradictions(&cpuinfo, &cpus, &online, &present));
    let (trust, trust_why) = trust::judge(hypervisor.as_deref(), &doubts);
    let mut widths: BTreeMap<CoreId, u32> = BTreeMap::new();
    for cpu in &cpus {
        *widths.entry(cpu.core).or_default() += 1;
    }
    let counted = |count: u32| cores_unknown.is_empty().then_some(count);
    Ok(Topology {
        schema: SCHEMA,
        cores: counted(u32::try_from(widths.len()).unwrap_or(u32::MAX)),
        threads_per_core_max: counted(widths.values().copied().max().unwrap_or(0)),
        cpuinfo: CpuInfo {
            siblings_agree: siblings_agree(&cpuinfo, &places, &cores_unknown),
            ..cpuinfo.summary()
        },
        cores_unknown,
        cpus,
        smt,
        hypervisor,
        caches,
        trust,
        trust_why,
        allowed,
        online,
        limits,
        smt_mitigations: smt::mitigations(root),
    })
}

/// Whether siblings agree in microcode and flags. CPUs whose cores are unknown are siblings of any
/// of the others: if all of them agree, so do the siblings, else nothing can be said.
fn siblings_agree(
    cpuinfo: &Parsed,
    places: &BTreeMap<CpuId, Place>,
    cores_unknown: &CpuSet,
) -> Option<SiblingsAgree> {
    if !cores_unknown.is_empty() {
        let all = cpuinfo.agreement(&[places.keys().copied().collect()])?;
        let told = |agree: Option<bool>| agree.filter(|agree| *agree);
        let (microcode, flags) = (told(all.microcode), told(all.flags));
        return Some(SiblingsAgree { microcode, flags, differences: Vec::new() });
    }
    let cores = places.values().filter(|place| place.siblings.first() == Some(place.cpu));
    cpuinfo.agreement(&cores.map(|place| place.siblings.clone()).collect::<Vec<_>>())
}

/// The CPUs that exist: `present`, else the `cpuN` folders, else the entries of cpuinfo.
fn present(root: &Root, cpuinfo: &Parsed) -> Result<CpuSet, Error> {
    if let Some(present) = root.cpus(&format!("{CPUS}/present"))?
        && !present.is_empty()
    {
        return Ok(present);
    }
    let folders: CpuSet = root.numbered(CPUS, "cpu").into_iter().map(CpuId).collect();
    let listed: CpuSet = cpuinfo.processors.iter().map(|processor| processor.cpu).collect();
    let found = if folders.is_empty() { listed } else { folders };
    if found.is_empty() {
        return Err(Error::NoCpus { root: root.folder().to_owned() });
    }
    Ok(found)
}

/// Joins what is known of each CPU and numbers the cores densely, in order of their lowest CPU.
fn assemble(
    root: &Root,
    places: &BTreeMap<CpuId, Place>,
    online: &CpuSet,
    caches: &[coretwin_base::machine::topology::Cache],
    kinds: &BTreeMap<CpuId, String>,
) -> Vec<Cpu> {
    let mut cores: BTreeMap<CpuId, CoreId> = BTreeMap::new();
    let mut next = 0;
    for place in places.values() {
        let known = place.siblings.iter().find_map(|sibling| cores.get(&sibling).copied());
        let core = known.unwrap_or_else(|| {
            next += 1;
            CoreId(next - 1)
        });
        cores.insert(place.cpu, core);
    }
    places
        .values()
        .map(|place| {
            // What the kernel says only of online CPUs holds for an offline sibling too.
            let of_core = |facts: &dyn Fn(CpuId) -> bool| {
                facts(place.cpu).then_some(place.cpu).or_else(|| {
                    place
                        .siblings
                        .iter()
                        .find(|sibling| online.contains(*sibling) && facts(*sibling))
                })
            };
            let llc_of = |cpu: CpuId| caches::last_level(caches, cpu);
            Cpu {
                cpu: place.cpu,
                core: cores[&place.cpu],
                package: place.package,
                node: place.node,
                online: online.contains(place.cpu),
                siblings: place.siblings.iter().filter(|other| *other != place.cpu).collect(),
                remembered: place.source.clone(),
                kernel_core_id: place.core_id,
                cluster: place.cluster,
                llc: of_core(&|cpu| llc_of(cpu).is_some()).and_then(llc_of),
                core_type: of_core(&|cpu| kinds.contains_key(&cpu))
                    .and_then(|cpu| kinds.get(&cpu).cloned()),
                mhz_max: kinds::mhz_max(root, place.cpu),
            }
        })
        .collect()
}
