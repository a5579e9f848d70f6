//! What a survey of a machine says (`survey.json` of its bundle), and which machines count as measured.

use super::Member;
use crate::account::probe::Probe;
use crate::machine::environment::Facts;
use crate::machine::topology::Topology;
use crate::origin::Origin;
use serde::{Deserialize, Serialize};

/// The plan that every survey's bundle names: they are of one fleet, wherever they were made.
pub const SURVEY: &str = "coretwin survey 1";

/// A machine as `coretwin survey` found it. Host name, users, paths, boot and kernel command line
/// are left out of it and of the files beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    pub schema: u32,
    pub coretwin: String,
    /// `measured`, or `emulated` in a guest whose processor is emulated.
    pub origin: Origin,
    pub steps: Vec<SurveyStep>,
    /// Processor, microcode, kernel, clock source, governors, mitigations and more, by dotted key,
    /// those of single CPUs folded together.
    pub facts: Facts,
    pub topology: Topology,
    /// `None` if the probe did not come to its end.
    pub probe: Option<Probe>,
    /// What keeps a scheduler from being loaded, or makes one dangerous.
    pub doctor: Vec<SurveyCheck>,
}

/// A part of a survey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SurveyStep {
    pub name: String,
    /// What came of it: `done`, or why it was not.
    pub result: String,
    pub seconds: f64,
}

/// A finding of `sched doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyCheck {
    pub name: String,
    /// `ok`, `mind` or `blocks`.
    pub level: String,
    pub found: String,
}

impl Member {
    /// Why this is no measurement of a processor with SMT; `None` if it is one.
    pub fn not_counted(&self) -> Option<String> {
        if let Some(mark) = self.origin.mark() {
            return Some(format!("{mark}: no processor was measured"));
        }
        let fact = |name: &str| self.facts.get(&name.into()).map_or("", |text| text);
        match fact("hypervisor") {
            "none" => {}
            "" => return Some("it does not say whether it is a guest".to_owned()),
            name => return Some(format!("GUEST of {name}: siblings may not stay on one core")),
        }
        (self.threads_per_core < 2).then(|| "no siblings were visible".to_owned())
    }
}
