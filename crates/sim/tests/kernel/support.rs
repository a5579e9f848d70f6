//! Machines and work that several tests use.

use coretwin_sim::kernel::co_run::{CoRun, ProfileId};
use coretwin_sim::kernel::program::{Amount, Options, Program, Step};
use coretwin_sim::kernel::{Layout, Machine, Outcome, Start, Work, run};
use coretwin_sim::policies::Settings;

/// One millisecond.
pub(crate) const MS: u64 = 1_000_000;

/// The only kind of user work of these machines: a uop takes a ns alone.
pub(crate) const BUSY: ProfileId = ProfileId(1);

/// A machine without costs, where two busy siblings run at 1000/`slowdown` of their speed.
pub(crate) fn machine(layout: &str, slowdown: u32) -> Machine {
    let speeds = CoRun::uniform(&["busy"], slowdown, 1000).expect("a table");
    Machine::new(Layout::parse(layout).expect("a machine"), speeds)
}

/// Computes for a time alone.
pub(crate) fn compute(ns: u64) -> Step {
    Step::ComputeFor { profile: BUSY, ns: Amount::Fixed(ns) }
}

/// A named program.
pub(crate) fn program(name: &str, steps: Vec<Step>) -> Program {
    Program { name: name.to_owned(), steps }
}

/// One task of each program, all from time 0.
pub(crate) fn work(programs: Vec<Program>) -> Work {
    let starts = (0..programs.len() as u32).map(Start::of).collect();
    Work { programs, starts, ..Work::default() }
}

/// A checked run of at most so many ms.
pub(crate) fn options(policy: &str, until_ms: u64) -> Options {
    let mut options = Options::new(Settings::parse(policy).expect("a policy"));
    options.until_ns = until_ms * MS;
    options.checked = true;
    options
}

/// Runs, and fails the test if the run fails.
pub(crate) fn outcome(machine: &Machine, work: &Work, options: &Options) -> Outcome {
    run(machine, work, options).unwrap_or_else(|failure| panic!("{failure}"))
}
