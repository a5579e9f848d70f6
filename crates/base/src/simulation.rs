//! What a simulated machine is, beside the rows, arms and seed of its plan.

pub mod core_queue;
pub mod core_run;
pub mod kernel_run;
pub mod linux_2_4_19;
pub mod linux_2_5_32;
pub mod live;
pub mod policy_parameter;
pub mod prediction;
pub mod sweep;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The simulated machine of a plan. With rows, arms and seed it decides every reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    pub title: String,
    /// Whether it is the article's machine, so that its readings are predictions of the article's
    /// figures.
    pub is_articles: bool,
    /// The machine's own file, where it is none of those that are built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetText>,
    /// The fitted parameters, as the file of the fit reads; none: the models as they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<FitText>,
    /// Rows of the plan whose own figure was fitted, with what of it: they take no part in scores.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fitted_rows: BTreeMap<String, String>,
}

/// A machine's file as it was read, kept so that a study that goes on goes on on the same machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetText {
    /// The file.
    pub origin: String,
    pub text: String,
}

/// A fit as it was read, kept so that a study that goes on goes on by the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FitText {
    /// Where it came from: the name of the machine it is built in with, or a file.
    pub origin: String,
    /// How many.
    pub parameters: u32,
    /// What they were fitted to.
    pub fitted_to: String,
    pub text: String,
}
