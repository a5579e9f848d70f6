//! tbench: the calls of dbench as requests and replies over loopback TCP, without files. The
//! article's Table 6.
//!
//! `protocol` is the form of messages and the server's loop, `server` accepts and gives every connection a
//! process or a thread, in a run or alone, `connection` is a client's side. Loads, clients, clock and sums are
//! those of [`crate::dbench`]. Messages are those of dbench 4's tbench, so either side can be that one's.

pub(crate) mod connection;
pub mod protocol;
pub mod server;

use crate::answer::Said;
use crate::dbench::run::{self, Clients, Target};
use crate::dbench::{self, CLIENTS, LOADFILE, MODE, SECONDS, SEED, WARMUP, load_of, phases_of};
use crate::door::{self, Handle};
use crate::role::{self, TBENCH_SERVER};
use crate::supervisor::{Launch, Supervisor, Task, TaskId};
use crate::workload::{
    Facts, Job, Limit, Need, OWN_SERVER, ParamSpec, Params, Ran, Telling, Workload, int, needs,
    server_elsewhere, text, word,
};
use crate::{Error, answer};
use connection::Service;
use protocol::Traffic;
use server::{Ended, Settings};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub static ALL: &[Tbench] = &[
    // A process for every connection, as the original has it.
    Tbench { name: "tbench", threads: false },
    Tbench { name: "tbench-threads", threads: true },
];

/// Time-out for a server that another user started, in seconds.
const PATIENCE_S: f64 = 30.0;
/// How long the server's last words may take when all clients are done.
const LAST_WORDS: Duration = Duration::from_secs(10);
const YES: &str = "yes";
const NO: &str = "no";

const PARAMS: &[ParamSpec] = &[
    CLIENTS,
    ParamSpec::text(
        "copy",
        NO,
        "whether clients copy replies out of the kernel: yes, or no as dbench 4",
    ),
    LOADFILE,
    MODE,
    SECONDS,
    SEED,
    ParamSpec::text(
        "server",
        OWN_SERVER,
        "'own', or the loopback ADDRESS:PORT of a running tbench server",
    ),
    WARMUP,
];

pub struct Tbench {
    name: &'static str,
    threads: bool,
}

impl Tbench {
    fn server(&self, params: &Params) -> Result<Option<SocketAddr>, Error> {
        server_elsewhere(self.name, params, protocol::PORT)
    }

    fn start_server(
        &self,
        job: &Job,
        supervisor: &mut Supervisor,
        clients: u32,
    ) -> Result<(TaskId, SocketAddr, Handle), Error> {
        let settings = Settings {
            clients: Some(clients),
            threads: self.threads,
            executable: None,
            core_sched: job.core_sched,
            // Clients wait for each other, and the worker sees each end.
            patience_s: None,
        };
        let args = vec![role::written(&settings)?];
        let launch = Launch::answering(TBENCH_SERVER, args, job.roles.first());
        let (server, address, handle) = door::start_server(launch, supervisor)?;
        let address = address.ok_or_else(|| Error::failed(why(supervisor.task(server))))?;
        Ok((server, address, handle))
    }
}

impl Workload for Tbench {
    fn facts(&self) -> Facts {
        Facts {
            name: self.name,
            family: "tbench",
            about: match self.threads {
                false => {
                    "the calls of dbench as messages over loopback TCP, a process at either end"
                }
                true => {
                    "tbench with a thread instead of a process for each connection of the server"
                }
            },
            source: "tbench of dbench 4; Hyper-Threading speeds Linux, Tables 6 and 7",
            unit: run::UNIT,
            params: PARAMS,
            roles: &["server", "client"],
            analysis: "Pairs of processes that wake each other over loopback TCP. Where the two of a pair run \
             moves the result more than anything else: compare placements before arms. The article saw \
             +22 % to +31 % on Linux 2.4.19.",
            ..Facts::USUAL
        }
    }

    fn tasks(&self, params: &Params) -> u32 {
        2 * int(params, CLIENTS.name)
    }

    fn needs(&self, params: &Params) -> Vec<Need> {
        let clients = u64::from(int(params, CLIENTS.name));
        // The worker has three descriptors for each client; the server three for each connection.
        let files = (Limit::OpenFiles, 3 * clients + 100);
        needs(2 * clients + 2, [files, (Limit::EphemeralPorts, clients + 1)])
    }

    fn takes_s(&self, params: &Params) -> f64 {
        dbench::takes_s(params)
    }

    fn check(&self, params: &Params) -> Result<(), Error> {
        dbench::check_common(self.name, params)?;
        word(self.name, params, "copy", &[YES, NO])?;
        self.server(params).map(drop)
    }

    fn run(&self, params: &Params, job: &Job, supervisor: &mut Supervisor) -> Ran {
        let (load, seed) = load_of(params)?;
        if let Some(call) = protocol::too_long(&load) {
            return Err(Error::failed(format!(
                "{}: this call does not fit into a message of tbench, which has at most {} bytes",
                load.place(call),
                protocol::MESSAGE_END - 1
            )));
        }
        let external = self.server(params)?;
        let count = int(params, CLIENTS.name);
        let (server, address, handle) = match external {
            Some(address) => (None, address, None),
            None => {
                let (server, address, handle) = self.start_server(job, supervisor, count)?;
                (Some(server), address, Some(handle))
            }
        };
        let phases = phases_of(params);
        let service = Service {
            address,
            bell: handle.as_ref().map(Handle::path),
            patience_s: external.map(|_| PATIENCE_S),
            copies_replies: text(params, "copy") == YES,
        };
        let clients = Clients {
            count,
            load: &load,
            seed,
            phases,
            target: Target::Service(service),
            folder: None,
            cpus: job.roles.get(1),
            beside: server.map(|server| ("the server of tbench", server)),
        };
        let counted = run::drive(&clients, supervisor)?;
        let mut measured = run::measure(&load, phases, &counted);
        measured.threads = if server.is_some() { 2 * count } else { count };
        let sent =
            counted.iter().filter_map(|one| one.traffic).fold(Traffic::default(), Traffic::and);
        for (name, value, unit) in [
            ("exchanges", sent.exchanges, "exchanges"),
            ("requests_bytes", sent.requests_bytes, "bytes"),
            ("replies_bytes", sent.replies_bytes, "bytes"),
        ] {
            measured.higher(name, value as f64, unit);
        }
        if let Some(server) = server {
            let served = last_words(supervisor, server, count as usize)?;
            measured.check("totals_server", served == sent);
        }
        Ok(measured)
    }
}

fn last_words(
    supervisor: &mut Supervisor,
    server: TaskId,
    connections: usize,
) -> Result<Traffic, Error> {
    let ended = |task: &Task| {
        let all = answer::lines(task).filter_map(|said: Said<Ended>| match said {
            Said::Done(ended) => Some(ended),
            _ => None,
        });
        all.collect::<Vec<_>>()
    };
    let until = Instant::now() + LAST_WORDS;
    supervisor.wait(Some(until), |supervisor| {
        supervisor.has_ended(server)
            || supervisor.task(server).is_none_or(|task| ended(task).len() >= connections)
    })?;
    let task = supervisor.task(server);
    let all = task.map(ended).unwrap_or_default();
    if let Some(failure) = all.iter().find_map(|ended| ended.failure.clone()) {
        return Err(Error::failed(format!("the server: {failure}")));
    }
    if all.len() < connections {
        return Err(Error::failed(why(task)));
    }
    Ok(all.iter().fold(Traffic::default(), |sum, ended| sum.and(ended.traffic)))
}

fn why(task: Option<&Task>) -> String {
    task.and_then(answer::told).map(|failure| failure.why).unwrap_or_else(|| {
        let shown = task.map(Task::shown).unwrap_or_default();
        format!("the server of tbench has ended: {}", shown.trim())
    })
}
