//! What `coretwin account` found: the record of `account --json`.

use super::window::{Balance, CoreUse};
use super::{Factor, MethodName, Siblings, Span, Unseen};
use crate::machine::cpu_set::{CpuId, CpuSet};
use crate::origin::Origin;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};

/// What CPU time was and what it is worth. All in seconds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// Run time as the kernel counts it; `alone_s` and `shared_s` add up to it.
    pub raw_s: f64,
    pub alone_s: f64,
    pub shared_s: f64,
    /// Least shared time; raw less this is the most alone.
    pub shared_low_s: f64,
    /// Most shared time.
    pub shared_high_s: f64,
    /// Seconds of a whole core's capacity that were used: the shares of all tasks of a core add up
    /// to what of it was used. The range also holds that of the factors.
    pub capacity_s: Span,
    /// Time that the work would take alone. The range also holds that of the factors.
    pub alone_equivalent_s: Span,
}

impl Worth {
    /// Adds another's. The ranges are added too: nothing is assumed of how their errors go together.
    pub fn include(&mut self, other: &Self) {
        self.raw_s += other.raw_s;
        self.alone_s += other.alone_s;
        self.shared_s += other.shared_s;
        self.shared_low_s += other.shared_low_s;
        self.shared_high_s += other.shared_high_s;
        self.capacity_s = self.capacity_s.plus(other.capacity_s);
        self.alone_equivalent_s = self.alone_equivalent_s.plus(other.alone_equivalent_s);
    }
}

/// A thread, and what its time was worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub pid: u32,
    /// 0 stands for many short tasks of one name, put together below the process that started them.
    pub tid: u32,
    pub comm: String,
    pub cgroup: Option<String>,
    pub last_cpu: Option<CpuId>,
    #[serde(default)]
    pub ended: bool,
    #[serde(flatten)]
    pub worth: Worth,
}

/// The tasks of a process, of a cgroup, or those that were counted together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Process id, or path of the cgroup.
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comm: String,
    pub tasks: u64,
    /// All its tasks have.
    #[serde(default)]
    pub ended: bool,
    #[serde(flatten)]
    pub worth: Worth,
}

/// How the command ended; both null: it still ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    pub exit_status: Option<i32>,
    pub signal: Option<i32>,
}

/// What CPU time was, and what it is worth. All times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccountSummary {
    pub schema: u32,
    #[serde(default)]
    pub origin: Origin,
    /// What was accounted for, in words: the command, `process 12`, `cgroup /a`, `all`.
    pub target: String,
    pub elapsed_s: f64,
    #[serde(flatten)]
    pub worth: Worth,
    /// With all siblings busy and with k busy, of the largest kind of core.
    #[serde(rename = "yield")]
    pub core_yield: Factor,
    /// The same of the slowdown.
    pub slowdown: Factor,
    pub method: MethodName,
    /// Why not a better one, and what would make it possible.
    pub method_why: String,
    /// Rate at which ranges of shared time hold the truth, at least; 1 where they must.
    pub coverage: f64,
    pub siblings: Siblings,
    /// CPUs of those cores that the tasks cannot use or this program cannot see into.
    #[serde(default)]
    pub not_usable: CpuSet,
    /// What everybody did.
    pub cores: Vec<CoreUse>,
    pub tasks: Vec<Task>,
    pub processes: Vec<Group>,
    pub cgroups: Vec<Group>,
    /// Within `raw_s`, of no task in the lists.
    pub unattributed_s: f64,
    pub unseen: Unseen,
    /// With `--all`: the time of all CPUs, its parts, and what `/proc/stat` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<Balance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandEnd>,
    pub interrupted: bool,
    pub warnings: Vec<Warning>,
}
