//! The rows of LMbench, in the order of the article's Table 1.

use super::harness::params::{COPIES, DIR, SAMPLE, SAMPLE_OF_A_SECOND, SAMPLES};
use super::harness::{Measure, Room, Row};
use super::{FAMILY, pipe, system_calls};
use crate::workload::ParamSpec;
use coretwin_base::plan::Scale;

/// All of them.
pub static ALL: &[&Row] = &[
    &SIMPLE_SYSCALL,
    &SIMPLE_READ,
    &SIMPLE_WRITE,
    &SIMPLE_STAT,
    &SIMPLE_FSTAT,
    &SIMPLE_OPEN_CLOSE,
    &PIPE_LATENCY,
];

const WITHOUT_FILES: &[ParamSpec] = &[COPIES, SAMPLE, SAMPLES];
const WITH_FILES: &[ParamSpec] = &[COPIES, DIR, SAMPLE, SAMPLES];

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
