//! A task as the engine sees it: where it stands in its program, what it waits for, what it used.

use super::{CpuTime, ProfileId};
use crate::lists::List;
use crate::numbers::Numbers;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Waiting {
    #[default]
    No,
    Timer,
    Bytes(u32),
    Room(u32),
    Semaphore(u32),
    Lock(u32),
    Barrier(u32),
    Children,
    Disk,
    Written,
    /// Room for more written pages.
    Throttled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) step: u32,
    pub(crate) left: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Task {
    pub(crate) program: u32,
    pub(crate) step: u32,
    /// Whether that step's work is done and its effect is due.
    pub(crate) effect_due: bool,
    /// Whether the waking task did for it what it waited for.
    pub(crate) answered: bool,
    /// The step's amount, drawn.
    pub(crate) amount: u64,
    /// Work left in this stretch, in uops times UOP_PER_NS.
    pub(crate) work: u64,
    pub(crate) profile: ProfileId,
    /// Kind of its last work that was not the kernel's: whose data its caches hold.
    pub(crate) home: ProfileId,
    pub(crate) loops: Vec<Loop>,
    pub(crate) numbers: Numbers,
    /// The entry of the work's list of starts that it, or its first ancestor, came from.
    pub(crate) start: u32,
    pub(crate) server: bool,
    pub(crate) waiting: Waiting,
    pub(crate) begun_ns: u64,
    pub(crate) deadline_ns: u64,
    /// Steps since time last passed for it, and when that was.
    pub(crate) instant: (u64, u32),
    pub(crate) family: Family,
    pub(crate) locks_held: u32,
    pub(crate) place: Option<u64>,
    pub(crate) positions: Vec<(u32, u64)>,
    /// CPU time of all tasks on its last core when it left that.
    pub(crate) core_mark_ns: u64,
    /// Time alone that segments take which it sent, and which it has not begun to pay.
    pub(crate) segments_ns: u64,
    /// Costs that it had not paid when it lost its CPU.
    pub(crate) owed_ns: u64,
    /// Whether its caches hold nothing of it, as after exec.
    pub(crate) cold: bool,
    pub(crate) has_run: bool,
    /// Whether its memory is its own, and not that of the task that made it.
    pub(crate) owns_memory: bool,
    /// Until when its parent copies the page that both write first.
    pub(crate) page_shared_until_ns: u64,
    /// Whether it waits for a CPU for the first time since it was woken.
    pub(crate) just_woken: bool,
    pub(crate) time: CpuTime,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Family {
    pub(crate) children: List,
    pub(crate) alive: u32,
    /// Children that ended and were not waited for.
    pub(crate) ended: u32,
}

impl Task {
    pub(crate) fn new(program: u32, start: u32, home: ProfileId, numbers: Numbers) -> Self {
        Self { program, start, profile: home, home, numbers, ..Self::default() }
    }
}
