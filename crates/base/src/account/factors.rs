//! Yields and slowdowns that turn run time into capacity and into time alone.

use super::Span;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FactorOrigin {
    Given,
    /// Measured on this machine by `cputime`.
    Measured {
        work: String,
        neighbour: String,
        measured_utc: String,
    },
    /// Derived from the yield, as for equal tasks: `r_k = k / s_k`.
    FromYield,
    Default,
}

impl FactorOrigin {
    pub fn words(&self) -> String {
        match self {
            Self::Given => "given".to_owned(),
            Self::Measured { work, neighbour, measured_utc } => {
                format!("measured here, {work} beside {neighbour}, {measured_utc}")
            }
            Self::FromYield => "k over the yield, as for equal tasks".to_owned(),
            Self::Default => "default, from published numbers of other machines".to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// The number with all siblings busy, and its range.
    #[serde(flatten)]
    pub all_busy: Span,
    /// The number with k busy, for k = 1 to n; that of k = 1 is 1.
    pub by_busy: Vec<Span>,
    pub origin: FactorOrigin,
}

/// Both factors of a core of n CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factors {
    /// `s_k`: throughput of the core with k busy over its throughput with one busy.
    #[serde(rename = "yield")]
    pub core_yield: Factor,
    /// `r_k`: time of a task while k are busy, itself included, over its time alone.
    pub slowdown: Factor,
}

impl Factors {
    pub fn threads_per_core(&self) -> usize {
        self.core_yield.by_busy.len()
    }
}
