//! What the engine asks of a worker process, and what the worker answers.
//!
//! One JSON document each way: the job on the worker's standard input, the outcome on its standard
//! output. The worker's input stays open while it works; when it closes, whoever asked is gone,
//! and the worker ends everything it started.

use crate::account::cputime::Beside;
use crate::machine::cpu_set::CpuSet;
use crate::machine::placement::Placement;
use crate::parameters::Params;
use crate::schema::SCHEMA;
use crate::study::command::CommandSpec;
use crate::study::latency::Latency;
use crate::study::reading::{Better, Metric};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub schema: u32,
    pub work: Work,
    pub arm: String,
    /// CPUs of the arm; the worker binds itself to them and checks that it is so.
    pub cpus: CpuSet,
    pub placement: Placement,
    /// One CPU set per role of the workload (chat: server, client), where the placement
    /// separates them; empty: every role has all CPUs of the arm.
    #[serde(default)]
    pub roles: Vec<CpuSet>,
    /// CPUs whose cores no arm of the study uses, for what must not disturb the work; empty: there
    /// are none.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub spare_cpus: CpuSet,
    pub threads: u32,
    pub copies: u32,
    /// A command's own value (without a primary metric) is completed runs per second instead of
    /// seconds per run. Set for rows run in copies, even where an arm has room for one copy only,
    /// so that all arms of a row speak one unit.
    #[serde(default)]
    pub rate: bool,
    #[serde(default)]
    pub core_sched: bool,
    /// The scheduler that must be in charge, as [`crate::machine::scheduler::in_charge`] names it; none: whichever
    /// it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Seed of what is random in a simulated run: of plan, phase, block and row, the same in every
    /// arm. Work on a host brings its own.
    #[serde(default)]
    pub seed: u64,
    /// User to become before anything measured starts.
    pub run_as: Option<RunAs>,
    /// After this long the worker ends everything and reports a failure, in seconds.
    pub timeout_s: f64,
}

impl Job {
    /// Work of no row, once and in one thread: placed freely, under whichever scheduler is in charge.
    pub fn plain(work: Work, arm: String, cpus: CpuSet, timeout_s: f64) -> Self {
        Self {
            schema: SCHEMA,
            work,
            arm,
            cpus,
            placement: Placement::Free,
            roles: Vec::new(),
            spare_cpus: CpuSet::new(),
            threads: 1,
            copies: 1,
            rate: false,
            core_sched: false,
            scheduler: None,
            seed: 0,
            run_as: None,
            timeout_s,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    Builtin { workload: String, params: Params },
    Command(CommandSpec),
    Beside(Box<Beside>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAs {
    pub uid: u32,
    pub gid: u32,
    /// Login name, for supplementary groups and `USER`.
    pub name: String,
    /// Home folder, for `HOME`.
    pub home: String,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub schema: u32,
    pub failure: Option<String>,
    pub value: Option<f64>,
    pub unit: String,
    pub better: Better,
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
    #[serde(default)]
    pub operations: u64,
    pub elapsed_s: f64,
    pub user_s: f64,
    pub system_s: f64,
    /// Tasks or threads the workload ran.
    pub threads: u32,
    pub cpus_ran: CpuSet,
    /// CPUs the worker was allowed to use, read back after binding.
    pub cpus_allowed: CpuSet,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
    #[serde(default)]
    pub checks: BTreeMap<String, bool>,
    pub output: Option<String>,
    /// Of a service under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
}

impl Outcome {
    /// The outcome of a run that failed before it could measure anything.
    pub fn failed(why: impl Into<String>, unit: &str, better: Better) -> Self {
        let (failure, unit) = (Some(why.into()), unit.to_owned());
        Self { schema: SCHEMA, failure, unit, better, ..Self::default() }
    }
}
