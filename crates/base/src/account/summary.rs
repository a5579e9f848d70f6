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
    pub raw_s: f64,
    pub alone_s: f64,
    pub shared_s: f64,
    pub shared_low_s: f64,
    pub shared_high_s: f64,
    /// Seconds of a whole core's capacity that were used: the shares of all tasks of a core add up
    /// to what of it was used.
    pub capacity_s: Span,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub pid: u32,
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
    #[serde(default)]
    pub ended: bool,
    #[serde(flatten)]
    pub worth: Worth,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    pub exit_status: Option<i32>,
    pub signal: Option<i32>,
}

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
    #[serde(rename = "yield")]
    pub core_yield: Factor,
    pub slowdown: Factor,
    pub method: MethodName,
    pub method_why: String,
    pub coverage: f64,
    pub siblings: Siblings,
    /// CPUs of those cores that the tasks cannot use or this program cannot see into.
    #[serde(default)]
    pub not_usable: CpuSet,
    pub cores: Vec<CoreUse>,
    pub tasks: Vec<Task>,
    pub processes: Vec<Group>,
    pub cgroups: Vec<Group>,
    pub unattributed_s: f64,
    pub unseen: Unseen,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<Balance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandEnd>,
    pub interrupted: bool,
    pub warnings: Vec<Warning>,
}
