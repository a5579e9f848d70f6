//! From what the simulator gives to the record that is shown and stored.

use super::run::Request;
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::kernel_run::{
    SchedCpu, SchedDecision, SchedLatency, SchedMigrations, SchedOperation, SchedProgram, SchedRun,
    SchedSpan,
};
use coretwin_sim::kernel::outcome::{CpuOutcome, OperationOutcome, ProgramOutcome};
use coretwin_sim::kernel::{Distance, Histogram, Outcome, Span};
use coretwin_sim::policies::{Decision, What};

/// The record of a run.
pub(super) fn record(request: &Request, outcome: &Outcome) -> SchedRun {
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
        spans: outcome.spans.iter().map(span).collect(),
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

fn span(span: &Span) -> SchedSpan {
    SchedSpan {
        cpu: span.cpu,
        task: span.serial,
        program: span.program,
        from_ns: span.from_ns,
        to_ns: span.to_ns,
    }
}
