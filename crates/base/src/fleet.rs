//! A fleet: what each of its machines came to. A line of `merged/members.jsonl` is a [`Member`], one
//! of `merged/refused.jsonl` a [`Refused`].

pub mod comparison;
pub mod plan;
pub mod summary;
pub mod survey;

use crate::origin::Origin;
use crate::shared_text::SharedText;
use crate::study::plan::{Comparison, Scale};
use crate::study::reading::Better;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A machine, told from others without saying which: a hash, as hexadecimal digits.
pub type MachineId = SharedText;

/// Everything a merge knows. Equal sets of bundles make equal fleets, in whatever order they come.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Fleet {
    /// The machines, by (machine, bundle). One machine counts once for each plan.
    pub members: Vec<Member>,
    pub refused: Vec<Refused>,
}

/// One machine's study, as a merge knows it. `merged/stamp` tells `fleet report` whether the
/// bundles are still those that were merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub schema: u32,
    pub machine: MachineId,
    pub name: String,
    /// Model of the processor, or the simulated machine; what machines are grouped by.
    pub cpu_model: SharedText,
    pub cores: u32,
    /// Most CPUs of one core; 0, as `cores`, where no file of the machine names its cores.
    pub threads_per_core: u32,
    pub kernel: SharedText,
    pub comparison: Comparison,
    pub is_simulated: bool,
    #[serde(default)]
    pub origin: Origin,
    /// SHA-256 of the bundle's manifest, which holds those of its files.
    pub bundle: SharedText,
    /// Digest of its plan.
    pub plan: SharedText,
    pub bundle_schema: u32,
    /// When the study was last begun or gone on with, in UTC, RFC 3339.
    pub started_utc: String,
    pub state: MemberState,
    /// Effects smaller than this share are not material, by the machine's own plan.
    pub margin: f64,
    /// Facts of the machine by dotted key, those of single CPUs folded together.
    #[serde(default)]
    pub facts: BTreeMap<SharedText, SharedText>,
    pub effects: Vec<Effect>,
    /// Rows that could not, each with its arm: every block of them has a failed run, or none is done.
    #[serde(default)]
    pub uncompared: Vec<(SharedText, SharedText)>,
    /// Whether its study was a screening, of three blocks: alone it gives no verdict.
    #[serde(default)]
    pub is_screening: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    Complete,
    /// Broken off; what there is counts. With the reason.
    Partial(String),
}

/// What an arm did for a row on one machine, by the study's own analysis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    pub row: SharedText,
    pub workload: SharedText,
    pub arm: SharedText,
    pub reference: SharedText,
    pub unit: SharedText,
    pub better: Better,
    pub scale: Scale,
    /// Blocks with a difference.
    pub blocks: u32,
    /// Mean difference of the blocks: a log ratio, or in the unit; above 0 is better in the arm.
    pub mean: f64,
    /// Standard error of `mean`, with the study's own widening: `mean` ± t·this is the study's
    /// interval. 0 with `degrees` 0 where one block tells nothing of spread.
    pub standard_error: f64,
    pub degrees: f64,
    /// Mean value in the reference arm (geometric on the ratio scale).
    pub value_reference: f64,
    pub value_arm: f64,
}

/// A file that does not count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Refused {
    pub file: String,
    pub reason: String,
}

impl Member {
    pub fn is_complete(&self) -> bool {
        self.state == MemberState::Complete
    }

    /// Shares the texts that other machines have too: ten thousand machines of a hundred rows fit
    /// where a report is made.
    pub fn share(&mut self, known: &mut BTreeSet<SharedText>) {
        let mut one = |text: &mut SharedText| match known.get(text) {
            Some(same) => *text = same.clone(),
            None => drop(known.insert(text.clone())),
        };
        for text in [&mut self.cpu_model, &mut self.kernel, &mut self.plan] {
            one(text);
        }
        for effect in &mut self.effects {
            let Effect { row, workload, arm, reference, unit, .. } = effect;
            for text in [row, workload, arm, reference, unit] {
                one(text);
            }
        }
        for (row, arm) in &mut self.uncompared {
            one(row);
            one(arm);
        }
        let facts = std::mem::take(&mut self.facts);
        self.facts = facts
            .into_iter()
            .map(|(mut key, mut value)| {
                one(&mut key);
                one(&mut value);
                (key, value)
            })
            .collect();
    }
}
