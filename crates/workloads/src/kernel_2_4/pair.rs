//! The process of a row: both its tasks as threads, each bound to its CPUs, and their common clock.
//!
//! They run side by side between two phases in which the first runs alone, so that what it loses is
//! seen against the same machine at the same time.

use super::{Kind, Pair, Tally, delay, locks, rows, spin, stacks};
use crate::clock::monotonic_ns;
use crate::observe::CpusSeen;
use crate::{Context, Error, answer, role};
use coretwin_base::machine::cpu_set::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// Stack of a task, in bytes: room for the parts that `stacks` chooses from.
const STACK_BYTES: usize = 1 << 20;
/// Clock readings whose cost is measured.
const CLOCK_READINGS: u32 = 1000;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) row: String,
    /// How long both run side by side, in seconds.
    pub(super) seconds: f64,
    pub(super) delay_us: u32,
    /// CPUs of either task, where they are told apart.
    pub(super) cpus: [Option<CpuSet>; 2],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// The first task alone.
    pub(super) alone: Tally,
    /// Both, side by side.
    pub(super) together: [Tally; 2],
    pub(super) checks: BTreeMap<String, bool>,
    /// What reading the clock takes, in nanoseconds.
    pub(super) clock_ns: f64,
    pub(super) cpus_ran: CpuSet,
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

pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    answer::say(&entered.and_then(|()| run(args)))
}

fn run(args: &[String]) -> Result<Report, Error> {
    let orders: Orders = role::orders(args, "a row of kernel-2.4")?;
    let row = rows::ALL
        .iter()
        .find(|row| row.name == orders.row)
        .ok_or_else(|| Error::failed(format!("kernel-2.4 has no row {}", orders.row)))?;
    measure(&*pair_of(row.kind, orders.delay_us), &orders)
}

fn pair_of(kind: Kind, delay_us: u32) -> Box<dyn Pair> {
    match kind {
        Kind::Locks { distance } => Box::new(locks::Locks::new(distance)),
        Kind::Spin { pause } => Box::new(spin::Spin::new(pause)),
        Kind::Delay(how) => Box::new(delay::Delays::new(how, delay_us)),
        Kind::Stacks { offset } => Box::new(stacks::Stacks::new(offset)),
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

fn measure(pair: &dyn Pair, orders: &Orders) -> Result<Report, Error> {
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

/// What one look at the clock takes, in nanoseconds.
fn clock_ns() -> f64 {
    let begin = monotonic_ns();
    for _ in 1..CLOCK_READINGS {
        black_box(monotonic_ns());
    }
    monotonic_ns().saturating_sub(begin) as f64 / f64::from(CLOCK_READINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(row: &str) -> Orders {
        Orders { row: row.to_owned(), seconds: 0.02, delay_us: 100, cpus: [None, None] }
    }

    #[test]
    fn every_pair_counts_on_both_sides_and_alone() {
        for row in rows::ALL {
            let orders = orders(row.name);
            let report = measure(&*pair_of(row.kind, 100), &orders).expect(row.name);
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
                measure(&*pair_of(Kind::Spin { pause: false }, 0), &orders).expect_err("nowhere");
            assert!(!error.to_string().is_empty());
        }
    }
}
