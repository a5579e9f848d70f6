//! A number with its interval.

use serde::{Deserialize, Serialize};

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    /// Lower end of the interval; `None` for a single block.
    pub low: Option<f64>,
    pub high: Option<f64>,
}
