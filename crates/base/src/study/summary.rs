//! The summary of a study: what tables, figures and the verdict are made from.

use crate::machine::placement::Placement;
use crate::origin::Origin;
use crate::parameters::Params;
use crate::simulation::prediction::Prediction;
use crate::study::load::{LoadCurve, Objective};
use crate::study::plan::{Comparison, PlanArm, Protocol, Rule, Scale};
use crate::study::reading::Better;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What plan, journal and environment come to. In every ratio, above 1 means *better in that arm*
/// than in the reference, whatever the direction of the value.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub schema: u32,
    pub machine: String,
    #[serde(default)]
    pub origin: Origin,
    pub comparison: Comparison,
    /// How the study was run.
    pub protocol: Protocol,
    pub arms: Vec<PlanArm>,
    /// Label of the arm that the others are compared with.
    pub reference_arm: String,
    pub blocks: u32,
    pub stopped_because: StoppedBecause,
    /// Whether it was stopped before its rule was met: figures, no verdict.
    #[serde(default)]
    pub interim: bool,
    /// What ended it, and so what its intervals are: `width`, 95 % intervals; `verdict`, confidence
    /// sequences, which hold at every look, interrupted or not (`low_90` and `high_90` are null
    /// then).
    #[serde(default)]
    pub rule: Rule,
    /// What HELPS and HURTS of the rows and suites mean; `excludes-none` where it is missing.
    #[serde(default)]
    pub meaning: Meaning,
    /// Effects smaller than this share are not material.
    pub margin: f64,
    /// Half-width of an interval that is narrow enough, as a share.
    pub target: f64,
    pub rows: Vec<RowEffect>,
    /// The primary result. Of a load curve with an objective, the ratio of `load` alone.
    pub suites: Vec<SuiteEffect>,
    /// Where commands are compared in several arms: the effect of `arm` (on its own base) over that
    /// of the arm `against`, by the same blocks. A warning `control-differs` says that the control
    /// took all verdicts back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<Interaction>,
    /// What each arm carries while it keeps the objective, of a load curve with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load: Vec<Capacity>,
    /// Latency against rate, by arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Box<LoadCurve>>,
    /// What siblings do and what more threads do, where arms separate them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub split: Vec<SplitEffect>,
    /// Thread counts chosen by screening, by row and arm.
    #[serde(default)]
    pub threads_chosen: BTreeMap<String, u32>,
    /// The result in words.
    pub sentences: Vec<String>,
    /// What the reader must know; `journal-unchecked`, `incomplete` and `failed` are explained in
    /// FORMAT.md.
    pub warnings: Vec<Warning>,
    /// What a simulated study says beside the article, where some policy has an `off` and an `on`
    /// arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Box<Prediction>>,
    /// What to boot next, only while the study waits for a reboot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_boot: Option<NextBoot>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextBoot {
    pub arm: String,
    /// What to boot, in words, to follow "boot".
    pub boot: String,
    /// Block that the boot is for.
    pub block: u32,
    /// Boots still to come, this one included.
    pub boots_left: u32,
    /// The command that goes on, word by word.
    pub resume: Vec<String>,
}

/// A row in an arm, beside the reference.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowEffect {
    pub row: String,
    pub workload: String,
    pub params: Params,
    pub placement: Placement,
    /// Thread count in the arm.
    pub threads: u32,
    /// Thread count in the reference arm.
    pub threads_reference: u32,
    /// Copies that ran side by side.
    #[serde(default)]
    pub copies: u32,
    pub unit: String,
    pub better: Better,
    pub scale: Scale,
    pub arm: String,
    /// Mean in the reference arm (geometric on the ratio scale).
    pub value_reference: Option<f64>,
    /// The same in this arm.
    pub value_arm: Option<f64>,
    /// Effect; above 1 is better in this arm. On the raw scale: the improvement in the row's unit,
    /// above 0 is better. `None` if the row could not be compared.
    pub ratio: Option<f64>,
    /// Lower end of the unadjusted interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Nominal coverage of the interval, 0 to 1.
    pub confidence: f64,
    /// The same effect, estimated robustly.
    pub hodges_lehmann: Option<f64>,
    /// p-value of no effect.
    pub p: Option<f64>,
    /// Holm-adjusted p-value over all rows of the study for this arm.
    pub p_adjusted: Option<f64>,
    /// The effect with set-aside blocks included.
    pub ratio_all: Option<f64>,
    /// Lower end of its interval.
    pub low_all: Option<f64>,
    /// Upper end.
    pub high_all: Option<f64>,
    /// Blocks analysed.
    pub blocks: u32,
    /// Attempts set aside.
    pub blocks_set_aside: u32,
    /// Failed runs.
    pub failed: u32,
    pub stopped_because: StoppedBecause,
    /// The verdict on this row, at the margin; `None` where none may be given: of figures that are
    /// not `measured`, of a screening, of a study that is `interim`. By `width` it helps or hurts
    /// only where `p_adjusted` is below 1 − `confidence`.
    pub verdict: Option<Verdict>,
    /// How many blocks would decide four times in five, if mean and spread stayed what they are,
    /// where it is inconclusive; `None` if no practical number would.
    pub blocks_needed: Option<u32>,
}

/// The highest rate at which an arm keeps the objective, for each arm of a load curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The workload that is offered the requests.
    pub row: String,
    pub arm: String,
    pub slo: Objective,
    /// Highest rate that keeps it, in requests a second, geometric mean over blocks. `None` where every
    /// rate keeps it, or none does, in some block: then one of the ends is a bound, and the other `None`.
    pub rate: Option<f64>,
    /// Lower end of its interval.
    pub rate_low: Option<f64>,
    /// Upper end.
    pub rate_high: Option<f64>,
    /// That rate over the one of the arm that it is compared with; `None` of the reference, and where
    /// only a bound is known.
    pub ratio: Option<f64>,
    /// Lower end of that ratio's interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Blocks with a rate or a bound.
    pub blocks: u32,
    /// Of these, those with a bound only.
    pub bounds: u32,
    pub verdict: Option<Verdict>,
}

/// The effect of an arm on a suite: rows weighed by family, analysed per block.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteEffect {
    /// Name of the suite; `all` over several families.
    pub suite: String,
    pub arm: String,
    /// Effect; above 1 is better in this arm.
    pub ratio: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Lower end of the narrower interval, which decides "no material difference".
    pub low_90: Option<f64>,
    /// Its upper end.
    pub high_90: Option<f64>,
    /// Number of rows.
    pub rows: u32,
    /// Blocks analysed; the most that any of its rows has.
    pub blocks: u32,
    pub verdict: Option<Verdict>,
    /// How many blocks would decide four times in five; `None` if no practical number would.
    pub blocks_needed: Option<u32>,
}

/// The effect of an arm divided by that of another with the same command, each against its own base.
/// `helps`: the command gains more in this arm.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    /// The arm whose effect is divided by.
    pub against: String,
    #[serde(flatten)]
    pub effect: SuiteEffect,
}

/// A part of what more siblings with more threads do; `effect.arm` over `against`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitEffect {
    pub part: Part,
    /// The arm that it is compared with.
    pub against: String,
    #[serde(flatten)]
    pub effect: SuiteEffect,
}

/// Of two numbers of CPUs and two of threads. `together` is `threads` times `siblings-more`, and
/// `interaction` is `siblings-more` divided by `siblings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Siblings, the number of threads being the fewer.
    Siblings,
    /// More threads, without siblings.
    Threads,
    /// Siblings, the number of threads being the more.
    SiblingsMore,
    /// Siblings and more threads, `threads` times `siblings-more`: what is called the effect of SMT
    /// where nobody separates them.
    Together,
    /// `siblings-more` divided by `siblings`.
    Interaction,
    /// Siblings and more threads beside the better of the two arms without siblings: the lesser of
    /// `together` and `siblings-more`. It helps if both do, and hurts if either does.
    BesideBetter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Verdict {
    Helps,
    Hurts,
    #[strum(to_string = "NO MATERIAL DIFFERENCE")]
    NoMaterialDifference,
    Inconclusive,
}

/// What HELPS and HURTS say.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[derive(strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Meaning {
    /// The interval excludes no effect; it may reach below the margin.
    #[default]
    ExcludesNone,
    /// The interval lies beyond the margin.
    BeyondMargin,
}

impl From<Rule> for Meaning {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Width => Self::ExcludesNone,
            Rule::Verdict => Self::BeyondMargin,
        }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBecause {
    /// Every primary row's interval was narrow enough.
    Target,
    /// The confidence sequence of every arm decided.
    Verdict,
    /// The most blocks were run.
    Blocks,
    /// The time was used up.
    Budget,
    /// Somebody stopped it; it can be resumed.
    Interrupted,
    /// Others used so much of the machine that no block was kept; it can be resumed.
    Busy,
    /// It waits for a reboot; it can be resumed.
    Reboot,
    /// No space, or the machine refused; it can be resumed.
    Error,
    /// It goes on.
    #[default]
    Running,
}
