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
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetComparison {
    pub schema: u32,
    pub fleets: [ComparedFleet; 2],
    pub machines_paired: u32,
    pub margin: f64,
    pub confidence: f64,
    pub suites: Vec<FleetChange>,
    pub effects: Vec<FleetChange>,
    pub facts: Vec<FleetFactChange>,
    pub facts_same: u32,
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
    pub models: BTreeMap<SharedText, u32>,
    pub comparison: Comparison,
    pub is_simulated: bool,
    pub origin: Option<Origin>,
    pub margin: f64,
    pub partial: u32,
    pub refused: u32,
    pub machines_only: Vec<SharedText>,
    pub rows_only: Vec<String>,
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
    pub effects: [FleetSide; 2],
    pub machines_paired: u32,
    pub machines_independent: [u32; 2],
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
    pub machines: Vec<SharedText>,
    pub foremost: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactMixture {
    pub fact: SharedText,
    pub values: [BTreeMap<SharedText, u32>; 2],
}
