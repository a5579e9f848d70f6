//! Warnings: what a reader of a result must know, with what to do about it.

use serde::{Deserialize, Serialize};

/// A warning as stored with a result and shown by every reporter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Warning {
    /// A stable word for programs, like `steal` or `topology-hidden`.
    pub kind: String,
    pub text: String,
    pub remedy: String,
}

impl Warning {
    pub fn new(kind: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), text: text.into(), remedy: remedy.into() }
    }
}
