//! The worker's side of `kernel-2.4`: starts the process with both tasks, and makes of its counts what
//! a reader wants to know.

use super::pair::{Orders, Report};
use super::{DELAY_US, Kind, Row, SECONDS, Tally};
use crate::answer;
use crate::role::{self, KERNEL_2_4};
use crate::supervisor::{Launch, Supervisor};
use crate::workload::{Facts, Measured, Ran, START_S, Workload, decimal, int, metric, needs};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::limits::Need;
use coretwin_base::machine::placement::Placement;
use coretwin_base::parameters::Params;
use coretwin_base::study::job::Job;
use coretwin_base::study::reading::{Better, Metric};

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
        let limits = self.kind.limits(job.placement).to_owned();
        measured.notes.insert("placement".to_owned(), limits);
        Ok(measured)
    }
}

fn measure(row: &Row, delay_us: u32, report: &Report) -> Measured {
    let [first, second] = &report.together;
    let (rate, other) = (first.per_s(), second.per_s());
    let (facts, even) = (row.facts(), row.kind.is_even());
    let mut metrics = match row.kind {
        Kind::Spin { .. } => waiting(second, report.clock_ns),
        Kind::Delay(_) => delays(second, f64::from(delay_us)),
        _ => vec![
            ("first_per_s", metric(rate, facts.unit, Better::Higher)),
            ("second_per_s", metric(other, facts.unit, Better::Higher)),
        ],
    };
    let alone = report.alone.per_s();
    metrics.push(("alone_per_s", metric(alone, facts.unit, Better::Higher)));
    metrics.push(("kept", metric(100.0 * rate / alone, "%", Better::Higher)));
    Measured {
        metrics: metrics.into_iter().map(|(name, metric)| (name.to_owned(), metric)).collect(),
        operations: first.operations + if even { second.operations } else { 0 },
        elapsed_s: first.elapsed_s.max(second.elapsed_s),
        threads: 2,
        cpus_ran: report.cpus_ran.clone(),
        checks: report.checks.clone(),
        ..Measured::of(&facts, if even { rate + other } else { rate })
    }
}

/// What a waiter saw. A hand-over is timed from a look at the clock before it to one after it, so
/// about one look is within it.
fn waiting(waiter: &Tally, clock_ns: f64) -> Vec<(&'static str, Metric)> {
    let nanoseconds = |value| metric(value, "ns", Better::Lower);
    let mut metrics = vec![
        ("handovers", metric(waiter.times.count as f64, "hand-overs", Better::Higher)),
        ("polls_per_s", metric(waiter.per_s(), "polls/s", Better::Lower)),
        ("clock_ns", nanoseconds(clock_ns)),
    ];
    if waiter.times.count > 0 {
        metrics.push(("handover_max_ns", nanoseconds(waiter.times.max_ns as f64)));
    }
    let quantiles = [("handover_p50_ns", 0.5), ("handover_p99_ns", 0.99)];
    let given = quantiles.map(|(name, share)| (name, waiter.times.quantile_ns(share)));
    metrics.extend(given.into_iter().filter_map(|(name, time)| Some((name, nanoseconds(time?)))));
    metrics
}

/// How exact the delays were: of those that were too long and of those that were too short, by how
/// much; `early` is the share of the latter.
fn delays(delayer: &Tally, asked_us: f64) -> Vec<(&'static str, Metric)> {
    let microseconds = |value| metric(value, "µs", Better::Lower);
    let count = delayer.operations as f64;
    let mut metrics = vec![
        ("delays", metric(count, "delays", Better::Higher)),
        ("delay_asked_us", microseconds(asked_us)),
    ];
    if delayer.operations > 0 {
        let early = 100.0 * delayer.early.count as f64 / count;
        metrics.push(("delay_mean_us", microseconds(delayer.delayed_ns as f64 / count / 1e3)));
        metrics.push(("late_max_us", microseconds(delayer.times.max_ns as f64 / 1e3)));
        metrics.push(("early", metric(early, "%", Better::Lower)));
    }
    let (late, early) = (&delayer.times, &delayer.early);
    for (name, times, share) in [
        ("late_p50_us", late, 0.5),
        ("late_p99_us", late, 0.99),
        ("early_p50_us", early, 0.5),
        ("early_p99_us", early, 0.99),
    ] {
        let time = times.quantile_ns(share);
        metrics.extend(time.map(|time| (name, microseconds(time / 1e3))));
    }
    metrics
}
