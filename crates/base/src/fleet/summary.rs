//! What a fleet comes to: effects over machines, what to expect of the next one, machines unlike the
//! others. `coretwin fleet report --format json`.

use crate::fleet::Refused;
use crate::origin::Origin;
use crate::shared_text::SharedText;
use crate::study::plan::{Comparison, Rule, Scale};
use crate::study::reading::Better;
use crate::study::summary::{Meaning, Verdict};
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The analysis of a fleet. In every effect above 1 (on the raw scale above 0) is better in the
/// arm. The CSV has the columns of an effect, suites first; the metrics are gauges
/// `coretwin_fleet_*` labelled by origin, model, workload, row, arm, reference and unit.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetSummary {
    pub schema: u32,
    pub machines: u32,
    /// Number of studies that count; a machine has one for each plan.
    pub studies: u32,
    /// Bundles that are not complete, but count.
    pub partial: Vec<PartialStudy>,
    /// Files that do not count.
    pub refused: Vec<Refused>,
    /// Studies by version of their records.
    pub schemas: BTreeMap<u32, u32>,
    pub models: Vec<FleetModel>,
    /// What the comparison can say about SMT; `none` where the studies disagree.
    pub comparison: Comparison,
    pub is_simulated: bool,
    /// `None` where machines are of several; those never make one effect.
    pub origin: Option<Origin>,
    pub margin: f64,
    pub confidence: f64,
    /// What HELPS and HURTS mean: intervals over machines of studies that ended by their width.
    #[serde(default)]
    pub rule: Rule,
    #[serde(default)]
    pub meaning: Meaning,
    pub suites: Vec<FleetEffect>,
    pub effects: Vec<FleetEffect>,
    /// Machines unlike the others, those that are so in most rows first.
    pub outliers: Vec<FleetOutlier>,
    pub sentences: Vec<String>,
    pub warnings: Vec<Warning>,
}

impl FleetSummary {
    pub fn interval_name(&self) -> String {
        self.origin.unwrap_or_default().interval_name(self.confidence)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialStudy {
    pub name: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetModel {
    pub cpu_model: SharedText,
    pub machines: u32,
    /// Fewest and most cores of a machine.
    pub cores: [u32; 2],
    pub threads_per_core: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetEffect {
    #[serde(default)]
    pub origin: Origin,
    /// `None` over all models of that origin.
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
    pub machines: u32,
    pub blocks: u64,
    /// Number of rows, 1 but for a suite.
    pub rows: u32,
    /// Mean over machines: a ratio, or on the raw scale the improvement in the unit.
    pub effect: f64,
    /// Lower end of the interval of the mean; `None` where nothing is known of spread.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Lower end of the interval for the next machine's true effect; `None` for fewer than three
    /// machines.
    pub next_low: Option<f64>,
    pub next_high: Option<f64>,
    /// Standard deviation between machines on the scale of the analysis: log ratio, or unit.
    pub between: Option<f64>,
    /// Share of the variance that is between machines, I².
    pub share_between: Option<f64>,
    /// Two-sided p-value of no mean effect, unadjusted.
    pub p: Option<f64>,
    /// Holm-adjusted over all rows of the same model and arm.
    pub p_adjusted: Option<f64>,
    pub verdict: Option<Verdict>,
    /// What can be said of the next machine: the interval for it, read like a verdict.
    pub next: Option<Verdict>,
    pub outliers: u32,
    /// The machines, where there are at most 24.
    pub points: Vec<FleetPoint>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPoint {
    pub name: SharedText,
    pub effect: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetOutlier {
    pub machine: SharedText,
    pub name: SharedText,
    pub cpu_model: SharedText,
    /// Rows in which it is unlike the others.
    pub rows_unlike: u32,
    /// Rows in which it could be.
    pub rows_looked_at: u32,
    /// The row where it is so most surely.
    pub row: SharedText,
    pub arm: SharedText,
    pub unit: SharedText,
    pub scale: Scale,
    pub effect: f64,
    /// What the other machines predict for it there: lower end of the interval.
    pub expected_low: f64,
    pub expected_high: f64,
    /// p-value there, Holm-adjusted over the machines of the model.
    pub p_adjusted: f64,
}
