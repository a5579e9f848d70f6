//! Logs of decisions of small cases, each line of which can be worked out by hand; the working is
//! above each log. Nothing costs time but a visit of the stopper, 5 µs, and siblings do not slow each other.
//! Times are kept off the ticks where a tick would do something, too.

mod core_queue;
mod fair;
mod linux_2_4_19;
mod linux_2_5_32;
mod molnar;
mod one_per_core;

use crate::support::{compute, machine, options, outcome, program};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_sim::kernel::program::Amount;
use coretwin_sim::kernel::{Start, Step, Work};
use coretwin_sim::policies::{Decision, What};

const US: u64 = 1000;

/// A task: its name, the CPU it is made on, when, its nice value, what it does.
struct Case {
    name: &'static str,
    on: u32,
    at_us: u64,
    nice: i8,
    steps: Vec<Step>,
    bound: bool,
}

/// A task of nice 0 that computes so many µs.
fn task(name: &'static str, on: u32, at_us: u64, busy_us: u64) -> Case {
    Case { name, on, at_us, nice: 0, steps: vec![compute(busy_us * US)], bound: false }
}

impl Case {
    fn nice(self, nice: i8) -> Self {
        Self { nice, ..self }
    }

    /// Only on the CPU it is made on.
    fn bound(self) -> Self {
        Self { bound: true, ..self }
    }

    /// It sleeps before it computes.
    fn sleeps_first(mut self, us: u64) -> Self {
        self.steps.insert(0, Step::Sleep { ns: Amount::Fixed(us * US) });
        self
    }
}

/// The log from a time on, in µs, until all tasks have ended. There is one barrier, for three.
fn log(policy: &str, layout: &str, from_us: u64, cases: Vec<Case>) -> String {
    let mut work = Work { barriers: vec![3], ..Work::default() };
    let mut names = Vec::new();
    for case in cases {
        work.starts.push(Start {
            at_ns: case.at_us * US,
            nice: case.nice,
            on: Some(CpuId(case.on)),
            mask: case.bound.then(|| [CpuId(case.on)].into_iter().collect()),
            ..Start::of(names.len() as u32)
        });
        work.programs.push(program(case.name, case.steps));
        names.push(case.name.to_owned());
    }
    let mut options = options(policy, 60_000);
    options.decisions_max = 1000;
    let outcome = outcome(&machine(layout, 1000), &work, &options);
    assert!(outcome.finished);
    let lines = outcome.decisions.iter().filter(|decision| decision.at_ns >= from_us * US);
    lines.map(|decision| line(decision, &names) + "\n").collect()
}

/// Time in ms, the CPU that asked, verb, task, CPU, reason.
fn line(decision: &Decision, programs: &[String]) -> String {
    let (verb, cpu) = decision.verb();
    let task = decision.task.map_or("-".to_owned(), |(serial, program)| {
        format!("{}#{serial}", programs[program as usize])
    });
    let place = match decision.what {
        What::Pull { from, to } => format!("cpu{from}>cpu{to}"),
        _ => format!("cpu{cpu}"),
    };
    let (ms, ns) = (decision.at_ns / 1_000_000, decision.at_ns % 1_000_000);
    let asked = format!("cpu{}", decision.asked_on);
    format!("{ms}.{ns:06} {asked:<6} {verb:<7} {task:<14} {place:<11} {}", decision.reason)
}

/// The same without what CPUs find when they start at time 0.
fn log_after_boot(policy: &str, layout: &str, cases: Vec<Case>) -> String {
    let all = log(policy, layout, 0, cases);
    let boot = |line: &&str| line.starts_with("0.000000") && line.contains(" pick    -");
    all.lines().skip_while(boot).map(|line| line.to_owned() + "\n").collect()
}

/// The first lines of a log.
fn first_lines<'log>(lines: impl IntoIterator<Item = &'log str>, count: usize) -> String {
    lines.into_iter().take(count).map(|line| line.to_owned() + "\n").collect()
}
