//! Why a table cannot be audited.

/// A text that is not a table we can check, with the place where it goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A cell does not hold what its column needs.
    #[error("audit {file}: line {line}, column {column}: '{text}' {why}")]
    Cell {
        /// The table's name.
        file: String,
        /// Line of the file, from 1.
        line: u64,
        /// The column's header.
        column: String,
        /// What stands there, shortened.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// The text is not CSV with equally long rows.
    #[error("audit {file}: line {line}: {why}")]
    Csv {
        /// The table's name.
        file: String,
        /// Line of the file, from 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
    /// The table as a whole is of no use.
    #[error("audit {file}: {why}")]
    Table {
        /// The table's name.
        file: String,
        /// What is wrong, and what would help.
        why: String,
    },
}
