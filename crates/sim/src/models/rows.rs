//! What rows share: one task that computes, processes that make others (LMbench and AIM9), and a start
//! for which all tasks wait, as the clients of chat, dbench and tbench wait for each other.

use super::load::{Load, Making, Row, Sizes, Value, Values};
use crate::Result;
use crate::kernel::{Children, Program, Start, Step, Which, Work};
use coretwin_base::study::reading::Better;

const TASK_NS: u64 = 200_000_000;
/// Work between two looks at what else is to do.
const CHUNK_NS: u64 = 1_000_000;
/// Bytes that a pipe holds in Linux 2.4.
pub(super) const PIPE_BYTES: u64 = 4096;
pub(super) const OPERATIONS: u64 = 400;

/// One task, whose operations take what was fitted: whatever happens to it comes from the machine.
pub(super) fn one_task(row: &Row, _: &Sizes<'_>, values: &Values<'_>) -> Result<Load> {
    let operations = TASK_NS as f64 / values.service()?;
    let profile = values.profile;
    let program = Making::default()
        .repeat(TASK_NS / CHUNK_NS, |body| body.exact_work(profile, CHUNK_NS))
        .program("task");
    Ok(load(row, vec![program], operations))
}

/// A value of a row with so many operations, whichever way its unit goes.
pub(super) fn load(row: &Row, programs: Vec<Program>, operations: f64) -> Load {
    Load {
        work: Work { programs, starts: vec![Start::of(0)], ..Work::default() },
        from_ns: 0,
        until_ns: 3_600_000_000_000,
        fraction: 1.0,
        value: match row.better {
            Better::Lower => Value::Microseconds(operations),
            Better::Higher => Value::Rate(operations),
        },
        operations: operations as u64,
    }
}

/// A task that makes a child, waits for it, and goes on, again and again; before it makes one, the
/// kernel has so much more to copy.
pub(super) fn parent(more_ns: u64) -> Program {
    Making::default()
        .repeat(OPERATIONS, |body| {
            let body = if more_ns > 0 { body.call(more_ns) } else { body };
            body.step(Step::Fork { program: 1, thread: false }).step(Step::Wait(Children::All))
        })
        .program("parent")
}

/// The row with one child: what `child` does, then its end.
pub(super) fn one_child(row: &Row, more_ns: u64, child: Making) -> Load {
    let child = child.step(Step::Exit).program("child");
    load(row, vec![parent(more_ns), child], OPERATIONS as f64)
}

/// The row with a child that is a shell with work of its own, and a child of the shell.
pub(super) fn shell(row: &Row, _: &Sizes<'_>, values: &Values<'_>) -> Result<Load> {
    let service_ns = values.service()? as u64;
    let profile = values.profile;
    let shell = Making::default()
        .step(Step::Exec)
        .exact_work(profile, service_ns)
        .step(Step::Fork { program: 2, thread: false })
        .step(Step::Wait(Children::All))
        .step(Step::Exit);
    let command = Making::default().step(Step::Exec).step(Step::Exit);
    let programs = vec![parent(0), shell.program("shell"), command.program("command")];
    Ok(load(row, programs, OPERATIONS as f64))
}

/// From the birth of the tasks to the start, in ns. Schedulers that remember how long a task slept
/// (Linux 2.5: up to 2 s) let a new task have that from its parent. Real parents wait nearly all the
/// time; the models' begin to make tasks at once, so that their tasks wait themselves.
pub(super) const WAIT_NS: u64 = 3_000_000_000;
const GATE: u32 = 0;
/// From the start to where a run is given up, in ns: a day.
const LONGEST_NS: u64 = 24 * 3_600_000_000_000;

pub(super) fn at_gate() -> Making {
    Making::default().step(Step::Down { semaphore: Which::Number(GATE), count: 1 })
}

pub(super) fn open_gate(tasks: u64) -> Making {
    Making::default().step(Step::Up { semaphore: Which::Number(GATE), count: tasks as u32 })
}

/// Makes so many tasks, as a kernel does that gives each a part of its parent's slice: under 2.4 the last ones of a
/// process have less than all others, who slept while slices were renewed. They are of entries of the list of starts from `first` on.
pub(super) fn maker(first: u64, tasks: u64) -> Making {
    (first..first + tasks)
        .fold(Making::default(), |making, start| making.step(Step::Make { start: start as u32 }))
}

/// The load of clients that start together at this time and move `amount` until the last one is done.
pub(super) fn clients(
    work: Work,
    from_ns: u64,
    fraction: f64,
    (amount, operations): (f64, u64),
) -> Load {
    let (until_ns, value) = (from_ns + LONGEST_NS, Value::Rate(amount));
    Load { work, from_ns, until_ns, fraction, value, operations }
}
