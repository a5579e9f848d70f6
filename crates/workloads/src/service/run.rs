//! One run: server, generator, and what they come to.

use super::arrivals::Pattern;
use super::generator::{self, Asking, Orders, Pace, Report};
use super::mix::MEMCACHED;
use super::server::{self, Served};
use super::server_of_user;
use crate::door::{self, Announcer, Handle};
use crate::role::{self, SERVICE_GENERATOR, SERVICE_SERVER};
use crate::supervisor::{Launch, Supervisor, Task, TaskId};
use crate::workload::{Facts, Job, Outcome, Ran, Telling};
use crate::{Context, Error, answer, sys};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::study::latency::{Latency, QUANTILES};
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SERVER: &str = "the server of service";
const GENERATOR: &str = "the load generator";
/// How long the server's last words may take when the generator is done.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// How long the generator may take to end when the server has.
const GOODBYE: Duration = Duration::from_secs(1);

/// A row's parameters, read once.
pub(super) struct Asked {
    /// When requests are due; `None`: in a closed loop.
    pub(super) open: Option<(Pattern, f64)>,
    pub(super) connections: u32,
    pub(super) keys: u32,
    pub(super) memory_kib: u32,
    pub(super) mix: String,
    pub(super) seconds: f64,
    pub(super) seed: u64,
    /// Command of the user's own server.
    pub(super) server: Option<String>,
    pub(super) service_us: f64,
    pub(super) value_bytes: u32,
    pub(super) warmup_s: f64,
    pub(super) workers: u32,
}

/// What the generator's process is told.
#[derive(Debug, Serialize, Deserialize)]
struct Target {
    address: SocketAddr,
    /// The bell at the door of a server that is ours.
    bell: Option<PathBuf>,
    connections: u32,
    orders: Orders,
}

/// The role of the generator's process.
pub(crate) fn generate(args: &[String]) -> Result<Report, Error> {
    let target: Target = role::orders(args, GENERATOR)?;
    sys::open_more_files();
    let reach = || format!("the generator cannot reach the server at {}", target.address);
    let bell = target.bell.as_ref().map(|bell| Announcer::open(bell)).transpose();
    let bell = bell.with_context(reach)?;
    let connect = |_| match &bell {
        Some(bell) => bell.connect(target.address),
        None => TcpStream::connect(target.address),
    };
    let streams = (0..target.connections).map(connect).collect::<Result<Vec<_>, _>>();
    let streams = streams.with_context(reach)?;
    drop(bell);
    generator::drive(streams, &target.orders)
}

/// Where server and generator run.
struct Places {
    /// `None`: all CPUs of the arm.
    server: Option<CpuSet>,
    generator: Option<CpuSet>,
    /// Whether the generator is on none of the arm's CPUs: what it takes there is not the work's.
    outside: bool,
    /// CPUs of the server.
    count: u32,
    own_cpu: bool,
}

impl Places {
    fn of(job: &Job) -> Self {
        let server = job.roles.first().cloned();
        let on = server.as_ref().unwrap_or(&job.cpus);
        let count = on.len() as u32;
        // One CPU, so that it never moves; the last, for the first has the most interrupts.
        let beside = job.spare_cpus.iter().next_back().map(|cpu| CpuSet::from_iter([cpu]));
        let generator = job.roles.get(1).cloned().or(beside);
        let own_cpu = generator.as_ref().is_some_and(|cpus| cpus.intersection(on).is_empty());
        let outside =
            generator.as_ref().is_some_and(|cpus| cpus.intersection(&job.cpus).is_empty());
        Self { server, generator, outside, count, own_cpu }
    }
}

pub(super) fn run(asked: &Asked, facts: Facts, job: &Job, supervisor: &mut Supervisor) -> Ran {
    let places = Places::of(job);
    let workers = if asked.workers == 0 { places.count } else { asked.workers };
    let (server, address, handle) = match &asked.server {
        None => start_own(asked, workers, &places, supervisor)?,
        Some(line) => {
            let cpus = places.server.as_ref();
            let (id, address) = server_of_user::start(line, job, cpus, workers, supervisor)?;
            (id, address, None)
        }
    };
    let report = load(asked, (server, address, handle.as_ref()), &places, supervisor)?;
    drop(handle);
    let mut measured = measure(asked, facts, &report)?;
    measured.threads = workers;
    measured.note(
        "generator",
        match places.own_cpu {
            true => "had a CPU of its own",
            false => "shared the CPUs of the server; its lateness is in the latencies",
        },
    );
    // A server that is behind is ended in the middle of its work.
    if asked.server.is_none() && report.sent_in_all == report.answered_in_all {
        let until = Instant::now() + LAST_WORDS;
        supervisor.wait(Some(until), |supervisor| supervisor.has_ended(server))?;
        let served: Served = answer::of(supervisor.task(server), SERVER)?;
        measured.check("totals_server", served.requests == report.answered_in_all);
    }
    Ok(measured)
}

fn start_own(
    asked: &Asked,
    workers: u32,
    places: &Places,
    supervisor: &mut Supervisor,
) -> Result<(TaskId, SocketAddr, Option<Handle>), Error> {
    let orders = server::Orders {
        mix: asked.mix.clone(),
        workers,
        connections: asked.connections,
        memory_kib: asked.memory_kib,
    };
    let args = vec![role::written(&orders)?];
    let launch = Launch::answering(SERVICE_SERVER, args, places.server.as_ref());
    let (server, address, handle) = door::start_server(launch, supervisor)?;
    match address {
        Some(address) => Ok((server, address, Some(handle))),
        None => Err(gone(supervisor.task(server))),
    }
}

fn load(
    asked: &Asked,
    (server, address, handle): (TaskId, SocketAddr, Option<&Handle>),
    places: &Places,
    supervisor: &mut Supervisor,
) -> Result<Report, Error> {
    let asking = match asked.mix == MEMCACHED {
        true => {
            Asking::Memcached { keys: asked.keys.into(), value_bytes: asked.value_bytes as usize }
        }
        false => Asking::Own { mix: asked.mix.clone(), service_us: asked.service_us },
    };
    let orders = Orders {
        pace: match asked.open {
            Some((pattern, rate_per_s)) => Pace::Open { pattern, rate_per_s },
            None => Pace::Closed,
        },
        asking,
        warmup_s: asked.warmup_s,
        seconds: asked.seconds,
        seed: asked.seed,
        spins: places.own_cpu,
        one_by_one: false,
        server: supervisor.task(server).map(Task::pid),
    };
    let bell = handle.map(Handle::path);
    let target = Target { address, bell, connections: asked.connections, orders };
    let launch = Launch {
        measured: !places.outside,
        ..Launch::answering(
            SERVICE_GENERATOR,
            vec![role::written(&target)?],
            places.generator.as_ref(),
        )
    };
    let generator = supervisor.start(launch)?;
    supervisor.release(&[]);
    supervisor.wait(None, |now| now.has_ended(generator) || now.has_ended(server))?;
    // Our server ends when its connections do, and may be seen to first.
    let until = Some(Instant::now() + GOODBYE);
    supervisor.wait(until, |now| now.has_ended(generator))?;
    let report = answer::of(supervisor.task(generator), GENERATOR);
    match (report, supervisor.has_ended(server)) {
        (Ok(report), _) => Ok(report),
        // What the generator says then is only that it lost the server.
        (Err(_), true) => Err(gone(supervisor.task(server))),
        (Err(error), false) => Err(error),
    }
}

fn gone(server: Option<&Task>) -> Error {
    match server.and_then(answer::told) {
        Some(failure) => Error::failed(format!("{SERVER}: {}", failure.why)),
        None => server_of_user::gone(server),
    }
}

fn measure(asked: &Asked, facts: Facts, report: &Report) -> Ran {
    let told = &report.latency;
    let mean_s = told.mean_s.ok_or_else(|| {
        Error::failed(format!(
            "no request was due in {} s; give it more seconds or a higher rate",
            asked.seconds
        ))
    })?;
    let value = if asked.open.is_some() { mean_s * 1e6 } else { told.throughput_per_s };
    let mut measured =
        Outcome { operations: told.completed, elapsed_s: asked.seconds, ..facts.outcome(value) };
    tell(told, &mut measured);
    measured.latency = Some(told.clone());
    Ok(measured)
}

fn tell(told: &Latency, to: &mut Outcome) {
    let quantile = |name: &str| format!("latency_{}_us", name.replace('.', ""));
    for (name, _) in QUANTILES {
        if let Some(value_s) = told.percentile_s(name) {
            to.lower(&quantile(name), value_s * 1e6, "µs");
        }
    }
    for (name, value_s) in [("latency_mean_us", told.mean_s), ("latency_max_us", told.max_s)] {
        if let Some(value_s) = value_s {
            to.lower(name, value_s * 1e6, "µs");
        }
    }
    to.higher("throughput_per_s", told.throughput_per_s, "requests/s");
    to.higher("sent", told.sent as f64, "requests");
    to.lower("failed", told.failed as f64, "requests");
    to.lower("unanswered", told.unanswered() as f64, "requests");
    if let Some(cpu_s) = told.server_cpu_s.filter(|_| told.throughput_per_s > 0.0) {
        let answered = told.throughput_per_s * told.duration_s;
        to.lower("server_cpu_us", cpu_s / answered * 1e6, "µs/request");
    }
    if let Some(generator) = &told.generator {
        // Not by the name of a tail: that of the server is compared.
        to.lower("generator_late_us", generator.late_p99_s * 1e6, "µs");
        to.lower("generator_late_max_us", generator.late_max_s * 1e6, "µs");
    }
}
