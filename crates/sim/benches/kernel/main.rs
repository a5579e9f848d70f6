//! How fast the simulated kernel simulates: `cargo bench -p coretwin-sim --bench kernel -- [POLICY …] [svg=FILE]`.
//!
//! Events per second of CPU time for each policy, by CPUs and tasks, and the memory that took. Two
//! loads: *sleepers* compute for 0.1 ms on average and sleep so long that CPUs are 80 % busy; *ready*
//! tasks compute and yield, so that all of them wait for a CPU all the time. The yardstick in the same
//! run is a dependent chain of multiplications on this host, so that figures of two machines, or of a
//! busy one, can be compared. `svg=FILE` draws the time of an event by tasks, both axes logarithmic.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod curves;
#[path = "../yardstick/mod.rs"]
mod yardstick;

use coretwin_sim::kernel::co_run::{CoRun, ProfileId};
use coretwin_sim::kernel::costs::Costs;
use coretwin_sim::kernel::program::{Amount, Options, Program, Step};
use coretwin_sim::kernel::{Layout, Machine, Outcome, Start, Work, run};
use coretwin_sim::policies::{POLICIES, Settings};
use curves::Point;
use yardstick::{cpu_seconds, yardstick};

/// Events of each measurement, about; fewer where they would take more than the seconds below.
const EVENTS: f64 = 2e6;
const SECONDS: f64 = 3.0;

/// Mean of a stretch of work.
const WORK_NS: u64 = 100_000;

/// Machines, with the numbers of tasks on them.
const SIZES: [(&str, &[u32]); 3] =
    [("2x2", &[100, 1_000, 10_000]), ("32x2", &[100, 10_000]), ("512x2", &[1_000, 100_000])];

fn main() {
    let named: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let (figure, named): (Vec<String>, Vec<String>) =
        named.into_iter().partition(|word| word.starts_with("svg="));
    let mut points = Vec::new();
    println!("yardstick: {:.0} M dependent multiplications per CPU second", yardstick());
    println!("M events per CPU second (ns an event); memory in use after, MiB\n");
    for entry in POLICIES {
        if !named.is_empty() && !named.iter().any(|name| name == entry.name) {
            continue;
        }
        println!("{}", entry.name);
        for (layout, sizes) in SIZES {
            for tasks in sizes {
                for ready in [false, true] {
                    points.extend(measure(Settings::of(entry), layout, *tasks, ready));
                }
            }
        }
    }
    for file in figure.iter().filter_map(|word| word.strip_prefix("svg=")) {
        std::fs::write(file, curves::svg(&points))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}

fn measure(policy: Settings, layout: &str, tasks: u32, ready: bool) -> Option<Point> {
    let layout = Layout::parse(layout).ok()?;
    let speeds = CoRun::uniform(&["busy"], 1600, 1000).ok()?;
    let load = if ready { "ready" } else { "sleepers" };
    let cpus = layout.cpus() as u64;
    let mut machine = Machine::new(layout, speeds);
    machine.costs = Costs::of_today();
    let work = work(cpus, tasks, ready);
    // A run is bounded by simulated time; a short one first tells how much of it that is.
    let mut options = Options::new(policy);
    options.until_ns = 2_000_000 + u64::from(tasks) * machine.costs.wake_halted_ns;
    let start = cpu_seconds();
    let probe = outcome(&machine, &work, &options).events.max(1) as f64;
    let events = EVENTS.min(SECONDS / (cpu_seconds() - start) * probe);
    let until_ns = options.until_ns as f64 * events / probe;
    options.until_ns = (until_ns as u64).clamp(options.until_ns, 1_000_000_000_000);
    let start = cpu_seconds();
    let outcome = outcome(&machine, &work, &options);
    let taken = cpu_seconds() - start;
    let event_ns = taken * 1e9 / outcome.events as f64;
    println!(
        "  {cpus:>5} CPUs {tasks:>7} tasks {:<8} {:>6.2} ({:>6.0})  {:>6.1} MiB  \
         {} switches, {} ms simulated",
        load,
        outcome.events as f64 / taken / 1e6,
        event_ns,
        resident_mib(),
        outcome.switches,
        outcome.simulated_ns / 1_000_000,
    );
    let panel = format!("{cpus} CPUs, {load}");
    Some(Point { policy: policy.entry.name, panel, tasks, event_ns })
}

fn outcome(machine: &Machine, work: &Work, options: &Options) -> Outcome {
    run(machine, work, options).unwrap_or_else(|failure| panic!("{failure}"))
}

fn work(cpus: u64, tasks: u32, ready: bool) -> Work {
    let compute = Step::ComputeFor { profile: ProfileId(1), ns: Amount::Mean(WORK_NS) };
    // Work is a part of work and sleep that keeps four of five CPUs busy.
    let round_ns = WORK_NS * u64::from(tasks) * 5 / (4 * cpus);
    let pause = match ready {
        true => Step::Yield,
        false => {
            Step::Sleep { ns: Amount::Mean(round_ns.saturating_sub(WORK_NS).max(WORK_NS / 4)) }
        }
    };
    let steps = vec![compute, pause, Step::Done(0), Step::Forever { from: 0 }];
    let programs = vec![Program { name: "task".to_owned(), steps }];
    let starts = vec![Start { count: tasks, ..Start::of(0) }];
    Work { programs, starts, ..Work::default() }
}

/// Memory that the process has now.
fn resident_mib() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split_whitespace().nth(1).and_then(|field| field.parse().ok());
    pages.unwrap_or(0.0) * 4096.0 / f64::from(1 << 20)
}
