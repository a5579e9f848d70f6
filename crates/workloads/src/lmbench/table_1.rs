//! The rows of LMbench, in the order of the article's Table 1.

use super::harness::{COPIES, DIR, Measure, Room, Row, SAMPLE, SAMPLE_OF_A_SECOND, SAMPLES};
use super::processes::PROGRAM;
use super::{loopback, processes, system_calls};
use crate::workload::{ParamSpec, word};
use coretwin_base::machine::placement::Placement;
use coretwin_base::study::plan::Scale;

const WITHOUT_FILES: &[ParamSpec] = &[COPIES, SAMPLE, SAMPLES];
const WITH_FILES: &[ParamSpec] = &[COPIES, DIR, SAMPLE, SAMPLES];
const WITH_PROGRAM: &[ParamSpec] = &[COPIES, DIR, PROGRAM, SAMPLE, SAMPLES];

/// What rows of one process have in common; each says what it does and how.
const CALL: Row = Row {
    name: "",
    family: "lmbench",
    about: "",
    source: "LMbench 2 and 3 (McVoy, Staelin); Hyper-Threading speeds Linux, Table 1",
    analysis: "One process in the kernel: what an idle sibling costs, which is nothing, and what \
               switching SMT costs through mitigations, which differ with it. The article saw 0 %.",
    measure: Measure::Microseconds,
    scale: Scale::Ratio,
    params: WITHOUT_FILES,
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

/// Every row, in the order of Table 1, which is that of the suite.
pub static ALL: &[Row] = &[
    Row {
        name: "lmbench/simple-syscall",
        about: "one getppid: the shortest way into the kernel and back",
        ..CALL
    },
    Row {
        name: "lmbench/simple-read",
        about: "one byte read from /dev/zero",
        prepare: system_calls::simple_read,
        ..CALL
    },
    Row {
        name: "lmbench/simple-write",
        about: "one byte written to /dev/null",
        prepare: system_calls::simple_write,
        ..CALL
    },
    Row {
        name: "lmbench/simple-stat",
        about: "one stat of an empty file, by its path",
        params: WITH_FILES,
        prepare: system_calls::simple_stat,
        ..CALL
    },
    Row {
        name: "lmbench/simple-fstat",
        about: "one fstat of an empty file that is open",
        params: WITH_FILES,
        prepare: system_calls::simple_fstat,
        ..CALL
    },
    Row {
        name: "lmbench/simple-open-close",
        about: "one open, by its path, and close of an empty file",
        params: WITH_FILES,
        prepare: system_calls::simple_open_close,
        ..CALL
    },
    Row {
        name: "lmbench/select-10-fds",
        about: "one select that looks at all ten descriptors of a file, ready to be written",
        params: WITH_FILES,
        prepare: system_calls::select_10_fds,
        ..CALL
    },
    Row {
        name: "lmbench/select-10-tcp-fds",
        about: "one select that looks at all ten descriptors of a TCP connection, ready to be written",
        processes: |_| 2,
        prepare: system_calls::select_10_tcp_fds,
        ..CALL
    },
    Row {
        name: "lmbench/signal-install",
        about: "one handler of SIGUSR1 installed with sigaction",
        prepare: system_calls::signal_install,
        ..CALL
    },
    Row {
        name: "lmbench/signal-overhead",
        about: "one signal to itself caught, less the kill that sends none: delivery, handler, return",
        scale: Scale::Raw,
        prepare: system_calls::signal_overhead,
        ..CALL
    },
    Row {
        name: "lmbench/pipe-latency",
        about: "one byte through a pipe to a second process, and back through another",
        analysis: "Two processes that wake each other. Where they run decides, not SMT: one CPU, siblings, \
               two cores differ several times over, and where the scheduler may choose it is bimodal. \
               Compare it per placement. The article saw -1 %.",
        params: &[COPIES, SAMPLE_OF_A_SECOND, SAMPLES],
        roles: &["sender", "echo"],
        // Two tasks that wake each other: on one CPU or on two is a matter of 1 to 20.
        placements: &Placement::ALL,
        processes: |_| 2,
        tasks: |_| 2,
        prepare: loopback::pipe_latency,
        ..CALL
    },
    Row {
        name: "lmbench/fork-exit",
        about: "one fork whose child exits at once, waited for",
        prepare: processes::fork_exit,
        ..CHILD
    },
    Row {
        name: "lmbench/fork-execve",
        about: "one fork whose child becomes a program that writes 12 bytes, waited for",
        params: WITH_PROGRAM,
        check: |row, params| word(row.name, params, PROGRAM.name, &["dynamic", "static"]),
        prepare: processes::fork_execve,
        ..CHILD
    },
    Row {
        name: "lmbench/fork-sh",
        about: "one fork whose child becomes /bin/sh -c, which runs that program, waited for",
        params: WITH_PROGRAM,
        check: |row, params| word(row.name, params, PROGRAM.name, &["dynamic", "static"]),
        processes: |_| 3,
        prepare: processes::fork_sh,
        ..CHILD
    },
];
