//! A sweep of the simulated kernel: what is run (`sweep.json`) and what each cell gave (`cells.jsonl`).

use crate::origin::Origin;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A grid of runs: every policy on every machine with every scenario and seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepPlan {
    pub schema: u32,
    pub name: String,
    pub title: String,
    pub policies: Vec<String>,
    pub reference: String,
    /// Machines, as `2x4x2`.
    pub topologies: Vec<String>,
    pub scenarios: Vec<String>,
    /// Seeds, from 1 to this.
    pub seeds: u32,
    /// Where speeds come from: a preset of the simulated core, or `uniform-1.6`.
    pub speeds: SweepSpeeds,
    /// Length of each run, in ms; none: as its scenario says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<f64>,
    /// Names what scenarios and speeds were like: a sweep is carried on only with the same.
    #[serde(default)]
    pub inputs: String,
    pub measures: Vec<SweepMeasure>,
}

impl SweepPlan {
    pub fn cells(&self) -> u64 {
        let lists = [&self.policies, &self.topologies, &self.scenarios];
        lists.iter().map(|list| list.len() as u64).product::<u64>() * u64::from(self.seeds)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepSpeeds {
    Preset(String),
    /// Every kind of work takes so many times its time alone beside a busy sibling.
    Slowdown(f64),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepMeasure {
    /// Its key, unit last.
    pub key: String,
    pub about: String,
    /// Which way is better, if either is: above 0 more, below 0 less.
    pub better: i8,
}

/// One run, appended as it is done. `cells.csv` has the same, with `origin` last; beside it are
/// `table.txt` and `heat-SCENARIO-MEASURE.svg`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepCell {
    pub schema: u32,
    /// Always [`Origin::Simulated`]; left out by older records.
    #[serde(default = "Origin::simulated")]
    pub origin: Origin,
    pub policy: String,
    pub topology: String,
    pub scenario: String,
    pub seed: u64,
    pub measures: BTreeMap<String, f64>,
    pub trace_hash: String,
    /// Why it could not be run; it then has no measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}
