//! Whose run time passed beside how many busy siblings: exact, from every switch of every CPU.
//!
//! `c/overlap.bpf.c` is the program and says how it divides time; [`Overlap`] loads it, has every CPU
//! close a window, and reads what stood when each did. Windows follow each other without a gap, CPU by
//! CPU. `shapes` reads the bytes of the maps, `loader` is what talks to the kernel, `ledger` makes
//! windows of readings, `glimpses` estimates what the program does not count: who ran beside whom.

#[cfg(not(feature = "bpf"))]
mod absent;
#[cfg(feature = "bpf")]
mod glimpses;
#[cfg(feature = "bpf")]
mod ledger;
#[cfg(feature = "bpf")]
mod loader;
#[cfg(feature = "bpf")]
mod shapes;

#[cfg(not(feature = "bpf"))]
pub use absent::Overlap;
#[cfg(feature = "bpf")]
pub use loader::Overlap;

use crate::Error;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// The most siblings of a core that the program can tell apart.
pub const SIBLINGS_MAX: usize = 8;
/// Places of a task's run times; see `c/overlap.h`.
const PLACES: usize = 16;

/// Which CPUs there can be, and which of them share a core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiblingMap {
    cores: Vec<CpuSet>,
    online: CpuSet,
    /// For each kind of core: its number of CPUs, and the first of its places.
    kinds: BTreeMap<usize, usize>,
}

impl SiblingMap {
    /// `possible` are all CPUs the kernel may ever bring up, `groups` those that share a core; a CPU in
    /// no group is a core of its own.
    ///
    /// # Errors
    /// [`Error::Siblings`] if a group is empty or larger than [`SIBLINGS_MAX`], names a CPU that is not
    /// possible, or shares one with another group; or if there are too many kinds of cores.
    pub fn new(possible: &CpuSet, online: &CpuSet, groups: &[CpuSet]) -> Result<Self, Error> {
        let mut left = possible.clone();
        for group in groups {
            if group.is_empty() || group.len() > SIBLINGS_MAX {
                let what = format!("a core has 1 to {SIBLINGS_MAX} siblings, not {}", group.len());
                return Err(Error::Siblings(what));
            }
            if let Some(cpu) = group.iter().find(|&cpu| !left.contains(cpu)) {
                let why = if possible.contains(cpu) {
                    "is named twice"
                } else {
                    "does not exist on this machine"
                };
                return Err(Error::Siblings(format!("CPU {} {why}", cpu.0)));
            }
            left = left.difference(group);
        }
        let alone = left.iter().map(|cpu| std::iter::once(cpu).collect());
        let mut cores: Vec<CpuSet> = groups.iter().cloned().chain(alone).collect();
        cores.sort_by_key(CpuSet::first);
        let mut kinds = BTreeMap::new();
        let mut places = 0;
        for core in &cores {
            kinds.entry(core.len()).or_insert_with(|| {
                places += core.len();
                places - core.len()
            });
        }
        if places > PLACES {
            let kinds: Vec<String> = kinds.keys().map(usize::to_string).collect();
            let what = format!("cores of {} CPUs are too many kinds", kinds.join(", "));
            return Err(Error::Siblings(what));
        }
        Ok(Self { cores, online: online.intersection(possible), kinds })
    }

    /// The cores, in the order of their first CPUs.
    pub fn cores(&self) -> &[CpuSet] {
        &self.cores
    }

    /// Every kind of core: its number of CPUs, and the first of its places.
    #[cfg(feature = "bpf")]
    fn kinds(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.kinds.iter().map(|(&siblings, &place)| (siblings, place))
    }
}

/// How much room the program has in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Living tasks, at about 350 bytes of kernel memory each. Of so many, rounded up to a power of
    /// two, nearly all find a place; those that do not are counted.
    pub tasks: u32,
    /// Bytes for tasks that have ended, until they are read within tens of milliseconds, at about 350
    /// each: a power of two, of whole pages.
    pub ended_bytes: u32,
}

impl Default for Room {
    fn default() -> Self {
        Self { tasks: 32_768, ended_bytes: 8 << 20 }
    }
}

/// What went on in one window. Nanoseconds throughout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// Every possible CPU that was online for some of it.
    pub cpus: Vec<CpuTime>,
    /// Every core with such a CPU.
    pub cores: Vec<CoreTime>,
    /// Every task that ran, in no order.
    pub tasks: Vec<TaskTime>,
    /// Tasks on siblings at the same time: an estimate, from 20 glimpses a second.
    pub pairs: Vec<PairTime>,
    /// Time of cores with two and more busy while as many others had none: an estimate, too. None
    /// without a glimpse.
    pub clash_ns: Option<u64>,
    /// How many glimpses there were.
    pub glimpses: u64,
    /// How many switches were seen.
    pub switches: u64,
    /// What is missing in `tasks`, and why.
    pub missing: Missing,
}

/// A CPU's time in a window: `tasks_ns + idle_ns + offline_ns = until_ns - from_ns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuTime {
    /// Which CPU.
    pub cpu: CpuId,
    /// The window's beginning on this CPU, CLOCK_MONOTONIC.
    pub from_ns: u64,
    /// Its end.
    pub until_ns: u64,
    /// While a task other than the idle task had it.
    pub tasks_ns: u64,
    /// While the idle task had it.
    pub idle_ns: u64,
    /// While it was not there.
    pub offline_ns: u64,
    /// What of `tasks_ns` the scheduler charged to tasks. The rest is time that a hypervisor stole and,
    /// on kernels that tell it apart, time of interrupts.
    pub run_ns: u64,
}

/// A core's time in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreTime {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// The time with 0, 1, … all siblings busy.
    pub busy_ns: Vec<u64>,
}

/// A task's time in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskTime {
    /// Its number, and its process's, in the first process-id namespace.
    pub tid: u32,
    /// The number of its process.
    pub tgid: u32,
    /// The number of the process that was its parent when it was first seen.
    pub parent: u32,
    /// When it started, CLOCK_BOOTTIME; with `tid` this tells it from all others.
    pub started_ns: u64,
    /// Its name when it last ran for the first time in a window, started a program, or ended.
    pub comm: String,
    /// The inode number of its cgroup (version 2), read with the name.
    pub cgroup: u64,
    /// The CPU on which it last ran.
    pub cpu: CpuId,
    /// The process that a followed one started and that it descends from, or is of.
    pub followed: Option<u32>,
    /// Whether it has ended.
    pub ended: bool,
    /// Its run time, as in `/proc/PID/schedstat`, by kind of core.
    pub runs: Vec<Run>,
}

/// A task's run time on cores of the same number of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// That number.
    pub siblings: usize,
    /// With 1, 2, … all of them busy, the task's own included.
    pub busy_ns: Vec<u64>,
}

/// Two tasks on siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairTime {
    /// The number of one; the smaller.
    pub a: u32,
    /// The number of the other.
    pub b: u32,
    /// For so long, as estimated.
    pub together_ns: u64,
}

/// What the tasks of a window do not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    /// Run time of tasks for which the table had no room; it is in the CPUs' `run_ns`.
    pub unlisted_ns: u64,
    /// Tasks that found no room, each counted once. Of more than 4096 living ones some are not counted.
    pub unlisted: u64,
    /// Tasks that ended and were not read in time.
    pub lost: u64,
    /// All run time of those, of this window and earlier ones.
    pub lost_ns: u64,
    /// Slices that another task ended than began, for the kernel does not show every switch.
    pub strangers: u64,
    /// What of those slices is nobody's.
    pub strangers_ns: u64,
    /// Looks at a core given up because its siblings changed it without end: their slices have the k
    /// of the look before.
    pub contended: u64,
}
