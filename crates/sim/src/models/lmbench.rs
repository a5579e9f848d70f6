//! LMbench's latencies. Table 1.

use super::load::{Family, Load, Making, Row, Sizes, Values};
use super::rows::{self, OPERATIONS, load, one_child, one_task, shell};
use crate::Result;
use crate::kernel::{SocketSpec, Start, Step, Which};
use coretwin_base::study::reading::Better;

pub(super) static FAMILY: Family = Family {
    name: "lmbench",
    profile: "syscall",
    keeps: &[
        "which rows are one task (all simple calls, select and signals) and which wake another",
        "pipe latency is a round trip: two processes, two pipes, a write and a read each",
        "in Linux 2.4 a write to a pipe wakes the reader as any wake-up does, so that it may start on an idle sibling",
        "fork+exit, fork+execve and fork+sh make one process after the other; the shell makes another",
    ],
    drops: &[
        "what a call does: rows with one task have a service time fitted to the printed figure, which is no prediction",
        "the harness: its choice of repetitions, medians, its subtraction of overheads",
        "the dynamic linker apart from the cost of exec",
    ],
    uses_files: false,
    rows: &[
        single("lmbench/simple-syscall"),
        single("lmbench/simple-read"),
        single("lmbench/simple-write"),
        single("lmbench/simple-stat"),
        single("lmbench/simple-fstat"),
        single("lmbench/simple-open-close"),
        single("lmbench/select-10-fds"),
        single("lmbench/select-10-tcp-fds"),
        single("lmbench/signal-install"),
        single("lmbench/signal-overhead"),
        several("lmbench/pipe-latency", pipe),
        several("lmbench/fork-exit", |row, _, _| Ok(one_child(row, 0, Making::default()))),
        several("lmbench/fork-execve", |row, _, _| {
            Ok(one_child(row, 0, Making::default().step(Step::Exec)))
        }),
        Row { is_fitted: true, ..several("lmbench/fork-sh", shell) },
    ],
};

const fn several(
    workload: &'static str,
    build: fn(&Row, &Sizes<'_>, &Values<'_>) -> Result<Load>,
) -> Row {
    Row::of(workload, Better::Lower, build)
}

const fn single(workload: &'static str) -> Row {
    Row { is_fitted: true, is_several: false, ..several(workload, one_task) }
}

fn pipe(row: &Row, _: &Sizes<'_>, values: &Values<'_>) -> Result<Load> {
    let call_ns = values.work("pipe_call")?;
    let profile = values.profile;
    let end = |making: Making, pipe, write: bool| match write {
        true => making.exact_work(profile, call_ns).send(Which::Number(pipe), 1),
        false => making.receive(Which::Number(pipe), 1).exact_work(profile, call_ns),
    };
    let turns = 20 * OPERATIONS;
    let parent = Making::default().repeat(turns, |body| end(end(body, 0, true), 1, false));
    let child = Making::default().repeat(turns, |body| end(end(body, 0, false), 1, true));
    let programs = vec![parent.program("parent"), child.program("child")];
    let mut load = load(row, programs, turns as f64);
    load.work.starts.push(Start { server: true, ..Start::of(1) });
    load.work.sockets = vec![SocketSpec::of(rows::PIPE_BYTES); 2];
    Ok(load)
}
