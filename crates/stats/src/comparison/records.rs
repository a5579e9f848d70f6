//! What is compared: the records of studies and of fleets.

use coretwin_base::fleet::Fleet;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::StoppedBecause;

#[derive(Debug, Clone, Copy)]
pub struct StudyRecords<'a> {
    pub folder: &'a str,
    pub plan: &'a Plan,
    pub readings: &'a [Reading],
    /// What the machine was like.
    pub environment: &'a Environment,
    pub stopped_because: StoppedBecause,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the two {what} in common, so there is nothing to compare: {first} has {}, \
     {second} has {}", names[0], names[1]
)]
pub struct NothingInCommon {
    pub(super) what: &'static str,
    pub(super) first: String,
    pub(super) second: String,
    pub(super) names: [String; 2],
}

impl NothingInCommon {
    /// For two fleets, each with the rows it has.
    pub(crate) fn of_fleets([first, second]: [&str; 2], names: [String; 2]) -> Self {
        let what = "fleets have no row of one unit, scale, arm and reference arm";
        Self { what, first: first.to_owned(), second: second.to_owned(), names }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct FleetRecords<'a> {
    pub head: &'a str,
    pub folder: &'a str,
    pub fleet: &'a Fleet,
}
