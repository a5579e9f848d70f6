//! A reading: what one run of one workload in one arm gave. A line of the journal.

use crate::machine::cpu_set::CpuSet;
use crate::machine::placement::Placement;
use crate::parameters::Params;
use crate::shared_text::SharedText;
use crate::study::latency::Latency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Better {
    #[default]
    Higher,
    Lower,
}

impl Better {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Status {
    #[default]
    Ok,
    /// A result: `cause` and `output` say how.
    Failed,
    /// It was disturbed from outside, by a cause fixed beforehand.
    SetAside,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Phase {
    /// First run of a row, or of a visit after a switch or boot; never analysed.
    Warmup,
    /// Made to choose a thread count, or to find saturation.
    Screen,
    /// Analysed.
    #[default]
    Study,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    pub value: f64,
    pub unit: String,
    pub better: Better,
}

// Small, so that a million of them are at hand: what many readings have in common is shared between them.
/// One run of one row in one arm. `run --json` has `origin` (`measured` or `emulated`) beside these
/// fields; of a journal the plan says it. A line of a journal ends with `checksum`: the CRC-32 (as
/// of gzip) of all bytes of the line before `,"checksum"`, eight hexadecimal digits.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    pub schema: u32,
    /// Number of the line, from 0, without gaps; a gap or a repetition is an error.
    pub seq: u64,
    /// What the run is for.
    #[serde(default)]
    pub phase: Phase,
    /// Block within its phase, from 0; the unit of statistics.
    pub block: u32,
    /// Number of the arm change, from 0. Readings of one switch share the state of the machine, and
    /// those of one row count as one value. Where SMT is switched each is a switch; where boots are
    /// compared, a boot.
    pub switch: u32,
    /// 0, or more where a block was disturbed or broken off and run again; only the last complete
    /// attempt of a block is analysed.
    pub attempt: u32,
    /// Label of the arm.
    pub arm: SharedText,
    /// Row of the plan, like `chat:rooms=20`.
    pub row: SharedText,
    /// Name of the workload; `command` for a user's own.
    pub workload: SharedText,
    /// Its parameters, defaults filled in.
    #[serde(default)]
    pub params: Arc<Params>,
    pub placement_asked: Placement,
    /// CPUs on which its tasks were seen to run.
    #[serde(default)]
    pub cpus_ran: Arc<CpuSet>,
    pub status: Status,
    /// Why it failed or was set aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SharedText>,
    /// The primary value; `None` if the run failed.
    pub value: Option<f64>,
    pub unit: SharedText,
    pub better: Better,
    /// Other numbers. Peak memory is always there; for a command CPU seconds per run too;
    /// `energy_j` where the packages' counters can be read. Where the processor counts: `cycles`,
    /// `instructions`, `reference_cycles` (at base clock) and `llc_misses` of all the run's
    /// processes, with `user_` before each where only user mode may be counted. MPERF and APERF
    /// stand in for cycle counters that are missing. A row of a simulated study has
    /// `sampled_fraction`, `runs` (whose mean the value is) and, of several, `seed_error` (its
    /// standard error, % of it).
    #[serde(default)]
    pub metrics: Arc<BTreeMap<String, Metric>>,
    /// Operations done.
    #[serde(default)]
    pub operations: u64,
    /// Wall time of the measured part; simulated time of a simulated study.
    pub elapsed_s: f64,
    /// User time of everything that the run started, set-up included.
    pub user_s: f64,
    pub system_s: f64,
    /// Time that the hypervisor took on the arm's CPUs during the run (10 ms ticks of
    /// `/proc/stat`).
    #[serde(default)]
    pub steal_s: f64,
    /// Thread count given to the workload, or its number of tasks.
    pub threads: u32,
    /// Copies that ran side by side.
    #[serde(default = "one")]
    pub copies: u32,
    /// What was measured one after another, in the unit of the value (with copies: one copy after
    /// the other).
    #[serde(default, skip_serializing_if = "nothing")]
    pub samples: Arc<Vec<f64>>,
    /// Words beside the numbers: the file system of a scratch folder, the shell that was run;
    /// `scheduler`, the one in charge, on a kernel with sched_ext (`kernel`, a policy's name, or
    /// another one's own); `seed` and `trace` (a hash of all that happened) of a simulated run.
    #[serde(default, skip_serializing_if = "no_words")]
    pub notes: Arc<BTreeMap<String, String>>,
    /// Whether each check held; one that did not makes the run `failed`. `scheduler`: the arm's was
    /// in charge before and after the run.
    #[serde(default)]
    pub checks: Arc<BTreeMap<String, bool>>,
    /// End of the output of a failed command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<SharedText>,
    /// Of a service under load: what became of its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Arc<Latency>>,
    /// Entry of `environment.json`, `moments`.
    pub env: SharedText,
}

fn one() -> u32 {
    1
}

fn nothing(samples: &Arc<Vec<f64>>) -> bool {
    samples.is_empty()
}

fn no_words(notes: &Arc<BTreeMap<String, String>>) -> bool {
    notes.is_empty()
}

/// Counters of the processor that stand among a reading's metrics, where the machine has them.
pub mod counter {
    /// One of them, with the name it has where time in the kernel is not counted.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Event {
        pub name: &'static str,
        pub user_name: &'static str,
        pub unit: &'static str,
    }

    /// Cycles in which the core was not halted, at the clock it ran at.
    pub const CYCLES: Event = event("cycles", "user_cycles", "cycles");
    /// Instructions retired.
    pub const INSTRUCTIONS: Event = event("instructions", "user_instructions", "instructions");
    /// Cycles in which the core was not halted, at its base clock (that of the time-stamp counter).
    pub const REFERENCE_CYCLES: Event =
        event("reference_cycles", "user_reference_cycles", "cycles");
    /// Misses of the last-level cache, as the kernel's generic event counts them.
    pub const LLC_MISSES: Event = event("llc_misses", "user_llc_misses", "misses");

    /// The fact of a machine that names what is counted, or why nothing is.
    pub const FACT: &str = "cpu.counters";
    /// Before the reason, where nothing is.
    pub const NONE: &str = "none: ";

    const fn event(name: &'static str, user_name: &'static str, unit: &'static str) -> Event {
        Event { name, user_name, unit }
    }
}
