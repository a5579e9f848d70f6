//! What on this machine would notice that CPUs go: looked for before the switch is used, so that
//! whoever is asked for a yes knows what it is for.
//!
//! Each finding says what was found, what could happen and what to do. One that *blocks* is about
//! something the kernel would refuse, or that cannot be put back.

mod finding;
mod programs;
mod tasks;

use super::capture;
use super::guard::is_contained;
use super::saved::{Cpuset, Interrupt};
use super::target::Target;
use crate::root::{CPUS, Root};
use crate::sched_ext::State;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::Topology;
use finding::{named, shortened};
use std::collections::BTreeMap;
use tasks::Task;

pub use finding::{Finding, Kind};

/// What would notice that the switch goes to a position, those that block first.
pub fn findings_for(root: &Root, topology: &Topology, target: Target) -> Vec<Finding> {
    let going = going(topology, target);
    let tasks = tasks::read(root);
    let mut found = Vec::new();
    found.extend(container(root, topology));
    found.extend(programs::find(root, &tasks, &going));
    found.extend(sched_ext(root));
    if target == Target::On {
        found.extend(offline_by_hand(topology));
    }
    if !going.is_empty() {
        found.extend(fixed(root, &going));
        found.extend(deadline(root, topology, &tasks, &going));
        found.extend(cpusets(root, &going));
        found.extend(isolated(root, &going));
        found.extend(pinned(&tasks, &going));
        found.extend(interrupts(root, &going));
    }
    found.sort_by_key(|finding| (!finding.blocks, finding.kind));
    found
}

/// The CPUs that go offline: of each core all but the first so many that are in use. The kernel
/// counts threads by their place in the core.
pub fn going(topology: &Topology, target: Target) -> CpuSet {
    let stay = match target {
        Target::On => return CpuSet::new(),
        Target::Off => 1,
        Target::Level(threads) => threads as usize,
    };
    let mut cores: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for cpu in &topology.cpus {
        cores.entry(cpu.core).or_default().push(cpu);
    }
    let later = cores.into_values().flat_map(|cpus| cpus.into_iter().skip(stay));
    later.filter(|cpu| cpu.online).map(|cpu| cpu.cpu).collect()
}

fn container(root: &Root, topology: &Topology) -> Option<Finding> {
    let marks = ["run/.containerenv", ".dockerenv"];
    let marked = marks.into_iter().find(|mark| root.exists(mark));
    let limited = topology.allowed.len() < topology.online.len();
    if !is_contained(root) && marked.is_none() && !limited {
        return None;
    }
    let cpus = match limited {
        true => format!(", with CPUs {} of {}", topology.allowed, topology.online),
        false => String::new(),
    };
    Some(Finding::new(
        Kind::Container,
        format!("this runs in a container or another part of the machine{cpus}"),
        "the switch is the whole machine's, so everybody on it is concerned; and if a container is \
         ended, the guard that would put things back ends with it",
        "run it outside of containers, or when the machine is yours alone",
    ))
}

fn sched_ext(root: &Root) -> Option<Finding> {
    let State { state, ops, .. } = State::read(root).filter(|ext| ext.state != "disabled")?;
    let name = ops.unwrap_or_else(|| "unnamed".to_owned());
    Some(Finding::new(
        Kind::SchedExt,
        format!("a sched_ext scheduler is {state}: {name}"),
        "most of them are ejected, or start anew, when a CPU goes or comes",
        "look whether it runs again after the switch",
    ))
}

fn offline_by_hand(topology: &Topology) -> Option<Finding> {
    let beside = |siblings: &CpuSet| !siblings.intersection(&topology.online).is_empty();
    let has_siblings_online = topology.cpus.iter().any(|cpu| cpu.online && beside(&cpu.siblings));
    let offline: CpuSet =
        topology.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.cpu).collect();
    (has_siblings_online && !offline.is_empty()).then(|| {
        Finding::new(
            Kind::OfflineByHand,
            format!("CPUs {offline} are offline though SMT is on"),
            "writing on to the control wakes every CPU, so these are put offline again after it",
            "nothing, if they are to stay offline; else bring them online by hand",
        )
    })
}

/// CPUs without a switch of their own, among CPUs with one.
fn fixed(root: &Root, going: &CpuSet) -> Option<Finding> {
    let has_switch = |cpu: CpuId| root.exists(&format!("{CPUS}/cpu{cpu}/online"));
    let fixed: CpuSet = going.iter().filter(|cpu| !has_switch(*cpu)).collect();
    let others = root.numbered(CPUS, "cpu").into_iter().any(|cpu| has_switch(CpuId(cpu)));
    (others && !fixed.is_empty()).then(|| Finding {
        blocks: true,
        ..Finding::new(
            Kind::Fixed,
            format!("the kernel has no file to take CPUs {fixed} offline"),
            "it refuses to switch, half way",
            "boot with nosmt, or use the arm one-per-core",
        )
    })
}

/// Deadline tasks, against what the scheduler may promise on the CPUs that stay: the share
/// `sched_rt_runtime_us` of each (Documentation/scheduler/sched-deadline.rst).
fn deadline(root: &Root, topology: &Topology, tasks: &[Task], going: &CpuSet) -> Option<Finding> {
    let deadline: Vec<&Task> = tasks.iter().filter(|task| task.deadline && !task.kernel).collect();
    if deadline.is_empty() {
        return None;
    }
    let stay = topology.online.difference(going).len() as f64;
    let limit = |name: &str| root.number::<f64>(&format!("proc/sys/kernel/sched_rt_{name}_us"));
    let share = match (limit("runtime"), limit("period")) {
        (Some(runtime), Some(period)) if runtime >= 0.0 && period > 0.0 => runtime / period,
        // -1 is no limit; the default is 0.95.
        (Some(_), Some(_)) => 1.0,
        _ => 0.95,
    };
    let reserved: Option<f64> = deadline.iter().map(|task| tasks::reserved_share(root, task)).sum();
    let blocks = reserved.is_some_and(|reserved| reserved > stay * share);
    let reserved = match reserved {
        Some(reserved) => format!(
            "they have reserved {reserved:.2} CPUs, and {:.2} can be promised on the {stay} that stay",
            stay * share
        ),
        None => "the kernel does not tell how much they have reserved".to_owned(),
    };
    Some(Finding {
        blocks,
        ..Finding::new(
            Kind::Deadline,
            format!("{} scheduled by deadline; {reserved}", named(&deadline)),
            "the kernel refuses to take a CPU whose time is promised (EBUSY), half way; what fits may \
             miss deadlines meanwhile",
            "stop these tasks, or give them less, for as long as SMT is off",
        )
    })
}

/// CPU sets of control groups that lose CPUs (cgroups(7), Documentation/admin-guide/cgroup-v1/
/// cpusets.rst and cgroup-v2.rst).
fn cpusets(root: &Root, going: &CpuSet) -> Vec<Finding> {
    let sets = capture::cpusets(root);
    let losing: Vec<&Cpuset> =
        sets.iter().filter(|set| !set.effective.intersection(going).is_empty()).collect();
    [narrowed(&losing), emptied(&losing, going), partitions(&losing, going)]
        .into_iter()
        .flatten()
        .collect()
}

fn sets_named(sets: &[&Cpuset]) -> String {
    let names: Vec<String> =
        sets.iter().map(|set| format!("/{} (CPUs {})", set.path, set.effective)).collect();
    shortened(&names)
}

fn narrowed(losing: &[&Cpuset]) -> Option<Finding> {
    let sets: Vec<&Cpuset> = losing.iter().copied().filter(|set| set.version == 1).collect();
    (!sets.is_empty()).then(|| {
        Finding::new(
            Kind::CpusetV1,
            format!("CPU sets of control groups version 1: {}", sets_named(&sets)),
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
            format!(
                "CPU sets of control groups version 1 that lose every CPU: {}",
                sets_named(&sets)
            ),
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

fn isolated(root: &Root, going: &CpuSet) -> Option<Finding> {
    let lists = ["isolated", "nohz_full"].into_iter().filter_map(|name| {
        let cpus = root.cpus(&format!("{CPUS}/{name}")).ok()??;
        let cpus = cpus.intersection(going);
        (!cpus.is_empty()).then(|| format!("{name} CPUs {cpus}"))
    });
    let lists: Vec<String> = lists.collect();
    (!lists.is_empty()).then(|| {
        Finding::new(
            Kind::Isolated,
            lists.join(", "),
            "somebody keeps these CPUs free for work that must not be disturbed; that work is moved \
             to other CPUs, and the kernel may refuse to take a tick-less CPU that keeps the time",
            "make sure that nothing of the kind runs now",
        )
    })
}

fn pinned(tasks: &[Task], going: &CpuSet) -> Option<Finding> {
    let pinned: Vec<&Task> = tasks
        .iter()
        .filter(|task| !task.kernel)
        .filter(|task| {
            task.allowed.as_ref().is_some_and(|cpus| !cpus.is_empty() && cpus.is_subset(going))
        })
        .collect();
    (!pinned.is_empty()).then(|| {
        Finding::new(
            Kind::Pinned,
            format!("{} may run on CPUs that go only", named(&pinned)),
            "they run on any other CPU meanwhile; kernels before 6.2 forget where they belong, so \
             their CPUs are saved and put back",
            "stop them if they must not run elsewhere",
        )
    })
}

fn interrupts(root: &Root, going: &CpuSet) -> Option<Finding> {
    let only = capture::interrupts(root)
        .into_iter()
        .filter(|interrupt| !interrupt.cpus.is_empty() && interrupt.cpus.is_subset(going));
    let named = |Interrupt { number, name, .. }: Interrupt| match name.as_str() {
        "" => number.to_string(),
        users => format!("{number} ({users})"),
    };
    let only: Vec<String> = only.map(named).collect();
    (!only.is_empty()).then(|| {
        Finding::new(
            Kind::Interrupts,
            format!("interrupts {} are handled on CPUs that go only", shortened(&only)),
            "those that the kernel places itself (queues of discs and network cards) stop meanwhile \
             and come back; the others move, and are put back",
            "nothing; what differs afterwards is reported",
        )
    })
}

#[cfg(test)]
mod tests;
