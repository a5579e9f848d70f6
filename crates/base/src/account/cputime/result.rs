//! What the experiment came to: what a CPU second was worth in each condition.

pub use super::estimate::Estimate;
use super::pairs::Pairs;
use super::{Pair, Place};
use crate::machine::cpu_set::{CpuId, CpuSet};
use crate::machine::topology::Trust;
use crate::origin::Origin;
use crate::study::summary::StoppedBecause;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConditionResult {
    pub name: String,
    pub placement: Place,
    pub spinners: u32,
    pub work_cpus: CpuSet,
    pub spinner_cpus: CpuSet,
    /// Wall time of the work, in seconds: geometric mean over blocks, as all times here.
    pub real_s: Option<f64>,
    pub user_s: Option<f64>,
    pub system_s: Option<f64>,
    pub slowdown: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub cpu_slowdown: Option<Estimate>,
    pub spinner_slowdown: Option<Estimate>,
    /// System throughput (`stats/src/cputime.rs`): 1 is what a CPU gives to one of them.
    pub stp: Option<Estimate>,
    /// Average normalised turnaround time: the mean slowdown of all.
    pub antt: Option<Estimate>,
    pub blocks: u32,
    pub failed: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpinnerAlone {
    pub cpus: CpuSet,
    /// What it counted per second, geometric mean over blocks; `None` where it does not count.
    pub rate: Option<f64>,
    pub unit: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CputimeSummary {
    pub schema: u32,
    /// Measured, or emulated; left out by older records.
    #[serde(default)]
    pub origin: Origin,
    pub work: String,
    pub spinner: String,
    pub cpus: Pair,
    pub control: Option<CpuId>,
    pub topology_trust: Trust,
    pub meaning: Vec<String>,
    pub conditions: Vec<ConditionResult>,
    pub spinners_alone: Vec<SpinnerAlone>,
    pub factors: Option<Factors>,
    pub blocks: u32,
    pub blocks_set_aside: u32,
    pub seed: u64,
    pub stopped_because: StoppedBecause,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_busy: Option<String>,
    pub warnings: Vec<Warning>,
    /// Of several commands beside each other.
    #[serde(flatten)]
    pub pairs: Option<Pairs>,
}

/// What a busy sibling does to a CPU second, both ways (slowdown `r`, yield `s`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Factors {
    pub slowdown: Estimate,
    /// The same of the neighbour, by its progress; `None` where it does not count.
    pub neighbour_slowdown: Option<Estimate>,
    pub core_yield: Option<Estimate>,
}

/// A line of `factors.jsonl`: what accounting may use on this machine, for this work beside this
/// neighbour. Only of CPUs that share a core, by the kernel's word or by contention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFactors {
    pub schema: u32,
    pub measured_utc: String,
    pub cpu_model: String,
    pub kernel: String,
    /// Name of the hypervisor, `none` on bare metal.
    pub hypervisor: String,
    pub work: String,
    pub neighbour: String,
    pub cpus: Pair,
    pub topology_trust: Trust,
    pub factors: Factors,
    pub blocks: u32,
}
