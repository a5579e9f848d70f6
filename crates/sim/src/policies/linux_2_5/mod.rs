//! `linux-2.5.32`, `linux-2.5.32-f3`, `linux-2.5.32-a9`: the scheduler whose cost does not grow with
//! the number of tasks, without and with Molnar's patch for Hyper-Threading.
//!
//! A queue has two arrays of lists, one list a priority. Tasks run from the *active* array; one whose
//! slice ends goes to the *expired* array unless it is interactive, that is, has slept much of late;
//! when the active array is empty the two are swapped. The plain kernel has a queue for each logical
//! CPU, and balances lengths of queues: a core with two running tasks beside an idle core is balanced
//! in its eyes.
//!
//! The patch gives the CPUs of a core one queue. What that brings is taken apart into five switches:
//!
//! * `passive`: lengths are balanced between cores; off: between logical CPUs, as without the patch;
//! * `active`: a core that goes idle has the stopper of a busy core give it one of its running tasks;
//! * `pickup`: a CPU runs whatever waits on its core; off: only what waits for it;
//! * `affinity`: a task belongs to a core; off: to a logical CPU, so that its sibling takes it only
//!   once its cache has gone cold;
//! * `wakeup`: a task that wakes on a busy CPU gets an idle sibling.
//!
//! With all five off there is a queue for each logical CPU again, and the decisions are those of
//! `linux-2.5.32`.
//!
//! `-f3` is the patch as posted in August 2002. It marks the wrong queue when it wants a running task,
//! so that active balancing mostly does nothing; which mark is left where hangs on history. `-a9` is
//! its later form (April 2003), where that is mended, and a woken task has its CPU choose anew if what
//! runs there has equal priority and less of its slice left. Since that one is before it in their list it
//! mostly goes on.
//!
//! Sources: kernel/sched.c of Linux 2.5 and the patches of Ingo Molnar on the kernel's mailing list,
//! as read for the reference of this project. Our own choices, where those are silent:
//!
//! * a task that gives its CPU away expires, a real-time one goes to the end of its list;
//! * a new task looks for an idle sibling as a woken one does, its cache counts as warm, and one
//!   without a parent starts as one that has not slept;
//! * a parent whose slice is one tick gives that to its child, and its own ends at once;
//! * an idle CPU looks into its own queue at each tick;
//! * the mark of active balancing is one a queue, and the CPU woken is the first online one of it;
//! * of equal priorities, the slice left decides only on the task's own CPU, not on its sibling;
//! * a core that loses the CPU whose stopper was asked for may be asked anew.

mod balance;
mod life;
mod policy;
mod queue;
#[cfg(test)]
mod tests;

pub(super) use policy::Linux25;

use super::settings::{Parameter, Settings};

const CACHE_DECAY: Parameter = Parameter::number(
    "cache_decay_ms",
    2,
    (0, 1000),
    "how long a task's cache stays warm: Molnar gives 5 ms for 2 MB, 1 ms for 128 KB",
);

/// Parameters of the kernel without the patch.
pub(super) const PLAIN: &[Parameter] = &[CACHE_DECAY];

/// Parameters of the patch, posted or later.
pub(super) const PATCHED: &[Parameter] = &[
    Parameter::switch("active", true, "an idle core gets a running task of a core with two"),
    Parameter::switch("affinity", true, "tasks stick to cores, not to logical CPUs"),
    CACHE_DECAY,
    Parameter::switch("passive", true, "lengths are balanced between cores, not logical CPUs"),
    Parameter::switch("pickup", true, "a CPU runs whatever waits on its core"),
    Parameter::switch("wakeup", true, "a task that wakes on a busy CPU gets an idle sibling"),
];

/// Which form of the scheduler it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Without the patch.
    Plain,
    /// The patch as posted.
    F3,
    /// The patch as mended.
    A9,
}

/// The form, with what is switched on.
#[derive(Debug, Clone, Copy)]
struct Rules {
    form: Form,
    passive: bool,
    active: bool,
    pickup: bool,
    affinity: bool,
    wakeup: bool,
    cache_decay_ticks: u64,
}

impl Rules {
    fn new(form: Form, settings: &Settings) -> Self {
        let on = |name: &str| form != Form::Plain && settings.on(name);
        Self {
            form,
            passive: on("passive"),
            active: on("active"),
            pickup: on("pickup"),
            affinity: on("affinity"),
            wakeup: on("wakeup"),
            // A tick is a millisecond.
            cache_decay_ticks: settings.number("cache_decay_ms") as u64,
        }
    }

    /// Whether the CPUs of a core share a queue.
    fn shared(self) -> bool {
        self.passive || self.active || self.pickup || self.affinity || self.wakeup
    }
}
