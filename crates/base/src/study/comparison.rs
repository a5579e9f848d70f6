//! The comparison of two studies: what `coretwin compare` prints.
//!
//! Two questions are kept apart. *Effects*: does an arm do more for a row in the second study than
//! in the first (the interaction)? Each study compares its arms within its own blocks, so whatever
//! a boot or a machine does to both arms cancels. *Values*: is the row itself faster in the second
//! study? There nothing cancels.

use crate::origin::Origin;
use crate::study::plan::{Comparison, PlanArm, Protocol, Rule, Scale};
use crate::study::reading::Better;
use crate::study::summary::{Meaning, RowEffect, StoppedBecause, SuiteEffect};
use crate::warning::Warning;
use serde::{Deserialize, Serialize};

/// Two studies; every pair is first study, second study. Of three studies or more each is compared
/// with the first (or `--baseline`), and JSON is a list of these. As CSV, a line for every entry of
/// the four lists: `kind` is `effect_suite`, `effect`, `value_suite` or `value`; numbers ending in
/// `_1` and `_2` are the studies', the others the contrast.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyComparison {
    pub schema: u32,
    pub studies: [ComparedStudy; 2],
    /// Used for both.
    pub reference_arm: String,
    /// The larger of the two, or `--margin`.
    pub margin: f64,
    pub confidence: f64,
    /// What BETTER and WORSE of the changes mean, whatever the studies' own rules are.
    #[serde(default)]
    pub meaning: Meaning,
    /// For each suite of the common rows and arm; the primary result.
    pub suites: Vec<SuiteChange>,
    /// For each common row and arm.
    pub effects: Vec<EffectChange>,
    /// For each common suite and arm, the reference included.
    pub value_suites: Vec<ValueChange>,
    /// For each common row and arm, the reference included.
    pub values: Vec<ValueChange>,
    /// Facts of the machines that differ, foremost ones first.
    pub facts: Vec<FactChange>,
    /// How many others there are.
    pub facts_same: u32,
    pub sentences: Vec<String>,
    pub warnings: Vec<Warning>,
}

impl StudyComparison {
    pub fn interval_name(&self) -> String {
        Origin::of_change(self.studies.iter().map(|study| study.origin))
            .interval_name(self.confidence)
    }
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedStudy {
    /// Its name in tables: kernel release, machine, host, processor or folder, whichever differs
    /// first, else `A`, `B`.
    pub head: String,
    pub folder: String,
    pub machine: String,
    #[serde(default)]
    pub origin: Origin,
    pub coretwin: String,
    /// When it was started first, in UTC, RFC 3339; `None` if that was not recorded.
    pub started_utc: Option<String>,
    pub boots: u32,
    pub comparison: Comparison,
    pub protocol: Protocol,
    pub arms: Vec<PlanArm>,
    pub reference_arm: String,
    pub margin: f64,
    /// What ended it.
    #[serde(default)]
    pub rule: Rule,
    /// What the verdicts among its effects mean.
    #[serde(default)]
    pub meaning: Meaning,
    pub blocks: u32,
    pub stopped_because: StoppedBecause,
    /// How many its own report has.
    pub warnings: u32,
    /// Rows that the other has not, or has in another unit.
    pub rows_only: Vec<String>,
    /// Arms that the other has not.
    pub arms_only: Vec<String>,
}

/// Second study over first.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// Above 1 is better in the second; on the raw scale a difference in the row's unit, above 0 is
    /// better.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Degrees of freedom, by Welch and Satterthwaite.
    pub degrees: Option<f64>,
    pub p: Option<f64>,
    /// Holm-adjusted over all lines of the list; of `effects` and `suites`, over those of one arm.
    pub p_adjusted: Option<f64>,
    /// `None` where none may be given.
    pub change: Option<Change>,
}

impl Contrast {
    /// Whether it is worse in the second study, and more surely so than the luck of looking at many
    /// lines allows.
    pub fn is_regression(&self, confidence: f64) -> bool {
        self.change == Some(Change::Worse) && self.p_adjusted.is_some_and(|p| p < 1.0 - confidence)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Change {
    Better,
    /// Only where `p_adjusted` is below 0.05.
    Worse,
    #[strum(to_string = "NO MATERIAL CHANGE")]
    NoMaterialChange,
    Inconclusive,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectChange {
    pub family: String,
    pub effects: [RowEffect; 2],
    /// Effect over effect.
    pub interaction: Contrast,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteChange {
    pub effects: [SuiteEffect; 2],
    /// Effect over effect.
    pub interaction: Contrast,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueChange {
    pub name: String,
    pub arm: String,
    pub values: [Option<f64>; 2],
    pub blocks: [u32; 2],
    pub unit: String,
    pub better: Better,
    pub scale: Scale,
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
