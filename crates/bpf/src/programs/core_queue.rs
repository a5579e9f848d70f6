//! What `core-queue` counts, in the order of `enum counter` in `c/core_queue.h`. The first are decisions by reason:
//! where tasks that wake go, how they are queued, who is told, what a CPU runs next; then the active balance, moves, waits.

use crate::scheduler::Counter;
use crate::scheduler::counters::{largest, sum};

pub(super) const COUNTERS: &[Counter] = &[
    sum("woke_last_idle", "woke on its last CPU, which was idle"),
    sum("woke_sibling", "woke on an idle sibling of its last CPU, which was busy"),
    sum("woke_idle_core", "woke or started on an idle core, before an idle sibling was looked for"),
    sum("woke_other_idle", "woke on an idle CPU of another core"),
    sum("woke_with_waker", "woke where its waker was about to wait, to run there next"),
    sum("woke_less_crowded", "woke on a core with less to do than its own, all CPUs busy"),
    sum("woke_last_busy", "woke on its last CPU, busy"),
    sum("woke_core_busy", "woke on its last core, on the busy sibling it may run on"),
    sum(
        "woke_elsewhere",
        "on the core with least to do: it started, or was not allowed on its last",
    ),
    sum("woke_anywhere_idle", "woke on the first idle CPU, without affinity"),
    sum("woke_anywhere", "woke on the core with least to do, without affinity"),
    sum(
        "past_queues",
        "straight to its CPU: a thread of the kernel bound to one CPU, or woken by a CPU that goes offline",
    ),
    sum("queued", "put into the queue of a core"),
    sum(
        "queued_for_cpu",
        "put into the queue of one CPU: not allowed on all of its core, or pickup off",
    ),
    sum("queue_ahead", "tasks that waited on the core when another was put into a queue, summed"),
    largest("queue_longest", "the most tasks that waited on a core"),
    sum("told_own", "its CPU was idle, and was told of a waiting task"),
    sum("told_sibling", "an idle sibling was told of a waiting task"),
    sum("told_other_core", "an idle CPU of another core was told of a waiting task"),
    sum("preempted", "a task lost its CPU to one with less CPU time"),
    sum("picked", "taken from the queue of the own core"),
    sum("picked_of_cpu", "taken from the queue of the own CPU"),
    sum(
        "partnered",
        "taken from the queue of the own core before its turn: it goes better with what a sibling runs",
    ),
    sum("went_on", "at the end of a slice the same task went on"),
    sum("stolen", "a CPU without work took a waiting task of a busier core"),
    sum("evened_out", "a busy CPU took a waiting task of a busier core"),
    sum("left_own", "a CPU found nothing it may run in a queue of its core that was not empty"),
    sum("active_asked", "a running task was asked for by an idle core"),
    sum("active_moved", "a running task moved to an idle core"),
    sum("active_in_vain", "a running task asked for stayed: the idle core had found work"),
    sum("ran_first", "began to run for the first time"),
    sum("ran_same_cpu", "began to run on the CPU it last ran on"),
    sum("ran_same_core", "began to run on a sibling of the CPU it last ran on"),
    sum("ran_other_core", "began to run on another core of the same package"),
    sum("ran_other_package", "began to run on another package"),
    sum("waits", "waits for a CPU that ended"),
    sum("waited_ns", "time of these waits"),
    largest("waited_longest_ns", "the longest of these waits"),
    sum("clash_ns", "time in which a core ran two tasks while another was idle, seen at ticks"),
    sum("pushed_out", "sent back to a queue: a real-time task took the CPU"),
    sum("evacuated", "taken out of the queue of a CPU that went offline"),
];
