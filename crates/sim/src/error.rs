//! Errors: an impossible preset or profile, or a run that makes no progress.

/// Everything this crate reports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value of a preset or profile is missing, unknown, contradictory or out of range.
    #[error("{file}: {key}: {problem}")]
    Value {
        /// The preset or profile, by its file or built-in name.
        file: String,
        /// The key in the file, as `table.key`.
        key: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// The text is not a preset or profile at all.
    #[error("{file}: {problem}")]
    Text {
        /// The preset or profile, by its file or built-in name.
        file: String,
        /// What the reader of the text said, with its line.
        problem: String,
    },
    /// A workload, machine or profile that does not exist or cannot be used.
    #[error("{0}")]
    Unknown(String),
    /// A fit that was made for something else.
    #[error("{file}: {problem}; calibrate anew, or leave the fit out")]
    Fit {
        /// The fit, by its file or built-in name.
        file: String,
        /// What it was made for.
        problem: String,
    },
    /// A simulation that made no progress.
    #[error(transparent)]
    Stuck(#[from] Box<crate::core::Stuck>),
    /// A run of the simulated kernel that was refused or given up.
    #[error(transparent)]
    Kernel(#[from] Box<crate::kernel::Failure>),
}

/// This crate's result.
pub type Result<T> = std::result::Result<T, Error>;
