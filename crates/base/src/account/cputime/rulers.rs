//! Rulers: a spinner for each shared resource of a core, and how much each slows work and is slowed.

use super::SpinnerKind;
use super::estimate::Estimate;
use serde::{Deserialize, Serialize};

/// The rulers, with the resource that each fights for.
pub const RULERS: [(SpinnerKind, &str); 10] = [
    (SpinnerKind::FrontEnd, "front end"),
    (SpinnerKind::Integer, "integer ports"),
    (SpinnerKind::Vector, "vector and floating-point ports"),
    (SpinnerKind::LoadStore, "load and store"),
    (SpinnerKind::L1d, "L1D"),
    (SpinnerKind::L2, "L2"),
    (SpinnerKind::Tlb, "TLB"),
    (SpinnerKind::Branches, "branch predictor"),
    (SpinnerKind::Stream, "memory bandwidth"),
    (SpinnerKind::Pause, "what PAUSE leaves"),
];

/// The resource that a ruler fights for; empty for another spinner.
pub fn resource(ruler: SpinnerKind) -> &'static str {
    RULERS.iter().find(|(kind, _)| *kind == ruler).map_or("", |(_, resource)| resource)
}

/// A ruler on both CPUs: the scale on which work beside it is read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    pub ruler: SpinnerKind,
    /// Its time beside itself over its time alone.
    pub slowdown: Estimate,
}

/// A piece of work beside a ruler: time there over time alone, of both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BesideRuler {
    pub ruler: SpinnerKind,
    pub slowdown: Estimate,
    pub ruler_slowdown: Option<Estimate>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    pub work: String,
    /// In the order of [`RULERS`].
    pub beside: Vec<BesideRuler>,
}

/// One side of a measured pair, by number of its command, and what each rule said of it before it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    pub work: usize,
    pub beside: usize,
    pub measured: f64,
    pub by_rulers: f64,
    pub by_means: f64,
}

/// Predictions of pairs by rulers, beside simpler rules. Errors are means of `|ln(predicted / measured)|`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predictions {
    pub sides: Vec<Predicted>,
    pub error_rulers: f64,
    /// Of the product of mean slowdowns.
    pub error_means: f64,
    /// Of the mean of the other pairs.
    pub error_constant: f64,
    /// Error by rulers less the error by means, over pairs: below 0 the rulers are better.
    pub difference: Estimate,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rulers {
    pub scales: Vec<Scale>,
    pub signatures: Vec<Signature>,
    /// `None` unless pairs of three commands or more were measured as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Predictions>,
}
