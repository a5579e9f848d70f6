//! CPU time that knows about siblings: what was seen of a machine in an interval ([`Window`]), the
//! [`Factors`] that say what it is worth, and the [`summary`] that `coretwin account` prints.
//!
//! All times are in seconds. *Busy with k* of a core means that k of its CPUs were at work at the same moment.

pub mod cputime;
pub mod probe;
pub mod recording;
pub mod replay;
pub mod siblings;
pub mod summary;
pub mod window;

pub use siblings::{BadSiblings, Siblings, SiblingsOrigin};
pub use summary::{AccountSummary, CommandEnd, Group, Task, Worth};
pub use window::{
    Balance, CoreUse, CpuUse, MethodName, PairUse, Run, StatTimes, TaskUse, Unseen, Window,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NO_SIBLINGS: &str = "no-siblings";

/// A number with the range in which it lies as far as is known. A range of no width is a number
/// that is known exactly.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Span {
    pub fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether a number lies in the range, but for the rounding of so many additions.
    pub fn contains(&self, number: f64) -> bool {
        let rounding = 1e-9 * self.high.abs().max(self.low.abs()).max(1.0);
        (self.low - rounding..=self.high + rounding).contains(&number)
    }

    /// The sum, as far as is known if nothing is known of how the two go together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }
}

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
