//! What the simulated kernel says of a policy on some work: the record of `simulate sched --json`.
//!
//! Counts begin at the end of the warm-up; the hash, events, decisions and spans are of all the run.

use crate::machine::cpu_set::CpuId;
use crate::origin::Origin;
use serde::{Deserialize, Serialize};

/// What the simulated kernel says of a policy on some work: one object for one run, a list of them
/// for several policies or seeds. Counts begin at the end of the warm-up; hash, events, decisions
/// and spans are of all the run. With `--perfetto`, Chrome's Trace Event Format: a process a run, a
/// thread a CPU, a slice (`X`) a task's stay on a CPU, an instant (`i`) a decision with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedRun {
    pub schema: u32,
    /// Always [`Origin::Simulated`]; left out by older records.
    #[serde(default = "Origin::simulated")]
    pub origin: Origin,
    /// The policy, with those of its parameters that are not their defaults.
    pub policy: String,
    /// Where speeds beside a busy sibling come from: a preset of the simulated core, or
    /// `uniform-1.6`.
    pub preset: String,
    pub workload: String,
    /// The machine, as `2x4x2`: packages, cores, threads.
    pub topology: String,
    pub seed: u64,
    /// Operations a second if the work counts any; else seconds, if all of it ended; else work done
    /// a second, in CPUs that run alone.
    pub value: f64,
    /// Unit of `value`; `s` or `CPUs` where no operations count.
    pub unit: String,
    /// Whether all of it ended.
    pub finished: bool,
    pub events: u64,
    pub simulated_s: f64,
    pub measured_s: f64,
    pub switches: u64,
    pub migrations: SchedMigrations,
    pub pulls: u64,
    /// Time in which a core ran two tasks while another core was idle.
    pub clash_s: f64,
    /// Time in which a CPU was idle while a task waited that may run on any.
    pub wasted_cpu_s: f64,
    /// The same of a whole core.
    pub wasted_core_s: f64,
    /// Time that CPUs spent in the policy, waiting for its lock included.
    pub policy_s: f64,
    pub utilisation: f64,
    /// Work done a second, in CPUs that run alone.
    pub throughput_cpus: f64,
    /// Jain's index over the CPU time of tasks of equal program and nice value that were there for
    /// 99 % of the measurement, to its end; absent without two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<f64>,
    pub wake_latency: SchedLatency,
    pub wait_longest_s: f64,
    /// Throughput of a core with 1, 2, … CPUs busy over one busy; `None` where that was not so.
    pub core_throughput: Vec<Option<f64>>,
    pub operations: Vec<SchedOperation>,
    pub programs: Vec<SchedProgram>,
    pub cpus: Vec<SchedCpu>,
    /// Sixteen hexadecimal digits; equal where the same happened.
    pub trace_hash: String,
    /// With `--log N`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<SchedDecision>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SchedSpan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SchedMigrations {
    pub same_core: u64,
    /// To another core: the sum of the following.
    pub cross_core: u64,
    /// To another core under the same last-level cache.
    pub same_cache: u64,
    pub same_package: u64,
    pub other_package: u64,
}

/// Quantiles are too high by at most 1/32.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SchedLatency {
    pub count: u64,
    pub mean_us: f64,
    pub p50_us: f64,
    pub p90_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub most_us: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedOperation {
    pub name: String,
    pub count: u64,
    pub per_s: f64,
    pub latency: SchedLatency,
}

/// CPU time of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedProgram {
    pub name: String,
    pub tasks: u64,
    pub ended: u64,
    /// As counted.
    pub raw_s: f64,
    /// Of it with siblings idle.
    pub alone_s: f64,
    /// Of it with a sibling busy.
    pub shared_s: f64,
    /// Of it the kernel's.
    pub system_s: f64,
    /// What the work takes alone, exactly.
    pub work_alone_s: f64,
    /// Capacity of cores used.
    pub capacity_s: f64,
    pub wake_latency: SchedLatency,
    pub lifetime: SchedLatency,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SchedCpu {
    pub cpu: CpuId,
    pub core: u32,
    pub user_s: f64,
    pub system_s: f64,
    pub idle_s: f64,
    pub offline_s: f64,
    pub switches: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedDecision {
    pub at_ns: u64,
    /// The CPU whose code asked the policy.
    pub asked_on: CpuId,
    /// `place`, `pick`, `pull`, `resched`, `stopper` or `note`.
    pub verb: String,
    pub cpu: CpuId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_cpu: Option<CpuId>,
    /// The task, as `program#number`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedSpan {
    pub cpu: CpuId,
    pub task: u64,
    pub program: u32,
    pub from_ns: u64,
    pub to_ns: u64,
}
