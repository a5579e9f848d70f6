//! The process of one client, of dbench and of tbench, which reads its load, gets ready, waits for its release
//! together with all others, replays, and reports; and the worker's side: a process for every client, all
//! released together; what they counted added up.

use super::files::{Files, Manner};
use super::load::{self, KINDS, Load};
use super::replay::{Backend, Counted, Latencies, Phases, replay};
use crate::role::{self, DBENCH_CLIENT};
use crate::supervisor::{Launch, Supervisor, Task, TaskId};
use crate::tbench::connection::{Connection, Service};
use crate::times::monotonic_ns;
use crate::workload::{Better, Outcome, Telling, outcome};
use crate::{Error, answer, sys};
use coretwin_base::machine::cpu_set::CpuSet;
use serde::{Deserialize, Serialize};

const CLIENT: &str = "a client";
/// The unit of both: 10^6 bytes in a second.
pub(crate) const UNIT: &str = "MB/s";

pub(crate) struct Clients<'a> {
    pub(crate) count: u32,
    pub(crate) load: &'a Load,
    pub(crate) seed: u64,
    pub(crate) phases: Phases,
    pub(crate) target: Target,
    pub(crate) folder: Option<&'a str>,
    pub(crate) cpus: Option<&'a CpuSet>,
    /// Another process whose end ends the run: its name, and which it is.
    pub(crate) beside: Option<(&'static str, TaskId)>,
}

pub(crate) fn drive(
    clients: &Clients<'_>,
    supervisor: &mut Supervisor,
) -> Result<Vec<Counted>, Error> {
    sys::open_more_files();
    let mut ids = Vec::new();
    for client in 0..clients.count {
        let orders = Orders {
            load: clients.load.name.clone(),
            seed: clients.seed,
            client,
            phases: clients.phases,
            target: clients.target.clone(),
        };
        let launch = Launch::answering(DBENCH_CLIENT, vec![role::written(&orders)?], clients.cpus);
        ids.push(supervisor.start(Launch { folder: clients.folder, ..launch })?);
    }
    let beside_ended =
        |supervisor: &Supervisor| clients.beside.is_some_and(|(_, id)| supervisor.has_ended(id));
    let held = |supervisor: &Supervisor| {
        beside_ended(supervisor)
            || failed(supervisor, &ids)
            || ids.iter().all(|id| supervisor.task(*id).is_none_or(Task::is_held))
    };
    supervisor.wait(None, held)?;
    if !failed(supervisor, &ids) && !beside_ended(supervisor) {
        let start = monotonic_ns().to_le_bytes();
        ids.iter().for_each(|id| supervisor.tell(*id, &start));
        supervisor.release(&ids);
        let over = |supervisor: &Supervisor| {
            beside_ended(supervisor)
                || failed(supervisor, &ids)
                || ids.iter().all(|id| supervisor.has_ended(*id))
        };
        supervisor.wait(None, over)?;
    }
    let all_done = ids.iter().all(|id| supervisor.task(*id).is_some_and(answer::has_come));
    if let (false, Some((name, id))) = (all_done, clients.beside)
        && supervisor.has_ended(id)
    {
        let shown = supervisor.task(id).map(Task::shown).unwrap_or_default();
        return Err(Error::failed(format!("{name} has ended: {}", shown.trim())));
    }
    if let Some(why) = ids.iter().find_map(|id| answer::failure(supervisor.task(*id)?, CLIENT)) {
        return Err(Error::failed(why));
    }
    ids.iter().map(|id| answer::of(supervisor.task(*id), CLIENT)).collect()
}

fn failed(supervisor: &Supervisor, ids: &[TaskId]) -> bool {
    let failed = |task: &Task| task.exit.is_some_and(|(status, _)| !status.success());
    ids.iter().any(|id| supervisor.task(*id).is_none_or(failed))
}

/// Adds up. The value is all bytes over the time of all; beside it stands the sum of what each
/// client reached in its own time.
pub(crate) fn measure(load: &Load, phases: Phases, counted: &[Counted]) -> Outcome {
    let sum = |part: fn(&Counted) -> u64| counted.iter().map(part).sum::<u64>();
    let (read, written) = (sum(|one| one.read_bytes), sum(|one| one.written_bytes));
    let elapsed_s = match phases {
        // The clock stops when the last is done.
        Phases::Classic => counted.iter().map(|one| one.elapsed_s).fold(0.0, f64::max),
        Phases::Timed { seconds, .. } => seconds,
    };
    let rate = |bytes: u64, seconds: f64| bytes as f64 / 1e6 / seconds;
    let rates = counted.iter().map(|one| rate(one.read_bytes + one.written_bytes, one.elapsed_s));
    let rates: Vec<f64> = rates.filter(|rate| rate.is_finite()).collect();
    let mut measured = Outcome {
        operations: sum(|one| one.operations),
        elapsed_s,
        threads: u32::try_from(counted.len()).unwrap_or(u32::MAX),
        ..outcome(rate(read + written, elapsed_s), UNIT, Better::Higher)
    };
    measured.higher("client_rates_sum", rates.iter().sum(), UNIT);
    measured.higher("client_rate_min", rates.iter().copied().fold(f64::MAX, f64::min), UNIT);
    measured.higher("client_rate_max", rates.iter().copied().fold(0.0, f64::max), UNIT);
    measured.higher("read_bytes", read as f64, "bytes");
    measured.higher("written_bytes", written as f64, "bytes");
    let operations_per_s = measured.operations as f64 / elapsed_s;
    measured.higher("operations_per_s", operations_per_s, "operations/s");
    measured.higher("passes", sum(|one| one.passes) as f64, "passes");
    let mut latencies = Latencies::default();
    counted.iter().for_each(|one| latencies.merge(&one.latencies));
    tell_latencies(&latencies, &mut measured);
    measured.note("load", &load.name);
    let closed = "closed loop: a client sends no call before the last is answered";
    measured.note("latencies", closed);
    for one in counted {
        measured.cpus_ran = measured.cpus_ran.union(&one.cpus_ran);
    }
    let right = counted.iter().all(|one| is_right(load, phases, one));
    measured.check("totals", right);
    measured
}

fn is_right(load: &Load, phases: Phases, one: &Counted) -> bool {
    let calls = load.operations.len() as u64;
    if phases == Phases::Classic {
        return (one.operations, one.read_bytes, one.written_bytes)
            == (calls, load.read_bytes, load.written_bytes);
    }
    // What counts begins and ends somewhere in the load, and goes through it in order.
    let whole = one.operations / calls;
    let within =
        |bytes: u64, of_pass: u64| (whole * of_pass..=(whole + 1) * of_pass).contains(&bytes);
    let timed: u64 = one.latencies.0.iter().map(|times| times.count).sum();
    one.operations > 0
        && timed == one.operations
        && within(one.read_bytes, load.read_bytes)
        && within(one.written_bytes, load.written_bytes)
}

fn tell_latencies(latencies: &Latencies, to: &mut Outcome) {
    for (kind, times) in KINDS.iter().zip(&latencies.0).filter(|(_, times)| times.count > 0) {
        to.higher(&format!("{kind}_count"), times.count as f64, "calls");
        let shares = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];
        let quantiles = shares.map(|(what, share)| (what, times.quantile_ns(share)));
        let others = [("mean", Some(times.mean_ns())), ("max", Some(times.max_ns as f64))];
        for (what, time) in others.into_iter().chain(quantiles) {
            if let Some(ns) = time {
                to.lower(&format!("{kind}_{what}_us"), ns / 1e3, "µs");
            }
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) load: String,
    pub(crate) seed: u64,
    pub(crate) client: u32,
    pub(crate) phases: Phases,
    pub(crate) target: Target,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// Files below the folder the client is started in.
    Files(Manner),
    Service(Service),
}

pub(crate) fn run(args: &[String]) -> Result<Counted, Error> {
    let orders: Orders = role::orders(args, "a client")?;
    let load = load::find(&orders.load, orders.seed)?;
    let mut backend: Box<dyn Backend> = match &orders.target {
        Target::Files(manner) => Box::new(Files::new(&load, orders.client, *manner)?),
        Target::Service(service) => Box::new(Connection::new(&load, orders.client, service)?),
    };
    let mut gate = role::gate()?;
    let word = role::wait_for_release(&mut gate)?;
    let start_ns = word.try_into().map(u64::from_le_bytes);
    let start_ns = start_ns.map_err(|_| Error::failed("a client was not told when it began"))?;
    replay(&load, backend.as_mut(), orders.phases, start_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dbench::load;

    #[test]
    fn a_client_that_lost_bytes_or_calls_is_not_right() {
        let load = load::find("netbench", 1).expect("a load");
        let timed = Phases::Timed { warm_up_s: 0.0, seconds: 1.0 };
        // Two passes and a part of the third.
        let calls = load.operations.len() as u64 * 5 / 2;
        let mut latencies = Latencies::default();
        (0..calls).for_each(|_| latencies.0[0].add(1));
        let (read_bytes, written_bytes) = (load.read_bytes * 5 / 2, load.written_bytes * 5 / 2);
        let good = Counted {
            operations: calls,
            read_bytes,
            written_bytes,
            latencies,
            ..Counted::default()
        };
        assert!(is_right(&load, timed, &good) && !is_right(&load, Phases::Classic, &good));
        let less = Counted { read_bytes: load.read_bytes, ..good.clone() };
        assert!(!is_right(&load, timed, &less), "bytes read were lost");
        let more = Counted { written_bytes: 4 * load.written_bytes, ..good.clone() };
        assert!(!is_right(&load, timed, &more), "bytes written were counted twice");
        let fewer = Counted { operations: calls - 1, ..good };
        assert!(!is_right(&load, timed, &fewer), "a call was timed and not counted");
        assert!(!is_right(&load, timed, &Counted::default()), "nothing was done");
    }
}
