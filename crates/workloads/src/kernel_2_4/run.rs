//! The process of a row: both its tasks as threads, each bound to its CPUs, and their common clock; and the
//! worker's side, which makes of its counts what a reader wants to know.
//!
//! The tasks run side by side between two phases in which the first runs alone, so that what it loses is seen
//! against the same machine at the same time.

use super::{ALL, DELAY_US, Kind, Pair, Row, SECONDS, Tally, pairs};
use crate::observe::CpusSeen;
use crate::role::{self, KERNEL_2_4};
use crate::supervisor::{Launch, Supervisor};
use crate::times::monotonic_ns;
use crate::workload::{
    Facts, Job, Need, Outcome, Params, Placement, Ran, START_S, Telling, Workload, decimal, int,
    needs,
};
use crate::{Context, Error, answer};
use coretwin_base::machine::cpu_set::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Stack of a task, in bytes: room for the parts that [`pairs::Stacks`] chooses from.
const STACK_BYTES: usize = 1 << 20;
/// Clock readings whose cost is measured.
const CLOCK_READINGS: u32 = 1000;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Orders {
    row: String,
    /// How long both run side by side, in seconds.
    seconds: f64,
    delay_us: u32,
    /// CPUs of either task, where they are told apart.
    cpus: [Option<CpuSet>; 2],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Report {
    /// The first task alone.
    alone: Tally,
    /// Both, side by side.
    together: [Tally; 2],
    checks: BTreeMap<String, bool>,
    /// What reading the clock takes, in nanoseconds.
    clock_ns: f64,
    cpus_ran: CpuSet,
}

/// A part of the run: whether both tasks run, its share of the seconds, whether it counts.
struct Phase {
    both: bool,
    share: f64,
    counts: bool,
}

/// The first lets both touch their memory and the clock rate settle.
const PHASES: [Phase; 4] = [
    Phase { both: true, share: 0.1, counts: false },
    Phase { both: false, share: 0.5, counts: true },
    Phase { both: true, share: 1.0, counts: true },
    Phase { both: false, share: 0.5, counts: true },
];

pub(crate) fn run(args: &[String]) -> Result<impl Serialize + use<>, Error> {
    let orders: Orders = role::orders(args, "a row of kernel-2.4")?;
    let row = ALL
        .iter()
        .find(|row| row.name == orders.row)
        .ok_or_else(|| Error::failed(format!("kernel-2.4 has no row {}", orders.row)))?;
    run_both(&*pair_of(row.kind, orders.delay_us), &orders)
}

fn pair_of(kind: Kind, delay_us: u32) -> Box<dyn Pair> {
    match kind {
        Kind::Locks { distance } => Box::new(pairs::Locks::new(distance)),
        Kind::Spin { pause } => Box::new(pairs::Spin::new(pause)),
        Kind::Delay(how) => Box::new(pairs::Delays::new(how, delay_us)),
        Kind::Stacks { offset } => Box::new(pairs::Stacks::new(offset)),
    }
}

struct Shared<'a> {
    pair: &'a dyn Pair,
    orders: &'a Orders,
    barrier: Barrier,
    /// Begin of the phase, in nanoseconds of the monotonic clock.
    begin_ns: AtomicU64,
    failed: AtomicBool,
    seen: CpusSeen,
}

#[derive(Default)]
struct Counted {
    alone: Tally,
    together: Tally,
    all: Tally,
}

fn run_both(pair: &dyn Pair, orders: &Orders) -> Result<Report, Error> {
    let shared = Shared {
        pair,
        orders,
        barrier: Barrier::new(2),
        begin_ns: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        seen: CpusSeen::new(),
    };
    let [first, second] = std::thread::scope(|scope| {
        let shared = &shared;
        let spawned = [0, 1].map(|task| {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, move || shared.task(task))
        });
        if spawned[0].is_ok() != spawned[1].is_ok() {
            // The thread that did start must not wait for the other.
            shared.failed.store(true, SeqCst);
            shared.barrier.wait();
        }
        spawned.map(|thread| {
            let thread = thread.context("cannot start a task")?;
            thread.join().unwrap_or_else(|_| Err(Error::failed("a task has broken down")))
        })
    });
    let (first, second) = (first?, second?);
    let checks = pair.checks(&[first.all, second.all]);
    Ok(Report {
        alone: first.alone,
        together: [first.together, second.together],
        checks: checks.into_iter().map(|(name, held)| (name.to_owned(), held)).collect(),
        clock_ns: clock_ns(),
        cpus_ran: shared.seen.cpus(),
    })
}

impl Shared<'_> {
    fn task(&self, task: usize) -> Result<Counted, Error> {
        let bound =
            self.orders.cpus[task].as_ref().map_or(Ok(()), |cpus| role::bind(cpus).map(drop));
        self.failed.fetch_or(bound.is_err(), SeqCst);
        self.barrier.wait();
        bound?;
        if self.failed.load(SeqCst) {
            return Err(Error::failed("the other task could not begin"));
        }
        if task == 1 {
            self.pair.prepare();
        }
        let mut counted = Counted::default();
        for phase in PHASES {
            let tally = self.phase(task, &phase);
            counted.all.add(&tally);
            match phase {
                Phase { counts: false, .. } => {}
                Phase { both: true, .. } => counted.together.add(&tally),
                Phase { both: false, .. } => counted.alone.add(&tally),
            }
        }
        Ok(counted)
    }

    fn phase(&self, task: usize, phase: &Phase) -> Tally {
        // A thread that waits here sleeps: it takes nothing from the one that runs alone.
        self.barrier.wait();
        if task == 0 {
            self.begin_ns.store(monotonic_ns(), SeqCst);
        }
        if task == 1 && !phase.both {
            return Tally::default();
        }
        if phase.both {
            self.barrier.wait();
        }
        let begin_ns = self.begin_ns.load(SeqCst);
        self.seen.note();
        let until_ns = begin_ns + (phase.share * self.orders.seconds * 1e9) as u64;
        let mut tally = self.pair.run(task, until_ns);
        tally.elapsed_s = monotonic_ns().saturating_sub(begin_ns) as f64 / 1e9;
        self.seen.note();
        tally
    }
}

fn clock_ns() -> f64 {
    let begin = monotonic_ns();
    for _ in 1..CLOCK_READINGS {
        black_box(monotonic_ns());
    }
    monotonic_ns().saturating_sub(begin) as f64 / f64::from(CLOCK_READINGS)
}

impl Workload for Row {
    fn facts(&self) -> Facts {
        Facts {
            name: self.name,
            family: "kernel-2.4",
            about: self.about,
            source: "Hyper-Threading speeds Linux, the enhancements of Linux 2.4.17",
            unit: match self.kind {
                Kind::Locks { .. } => "locks/s",
                _ => "turns/s",
            },
            params: match self.kind {
                Kind::Delay(_) => &[DELAY_US, SECONDS],
                _ => &[SECONDS],
            },
            roles: match self.kind {
                Kind::Locks { .. } | Kind::Stacks { .. } => &["first", "second"],
                Kind::Spin { .. } => &["worker", "waiter"],
                Kind::Delay(_) => &["worker", "delayer"],
            },
            // Two tasks on one CPU take turns, and nothing of this can show.
            placements: &[Placement::Siblings, Placement::Cores, Placement::Packages],
            analysis: self.kind.analysis(),
            ..Facts::USUAL
        }
    }

    fn tasks(&self, _params: &Params) -> u32 {
        2
    }

    fn needs(&self, _params: &Params) -> Vec<Need> {
        // Two tasks, and the thread that waits for them.
        needs(3, [])
    }

    fn takes_s(&self, params: &Params) -> f64 {
        START_S + 2.1 * decimal(params, SECONDS.name)
    }

    fn run(&self, params: &Params, job: &Job, supervisor: &mut Supervisor) -> Ran {
        // Of rows without a delay, 0.
        let delay_us = int(params, DELAY_US.name);
        let orders = Orders {
            row: self.name.to_owned(),
            seconds: decimal(params, SECONDS.name),
            delay_us,
            cpus: [0, 1].map(|role| job.roles.get(role).cloned()),
        };
        // The thread that waits for the tasks, which are bound each, stays with them.
        let cpus = job.roles.iter().fold(CpuSet::new(), |all, role| all.union(role));
        let pair = supervisor.start(Launch::answering(
            KERNEL_2_4,
            vec![role::written(&orders)?],
            (!cpus.is_empty()).then_some(&cpus),
        ))?;
        supervisor.release(&[]);
        supervisor.wait(None, |supervisor| supervisor.has_ended(pair))?;
        let report: Report = answer::of(supervisor.task(pair), "the process of the tasks")?;
        let mut measured = measure(self, delay_us, &report);
        measured.note("placement", self.kind.limits(job.placement));
        Ok(measured)
    }
}

fn measure(row: &Row, delay_us: u32, report: &Report) -> Outcome {
    let [first, second] = &report.together;
    let (rate, other) = (first.per_s(), second.per_s());
    let (facts, even) = (row.facts(), row.kind.is_even());
    let mut measured = Outcome {
        operations: first.operations + if even { second.operations } else { 0 },
        elapsed_s: first.elapsed_s.max(second.elapsed_s),
        threads: 2,
        cpus_ran: report.cpus_ran.clone(),
        checks: report.checks.clone(),
        ..facts.outcome(if even { rate + other } else { rate })
    };
    match row.kind {
        Kind::Spin { .. } => tell_waiting(second, report.clock_ns, &mut measured),
        Kind::Delay(_) => tell_delays(second, f64::from(delay_us), &mut measured),
        _ => {
            measured.higher("first_per_s", rate, facts.unit);
            measured.higher("second_per_s", other, facts.unit);
        }
    }
    let alone = report.alone.per_s();
    measured.higher("alone_per_s", alone, facts.unit);
    measured.higher("kept", 100.0 * rate / alone, "%");
    measured
}

/// What a waiter saw. A hand-over is timed from a look at the clock before it to one after it, so
/// about one look is within it.
fn tell_waiting(waiter: &Tally, clock_ns: f64, to: &mut Outcome) {
    to.higher("handovers", waiter.times.count as f64, "hand-overs");
    to.lower("polls_per_s", waiter.per_s(), "polls/s");
    to.lower("clock_ns", clock_ns, "ns");
    if waiter.times.count > 0 {
        to.lower("handover_max_ns", waiter.times.max_ns as f64, "ns");
    }
    for (name, share) in [("handover_p50_ns", 0.5), ("handover_p99_ns", 0.99)] {
        if let Some(time) = waiter.times.quantile_ns(share) {
            to.lower(name, time, "ns");
        }
    }
}

/// How exact the delays were: of those that were too long and of those that were too short, by how
/// much; `early` is the share of the latter.
fn tell_delays(delayer: &Tally, asked_us: f64, to: &mut Outcome) {
    let count = delayer.operations as f64;
    let (late, early) = (&delayer.times, &delayer.early);
    to.higher("delays", count, "delays");
    to.lower("delay_asked_us", asked_us, "µs");
    if delayer.operations > 0 {
        to.lower("delay_mean_us", delayer.delayed_ns as f64 / count / 1e3, "µs");
        to.lower("late_max_us", late.max_ns as f64 / 1e3, "µs");
        to.lower("early", 100.0 * early.count as f64 / count, "%");
    }
    for (name, times, share) in [
        ("late_p50_us", late, 0.5),
        ("late_p99_us", late, 0.99),
        ("early_p50_us", early, 0.5),
        ("early_p99_us", early, 0.99),
    ] {
        if let Some(time) = times.quantile_ns(share) {
            to.lower(name, time / 1e3, "µs");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn orders(row: &str) -> Orders {
        Orders { row: row.to_owned(), seconds: 0.02, delay_us: 100, cpus: [None, None] }
    }

    #[test]
    fn every_pair_counts_on_both_sides_and_alone() {
        for row in ALL {
            let orders = orders(row.name);
            let report = run_both(&*pair_of(row.kind, 100), &orders).expect(row.name);
            let [first, second] = &report.together;
            for tally in [first, second, &report.alone] {
                assert!(tally.elapsed_s >= 0.02, "{}: {tally:?}", row.name);
            }
            assert!(first.operations > 0 && report.alone.operations > 0, "{}", row.name);
            assert!(report.checks.values().all(|held| *held), "{}: {report:?}", row.name);
            assert!(!report.cpus_ran.is_empty() && report.clock_ns > 0.0);
        }
    }

    #[test]
    fn one_that_cannot_be_bound_ends_both() {
        let nowhere: CpuSet =
            std::iter::once(coretwin_base::machine::cpu_set::CpuId(9999)).collect();
        for place in [0, 1] {
            let mut orders = orders("kernel-2.4/spin");
            orders.cpus[place] = Some(nowhere.clone());
            let error =
                run_both(&*pair_of(Kind::Spin { pause: false }, 0), &orders).expect_err("nowhere");
            assert!(!error.to_string().is_empty());
        }
    }
}
