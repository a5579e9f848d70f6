//! The comparison of two studies: what `coretwin compare` prints.
//!
//! Two questions are kept apart. *Effects*: does an arm do more for a row in the second study than
//! in the first (the interaction)? Each study compares its arms within its own blocks, so whatever
//! a boot or a machine does to both arms cancels. *Values*: is the row itself faster in the second
//! study? There nothing cancels.

use crate::origin::Origin;
use crate::study::plan::{Comparison, PlanArm, Protocol, Scale};
use crate::study::reading::Better;
use crate::study::summary::{RowEffect, StoppedBecause, SuiteEffect};
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `compare --format json`. Every pair is first study, second study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyComparison {
    pub schema: u32,
    pub studies: [ComparedStudy; 2],
    /// The arm that the others are compared with, in both studies.
    pub reference_arm: String,
    pub margin: f64,
    /// Nominal coverage of the intervals, 0 to 1.
    pub confidence: f64,
    /// One entry per suite of the common rows and arm other than the reference; the primary result.
    pub suites: Vec<SuiteChange>,
    /// One entry per common row and arm other than the reference.
    pub effects: Vec<EffectChange>,
    /// One entry per suite of the common rows and common arm.
    pub value_suites: Vec<ValueChange>,
    /// One entry per common row and common arm.
    pub values: Vec<ValueChange>,
    /// Facts of the machines that differ, those that matter most first.
    pub facts: Vec<FactChange>,
    /// Number of recorded facts that do not differ.
    pub facts_same: u32,
    /// The answer in words, one per arm other than the reference, and what else to keep in mind.
    pub sentences: Vec<String>,
    pub warnings: Vec<Warning>,
}

impl StudyComparison {
    pub fn interval_name(&self) -> String {
        Origin::of_change(self.studies.iter().map(|study| study.origin))
            .interval_name(self.confidence)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedStudy {
    /// Its name in tables: what tells it from the other, like its kernel.
    pub head: String,
    pub folder: String,
    pub machine: String,
    #[serde(default)]
    pub origin: Origin,
    pub coretwin: String,
    /// When it was started first, in UTC, RFC 3339; `None` if that was not recorded.
    pub started_utc: Option<String>,
    /// Number of boots over which it was measured, as far as recorded.
    pub boots: u32,
    pub comparison: Comparison,
    pub protocol: Protocol,
    pub arms: Vec<PlanArm>,
    /// The reference of its own report.
    pub reference_arm: String,
    pub margin: f64,
    pub blocks: u32,
    pub stopped_because: StoppedBecause,
    /// Number of warnings in its own report.
    pub warnings: u32,
    /// Rows that only this study has, or whose unit or scale the other has otherwise.
    pub rows_only: Vec<String>,
    /// Arms that only this study has.
    pub arms_only: Vec<String>,
}

/// How a row or suite differs between the two studies.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// Second over first; above 1 is better in the second. On the raw scale the improvement in the
    /// row's unit, above 0 is better. `None` if either study has no result.
    pub ratio: Option<f64>,
    /// Lower end of the unadjusted interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Degrees of freedom (Welch–Satterthwaite).
    pub degrees: Option<f64>,
    /// p-value of no change, unadjusted.
    pub p: Option<f64>,
    /// Holm-adjusted p-value over all lines of the same table.
    pub p_adjusted: Option<f64>,
    /// What it comes to at the margin; `None` where that may not be said.
    pub change: Option<Change>,
}

impl Contrast {
    /// Whether it is worse in the second study, and more surely so than the luck of looking at many
    /// lines allows.
    pub fn is_regression(&self, confidence: f64) -> bool {
        self.change == Some(Change::Worse) && self.p_adjusted.is_some_and(|p| p < 1.0 - confidence)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    Better,
    Worse,
    /// Any change is smaller than the margin.
    NoMaterialChange,
    Inconclusive,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "BETTER",
            Self::Worse => "WORSE",
            Self::NoMaterialChange => "NO MATERIAL CHANGE",
            Self::Inconclusive => "INCONCLUSIVE",
        })
    }
}

/// The effect of an arm on a row in both studies, and the interaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectChange {
    pub family: String,
    /// The row in each study, as in its summary.
    pub effects: [RowEffect; 2],
    /// Effect in the second study over effect in the first.
    pub interaction: Contrast,
}

/// The effect of an arm on a suite in both studies, and the interaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteChange {
    pub effects: [SuiteEffect; 2],
    pub interaction: Contrast,
}

/// The value of a row or suite in one arm, in both studies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueChange {
    pub name: String,
    pub arm: String,
    /// Mean in each study (geometric on the ratio scale); `None` for a suite.
    pub values: [Option<f64>; 2],
    pub blocks: [u32; 2],
    /// Unit of the values; empty for a suite.
    pub unit: String,
    pub better: Better,
    pub scale: Scale,
    /// Value in the second study over value in the first, turned so that above 1 is better.
    pub contrast: Contrast,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactChange {
    /// Its dotted key, facts of single CPUs folded into one (`cpu.*.governor`).
    pub fact: String,
    /// Its text in each study, by arm where arms differ; `None` where it was not recorded.
    pub values: [Option<String>; 2],
    /// Whether it is one of those that matter most for a comparison of speed.
    pub foremost: bool,
}
