//! What can go wrong while CPU time is accounted for.

use coretwin_base::account::MethodName;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Host(#[from] coretwin_host::Error),
    #[error("method {} is not possible here: {why}; {remedy}", method.name())]
    Method { method: MethodName, why: String, remedy: String },
    /// What was to be accounted for is not there or not ours to see.
    #[error("{0}")]
    Target(String),
    /// A factor makes no sense.
    #[error("{0}")]
    Factor(String),
}
