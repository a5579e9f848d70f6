//! What to do with a study's result: what each arm is worth by every measure that counts, and which
//! one to set.

use crate::study::summary::Verdict;
use serde::{Deserialize, Serialize};

/// Name of the metric of a reading that holds the energy of the run, in joules.
pub const ENERGY_METRIC: &str = "energy_j";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub reference: String,
    /// What each arm is worth, by each measure that the readings have.
    pub worth: Vec<Worth>,
    pub prices: Vec<Price>,
    pub choice: Choice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Work per second of the whole machine.
    #[strum(to_string = "work per second")]
    Throughput,
    /// Times that one call in a hundred exceeds, geometric mean over kinds of calls.
    #[strum(to_string = "speed of the slowest 1 % of calls")]
    Tail,
    /// CPU time, as the kernel counts it, per unit of work.
    #[strum(to_string = "work per CPU second")]
    CpuSeconds,
    /// Cores that were there, in seconds, per unit of work.
    #[strum(to_string = "work per core second")]
    CoreSeconds,
    /// Energy of the packages per unit of work.
    #[strum(to_string = "work per joule")]
    Energy,
    /// Work per second for each licence, under a rule.
    #[strum(to_string = "work per licence ({0})")]
    Licence(Licence),
}

/// What licences are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Licence {
    PerCore,
    PerThread,
    PerPackage,
    PerMachine,
}

impl Licence {
    /// Every rule by the word people type, with what it counts.
    pub const ALL: [(&'static str, Self, &'static str); 4] = [
        ("per-core", Self::PerCore, "cores, however many threads they have"),
        ("per-thread", Self::PerThread, "threads that are there: CPUs, vCPUs"),
        ("per-package", Self::PerPackage, "packages (sockets)"),
        ("per-machine", Self::PerMachine, "machines"),
    ];
}

/// What an arm is worth by a measure, over all rows that have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    pub measure: Measure,
    pub arm: String,
    /// Against the reference; above 1 is better: more work, or less of what is spent.
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: Option<Verdict>,
    pub rows: u32,
}

/// What going without costs, in throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// What is given up or taken on, like `going without SMT`.
    pub what: String,
    /// The arm that pays.
    pub arm: String,
    /// The arm without that price.
    pub against: String,
    /// Throughput of the one over that of the other; below 1 is a price.
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The arm; `None` where the study does not decide.
    pub arm: Option<String>,
    pub measure: Measure,
    pub threads: Option<u32>,
    /// Why, in words for people who know nothing of statistics.
    pub sentences: Vec<String>,
}
