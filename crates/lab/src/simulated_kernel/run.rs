//! A scenario under some policies, with some seeds, and the record of each run.

use crate::error::Error;
use crate::parallel;
use crate::simulated_core::{self, Cache};
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::kernel_run::{
    SchedCpu, SchedDecision, SchedLatency, SchedMigrations, SchedOperation, SchedProgram, SchedRun,
};
use coretwin_sim::core::length::Length;
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{self, Preset};
use coretwin_sim::kernel::co_run::CoRun;
use coretwin_sim::kernel::outcome::{CpuOutcome, OperationOutcome, ProgramOutcome};
use coretwin_sim::kernel::scenario::Scenario;
use coretwin_sim::kernel::{self, Cause, Distance, Failure, Histogram, Layout, Options, Outcome};
use coretwin_sim::policies::{Decision, Settings, What};

/// The most tasks alive at once.
const TASKS_MAX: usize = 150_000;

/// The most events of a run: some minutes.
const EVENTS_MAX: u64 = 2_000_000_000;

#[derive(Debug, Clone)]
pub struct Request {
    pub scenario: Scenario,
    pub layout: Layout,
    pub topology: String,
    pub speeds: Speeds,
    pub policies: Vec<Settings>,
    pub seed: u64,
    /// How many seeds, from the first upwards.
    pub seeds: u32,
    pub decisions_max: usize,
    pub spans_max: usize,
}

/// Runs it, side by side: for each policy in its order, every seed. `done` hears how many of how
/// many are done. Errors: [`Error::Usage`] for work that this machine cannot do, that comes to a
/// deadlock, that makes tasks without end or gets no further; the message says which task and why.
/// [`Error::NotPossible`] where a policy broke its contract.
pub fn run(request: &Request, mut done: impl FnMut(usize, usize)) -> Result<Vec<SchedRun>, Error> {
    let seeds = (0..u64::from(request.seeds.max(1))).map(|n| request.seed.wrapping_add(n));
    let seeds: Vec<u64> = seeds.collect();
    let grid = request.policies.iter().flat_map(|policy| seeds.iter().map(move |s| (*policy, *s)));
    let grid: Vec<(Settings, u64)> = grid.collect();
    let runs = parallel::map(
        &grid,
        |(policy, seed)| {
            let outcome = outcome(request, *policy, *seed)?;
            Ok(record(request, &outcome))
        },
        |finished| done(finished, grid.len()),
    );
    runs.into_iter().collect()
}

/// What runs of the scenario on its own machine made otherwise than it expects, a sentence each,
/// for every policy of the request. Speeds, machine and seeds of the request are not used. Errors:
/// as [`run`].
pub fn check(request: &Request) -> Result<Vec<(String, Vec<String>)>, Error> {
    let scenario = &request.scenario;
    let own = Request {
        layout: scenario.layout().map_err(Error::Usage)?,
        speeds: Speeds::uniform(scenario, scenario.slowdown)?,
        decisions_max: 0,
        spans_max: 0,
        ..request.clone()
    };
    let checked = parallel::map(
        &own.policies,
        |policy| {
            let outcome = outcome(&own, *policy, 1)?;
            Ok((policy.text(), scenario.broken(&outcome)))
        },
        |_| {},
    );
    checked.into_iter().collect()
}

pub(super) fn outcome(request: &Request, policy: Settings, seed: u64) -> Result<Outcome, Error> {
    let scenario = &request.scenario;
    let machine = scenario.machine(request.layout.clone(), request.speeds.table.clone());
    let options = Options {
        seed,
        until_ns: scenario.until_ns,
        warmup_ns: scenario.warmup_ns,
        decisions_max: request.decisions_max,
        spans_max: request.spans_max,
        events_max: EVENTS_MAX,
        tasks_max: TASKS_MAX,
        ..Options::new(policy)
    };
    kernel::run(&machine, &scenario.work_on(&request.layout), &options)
        .map_err(|failure| refusal(request, policy, &failure))
}

fn refusal(request: &Request, policy: Settings, failure: &Failure) -> Error {
    let (scenario, topology) = (&request.scenario.name, &request.topology);
    let message = format!("{scenario} on {topology} under {}: {failure}", policy.text());
    match failure.cause {
        Cause::Policy => Error::NotPossible(message),
        _ => Error::Usage(message),
    }
}

fn record(request: &Request, outcome: &Outcome) -> SchedRun {
    let measured_s = seconds(outcome.measured_ns);
    let work_alone_s: f64 =
        outcome.programs.iter().map(|program| seconds(program.time.work_alone_ns())).sum();
    let throughput_cpus = work_alone_s / measured_s.max(f64::MIN_POSITIVE);
    let (value, unit) = match (outcome.operations.is_empty(), outcome.finished) {
        (false, _) => (outcome.operations_per_s(), "operations/s"),
        (true, true) => (seconds(outcome.simulated_ns), "s"),
        (true, false) => (throughput_cpus, "CPUs"),
    };
    let programs: Vec<String> =
        outcome.programs.iter().map(|program| program.name.clone()).collect();
    SchedRun {
        schema: SCHEMA,
        origin: Origin::Simulated,
        policy: outcome.policy.clone(),
        preset: request.speeds.origin.clone(),
        workload: request.scenario.name.clone(),
        topology: request.topology.clone(),
        seed: outcome.seed,
        value,
        unit: unit.to_owned(),
        finished: outcome.finished,
        events: outcome.events,
        simulated_s: seconds(outcome.simulated_ns),
        measured_s,
        switches: outcome.switches,
        migrations: migrations(outcome),
        pulls: outcome.pulls,
        clash_s: seconds(outcome.clash_ns),
        wasted_cpu_s: seconds(outcome.wasted.idle_cpu_ns),
        wasted_core_s: seconds(outcome.wasted.idle_core_ns),
        policy_s: seconds(outcome.policy_ns),
        utilisation: outcome.utilisation(),
        throughput_cpus,
        fairness: outcome.fairness(),
        wake_latency: latency(&outcome.wake_latency),
        wait_longest_s: seconds(outcome.wait_longest_ns),
        core_throughput: outcome.core_throughput.clone(),
        operations: outcome
            .operations
            .iter()
            .map(|one| operation(request, one, measured_s))
            .collect(),
        programs: outcome.programs.iter().map(|one| program(outcome, one)).collect(),
        cpus: outcome.cpus.iter().map(|one| cpu(request, one)).collect(),
        trace_hash: format!("{:016x}", outcome.trace_hash),
        decisions: outcome.decisions.iter().map(|one| decision(one, &programs)).collect(),
        spans: outcome.spans.clone(),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn migrations(outcome: &Outcome) -> SchedMigrations {
    let by = |distance: Distance| outcome.migrations[distance as usize];
    let (same_cache, same_package) = (by(Distance::SameCache), by(Distance::SamePackage));
    let other_package = by(Distance::OtherPackage);
    SchedMigrations {
        same_core: by(Distance::SameCore),
        cross_core: same_cache + same_package + other_package,
        same_cache,
        same_package,
        other_package,
    }
}

fn latency(histogram: &Histogram) -> SchedLatency {
    let us = |ns: u64| ns as f64 / 1e3;
    SchedLatency {
        count: histogram.count(),
        mean_us: us(histogram.mean()),
        p50_us: us(histogram.quantile(500_000)),
        p90_us: us(histogram.quantile(900_000)),
        p99_us: us(histogram.quantile(990_000)),
        p999_us: us(histogram.quantile(999_000)),
        most_us: us(histogram.most()),
    }
}

fn operation(request: &Request, operation: &OperationOutcome, measured_s: f64) -> SchedOperation {
    let names = &request.scenario.operations;
    SchedOperation {
        name: names.get(operation.kind as usize).cloned().unwrap_or_default(),
        count: operation.count,
        per_s: operation.count as f64 / measured_s.max(f64::MIN_POSITIVE),
        latency: latency(&operation.latency),
    }
}

fn program(outcome: &Outcome, program: &ProgramOutcome) -> SchedProgram {
    let time = &program.time;
    // Where a number of busy siblings never was, no time was spent so either.
    let throughput: Vec<f64> =
        outcome.core_throughput.iter().map(|found| found.unwrap_or(1.0)).collect();
    SchedProgram {
        name: program.name.clone(),
        tasks: program.tasks,
        ended: program.ended,
        raw_s: seconds(time.raw_ns()),
        alone_s: seconds(time.alone_ns()),
        shared_s: seconds(time.shared_ns()),
        system_s: seconds(time.system_ns),
        work_alone_s: seconds(time.work_alone_ns()),
        capacity_s: time.capacity_ns(&throughput) / 1e9,
        wake_latency: latency(&program.wake_latency),
        lifetime: latency(&program.lifetime),
    }
}

fn cpu(request: &Request, cpu: &CpuOutcome) -> SchedCpu {
    SchedCpu {
        cpu: cpu.cpu,
        core: request.layout.place(cpu.cpu).core.0,
        user_s: seconds(cpu.times.user_ns),
        system_s: seconds(cpu.times.system_ns),
        idle_s: seconds(cpu.times.idle_ns),
        offline_s: seconds(cpu.times.offline_ns),
        switches: cpu.switches,
    }
}

fn decision(decision: &Decision, programs: &[String]) -> SchedDecision {
    let (verb, cpu) = decision.verb();
    let name = |program: u32| programs.get(program as usize).map_or("?", String::as_str);
    SchedDecision {
        at_ns: decision.at_ns,
        asked_on: decision.asked_on,
        verb: verb.to_owned(),
        cpu,
        from_cpu: match decision.what {
            What::Pull { from, .. } => Some(from),
            _ => None,
        },
        task: decision.task.map(|(serial, program)| format!("{}#{serial}", name(program))),
        reason: decision.reason.to_string(),
    }
}

/// The kind of work that stands for the kernel's own.
const KERNEL: &str = "syscall";

/// The kind of work that stands for an idle CPU that polls.
const POLLING: &str = "spin-pause";

#[derive(Debug, Clone, PartialEq)]
pub struct Speeds {
    /// The preset, or `uniform-1.6`.
    pub origin: String,
    /// The table; its rows are the kernel's and those of the scenario.
    pub table: CoRun,
}

impl Speeds {
    /// Every kind of work is slowed alike, by so many thousandths. Errors: [`Error::Usage`] for a
    /// slowdown that cannot be.
    pub fn uniform(scenario: &Scenario, slowdown: u32) -> Result<Self, Error> {
        let table = scenario.uniform(slowdown).map_err(Error::Usage)?;
        Ok(Self { origin: slowdown_text(slowdown), table })
    }

    /// From runs of a processor's core. `done` hears how many of how many pairs are done. Errors:
    /// as [`simulated_core::matrix`]; [`Error::Usage`] for a profile that is not there.
    pub fn of_preset(
        scenario: &Scenario,
        preset: &Preset,
        cache: Option<&Cache>,
        done: impl FnMut(usize, usize),
    ) -> Result<Self, Error> {
        let own = scenario.profiles.iter().map(String::as_str);
        let more = [KERNEL, POLLING].into_iter();
        let more = more.filter(|name| scenario.profiles.iter().all(|own| own != name));
        let profile = |name: &str| {
            let missing = || Error::Usage(format!("there is no profile '{name}'"));
            Profile::named(name).ok_or_else(missing)
        };
        let profiles: Vec<Profile> = own.chain(more).map(profile).collect::<Result<_, _>>()?;
        let options = core::Options::default();
        let matrix = simulated_core::matrix(
            preset,
            &profiles,
            &options,
            Some(Length::of_benchmarks(preset)),
            cache,
            done,
        )?;
        let clock_ghz = f64::from(preset.clock_mhz) / 1000.0;
        let table = CoRun::of_matrix(&matrix, clock_ghz, KERNEL, POLLING).map_err(Error::Usage)?;
        Ok(Self { origin: preset.name.clone(), table })
    }
}

fn slowdown_text(slowdown: u32) -> String {
    format!("uniform-{}", f64::from(slowdown) / 1000.0)
}
