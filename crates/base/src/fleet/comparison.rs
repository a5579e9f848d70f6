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

/// Two fleets; every pair is first fleet, second fleet. Of three or more, JSON is a list of these.
/// As CSV, a line for every entry of `suites` and `effects`.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetComparison {
    pub schema: u32,
    pub fleets: [ComparedFleet; 2],
    pub machines_paired: u32,
    pub margin: f64,
    pub confidence: f64,
    /// As `effects`, means over the `rows` that all machines of both have; the primary result.
    pub suites: Vec<FleetChange>,
    /// For each CPU model (null: over all, where there are several), row and arm of both.
    pub effects: Vec<FleetChange>,
    /// Facts that changed on machines of both.
    pub facts: Vec<FleetFactChange>,
    /// How many changed on none.
    pub facts_same: u32,
    /// Facts that matter most and that the fleets, where not made of the same machines, have in
    /// other shares.
    pub mixtures: Vec<FactMixture>,
    pub sentences: Vec<String>,
    pub warnings: Vec<Warning>,
}

impl FleetComparison {
    pub fn interval_name(&self) -> String {
        Origin::of_change(self.fleets.iter().filter_map(|fleet| fleet.origin))
            .interval_name(self.confidence)
    }
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedFleet {
    pub head: String,
    pub folder: String,
    pub machines: u32,
    /// Machines of each CPU model.
    pub models: BTreeMap<SharedText, u32>,
    pub comparison: Comparison,
    pub is_simulated: bool,
    /// `None` where its machines are of several.
    pub origin: Option<Origin>,
    pub margin: f64,
    /// Bundles that are not complete, but count.
    pub partial: u32,
    /// Files that do not count.
    pub refused: u32,
    /// Machines that the other has not.
    pub machines_only: Vec<SharedText>,
    /// Rows that the other has not.
    pub rows_only: Vec<String>,
    /// Arms that the other has not.
    pub arms_only: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetChange {
    #[serde(default)]
    pub origins: [Origin; 2],
    pub cpu_model: Option<SharedText>,
    pub row: SharedText,
    pub workload: SharedText,
    pub arm: SharedText,
    pub reference: SharedText,
    pub unit: SharedText,
    pub better: Better,
    pub scale: Scale,
    pub rows: u32,
    /// As in each fleet's own report.
    pub effects: [FleetSide; 2],
    /// Machines that were compared with themselves.
    pub machines_paired: u32,
    /// Machines that were compared with others.
    pub machines_independent: [u32; 2],
    /// The contrast of the two.
    pub change: Contrast,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FleetSide {
    /// Mean over machines: a ratio, or on the raw scale the improvement in the row's unit.
    pub effect: f64,
    /// Lower end of its interval; `None` where nothing is known of spread.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub machines: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetFactChange {
    pub fact: SharedText,
    /// Its text in each fleet; `None` where it was not recorded.
    pub values: [Option<SharedText>; 2],
    /// Machines on which it changed so.
    pub machines: Vec<SharedText>,
    pub foremost: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactMixture {
    pub fact: SharedText,
    /// Machines by value, in each fleet.
    pub values: [BTreeMap<SharedText, u32>; 2],
}
