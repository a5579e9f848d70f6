//! What the experiment came to: what a CPU second was worth in each condition.

use super::{Pair, Place};
use crate::machine::cpu_set::{CpuId, CpuSet};
use crate::machine::topology::Trust;
use crate::origin::Origin;
use crate::study::summary::StoppedBecause;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end of the interval; `None` for a single block.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// What came out of one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConditionResult {
    /// Its name.
    pub name: String,
    /// Where the spinners were.
    pub placement: Place,
    /// How many there were.
    pub spinners: u32,
    /// CPUs of the work.
    pub work_cpus: CpuSet,
    /// CPUs of the spinners.
    pub spinner_cpus: CpuSet,
    /// Wall time of the work, in seconds: geometric mean over blocks, as all times here.
    pub real_s: Option<f64>,
    /// User CPU time of the work, in seconds (arithmetic mean).
    pub user_s: Option<f64>,
    /// System CPU time of the work, in seconds (arithmetic mean).
    pub system_s: Option<f64>,
    /// Wall time over wall time alone in the same block.
    pub slowdown: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The same of CPU time, user and system: what the neighbour does to a CPU second.
    pub cpu_slowdown: Option<Estimate>,
    /// Progress of one spinner alone over its progress here, mean of all spinners.
    pub spinner_slowdown: Option<Estimate>,
    /// System throughput: the progress of all, each over its own alone, summed (Eyerman & Eeckhout
    /// 2008). 1 is what a CPU gives to one of them.
    pub stp: Option<Estimate>,
    /// Average normalised turnaround time: the mean slowdown of all (as above).
    pub antt: Option<Estimate>,
    /// Blocks it was computed from.
    pub blocks: u32,
    /// Runs that failed.
    pub failed: u32,
    /// Why the last of them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A spinner without the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpinnerAlone {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// What it counted per second, geometric mean over blocks; `None` where it does not count.
    pub rate: Option<f64>,
    /// Unit of that.
    pub unit: String,
}

/// The whole result: `cputime --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CputimeSummary {
    /// Record version.
    pub schema: u32,
    /// Measured, or emulated; left out by older records.
    #[serde(default)]
    pub origin: Origin,
    /// The work, in words.
    pub work: String,
    /// The spinner, in words.
    pub spinner: String,
    /// The pair.
    pub cpus: Pair,
    /// The control's CPU.
    pub control: Option<CpuId>,
    /// How far the kernel's word on siblings can be trusted.
    pub topology_trust: Trust,
    /// What the pair is, and what the numbers can say about SMT; for people.
    pub meaning: Vec<String>,
    /// One for each condition with the work.
    pub conditions: Vec<ConditionResult>,
    /// Spinners alone.
    pub spinners_alone: Vec<SpinnerAlone>,
    /// Slowdown r and yield s of this pair, where it shares a core.
    pub factors: Option<Factors>,
    /// Blocks analysed.
    pub blocks: u32,
    /// Attempts at blocks that something outside disturbed.
    pub blocks_set_aside: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// Why it ended.
    pub stopped_because: StoppedBecause,
    /// That others left no block undisturbed, in a sentence, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_busy: Option<String>,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
}

/// What a busy sibling does to a CPU second, both ways (slowdown `r`, yield `s`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Factors {
    /// CPU time of the work beside one busy sibling over its CPU time alone.
    pub slowdown: Estimate,
    /// The same of the neighbour, by its progress; `None` where it does not count.
    pub neighbour_slowdown: Option<Estimate>,
    /// Throughput of the core with both busy over one busy: the sum of the two progresses.
    pub core_yield: Option<Estimate>,
}

/// A line of `factors.jsonl`: what accounting may use on this machine, for this work beside this
/// neighbour. Only of CPUs that share a core, by the kernel's word or by contention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFactors {
    /// Record version.
    pub schema: u32,
    /// When it was measured, in UTC, RFC 3339.
    pub measured_utc: String,
    /// The processor's name.
    pub cpu_model: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Name of the hypervisor, `none` on bare metal.
    pub hypervisor: String,
    /// The work, in words.
    pub work: String,
    /// What ran beside it.
    pub neighbour: String,
    /// The two CPUs, and what they are to each other.
    pub cpus: Pair,
    /// How far the kernel's word on siblings could be trusted.
    pub topology_trust: Trust,
    /// What was measured.
    pub factors: Factors,
    /// Blocks it was computed from.
    pub blocks: u32,
}
