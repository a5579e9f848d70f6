//! Exit statuses, and which error gets which.

use coretwin_lab::machine::MachineError;
use std::io::Write;
use std::process::ExitCode;

/// Done.
pub(crate) const DONE: u8 = 0;
/// Done, but some cells failed or `--fail-on` matched.
pub(crate) const CELLS_FAILED: u8 = 1;
/// What was typed makes no sense.
pub(crate) const USAGE: u8 = 2;
/// Not possible or not permitted on this machine.
pub(crate) const NOT_POSSIBLE: u8 = 3;
/// Interrupted; everything measured is kept.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error of usage, made where no library error says so.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error of a study that left something to go on with: the cause first, then how.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) error: coretwin_lab::Error,
    pub(crate) advice: String,
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}", self.error, self.advice)
    }
}

impl std::error::Error for Kept {}

/// Says what went wrong and gives the status for it.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::from(DONE);
    }
    tell(error);
    ExitCode::from(status(error))
}

/// Says what went wrong.
pub(crate) fn tell(error: &anyhow::Error) {
    // Where nobody listens any more (the terminal is gone) there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "coretwin: {error:#}");
}

/// `coretwin report DIR | head` is not an error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The status for an error.
pub(crate) fn status(error: &anyhow::Error) -> u8 {
    use coretwin_lab::Error as Lab;
    use coretwin_store::Error as Store;
    for cause in error.chain() {
        if cause.is::<Usage>() {
            return USAGE;
        }
        let kept = cause.downcast_ref::<Kept>().map(|kept| &kept.error);
        if let Some(error) = kept.or_else(|| cause.downcast_ref::<Lab>()) {
            return match error {
                Lab::Usage(_) | Lab::BudgetTooSmall { .. } => USAGE,
                Lab::Machine(MachineError::Stopped) => INTERRUPTED,
                Lab::NotPossible(_) | Lab::Machine(_) | Lab::Listener(_) => NOT_POSSIBLE,
            };
        }
        if let Some(error) = cause.downcast_ref::<Store>() {
            return match error {
                Store::Occupied { .. }
                | Store::NotAStudy { .. }
                | Store::FleetOccupied { .. }
                | Store::NotAFleet { .. }
                | Store::Json { .. }
                | Store::Journal { .. }
                | Store::Import { .. }
                | Store::NotADataset { .. }
                | Store::Plan { .. } => USAGE,
                _ => NOT_POSSIBLE,
            };
        }
    }
    NOT_POSSIBLE
}
