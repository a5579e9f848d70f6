//! What is compared: the records of studies and of fleets.

use crate::study::phrase::listed;
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
    pub environment: &'a Environment,
    pub stopped_because: StoppedBecause,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the two {what} in common, so there is nothing to compare: {first} has {}, \
     {second} has {}", names[0], names[1]
)]
pub struct NothingInCommon {
    what: &'static str,
    first: String,
    second: String,
    names: [String; 2],
}

impl NothingInCommon {
    pub(crate) fn new(
        what: &'static str,
        [first, second]: [&str; 2],
        names: [Vec<String>; 2],
    ) -> Self {
        let [first, second] = [first, second].map(str::to_owned);
        Self { what, first, second, names: names.map(|names| listed(&names)) }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct FleetRecords<'a> {
    pub head: &'a str,
    pub folder: &'a str,
    pub fleet: &'a Fleet,
}
