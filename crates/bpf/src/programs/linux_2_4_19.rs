//! What `linux-2.4.19` counts, in the order of `enum counter` in `c/linux_2_4_19.bpf.c`.

use crate::scheduler::Counter;
use crate::scheduler::counters::{largest, sum};

pub(super) const COUNTERS: &[Counter] = &[
    sum("woke_last_idle", "woke or was displaced, and its last CPU was idle: that was told"),
    sum("woke_idle_core", "an idle CPU of an idle core was told of it"),
    sum("woke_longest_idle", "the CPU that was idle longest was told of it"),
    sum("preempted", "the CPU was told whose task it beats by most in goodness"),
    sum("woke_waits", "better than no running task: it waits"),
    sum("woke_sync", "its waker was about to wait: no CPU was looked for"),
    sum(
        "past_queues",
        "straight to its CPU: a thread of the kernel bound to one CPU, or woken by a CPU that goes offline",
    ),
    sum("queued", "put into the list"),
    sum("switches", "a CPU chose what to run next"),
    sum("looked", "tasks looked at for these choices"),
    largest("looked_most", "the most tasks looked at in one walk of the list"),
    sum("looks_cut", "a walk ended at its bound of 8192 tasks"),
    sum("lost", "the best task was gone when it was to be taken: the list was walked again"),
    sum("taken_unseen", "the first of the list was taken after four walks in vain"),
    sum("renewals", "all that could run had used up their slices: new ones for every task"),
    sum("picked", "the best was taken from the list"),
    sum("went_on", "the task that ran was the best, and went on"),
    sum("overdue", "a task went next for it had waited 15 s, whatever its goodness"),
    sum("yielded", "a task gave its CPU away"),
    sum("ticks", "a task ran when a tick of 10 ms passed, and paid for it"),
    sum("ran_first", "began to run for the first time"),
    sum("ran_same_cpu", "began to run on the CPU it last ran on"),
    sum("ran_same_core", "began to run on a sibling of the CPU it last ran on"),
    sum("ran_other_core", "began to run on another core of the same package"),
    sum("ran_other_package", "began to run on another package"),
    sum("waits", "waits for a CPU that ended"),
    sum("waited_ns", "time of these waits"),
    largest("waited_longest_ns", "the longest of these waits"),
    sum("pushed_out", "sent back to a queue: a real-time task took the CPU"),
    sum("evacuated", "taken out of the list for its CPU went offline"),
];
