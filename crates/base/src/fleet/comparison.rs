//! The comparison of two fleets: what `coretwin compare` prints where a fleet is among what it is given.
//!
//! Effects are compared, not values: within each machine whatever it is like cancels between its arms.

use crate::origin::Origin;
use crate::shared_text::SharedText;
use crate::study::comparison::Contrast;
use crate::study::plan::{Comparison, Scale};
use crate::study::reading::Better;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `compare --format json` of fleets. Every pair is first fleet, second fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetComparison {
    pub schema: u32,
    pub fleets: [ComparedFleet; 2],
    pub machines_paired: u32,
    pub margin: f64,
    /// Nominal coverage of the intervals, 0 to 1.
    pub confidence: f64,
    /// Means over rows, the primary result: by model, and over all models where there are several.
    pub suites: Vec<FleetChange>,
    /// By row and arm: by model, and over all models where there are several.
    pub effects: Vec<FleetChange>,
    /// Facts that changed on machines that are in both, those that matter most first.
    pub facts: Vec<FleetFactChange>,
    /// Number of recorded facts that are the same on every machine of both.
    pub facts_same: u32,
    /// Facts that matter most whose values the fleets have in other shares, where they are not made of
    /// the same machines.
    pub mixtures: Vec<FactMixture>,
    /// The answer in words, one for each arm.
    pub sentences: Vec<String>,
    pub warnings: Vec<Warning>,
}

impl FleetComparison {
    pub fn interval_name(&self) -> String {
        Origin::of_change(self.fleets.iter().filter_map(|fleet| fleet.origin))
            .interval_name(self.confidence)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedFleet {
    pub head: String,
    pub folder: String,
    pub machines: u32,
    pub models: BTreeMap<SharedText, u32>,
    /// What it can say about SMT; `none` where its studies disagree.
    pub comparison: Comparison,
    pub is_simulated: bool,
    /// Where the figures come from; `None` of machines that differ in it.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// Largest margin of its studies.
    pub margin: f64,
    /// Studies that were broken off, but count.
    pub partial: u32,
    pub refused: u32,
    pub machines_only: Vec<SharedText>,
    /// Rows, with their unit, that only this fleet has.
    pub rows_only: Vec<String>,
    /// Arms, with their reference, that only this fleet has.
    pub arms_only: Vec<String>,
}

/// What became of the effect of an arm on a row, over machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetChange {
    /// Where the figures of each fleet come from.
    #[serde(default)]
    pub origins: [Origin; 2],
    /// Model of the processor; none: all of them.
    pub cpu_model: Option<SharedText>,
    /// The workload with its parameters; of a suite, `all`.
    pub row: SharedText,
    pub workload: SharedText,
    pub arm: SharedText,
    pub reference: SharedText,
    /// Unit of the values; empty for a suite.
    pub unit: SharedText,
    pub better: Better,
    pub scale: Scale,
    /// Number of rows, 1 but for a suite.
    pub rows: u32,
    pub effects: [FleetSide; 2],
    /// Machines that are in both and were compared with themselves.
    pub machines_paired: u32,
    /// Machines of each fleet that were compared with other machines.
    pub machines_independent: [u32; 2],
    /// Effect in the second fleet over effect in the first.
    pub change: Contrast,
}

/// The effect in one fleet, as in its own report.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FleetSide {
    /// Mean over machines: a ratio, or on the raw scale the improvement in the row's unit.
    pub effect: f64,
    /// Lower end of its interval; `None` where nothing is known of spread.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub machines: u32,
}

/// A fact that changed in one way on some machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetFactChange {
    /// Its dotted key, facts of single CPUs folded into one (`cpu.*.governor`).
    pub fact: SharedText,
    /// Its text in each fleet; `None` where it was not recorded.
    pub values: [Option<SharedText>; 2],
    pub machines: Vec<SharedText>,
    /// Whether it is one of those that matter most for a comparison of speed.
    pub foremost: bool,
}

/// A fact that the machines of the fleets have in other shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactMixture {
    pub fact: SharedText,
    /// Number of machines by value, in each fleet.
    pub values: [BTreeMap<SharedText, u32>; 2],
}
