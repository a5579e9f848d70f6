//! The rows: what can be asked of a service, and with which parameters.

use super::arrivals::Pattern;
use super::run::{self, Asked};
use super::{mix, server_of_user};
use crate::Error;
use crate::supervisor::Supervisor;
use crate::workload::{
    Better, Facts, Job, Limit, Need, OWN_SERVER, ParamSpec, Params, Ran, START_S, Workload,
    decimal, int, needs, text, word, wrong,
};

pub static ALL: &[Service] = &[
    Service { name: "service/latency", open: true },
    Service { name: "service/throughput", open: false },
];

pub struct Service {
    name: &'static str,
    /// Whether requests are due by the clock; else the next is due when the last is answered.
    open: bool,
}

/// The most requests of a run: their times are drawn while it goes on, and the slowest count.
const REQUESTS_MAX: f64 = 100e6;
const RATE_MAX: f64 = 10e6;

const ARRIVALS: ParamSpec = ParamSpec::text(
    "arrivals",
    "poisson",
    "when requests are due: poisson, constant, or bursty (a tenth of the time, some 20 ms each, at \
     four times the rate)",
);
const RATE: ParamSpec =
    ParamSpec::decimal("rate", "1000", [0.01, RATE_MAX], "requests that are due per second");
const CONNECTIONS: ParamSpec =
    ParamSpec::int("connections", [64, 1, 4096], "connections of the generator");
const KEYS: ParamSpec =
    ParamSpec::int("keys", [10_000, 1, 10_000_000], "keys that mix=memcached asks for");
const MEMORY_KIB: ParamSpec = ParamSpec::int(
    "memory_kib",
    [16 << 10, 4, 16 << 20],
    "memory that the server walks through, in KiB",
);
const MIX: ParamSpec = ParamSpec::text(
    "mix",
    "key-value",
    "what requests ask: key-value, page, compute, walk, lock, hop, spin-fixed, spin-exponential, \
     spin-hyperexponential; memcached for a server of yours",
);
const SECONDS: ParamSpec =
    ParamSpec::decimal("seconds", "10", [0.01, 500.0], "length of the measured part, in seconds");
const SEED: ParamSpec =
    ParamSpec::int("seed", [1, 0, i64::MAX], "seed of arrivals and requests, equal in all arms");
const SERVER: ParamSpec = ParamSpec::text(
    "server",
    OWN_SERVER,
    "'own', or the command of a memcached server with {port}, {threads} and {cpus} filled in",
);
const SERVICE_US: ParamSpec = ParamSpec::decimal(
    "service_us",
    "100",
    [0.1, 1e6],
    "mean time of requests that spin, in microseconds",
);
const VALUE_BYTES: ParamSpec =
    ParamSpec::int("value_bytes", [100, 1, 500_000], "size of a value of mix=memcached");
const WARMUP: ParamSpec =
    ParamSpec::decimal("warmup", "1", [0.0, 60.0], "load before it is measured, in seconds");
const WORKERS: ParamSpec = ParamSpec::int(
    "workers",
    [0, 0, 1024],
    "threads that serve requests; 0: one for each CPU of the server",
);

const OPEN: &[ParamSpec] = &[
    ARRIVALS,
    CONNECTIONS,
    KEYS,
    MEMORY_KIB,
    MIX,
    RATE,
    SECONDS,
    SEED,
    SERVER,
    SERVICE_US,
    VALUE_BYTES,
    WARMUP,
    WORKERS,
];
const CLOSED: &[ParamSpec] = &[
    CONNECTIONS,
    KEYS,
    MEMORY_KIB,
    MIX,
    SECONDS,
    SEED,
    SERVER,
    SERVICE_US,
    VALUE_BYTES,
    WARMUP,
    WORKERS,
];

impl Service {
    fn asked(&self, params: &Params) -> Asked {
        let arrivals = text(params, ARRIVALS.name);
        let pattern = Pattern::NAMES.into_iter().find(|(name, _)| *name == arrivals);
        let pattern = pattern.map_or(Pattern::Poisson, |(_, pattern)| pattern);
        let number = |param: &ParamSpec| int(params, param.name);
        let seed = params.get(SEED.name).and_then(crate::workload::ParamValue::as_int);
        Asked {
            open: self.open.then(|| (pattern, decimal(params, RATE.name))),
            connections: number(&CONNECTIONS),
            keys: number(&KEYS),
            memory_kib: number(&MEMORY_KIB),
            mix: text(params, MIX.name),
            seconds: decimal(params, SECONDS.name),
            seed: seed.unwrap_or(0).unsigned_abs(),
            server: Some(text(params, SERVER.name)).filter(|server| server != OWN_SERVER),
            service_us: decimal(params, SERVICE_US.name),
            value_bytes: number(&VALUE_BYTES),
            warmup_s: decimal(params, WARMUP.name),
            workers: number(&WORKERS),
        }
    }
}

impl Workload for Service {
    fn facts(&self) -> Facts {
        Facts {
            name: self.name,
            family: "service",
            about: match self.open {
                true => "mean response time of a server at a rate, from when each request was due",
                false => "requests that a server answers per second when there is always one more",
            },
            source: "Coretwin; open-loop load as in wrk2, Treadmill and Lancet",
            unit: if self.open { "µs" } else { "requests/s" },
            better: if self.open { Better::Lower } else { Better::Higher },
            params: if self.open { OPEN } else { CLOSED },
            roles: &["server", "generator"],
            analysis: "A sibling gives a service more servers, and each of them is slower while the \
                       other is busy. At a low rate latency shows the slower core alone; near \
                       saturation the shorter queue outweighs it. Compare arms at equal rates, and \
                       throughput for where saturation is. The spinning mixes take a time and no \
                       work, so SMT cannot slow them.",
            ..Facts::USUAL
        }
    }

    fn tasks(&self, params: &Params) -> u32 {
        int(params, WORKERS.name).max(1)
    }

    fn needs(&self, params: &Params) -> Vec<Need> {
        let connections = u64::from(int(params, CONNECTIONS.name));
        let files = (Limit::OpenFiles, connections + 100);
        // Each worker has a backend beside it.
        let tasks = 2 * u64::from(self.tasks(params)) + 3;
        needs(tasks, [files, (Limit::EphemeralPorts, connections + 1)])
    }

    fn takes_s(&self, params: &Params) -> f64 {
        START_S + decimal(params, WARMUP.name) + decimal(params, SECONDS.name)
    }

    fn check(&self, params: &Params) -> Result<(), Error> {
        let asked = self.asked(params);
        let mut names: Vec<&str> = mix::MIXES.iter().map(|mix| mix.name).collect();
        names.push(mix::MEMCACHED);
        word(self.name, params, MIX.name, &names)?;
        if let Some((_, rate)) = asked.open {
            word(self.name, params, ARRIVALS.name, &Pattern::NAMES.map(|(name, _)| name))?;
            if rate * (asked.warmup_s + asked.seconds) > REQUESTS_MAX {
                let why = "with warmup and seconds it makes more than 100 million requests";
                return Err(wrong(self.name, params, RATE.name, why));
            }
        }
        match (&asked.server, asked.mix == mix::MEMCACHED) {
            (None, false) => Ok(()),
            (Some(line), true) => server_of_user::words(line)
                .map(drop)
                .map_err(|why| wrong(self.name, params, SERVER.name, why)),
            (None, true) => {
                let why = "it needs the command of a server, like \
                           'server=memcached -l 127.0.0.1 -p {port}'";
                Err(wrong(self.name, params, MIX.name, why))
            }
            (Some(_), false) => {
                let why = "a server of yours is asked in memcached's protocol: add mix=memcached";
                Err(wrong(self.name, params, SERVER.name, why))
            }
        }
    }

    fn run(&self, params: &Params, job: &Job, supervisor: &mut Supervisor) -> Ran {
        run::run(&self.asked(params), self.facts(), job, supervisor)
    }
}
