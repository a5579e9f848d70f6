//! CPU time that knows about siblings: what was seen of a machine in an interval ([`Window`]), the
//! [`factors`] that say what it is worth, and the [`summary`] that `coretwin account` prints.
//!
//! Only records; who measures a window, and the arithmetic, is in the `account` crate. All times are
//! in seconds. *Busy with k* of a core means that k of its CPUs were at work at the same moment.

pub mod cputime;
pub mod factors;
pub mod probe;
pub mod siblings;
pub mod summary;
pub mod window;

pub use factors::{Factor, FactorOrigin, Factors};
pub use siblings::{BadSiblings, Siblings, SiblingsOrigin};
pub use summary::{AccountSummary, CommandEnd, Group, Task, Worth};
pub use window::{
    Balance, CoreUse, CpuUse, MethodName, PairUse, Run, StatTimes, TaskUse, Unseen, Window,
};

use serde::{Deserialize, Serialize};

pub const NO_SIBLINGS: &str = "no-siblings";

/// A number with the range in which it lies as far as is known. A range of no width is a number
/// that is known exactly.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
