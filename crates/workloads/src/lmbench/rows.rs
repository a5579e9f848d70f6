//! The rows of LMbench, in the order of the article's Table 1.

use super::harness::params::{COPIES, DIR, SAMPLE, SAMPLE_OF_A_SECOND, SAMPLES};
use super::harness::{Measure, Room, Row};
use super::{FAMILY, pipe, processes, select, signals, system_calls};
use crate::workload::{ParamKind, ParamSpec, word};
use coretwin_base::study::plan::Scale;

/// All of them.
pub static ALL: &[&Row] = &[
    &SIMPLE_SYSCALL,
    &SIMPLE_READ,
    &SIMPLE_WRITE,
    &SIMPLE_STAT,
    &SIMPLE_FSTAT,
    &SIMPLE_OPEN_CLOSE,
    &SELECT_10_FDS,
    &SELECT_10_TCP_FDS,
    &SIGNAL_INSTALL,
    &SIGNAL_OVERHEAD,
    &PIPE_LATENCY,
    &FORK_EXIT,
    &FORK_EXECVE,
    &FORK_SH,
];

/// The program that a child becomes.
pub(super) const PROGRAM: ParamSpec = ParamSpec {
    name: "program",
    kind: ParamKind::Text { default: "dynamic" },
    about: "what is run: dynamic, as LMbench's, or static, without a C library",
};

const WITHOUT_FILES: &[ParamSpec] = &[COPIES, SAMPLE, SAMPLES];
const WITH_FILES: &[ParamSpec] = &[COPIES, DIR, SAMPLE, SAMPLES];
const WITH_PROGRAM: &[ParamSpec] = &[COPIES, DIR, PROGRAM, SAMPLE, SAMPLES];

/// What rows of one process have in common; each says what it does and how.
const CALL: Row = Row {
    name: "",
    family: FAMILY,
    about: "",
    source: "LMbench 2 and 3 (McVoy, Staelin); Hyper-Threading speeds Linux, Table 1",
    analysis: "One process in the kernel: what an idle sibling costs, which is nothing, and what \
               switching SMT costs through mitigations, which differ with it. The article saw 0 %.",
    measure: Measure::Microseconds,
    scale: Scale::Ratio,
    params: WITHOUT_FILES,
    roles: &["process"],
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

/// One `getppid`.
pub static SIMPLE_SYSCALL: Row = Row {
    name: "lmbench/simple-syscall",
    about: "one getppid: the shortest way into the kernel and back",
    ..CALL
};
/// One byte read from `/dev/zero`.
pub static SIMPLE_READ: Row = Row {
    name: "lmbench/simple-read",
    about: "one byte read from /dev/zero",
    prepare: system_calls::simple_read,
    ..CALL
};
/// One byte written to `/dev/null`.
pub static SIMPLE_WRITE: Row = Row {
    name: "lmbench/simple-write",
    about: "one byte written to /dev/null",
    prepare: system_calls::simple_write,
    ..CALL
};
/// One `stat` of an empty file, by its path.
pub static SIMPLE_STAT: Row = Row {
    name: "lmbench/simple-stat",
    about: "one stat of an empty file, by its path",
    params: WITH_FILES,
    prepare: system_calls::simple_stat,
    ..CALL
};
/// One `fstat` of an empty file that is open.
pub static SIMPLE_FSTAT: Row = Row {
    name: "lmbench/simple-fstat",
    about: "one fstat of an empty file that is open",
    params: WITH_FILES,
    prepare: system_calls::simple_fstat,
    ..CALL
};
/// One `open` and `close` of an empty file.
pub static SIMPLE_OPEN_CLOSE: Row = Row {
    name: "lmbench/simple-open-close",
    about: "one open, by its path, and close of an empty file",
    params: WITH_FILES,
    prepare: system_calls::simple_open_close,
    ..CALL
};
/// One `select` that looks at ten descriptors of a file.
pub static SELECT_10_FDS: Row = Row {
    name: "lmbench/select-10-fds",
    about: "one select that looks at all ten descriptors of a file, ready to be written",
    params: WITH_FILES,
    prepare: select::select_10_fds,
    ..CALL
};
/// One `select` that looks at ten descriptors of a TCP connection.
pub static SELECT_10_TCP_FDS: Row = Row {
    name: "lmbench/select-10-tcp-fds",
    about: "one select that looks at all ten descriptors of a TCP connection, ready to be written",
    processes: |_| 2,
    prepare: select::select_10_tcp_fds,
    ..CALL
};
/// One `sigaction`.
pub static SIGNAL_INSTALL: Row = Row {
    name: "lmbench/signal-install",
    about: "one handler of SIGUSR1 installed with sigaction",
    prepare: signals::signal_install,
    ..CALL
};
/// One signal caught, without its sending.
pub static SIGNAL_OVERHEAD: Row = Row {
    name: "lmbench/signal-overhead",
    about: "one signal to itself caught, less the kill that sends none: delivery, handler, return",
    scale: Scale::Raw,
    prepare: signals::signal_overhead,
    ..CALL
};
/// One round trip of a byte between two processes.
pub static PIPE_LATENCY: Row = Row {
    name: "lmbench/pipe-latency",
    about: "one byte through a pipe to a second process, and back through another",
    analysis: "Two processes that wake each other. Where they run decides, not SMT: one CPU, siblings, \
               two cores differ several times over, and where the scheduler may choose it is bimodal. \
               Compare it per placement. The article saw -1 %.",
    params: &[COPIES, SAMPLE_OF_A_SECOND, SAMPLES],
    roles: &["sender", "echo"],
    processes: |_| 2,
    tasks: |_| 2,
    prepare: pipe::pipe_latency,
    ..CALL
};
/// One child that ends at once.
pub static FORK_EXIT: Row = Row {
    name: "lmbench/fork-exit",
    about: "one fork whose child exits at once, waited for",
    prepare: processes::fork_exit,
    ..CHILD
};
/// One child that becomes a program.
pub static FORK_EXECVE: Row = Row {
    name: "lmbench/fork-execve",
    about: "one fork whose child becomes a program that writes 12 bytes, waited for",
    params: WITH_PROGRAM,
    check: |row, params| word(row.name, params, PROGRAM.name, &["dynamic", "static"]),
    prepare: processes::fork_execve,
    ..CHILD
};
/// One child that becomes a shell that runs a program.
pub static FORK_SH: Row = Row {
    name: "lmbench/fork-sh",
    about: "one fork whose child becomes /bin/sh -c, which runs that program, waited for",
    params: WITH_PROGRAM,
    check: |row, params| word(row.name, params, PROGRAM.name, &["dynamic", "static"]),
    processes: |_| 3,
    prepare: processes::fork_sh,
    ..CHILD
};
