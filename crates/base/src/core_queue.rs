//! Parameters of `core-queue`, the policy with one queue for each physical core. The simulated kernel
//! and a live scheduler read the same table, so that what is tried in one means the same in the other.

use crate::parameter::Parameter;

/// Every parameter, in order of name.
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
        100,
        (4, 10_000),
        "time between two looks of a busy CPU; a choice",
    ),
    Parameter::switch("idle_core_first", false, "an idle core before an idle sibling at wake-up"),
    Parameter::switch("passive", true, "a CPU without work takes waiting tasks of busier cores"),
    Parameter::switch("pickup", true, "a CPU runs whatever waits on its core"),
    Parameter::number(
        "preempt_us",
        2000,
        (0, 1_000_000),
        "how much less CPU time a woken task must have had to take a running one's place; a choice",
    ),
    Parameter::number("slice_us", 5000, (100, 1_000_000), "time slice while others wait; a choice"),
    Parameter::switch("wakeup", true, "a task that wakes on a busy CPU gets an idle sibling"),
];
