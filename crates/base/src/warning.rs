//! Warnings: what a reader of a result must know, with what to do about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A warning as stored with a result and shown by every reporter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A stable word for programs, like `steal` or `topology-hidden`.
    pub kind: String,
    pub text: String,
    pub remedy: String,
}

impl Warning {
    /// A warning, if there is cause for it.
    pub fn when(
        cause: bool,
        kind: &str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Option<Self> {
        cause.then(|| Self::new(kind, text, remedy))
    }

    pub fn new(kind: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), text: text.into(), remedy: remedy.into() }
    }
}
