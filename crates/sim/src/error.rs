//! Errors: an impossible preset or profile, or a run that makes no progress.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value of a preset or profile is missing, unknown, contradictory or out of range.
    #[error("{file}: {key}: {problem}")]
    Value {
        file: String,
        /// The key in the file, as `table.key`.
        key: String,
        problem: String,
    },
    /// The text is not a preset or profile at all.
    #[error("{file}: {problem}")]
    Text { file: String, problem: String },
    #[error("{0}")]
    Unknown(String),
    #[error("{file}: {problem}; calibrate anew, or leave the fit out")]
    Fit { file: String, problem: String },
    #[error(transparent)]
    Stuck(#[from] Box<crate::core::Stuck>),
    #[error(transparent)]
    Kernel(#[from] Box<crate::kernel::Failure>),
}

pub type Result<T> = std::result::Result<T, Error>;
