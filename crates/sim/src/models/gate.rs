//! A start for which all tasks of a benchmark wait, as its clients wait for each other.

use super::load::Making;
use crate::kernel::program::{Step, Which};

/// From the birth of the tasks to the start, in ns. Schedulers that remember how long a task slept
/// (Linux 2.5: up to 2 s) let a new task have that from its parent. These parents wait nearly all the
/// time; the models have none, so that their tasks wait themselves.
pub(super) const WAIT_NS: u64 = 3_000_000_000;
/// The semaphore at which they wait.
pub(super) const GATE: u32 = 0;
/// From the start to where a run is given up, in ns: a day.
pub(super) const LONGEST_NS: u64 = 24 * 3_600_000_000_000;

/// A task that waits for the start.
pub(super) fn wait() -> Making {
    Making::default().step(Step::Down { semaphore: Which::Number(GATE), count: 1 })
}

/// The task that starts so many.
pub(super) fn open(tasks: u64) -> Making {
    Making::default().step(Step::Up { semaphore: Which::Number(GATE), count: tasks as u32 })
}
