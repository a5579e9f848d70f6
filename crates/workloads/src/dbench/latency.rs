//! How long calls took, by kind.

use super::load::KINDS;
use crate::times::Times;
use serde::{Deserialize, Serialize};

/// Times of every kind of call, in the order of [`KINDS`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Latencies(pub(crate) Vec<Times>);

impl Default for Latencies {
    fn default() -> Self {
        Self(vec![Times::default(); KINDS.len()])
    }
}

impl Latencies {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, others)| mine.merge(others));
    }
}
