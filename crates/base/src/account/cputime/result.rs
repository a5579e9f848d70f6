//! What the experiment came to: what a CPU second was worth in each condition.

pub use super::estimate::Estimate;
use super::pairs::Pairs;
use super::rulers::Rulers;
use super::{Pair, Place};
use crate::machine::cpu_set::{CpuId, CpuSet};
use crate::machine::topology::Trust;
use crate::origin::Origin;
use crate::study::summary::StoppedBecause;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};

/// One condition: the work, alone or beside spinners.
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
    /// Real time over real time alone.
    pub slowdown: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The same of user and system time.
    pub cpu_slowdown: Option<Estimate>,
    /// Progress of a spinner alone over its progress here; `None` where it does not count.
    pub spinner_slowdown: Option<Estimate>,
    /// System throughput: 1 is what a CPU gives to one of them.
    pub stp: Option<Estimate>,
    /// Average normalised turnaround time: the mean slowdown of all.
    pub antt: Option<Estimate>,
    pub blocks: u32,
    pub failed: u32,
    /// Why its runs failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpinnerAlone {
    pub cpus: CpuSet,
    /// What it counted per second, geometric mean over blocks; `None` where it does not count.
    pub rate: Option<f64>,
    /// `steps/s` or `lines/s`.
    pub unit: String,
}

/// What CPU time was worth, condition by condition. A folder of `cputime` holds `plan.json` (whose
/// `cputime` says what each row is), `journal.jsonl`, `environment.json`, `cputime.json`,
/// `report.html` and `report.md`; its readings have the metrics `work_user_s`, `work_system_s`,
/// `spinner_N_rate` and `spinner_cpu_s`. With `--with`, conditions are named after the commands
/// (`zip`, `zip beside db`), and there are no `factors`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CputimeSummary {
    pub schema: u32,
    /// Measured, or emulated; left out by older records.
    #[serde(default)]
    pub origin: Origin,
    pub work: String,
    pub spinner: String,
    /// The two CPUs on which work and spinners meet.
    pub cpus: Pair,
    /// A CPU of another core behind the same last-level cache; `None` if there is none.
    pub control: Option<CpuId>,
    pub topology_trust: Trust,
    /// What it comes to, in sentences.
    pub meaning: Vec<String>,
    pub conditions: Vec<ConditionResult>,
    pub spinners_alone: Vec<SpinnerAlone>,
    /// Of one spinner on the sibling; `None` where nothing is known to share a core.
    pub factors: Option<Factors>,
    pub blocks: u32,
    pub blocks_set_aside: u32,
    pub seed: u64,
    pub stopped_because: StoppedBecause,
    /// That others left no block undisturbed, in a sentence; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_busy: Option<String>,
    pub warnings: Vec<Warning>,
    /// Of several commands beside each other.
    #[serde(flatten)]
    pub pairs: Option<Pairs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rulers: Option<Rulers>,
}

/// What a busy sibling does to a CPU second, both ways (slowdown `r`, yield `s`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Factors {
    /// `r` of the work.
    pub slowdown: Estimate,
    /// `r` of the neighbour, by its progress; `None` where it does not count.
    pub neighbour_slowdown: Option<Estimate>,
    /// `s`.
    pub core_yield: Option<Estimate>,
}

/// What accounting may use on this machine, for this work beside this neighbour; only of CPUs that
/// share a core, by the kernel's word or by contention. It is in the state folder
/// (`/var/lib/coretwin` for root, else `$XDG_STATE_HOME/coretwin`, else `~/.local/state/coretwin`)
/// and appended to, a line a run; lines that do not read are left out.
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
