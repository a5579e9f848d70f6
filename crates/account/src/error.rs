//! What can go wrong while CPU time is accounted for.

use coretwin_base::account::MethodName;

/// A failure of accounting.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine cannot be looked at.
    #[error(transparent)]
    Host(#[from] coretwin_host::Error),
    /// A method cannot work here.
    #[error("method {} is not possible here: {why}; {remedy}", method.name())]
    Method {
        /// The method.
        method: MethodName,
        /// What is missing.
        why: String,
        /// What would make it possible.
        remedy: String,
    },
    /// What was to be accounted for is not there or not ours to see.
    #[error("{0}")]
    Target(String),
    /// A factor makes no sense.
    #[error("{0}")]
    Factor(String),
}
