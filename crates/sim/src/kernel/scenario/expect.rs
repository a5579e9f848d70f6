//! What a scenario expects of policies, and what can be measured of a run: one table of measures for
//! expectations, tables and heat maps.

use super::Scenario;
use super::steps::Names;
use crate::Result;
use crate::document::Table;
use crate::kernel::{Distance, Histogram, Outcome, ProgramOutcome};
use crate::policies::Settings;
use std::iter::Sum;

#[derive(Debug)]
pub struct Measure {
    /// Its key in scenario and sweep files, unit last.
    pub key: &'static str,
    pub about: &'static str,
    /// Which way is better, if either is: above 0 more, below 0 less.
    pub better: i8,
    of: fn(&Outcome, Option<&ProgramOutcome>) -> Option<f64>,
}

impl Measure {
    /// Its value in a run: of one program, where it is of programs, else of all. `None` where there is
    /// nothing to measure.
    pub fn of(&self, outcome: &Outcome, program: Option<u32>) -> Option<f64> {
        (self.of)(outcome, program.and_then(|program| outcome.programs.get(program as usize)))
    }
}

macro_rules! measure {
    ($key:literal, $better:literal, $about:literal, $of:expr) => {
        Measure { key: $key, about: $about, better: $better, of: $of }
    };
}

pub const MEASURES: &[Measure] = &[
    measure!("elapsed_ms", -1, "simulated time until all was done, or the time was up", |o, _| {
        Some(o.simulated_ns as f64 / 1e6)
    }),
    measure!("throughput_cpus", 1, "work done a second, in CPUs that run alone", |o, p| {
        Some(sum(o, p, |one| one.time.work_alone_ns() as f64) / o.measured_ns.max(1) as f64)
    }),
    measure!("operations_per_s", 1, "operations done a second", |o, _| {
        (!o.operations.is_empty()).then(|| o.operations_per_s())
    }),
    measure!("operation_p99_us", -1, "99th percentile of the time an operation takes", |o, _| {
        o.operations.first().and_then(|operation| quantile(&operation.latency, 990_000))
    }),
    measure!("clash_percent", -1, "time in which a core ran two tasks while one idled", |o, _| {
        percent(o.clash_ns, o)
    }),
    measure!("wasted_percent", -1, "time in which a CPU idled while a task waited", |o, _| {
        percent(o.wasted.idle_cpu_ns, o)
    }),
    measure!("utilisation_percent", 0, "time of CPUs in which they worked", |o, _| {
        Some(o.utilisation() * 100.0)
    }),
    measure!("migrations", 0, "times a task went on elsewhere", |o, _| {
        Some(o.migrations.iter().sum::<u64>() as f64)
    }),
    measure!("migrations_in_core", 0, "times a task went on on a sibling", |o, _| {
        Some(o.migrations[Distance::SameCore as usize] as f64)
    }),
    measure!("migrations_between_cores", -1, "times a task went on on another core", |o, _| {
        Some(o.migrations[Distance::SameCache as usize..].iter().sum::<u64>() as f64)
    }),
    measure!("pulls", 0, "waiting tasks that the policy moved", |o, _| Some(o.pulls as f64)),
    measure!("switches", -1, "times a CPU turned to another task", |o, _| Some(o.switches as f64)),
    measure!("wake_p50_us", -1, "median time from wake-up to CPU", |o, p| {
        quantile(p.map_or(&o.wake_latency, |program| &program.wake_latency), 500_000)
    }),
    measure!("wake_p99_us", -1, "99th percentile from wake-up to CPU", |o, p| {
        quantile(p.map_or(&o.wake_latency, |program| &program.wake_latency), 990_000)
    }),
    measure!("wait_longest_ms", -1, "longest that any task waited for a CPU", |o, _| {
        Some(o.wait_longest_ns as f64 / 1e6)
    }),
    measure!("fairness", 1, "Jain's index of CPU time of equal tasks", |o, _| o.fairness()),
    measure!(
        "policy_percent",
        -1,
        "CPU time of the policy's own work, of one CPU's time",
        |o, _| percent(o.policy_ns, o)
    ),
    measure!("cpu_ms", 0, "CPU time of a program's tasks, or of all", |o, p| {
        Some(sum(o, p, |one| one.time.raw_ns()) as f64 / 1e6)
    }),
    measure!("shared_percent", 0, "CPU time beside a busy sibling, of all of it", |o, p| {
        let raw = sum(o, p, |one| one.time.raw_ns()) as f64;
        (raw > 0.0).then(|| sum(o, p, |one| one.time.shared_ns()) as f64 * 100.0 / raw)
    }),
    measure!("lifetime_mean_ms", -1, "mean time from birth to end of a program's tasks", |_, p| {
        let lifetime = &p?.lifetime;
        (lifetime.count() > 0).then(|| lifetime.mean() as f64 / 1e6)
    }),
    measure!("ended", 0, "tasks of a program that ended, or of all", |o, p| {
        Some(sum(o, p, |one| one.ended) as f64)
    }),
];

/// Of one program, or of all.
fn sum<T: Sum>(o: &Outcome, p: Option<&ProgramOutcome>, of: fn(&ProgramOutcome) -> T) -> T {
    p.map_or_else(|| o.programs.iter().map(of).sum(), of)
}

/// Of the measured time.
fn percent(ns: u64, outcome: &Outcome) -> Option<f64> {
    Some(ns as f64 * 100.0 / outcome.measured_ns.max(1) as f64)
}

fn quantile(histogram: &Histogram, millionths: u64) -> Option<f64> {
    (histogram.count() > 0).then(|| histogram.quantile(millionths) as f64 / 1e3)
}

pub fn measure(key: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.key == key)
}

/// What some policies must make of a scenario on its own machine, with its own slowdown.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The policies, with parameters where these matter; `None`: every policy.
    pub policies: Option<Vec<String>>,
    /// The program whose tasks are meant; `None`: all.
    pub program: Option<u32>,
    /// Measures with the least and the most that they may be.
    pub ranges: Vec<(&'static str, f64, f64)>,
}

impl Expectation {
    /// What a run has made otherwise, a sentence each.
    fn broken(&self, outcome: &Outcome) -> impl Iterator<Item = String> {
        let of = self.program.and_then(|program| outcome.programs.get(program as usize));
        let of = of.map_or_else(String::new, |program| format!(" of {}", program.name));
        self.ranges.iter().filter_map(move |(key, low, high)| {
            let found = measure(key).and_then(|measure| measure.of(outcome, self.program));
            match found {
                Some(found) if (*low..=*high).contains(&found) => None,
                Some(found) => Some(format!("{key}{of} is {found:.3}, not {low} to {high}")),
                None => Some(format!("{key}{of} could not be measured, but is {low} to {high}")),
            }
        })
    }
}

impl Scenario {
    /// What a run of this scenario on its own machine has made otherwise than expected.
    pub fn broken(&self, outcome: &Outcome) -> Vec<String> {
        let is_about = |one: &&Expectation| {
            one.policies.as_ref().is_none_or(|policies| policies.contains(&outcome.policy))
        };
        self.expectations.iter().filter(is_about).flat_map(|one| one.broken(outcome)).collect()
    }

    pub fn policies(&self) -> Vec<&str> {
        let named = self.expectations.iter().flat_map(|one| one.policies.iter().flatten());
        let mut named: Vec<&str> = named.map(String::as_str).collect();
        named.sort_unstable();
        named.dedup();
        named
    }
}

pub(super) fn read(table: &mut Table<'_>, programs: &Names) -> Result<Expectation> {
    let policies = table.if_any("policies", policies)?;
    let program = table.if_any("program", |table, key| programs.number(table, key))?;
    let mut ranges = Vec::new();
    for measure in MEASURES {
        if !table.has(measure.key) {
            continue;
        }
        match table.numbers(measure.key, -1e15..=1e15)?[..] {
            [low, high] if low <= high => ranges.push((measure.key, low, high)),
            _ => {
                let problem = "must hold the least and the most it may be";
                return Err(table.refuse(measure.key, problem));
            }
        }
    }
    table.no_strangers(&[])?;
    if ranges.is_empty() {
        let keys: Vec<&str> = MEASURES.iter().map(|measure| measure.key).collect();
        let known = keys.join(", ");
        return Err(table.refuse("", format!("expects nothing; known measures are {known}")));
    }
    Ok(Expectation { policies, program, ranges })
}

fn policies(table: &mut Table<'_>, key: &str) -> Result<Vec<String>> {
    let texts = table.texts(key)?.into_iter().map(Settings::parse);
    let read = texts.map(|settings| settings.map(|settings| settings.text()));
    read.map(|text| text.map_err(|problem| table.refuse(key, problem))).collect()
}
