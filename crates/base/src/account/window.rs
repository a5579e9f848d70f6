//! What was seen of the machine in one interval.

use super::{Siblings, Span};
use crate::machine::cpu_set::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MethodName {
    /// Programs in the kernel see every switch: exact.
    Ebpf,
    /// Looks at `/proc` at random moments: an interval that covers at a stated rate.
    Sampled,
    /// Run times and the idle time of CPUs alone: an interval that must contain the truth.
    #[default]
    Bounds,
}

impl MethodName {
    /// Every method, the best first.
    pub const ALL: [Self; 3] = [Self::Ebpf, Self::Sampled, Self::Bounds];

    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What went on in an interval, or in several that were put together.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    pub method: MethodName,
    pub elapsed_s: f64,
    pub siblings: Siblings,
    pub cores: Vec<CoreUse>,
    /// Every thread that ran in it (those that slept throughout are left out), idle tasks excepted.
    pub tasks: Vec<TaskUse>,
    /// Tasks that ran on siblings at the same time, where the method sees that; the most first, and
    /// not all of them.
    #[serde(default)]
    pub pairs: Vec<PairUse>,
    /// Seconds of cores that had two and more busy while as many others had none; none if the method
    /// cannot tell.
    pub clash_s: Option<f64>,
    #[serde(default)]
    pub unseen: Unseen,
    #[serde(default)]
    pub balance: Balance,
    /// How often the method looked (`sampled`, `bounds`) or was told (`ebpf`).
    #[serde(default)]
    pub looks: u64,
}

/// Where the time of all CPUs went, so that it can be seen whether it adds up. In seconds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    pub cpus: u32,
    /// Their time: so many times the elapsed one.
    pub cpus_s: f64,
    pub tasks_s: f64,
    pub idle_s: f64,
    pub offline_s: f64,
    /// Time that was charged to no known task: stolen, of interrupts where the kernel tells them apart,
    /// of tasks that did not fit in.
    pub uncharged_s: f64,
    pub stat: StatTimes,
}

impl Balance {
    /// All parts together; [`cpus_s`](Self::cpus_s) if the method missed nothing.
    pub fn sum_s(&self) -> f64 {
        self.tasks_s + self.idle_s + self.offline_s + self.uncharged_s
    }
}

/// What `/proc/stat` says of all CPUs. In seconds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StatTimes {
    pub busy_s: f64,
    pub interrupts_s: f64,
    pub steal_s: f64,
    pub idle_s: f64,
}

/// What a method knows that it missed.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unseen {
    /// CPU time of CPUs that no task in the list has: of tasks that ended before they were looked at,
    /// or are of other containers, of interrupts on an idle CPU.
    pub busy_s: f64,
    /// Tasks and events that did not fit in.
    pub lost: u64,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreUse {
    pub cpus: CpuSet,
    /// Seconds with k busy, for k = 0 to n.
    pub by_busy_s: Vec<Span>,
    pub by_cpu: Vec<CpuUse>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuUse {
    pub cpu: CpuId,
    pub busy_s: f64,
    /// Hard and soft interrupts (`/proc/stat`); partly within the run time of tasks.
    pub interrupts_s: f64,
    pub steal_s: f64,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskUse {
    pub pid: u32,
    pub tid: u32,
    /// Process that started its process, where known.
    pub parent: Option<u32>,
    /// When it started, in seconds since boot; tells apart threads that have the same number one
    /// after the other. 0 if not known.
    #[serde(default)]
    pub started_s: f64,
    /// Its name, at most 15 bytes.
    pub comm: String,
    /// Its cgroup, as a path from the root of the hierarchy, where known.
    pub cgroup: Option<String>,
    pub last_cpu: Option<CpuId>,
    #[serde(default)]
    pub ended: bool,
    /// Its run time: what the kernel charges it, never corrected.
    pub raw_s: f64,
    /// The run time by the kind of core and by how many were busy; together `raw_s`.
    pub runs: Vec<Run>,
}

/// Run time on cores of n CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Seconds while k of the core were busy, the task itself included, for k = 1 to n. The values
    /// add up to the time on such cores; where the method leaves ranges, so does some choice in them.
    pub by_busy_s: Vec<Span>,
}

impl Run {
    pub fn threads_per_core(&self) -> usize {
        self.by_busy_s.len()
    }

    pub fn raw_s(&self) -> f64 {
        self.by_busy_s.iter().map(|span| span.value).sum()
    }

    pub fn alone_s(&self) -> Span {
        self.by_busy_s.first().copied().unwrap_or_default()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairUse {
    /// Thread with the lower number.
    pub a: u32,
    pub b: u32,
    /// How long, with what the number of looks leaves open.
    pub together_s: Span,
}
