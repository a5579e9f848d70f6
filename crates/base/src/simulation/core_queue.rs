//! Parameters of `core-queue`, the policy with one queue for each physical core. The simulated kernel
//! and a live scheduler read the same table, so that what is tried in one means the same in the other.

pub mod decide;
pub mod partners;

use crate::simulation::policy_parameter::Parameter;

pub const NAME: &str = "core-queue";
/// What the kernel calls it while it is loaded, in `/sys/kernel/sched_ext/root/ops`.
pub const OPS_NAME: &str = "coretwin_core_queue";

pub const PARAMETERS: &[Parameter] = &[
    Parameter::switch("active", true, "an idle core takes a running task of a core with several"),
    Parameter::number(
        "active_interval_ms",
        10,
        (1, 10_000),
        "least time between two tasks taken from the same core while they run; a choice",
    ),
    Parameter::switch("affinity", true, "a task goes back to the core it last ran on"),
    Parameter::number(
        "balance_ms",
        10,
        (4, 10_000),
        "time between two looks of a busy core at others; a choice",
    ),
    Parameter::switch("follow", true, "a woken task runs next on the CPU of a waker about to wait"),
    Parameter::switch("idle_core_first", true, "an idle core before an idle sibling at wake-up"),
    Parameter::switch(
        "passive",
        true,
        "tasks that start or wait leave their core for a less busy one",
    ),
    Parameter::switch("pickup", true, "a CPU runs whatever waits on its core"),
    Parameter::number(
        "preempt_us",
        2000,
        (0, 1_000_000),
        "how much less CPU time a woken task must have had to take the place of a running one, which has woken few; a choice",
    ),
    Parameter::number("slice_us", 3000, (100, 1_000_000), "time slice while others wait; a choice"),
    Parameter::switch("wakeup", true, "a task that wakes on a busy CPU gets an idle sibling"),
];
