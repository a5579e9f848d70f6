//! What can keep a study from being planned or carried on.

use crate::machine::MachineError;

/// An error of the engine or of planning; each says what would help.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was asked for makes no sense, whatever the machine.
    #[error("{0}")]
    Usage(String),
    /// This machine, or this user on it, cannot do it.
    #[error("{0}")]
    NotPossible(String),
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// Others do not leave the machine, however long it was waited for.
    #[error("{0}")]
    TooBusy(String),
    /// The budget ends before the fewest blocks are done.
    #[error(
        "a block takes about {}, so the {blocks} blocks a verdict needs take {}, but --budget is {}; \
         give --budget {}m or more, or use --blocks 3 for an estimate with a wide interval, or \
         --quick to screen",
        coretwin_base::units::human_seconds(*block_s),
        coretwin_base::units::human_seconds(*needed_s),
        coretwin_base::units::human_seconds(*budget_s),
        (needed_s * 1.2 / 60.0).ceil()
    )]
    BudgetTooSmall {
        /// Length of one block, in seconds.
        block_s: f64,
        blocks: u32,
        /// What they take, in seconds.
        needed_s: f64,
        /// The budget, in seconds.
        budget_s: f64,
    },
    /// A listener could not keep what was measured (no space, disk error).
    #[error("{0}")]
    Listener(Box<dyn std::error::Error + Send + Sync>),
}
