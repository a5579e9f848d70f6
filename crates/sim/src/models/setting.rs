//! A machine in a state under a policy, and what it makes of a workload: the mean of several runs, as a
//! published figure is one.
//!
//! Where hundreds of tasks wake each other, a run settles in one of several habits and keeps to it, so
//! that runs of other seeds differ by some per cent however long they are. The mean of a row with such
//! runs takes as many as its standard error needs.

use super::load::{Family, Load, Row, Sizes, Values};
use super::table::{TABLE, find, reason};
use crate::core::profile::Profile;
use crate::core::{self, Preset, length};
use crate::kernel::{self, CoRun, Machine, Options, Outcome};
use crate::machine::{Fit, MachinePreset};
use crate::policies::Settings;
use crate::{Error, Result};
use coretwin_base::parameters::Params;
use coretwin_base::random::Stream;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::CoreMatrix;
use coretwin_base::study::reading::{Better, Metric};
use coretwin_base::suggest;
use std::collections::BTreeMap;

/// Profiles of [`crate::core`] that a matrix for [`Setting::speeds`] holds.
pub const PROFILES: [&str; 6] = ["chat", "dbench", "tbench", KERNEL, POLLING, WALKING];

/// The profile of entering and leaving the kernel.
const KERNEL: &str = "syscall";

/// The profile of an idle CPU that polls.
const POLLING: &str = "spin-pause";

/// The profile of going through the scheduler's lists: what is next is known only once the line before has
/// come from memory.
const WALKING: &str = "list-walk";

/// The most events of a run: some minutes.
const EVENTS_MAX: u64 = 4_000_000_000;

#[derive(Debug, Clone, Copy)]
pub struct Setting<'all> {
    pub machine: &'all MachinePreset,
    /// Speeds of every pair of [`PROFILES`] on its core; [`speeds_alone`] for a core with one thread.
    pub speeds: &'all CoreMatrix,
    /// Parameters fitted to published figures; `None`: those of the machine's preset.
    pub fit: Option<&'all Fit>,
    pub policy: Settings,
    pub smt: bool,
    pub seed: u64,
    /// Part of the load that is simulated, above 0 and up to 1; `None`: what the row's model says.
    pub fraction: Option<f64>,
    /// The most runs whose mean the value is, each with a seed of its own; `None`: as many as the row's
    /// mean needs.
    pub runs_max: Option<u32>,
    /// Tasks of others, with next to no share, that take what CPU time the benchmark leaves, whose events
    /// then count from the birth of its first task on; `None`: it is alone, and they count from where its
    /// clock starts.
    pub others: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    pub value: f64,
    pub better: Better,
    pub metrics: BTreeMap<&'static str, Metric>,
    pub operations: u64,
    /// Simulated time of what the benchmark times, in seconds, in all runs.
    pub simulated_s: f64,
    /// CPU time in user space and in the kernel, in seconds.
    pub user_s: f64,
    /// See [`Prediction::user_s`].
    pub system_s: f64,
    pub sampled_fraction: f64,
    pub runs: u32,
    pub events: u64,
    pub trace_hash: u64,
}

/// What a machine makes of a workload with these parameters. Errors: a workload without a model, with the
/// reason; a parameter that the model does not know; a preset without what it needs; a fit of another
/// preset or version; a run that made no progress.
pub fn predict(workload: &str, params: &Params, setting: &Setting<'_>) -> Result<Prediction> {
    let (family, row) = find(workload).ok_or_else(|| unknown(workload))?;
    if let Some(fit) = setting.fit {
        fit.check(setting.machine)?;
    }
    need_files(family, setting.machine)?;
    let fraction = setting.fraction.unwrap_or(row.fraction);
    if !(fraction > 0.0 && fraction <= 1.0) {
        return Err(Error::Unknown(format!(
            "a sampled fraction is above 0 and at most 1, not {fraction}"
        )));
    }
    let speeds = speeds(setting)?;
    let profile = speeds.named(family.profile).ok_or_else(|| {
        Error::Unknown(format!("the speeds have no profile '{}'", family.profile))
    })?;
    let mut machine = setting.machine.machine(setting.smt, speeds)?;
    if let Some(fit) = setting.fit {
        fit.apply(&mut machine);
    }
    let sizes = Sizes { workload, params, fraction };
    let values = Values { machine: setting.machine, fit: setting.fit, workload, profile };
    let mut load = (row.build)(row, &sizes, &values)?;
    let others = setting.others.map(|count| load.work.run_beside(profile, count));
    scale_memory(&mut machine, family, load.fraction);
    let runs = row.runs.map(|runs| runs.min(setting.runs_max.unwrap_or(runs)));
    averaged(runs, setting.seed, |seed| {
        let options = Options {
            seed,
            until_ns: load.until_ns,
            warmup_ns: if others.is_some() { 0 } else { load.from_ns },
            others,
            events_max: EVENTS_MAX,
            ..Options::new(setting.policy)
        };
        Ok(prediction(row, &load, &kernel::run(&machine, &load.work, &options)?))
    })
}

/// A smaller load finds less memory and an earlier write-back, so that as much of it is on its way.
fn scale_memory(machine: &mut Machine, family: &Family, fraction: f64) {
    if family.uses_files && fraction < 1.0 {
        let scaled = |number: u64| ((number as f64 * fraction) as u64).max(1);
        machine.cache.pages = scaled(u64::from(machine.cache.pages)).max(64) as u32;
        machine.cache.dirty_expire_ns = scaled(machine.cache.dirty_expire_ns);
        machine.cache.dirty_writeback_ns = scaled(machine.cache.dirty_writeback_ns);
    }
}

fn unknown(workload: &str) -> Error {
    if let Some(reason) = reason(workload) {
        return Error::Unknown(format!("{workload} has no model: {reason}"));
    }
    let known: Vec<&str> =
        TABLE.iter().flat_map(|family| family.rows).map(|row| row.workload).collect();
    Error::Unknown(suggest::unknown("model of a workload", workload, &known))
}

fn need_files(family: &Family, machine: &MachinePreset) -> Result<()> {
    let missing = match (family.uses_files, machine.memory, machine.disk) {
        (true, None, _) => "memory",
        (true, _, None) => "disk",
        _ => return Ok(()),
    };
    Err(Error::Value {
        file: machine.name.clone(),
        key: missing.to_owned(),
        problem: format!("is missing; the model of {} needs it", family.name),
    })
}

fn speeds(setting: &Setting<'_>) -> Result<CoRun> {
    let matrix = setting.speeds;
    let own = &setting.machine.core;
    if matrix.preset != own.name {
        return Err(Error::Unknown(format!(
            "the speeds are of {}, the core of {} is {}",
            matrix.preset, setting.machine.name, own.name
        )));
    }
    let clock_ghz = f64::from(own.clock_mhz) / 1000.0;
    let table = CoRun::of_matrix(matrix, clock_ghz, KERNEL, POLLING);
    table.and_then(|table| table.with_walks(WALKING)).map_err(Error::Unknown)
}

/// Speeds of [`PROFILES`] on a core with one thread: every speed beside another is that alone, and is
/// never asked for.
pub fn speeds_alone(preset: &Preset, options: &core::Options) -> Result<CoreMatrix> {
    let speed = |name: &&str| {
        let profile = Profile::named(name);
        let missing = || Error::Unknown(format!("there is no profile '{name}'"));
        Ok(length::speed(preset, &profile.ok_or_else(missing)?, options)?)
    };
    let count = PROFILES.len();
    Ok(CoreMatrix {
        schema: SCHEMA,
        preset: preset.name.clone(),
        profiles: PROFILES.map(str::to_owned).to_vec(),
        alone_ipc: PROFILES.iter().map(speed).collect::<Result<_>>()?,
        slowdown: vec![vec![1.0; count]; count],
        throughput: vec![vec![2.0; count]; count],
        slowdown_by_formula: Vec::new(),
        cached: 0,
        seed: options.seed,
        warmup_uops: options.warmup_uops,
        measure_uops: options.measure_uops,
    })
}

fn prediction(row: &Row, load: &Load, outcome: &Outcome) -> Prediction {
    let elapsed_s = load.elapsed_s(outcome);
    let total = |of: fn(&kernel::outcome::CpuOutcome) -> u64| {
        outcome.cpus.iter().map(of).sum::<u64>() as f64 / 1e9
    };
    let metric = |value: f64, unit: &str, better| Metric { value, unit: unit.to_owned(), better };
    let per_operation = |count: u64| count as f64 / load.operations.max(1) as f64;
    let moved: u64 = outcome.migrations.iter().sum();
    let mut metrics = BTreeMap::from([
        ("switches", metric(per_operation(outcome.switches), "per operation", Better::Lower)),
        ("wake_ups", metric(per_operation(outcome.wake_ups), "per operation", Better::Lower)),
        (
            "pre_emptions",
            metric(per_operation(outcome.pre_emptions), "per operation", Better::Lower),
        ),
        ("receives", metric(per_operation(outcome.receives), "per operation", Better::Lower)),
        ("segments", metric(per_operation(outcome.segments), "per operation", Better::Lower)),
        ("migrations", metric(per_operation(moved), "per operation", Better::Lower)),
        ("utilisation", metric(outcome.utilisation(), "of all CPUs", Better::Higher)),
        ("scheduler", metric(outcome.policy_ns as f64 / 1e9, "s", Better::Lower)),
    ]);
    if let Some(Some(throughput)) = outcome.core_throughput.get(1) {
        metrics.insert("core_throughput", metric(*throughput, "of one CPU", Better::Higher));
    }
    if outcome.storage.requests > 0 {
        let busy_s = outcome.storage.disk_busy_ns as f64 / 1e9;
        metrics.insert("disk_busy", metric(busy_s, "s", Better::Lower));
    }
    Prediction {
        value: load.value(outcome),
        better: row.better,
        metrics,
        operations: load.operations,
        simulated_s: elapsed_s,
        user_s: total(|cpu| cpu.times.user_ns),
        system_s: total(|cpu| cpu.times.system_ns),
        sampled_fraction: load.fraction,
        runs: 1,
        events: outcome.events,
        trace_hash: outcome.trace_hash,
    }
}

/// The standard error of a value that ends its runs, as a share of it.
const ERROR: f64 = 0.012;

/// The mean of runs: geometric of their values, as the article's of its runs; arithmetic of the other
/// numbers. At least and at most so many runs; the first has this seed.
fn averaged(
    [least, most]: [u32; 2],
    seed: u64,
    mut run: impl FnMut(u64) -> Result<Prediction>,
) -> Result<Prediction> {
    let mut seeds = Stream::new(seed, "runs", 0);
    let mut all = run(seed)?;
    let mut values = Logarithms::default();
    values.add(all.value);
    while all.runs < most && (all.runs < least || values.error() > ERROR) {
        let next = run(seeds.next_u64())?;
        values.add(next.value);
        add(&mut all, next);
    }
    let told =
        |value: f64, unit: &str| Metric { value, unit: unit.to_owned(), better: Better::Lower };
    all.metrics.insert("runs", told(f64::from(all.runs), "runs"));
    if all.runs > 1 {
        all.value = values.mean();
        all.metrics.insert("seed_error", told(100.0 * values.error(), "% of the value"));
    }
    Ok(all)
}

/// Of the runs' values.
#[derive(Default)]
struct Logarithms(Vec<f64>);

impl Logarithms {
    fn add(&mut self, value: f64) {
        self.0.push(libm::log(value));
    }

    fn middle(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    fn mean(&self) -> f64 {
        libm::exp(self.middle())
    }

    /// The mean's standard error, as a share of it; 0 of one run.
    fn error(&self) -> f64 {
        let middle = self.middle();
        let squares: f64 = self.0.iter().map(|log| (log - middle) * (log - middle)).sum();
        let free = self.0.len().saturating_sub(1).max(1);
        (squares / free as f64 / self.0.len() as f64).sqrt()
    }
}

fn add(all: &mut Prediction, next: Prediction) {
    all.runs += 1;
    all.operations += next.operations;
    all.simulated_s += next.simulated_s;
    all.user_s += next.user_s;
    all.system_s += next.system_s;
    all.events += next.events;
    all.trace_hash = all.trace_hash.rotate_left(1) ^ next.trace_hash;
    for (name, metric) in next.metrics {
        match all.metrics.get_mut(name) {
            Some(mean) => mean.value += (metric.value - mean.value) / f64::from(all.runs),
            None => {
                all.metrics.insert(name, metric);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_is_that_of_its_logarithms() {
        let mut values = Logarithms::default();
        values.add(100.0);
        assert_eq!(values.error(), 0.0);
        values.add(102.0);
        // Two values: half their distance.
        assert!((values.error() - libm::log(1.02) / 2.0).abs() < 1e-12);
        assert!((values.mean() - (100.0_f64 * 102.0).sqrt()).abs() < 1e-9);
    }
}
