//! What is compared: the records of studies and of fleets.

use coretwin_base::fleet::Fleet;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::StoppedBecause;

/// The records of a study, as stored.
#[derive(Debug, Clone, Copy)]
pub struct StudyRecords<'a> {
    /// Its folder, as it was given.
    pub folder: &'a str,
    /// What was planned.
    pub plan: &'a Plan,
    /// Every reading.
    pub readings: &'a [Reading],
    /// What the machine was like.
    pub environment: &'a Environment,
    /// Why it ended.
    pub stopped_because: StoppedBecause,
}

/// The studies cannot be compared at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the two {what} in common, so there is nothing to compare: {first} has {}, \
     {second} has {}", names[0], names[1]
)]
pub struct NothingInCommon {
    /// `studies have no arm`, for instance.
    pub(super) what: &'static str,
    /// Folder of the first study.
    pub(super) first: String,
    /// Folder of the second study.
    pub(super) second: String,
    /// What each of them has.
    pub(super) names: [String; 2],
}

impl NothingInCommon {
    /// For two fleets, each with the rows it has.
    pub(crate) fn of_fleets([first, second]: [&str; 2], names: [String; 2]) -> Self {
        let what = "fleets have no row of one unit, scale, arm and reference arm";
        Self { what, first: first.to_owned(), second: second.to_owned(), names }
    }
}

/// A fleet, with its names.
#[derive(Debug, Clone, Copy)]
pub struct FleetRecords<'a> {
    /// Its name in tables and sentences.
    pub head: &'a str,
    /// Its folder, as it was given.
    pub folder: &'a str,
    /// Its machines.
    pub fleet: &'a Fleet,
}
