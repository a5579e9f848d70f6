//! The rows of LMbench, in the order of the article's Table 1.

use super::harness::{COPIES, DIR, Measure, Room, Row, SAMPLE, SAMPLE_OF_A_SECOND, SAMPLES};
use super::processes::PROGRAM;
use super::{loopback, processes, system_calls};
use crate::workload::word;
use coretwin_base::machine::placement::Placement;
use coretwin_base::study::plan::Scale;

/// What rows of one process have in common; each says what it does and how.
pub(super) const CALL: Row = Row {
    name: "",
    family: "lmbench",
    about: "",
    source: "LMbench 2 and 3 (McVoy, Staelin); Hyper-Threading speeds Linux, Table 1",
    analysis: "One process in the kernel: what an idle sibling costs, which is nothing, and what \
               switching SMT costs through mitigations, which differ with it. The article saw 0 %.",
    measure: Measure::MICROSECONDS,
    scale: Scale::Ratio,
    params: &[COPIES, SAMPLE, SAMPLES],
    roles: &["process"],
    placements: &[],
    processes: |_| 1,
    tasks: |_| 1,
    room: |_| Room::default(),
    check: |_, _| Ok(()),
    prepare: system_calls::simple_syscall,
};

/// What rows that make processes have in common.
const CHILD: Row = Row {
    analysis: "Each child is a copy of the measuring process, and may start on another CPU: memory, \
               page tables and the scheduler. What a run takes where it may go is the scheduler's \
               choice; bound to one CPU it is the kernel's work. The article saw -2 % to -6 %.",
    processes: |_| 2,
    ..CALL
};

/// What rows whose children become the program have in common.
const PROGRAMMED: Row = Row {
    params: &[COPIES, DIR, PROGRAM, SAMPLE, SAMPLES],
    check: |row, params| word(row.name, params, PROGRAM.name, &["dynamic", "static"]),
    ..CHILD
};

/// What rows of an empty file have in common.
const FILED: Row = Row { params: &[COPIES, DIR, SAMPLE, SAMPLES], ..CALL };

const PIPE: Row = Row {
    analysis: "Two processes that wake each other. Where they run decides, not SMT: one CPU, siblings, \
               two cores differ several times over, and where the scheduler may choose it is bimodal. \
               Compare it per placement. The article saw -1 %.",
    params: &[COPIES, SAMPLE_OF_A_SECOND, SAMPLES],
    roles: &["sender", "echo"],
    // Two tasks that wake each other: on one CPU or on two is a matter of 1 to 20.
    placements: &Placement::ALL,
    processes: |_| 2,
    tasks: |_| 2,
    ..CALL
};

/// Every row, in the order of Table 1, which is that of the suite.
pub static ALL: &[Row] = rows! {
    "lmbench/":
    "simple-syscall", CALL, system_calls::simple_syscall,
        "one getppid: the shortest way into the kernel and back";
    "simple-read", CALL, system_calls::simple_read,
        "one byte read from /dev/zero";
    "simple-write", CALL, system_calls::simple_write,
        "one byte written to /dev/null";
    "simple-stat", FILED, system_calls::simple_stat,
        "one stat of an empty file, by its path";
    "simple-fstat", FILED, system_calls::simple_fstat,
        "one fstat of an empty file that is open";
    "simple-open-close", FILED, system_calls::simple_open_close,
        "one open, by its path, and close of an empty file";
    "select-10-fds", FILED, system_calls::select_10_fds,
        "one select that looks at all ten descriptors of a file, ready to be written";
    "select-10-tcp-fds", Row { processes: |_| 2, ..CALL }, system_calls::select_10_tcp_fds,
        "one select that looks at all ten descriptors of a TCP connection, ready to be written";
    "signal-install", CALL, system_calls::signal_install,
        "one handler of SIGUSR1 installed with sigaction";
    "signal-overhead", Row { scale: Scale::Raw, ..CALL }, system_calls::signal_overhead,
        "one signal to itself caught, less the kill that sends none: delivery, handler, return";
    "pipe-latency", PIPE, loopback::pipe_latency,
        "one byte through a pipe to a second process, and back through another";
    "fork-exit", CHILD, processes::fork_exit,
        "one fork whose child exits at once, waited for";
    "fork-execve", PROGRAMMED, processes::fork_execve,
        "one fork whose child becomes a program that writes 12 bytes, waited for";
    "fork-sh", Row { processes: |_| 3, ..PROGRAMMED }, processes::fork_sh,
        "one fork whose child becomes /bin/sh -c, which runs that program, waited for";
};
