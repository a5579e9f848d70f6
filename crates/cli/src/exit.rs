//! Exit statuses, and which error gets which.

use coretwin_lab::machine::MachineError;

pub(crate) const DONE: u8 = 0;
pub(crate) const CELLS_FAILED: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const NOT_POSSIBLE: u8 = 3;
pub(crate) const NOT_RESTORED: u8 = 4;
pub(crate) const TOO_BUSY: u8 = 5;
pub(crate) const INTERRUPTED: u8 = 130;

/// Every status with its meaning: help and reference are made from this.
const STATUSES: [(u8, &str); 7] = [
    (DONE, "done"),
    (CELLS_FAILED, "done, but some cells failed or --fail-on matched"),
    (USAGE, "usage"),
    (NOT_POSSIBLE, "not possible or not permitted on this machine"),
    (NOT_RESTORED, "the machine could not be put back; see coretwin smt restore"),
    (TOO_BUSY, "this machine is too busy to say: nothing was kept"),
    (INTERRUPTED, "interrupted, with everything measured kept"),
];

/// What a status says of a run.
#[cfg(feature = "fleet")]
pub(crate) fn meaning(status: u8) -> &'static str {
    STATUSES.iter().find(|(known, _)| *known == status).map_or("unknown", |(_, meaning)| meaning)
}

/// `text`, then the meaning of every exit status: the end of a verb's help.
pub(crate) fn with_statuses(text: &str) -> String {
    let meanings = STATUSES.map(|(status, meaning)| format!("  {status:<4} {meaning}\n"));
    format!("{text}\n\nExit status:\n{}", meanings.concat().trim_end())
}

/// What went wrong left the machine other than it was found.
#[derive(Debug, thiserror::Error)]
#[error("the machine is not as it was found")]
pub(crate) struct NotRestored;

/// What was typed makes no sense; made where no library error says so.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(String);

pub(crate) fn usage(why: impl std::fmt::Display) -> anyhow::Error {
    Usage(why.to_string()).into()
}

/// What was asked for needs a part that is a cargo feature, and was left out.
#[cfg(not(all(feature = "sched", feature = "sim")))]
#[derive(Debug, thiserror::Error)]
#[error("this coretwin was built without the feature {0}")]
pub(crate) struct NotBuilt(pub(crate) &'static str);

/// An error of a study that left something to go on with: the cause first, then how.
#[derive(Debug, thiserror::Error)]
#[error("{error}\n{advice}")]
pub(crate) struct Kept {
    pub(crate) error: coretwin_lab::Error,
    pub(crate) advice: String,
}

pub(crate) fn failure(error: &anyhow::Error) -> u8 {
    if is_broken_pipe(error) {
        return DONE;
    }
    tell(error);
    status(error)
}

pub(crate) fn tell(error: &anyhow::Error) {
    // Where nobody listens any more (the terminal is gone) there is nobody to tell.
    crate::out::news(&format!("coretwin: {error:#}"));
}

/// `coretwin report DIR | head` is not an error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Passes on what makes no sense on any machine. It is asked before the host's lock is: whoever holds
/// that may be hours from the end, and may have changed the machine meanwhile.
pub(crate) fn refuse_slips<T, E: Into<anyhow::Error>>(asked: Result<T, E>) -> anyhow::Result<()> {
    let error = asked.err().map(Into::into).filter(|error| status(error) == USAGE);
    error.map_or(Ok(()), Err)
}

pub(crate) fn status(error: &anyhow::Error) -> u8 {
    use coretwin_lab::Error as Lab;
    use coretwin_store::Error as Store;
    if error.is::<NotRestored>() {
        return NOT_RESTORED;
    }
    for cause in error.chain() {
        if cause.is::<Usage>() {
            return USAGE;
        }
        let kept = cause.downcast_ref::<Kept>().map(|kept| &kept.error);
        if let Some(error) = kept.or_else(|| cause.downcast_ref::<Lab>()) {
            return match error {
                Lab::Usage(_) | Lab::BudgetTooSmall { .. } => USAGE,
                Lab::TooBusy(_) => TOO_BUSY,
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
                | Store::Wrong { .. }
                | Store::Import { .. }
                | Store::NotADataset { .. } => USAGE,
                _ => NOT_POSSIBLE,
            };
        }
    }
    NOT_POSSIBLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_not_as_it_was_counts_more_than_what_went_wrong() {
        let error = || usage("no such row");
        assert_eq!(status(&error()), USAGE);
        let left = error().context(NotRestored);
        assert_eq!(status(&left), NOT_RESTORED);
        assert!(format!("{left:#}").contains("no such row"), "{left:#}");
    }

    #[test]
    fn a_slip_is_refused_and_what_the_machine_refuses_is_not_yet() {
        let slip = refuse_slips::<(), _>(Err(usage("no such row")));
        assert!(slip.is_err_and(|error| error.to_string() == "no such row"));
        let machine = coretwin_lab::Error::NotPossible("no siblings now".to_owned());
        assert!(refuse_slips::<(), _>(Err(machine)).is_ok());
    }
}
