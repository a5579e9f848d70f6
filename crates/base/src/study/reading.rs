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
    Failed,
    /// It ran, but something outside disturbed it, by a criterion fixed beforehand.
    SetAside,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Phase {
    /// First run of a row, or after a slow change of the machine: kept, never analysed.
    Warmup,
    Screen,
    #[default]
    Study,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    pub value: f64,
    pub unit: String,
    pub better: Better,
}

/// One run of one row in one arm. Small, so that a million of them are at hand: what many readings
/// have in common is shared between them.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    pub schema: u32,
    pub seq: u64,
    #[serde(default)]
    pub phase: Phase,
    pub block: u32,
    /// Number of the arm change this reading was taken in, from 0; readings of one switch share
    /// the state of the machine.
    pub switch: u32,
    /// 0 at first; a block that was set aside or broken off is run again with the next number,
    /// and only the last complete attempt of a block is analysed.
    pub attempt: u32,
    pub arm: SharedText,
    pub row: SharedText,
    /// Name of the workload; `command` for a user's own.
    pub workload: SharedText,
    #[serde(default)]
    pub params: Arc<Params>,
    pub placement_asked: Placement,
    #[serde(default)]
    pub cpus_ran: Arc<CpuSet>,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SharedText>,
    /// The primary value; `None` if the run failed.
    pub value: Option<f64>,
    pub unit: SharedText,
    pub better: Better,
    #[serde(default)]
    pub metrics: Arc<BTreeMap<String, Metric>>,
    #[serde(default)]
    pub operations: u64,
    pub elapsed_s: f64,
    pub user_s: f64,
    pub system_s: f64,
    #[serde(default)]
    pub steal_s: f64,
    pub threads: u32,
    #[serde(default = "one")]
    pub copies: u32,
    #[serde(default, skip_serializing_if = "nothing")]
    pub samples: Arc<Vec<f64>>,
    #[serde(default, skip_serializing_if = "no_words")]
    pub notes: Arc<BTreeMap<String, String>>,
    #[serde(default)]
    pub checks: Arc<BTreeMap<String, bool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<SharedText>,
    /// Of a service under load: what became of its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Arc<Latency>>,
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
