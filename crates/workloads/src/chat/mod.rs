//! Chat: rooms of users who all write to each other, over loopback TCP. The article's Tables 3
//! and 4.
//!
//! `protocol` is what the two processes agree on, `server` and `client` are the processes, `gate` is what
//! their tasks wait on; `serve` is the server without a run. Here is the worker's side: it starts both and adds
//! up.
//!
//! How it differs from the original, and why:
//! * tasks are threads of two processes, not `clone` without `CLONE_THREAD`, which no C library
//!   supports today; the kernel schedules both alike;
//! * the server listens on a free port, so that runs need not wait for each other's port;
//! * stacks are 64 KiB instead of 16 KiB, of which only what is touched costs memory.

pub(crate) mod client;
pub(crate) mod gate;
pub(crate) mod protocol;
pub mod serve;
pub(crate) mod server;

use crate::role::{self, CHAT_CLIENT, CHAT_SERVER};
use crate::semaphores::Claim;
use crate::supervisor::{Launch, Supervisor, Task, TaskId};
use crate::workload::{
    Facts, Job, Limit, Need, OWN_SERVER, Outcome, ParamSpec, Params, Ran, START_S, Telling,
    Workload, int, needs, server_elsewhere, wrong,
};
use crate::{Error, answer, door};
use client::PATIENCE_S;
use protocol::{Config, Totals, Waiting, keys};
use serde::de::IgnoredAny;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub static ALL: &[Chat] = &[
    // The original: SysV semaphores, no socket options.
    Chat { name: "chat", futexes: false, nodelay: false },
    Chat { name: "chat-futex", futexes: true, nodelay: false },
    Chat { name: "chat-nodelay", futexes: false, nodelay: true },
];

/// Largest value of a SysV semaphore (SEMVMX, fixed in the kernel).
pub(crate) const SEMAPHORE_MAX: u32 = 32_767;
/// Users of all rooms: the starting gun counts to twice that.
pub(crate) const CONNECTIONS_MAX: u32 = SEMAPHORE_MAX / 2;
/// Users of a room in the original.
const USERS: i64 = 20;

const PARAMS: &[ParamSpec] = &[
    ParamSpec::int(
        "messages", // The semaphore of a user can count to it.
        [100, 1, SEMAPHORE_MAX as i64],
        "messages each user sends",
    ),
    ParamSpec::int("rooms", [10, 1, CONNECTIONS_MAX as i64 / USERS], "rooms; 80 tasks each"),
    ParamSpec::text(
        "server",
        OWN_SERVER,
        "'own', or the loopback ADDRESS:PORT of a running `coretwin serve chat`",
    ),
    ParamSpec::int("size", [100, 4, 65_536], "size of a message, in bytes"),
    ParamSpec::int("users", [USERS, 2, 1000], "users of a room"),
];

pub struct Chat {
    name: &'static str,
    futexes: bool,
    nodelay: bool,
}

impl Chat {
    fn server(&self, params: &Params) -> Result<Option<SocketAddr>, Error> {
        server_elsewhere(self.name, params, 9999)
    }

    fn config(&self, params: &Params, base: i32) -> Config {
        let waiting = if self.futexes { Waiting::Futexes } else { Waiting::Semaphores { base } };
        Config {
            rooms: int(params, "rooms"),
            users: int(params, "users"),
            messages: int(params, "messages"),
            size: int(params, "size"),
            waiting,
            nodelay: self.nodelay,
        }
    }
}

fn no_semaphores(who: &str, rooms: u32, error: std::io::Error) -> Error {
    let sets = keys::count(rooms);
    Error::system(format!("the {who} cannot make its share of {sets} SysV semaphore sets"), error)
}

const SERVER: &str = "the server of chat";
const CLIENT: &str = "the client of chat";
/// How long the second process may take to say why, when the first has failed.
const SECOND_WORD: Duration = Duration::from_millis(200);

impl Workload for Chat {
    fn facts(&self) -> Facts {
        Facts {
            name: self.name,
            family: "chat",
            about: match (self.futexes, self.nodelay) {
                (true, _) => "chat with futexes in place of SysV semaphores",
                (_, true) => "chat with TCP_NODELAY on every connection",
                _ => {
                    "rooms of 20 users who all write to each other over loopback TCP; 80 tasks a room"
                }
            },
            source: "Linux Benchmark Suite, chat (after VolanoMark); Hyper-Threading speeds Linux, \
                     Tables 3, 4, 7",
            unit: "messages/s",
            params: PARAMS,
            roles: &["server", "client"],
            analysis: "Thousands of short-running tasks that wake each other through the kernel: SMT helps where \
             one sibling computes while the other waits for memory in the socket and scheduler code, \
             and hurts where both contend for run queue and semaphore locks. The article saw +22 % to \
             +28 % on Linux 2.4.19 and more on 2.5.32.",
            ..Facts::USUAL
        }
    }

    fn tasks(&self, params: &Params) -> u32 {
        4 * int(params, "rooms") * int(params, "users")
    }

    fn needs(&self, params: &Params) -> Vec<Need> {
        let (rooms, users) = (u64::from(int(params, "rooms")), u64::from(int(params, "users")));
        let connections = rooms * users;
        let own_server = !matches!(self.server(params), Ok(Some(_)));
        let processes = if own_server { 2 } else { 1 };
        let tasks = 1 + processes * (2 * connections + 1);
        // The backlog is no need: one that is too short only delays the connecting, which is
        // outside the measurement.
        let mut others = vec![
            // Either process has its end of every connection, the control one, and a few.
            (Limit::OpenFiles, connections + 20),
            // A stack, its guard, and the same for signals, for each thread of one process.
            (Limit::MemoryMaps, 4 * 2 * connections + 200),
            (Limit::EphemeralPorts, connections + 2),
        ];
        if !self.futexes {
            let messages = u64::from(int(params, "messages"));
            let (sets, total, per_set) = if own_server {
                (u64::from(keys::count(int(params, "rooms"))), connections + 3, users)
            } else {
                (2, 2, 1)
            };
            others.extend([
                (Limit::SemaphoreSets, sets),
                (Limit::SemaphoresPerSet, per_set),
                (Limit::SemaphoresTotal, total),
                (Limit::SemaphoreValue, messages.max(2 * connections)),
            ]);
        }
        needs(tasks, others)
    }

    fn takes_s(&self, params: &Params) -> f64 {
        // About 300,000 messages a second on two CPUs, and the threads beside.
        let [rooms, users] = ["rooms", "users"].map(|name| f64::from(int(params, name)));
        let messages = rooms * users * users * f64::from(int(params, "messages"));
        START_S + messages / 300e3 + rooms * users * 1e-3
    }

    fn check(&self, params: &Params) -> Result<(), Error> {
        let connections = int(params, "rooms") * int(params, "users");
        if connections > CONNECTIONS_MAX {
            let why = format!(
                "rooms × users may be at most {CONNECTIONS_MAX}, because the starting gun counts to \
                 twice that and a SysV semaphore to {SEMAPHORE_MAX}"
            );
            return Err(wrong(self.name, params, "users", why));
        }
        self.server(params).map(drop)
    }

    fn run(&self, params: &Params, job: &Job, supervisor: &mut Supervisor) -> Ran {
        let external = self.server(params)?;
        let claim = match self.futexes {
            true => None,
            false => Some(Claim::new(keys::count(int(params, "rooms")))?),
        };
        let config = self.config(params, claim.as_ref().map_or(0, |claim| claim.base));
        let ran = drive(&config, external, job, supervisor);
        let left = claim.as_ref().map(Claim::existing);
        // Before the claim goes, every process that could still make a semaphore must be gone.
        supervisor.end_all()?;
        drop(claim);
        let (server, client) = ran?;
        let mut measured = measure(self, params, &config, &client);
        measured.cpus_ran = client.cpus_ran;
        if let Some(server) = server {
            // What one side sends the other receives.
            let held = (server.received, server.sent) == (config.sent(), config.received());
            measured.check("totals_server", held);
            measured.cpus_ran = measured.cpus_ran.union(&server.cpus_ran);
        }
        if let Some(left) = left {
            measured.check("semaphores_removed", left == 0);
        }
        Ok(measured)
    }
}

fn measure(chat: &Chat, params: &Params, config: &Config, client: &Totals) -> Outcome {
    let total = client.sent + client.received;
    let mut measured = Outcome {
        operations: total,
        elapsed_s: client.elapsed_s,
        threads: chat.tasks(params),
        ..chat.facts().outcome(total as f64 / client.elapsed_s)
    };
    measured.higher("messages_sent", client.sent as f64, "messages");
    measured.higher("messages_received", client.received as f64, "messages");
    measured.higher("sent_per_s", client.sent as f64 / client.elapsed_s, "messages/s");
    measured.higher("connections", f64::from(config.connections()), "connections");
    measured.higher("tasks", f64::from(chat.tasks(params)), "tasks");
    let held = (client.sent, client.received) == (config.sent(), config.received());
    measured.check("totals_client", held);
    measured
}

fn drive(
    config: &Config,
    external: Option<SocketAddr>,
    job: &Job,
    supervisor: &mut Supervisor,
) -> Result<(Option<Totals>, Totals), Error> {
    let settings = role::written(config)?;
    let launch = |role, index: usize, args| Launch::answering(role, args, job.roles.get(index));
    let (server, address, handle) = match external {
        Some(address) => (None, address, None),
        None => {
            let server = launch(CHAT_SERVER, 0, vec![settings.clone()]);
            let (server, address, handle) = door::start_server(server, supervisor)?;
            let address = address.ok_or_else(|| why(SERVER, supervisor.task(server)))?;
            (Some(server), address, Some(handle))
        }
    };
    let path = handle.as_ref().map(|handle| handle.path().to_string_lossy().into_owned());
    let third = path.unwrap_or_else(|| PATIENCE_S.to_string());
    let client = launch(CHAT_CLIENT, 1, vec![settings, address.to_string(), third]);
    let client = supervisor.start(client)?;
    drop(handle);
    let both: Vec<(&str, TaskId)> =
        server.map(|id| (SERVER, id)).into_iter().chain([(CLIENT, client)]).collect();
    let failed = |supervisor: &Supervisor| {
        both.iter().any(|(_, id)| supervisor.task(*id).is_none_or(has_failed))
    };
    let ended = |supervisor: &Supervisor| both.iter().all(|(_, id)| supervisor.has_ended(*id));
    supervisor.wait(None, |supervisor| ended(supervisor) || failed(supervisor))?;
    if failed(supervisor) {
        supervisor.wait(Some(Instant::now() + SECOND_WORD), ended)?;
        return Err(Error::failed(cause(&both, supervisor)));
    }
    let totals = |id: TaskId, who: &str| answer::of(supervisor.task(id), who);
    Ok((server.map(|id| totals(id, SERVER)).transpose()?, totals(client, CLIENT)?))
}

fn why(who: &str, task: Option<&Task>) -> Error {
    let none = || Error::failed(format!("{who} has no result"));
    answer::of::<IgnoredAny>(task, who).err().unwrap_or_else(none)
}

fn has_failed(task: &Task) -> bool {
    task.exit.is_some_and(|(status, _)| !status.success()) || answer::told(task).is_some()
}

/// Why a run failed in which one side did, and the other perhaps in consequence: a death by signal
/// explains everything, and a lost connection nothing.
fn cause(both: &[(&str, TaskId)], supervisor: &Supervisor) -> String {
    let tasks = || both.iter().flat_map(|(who, id)| Some((*who, supervisor.task(*id)?)));
    let killed = tasks().find_map(|(who, task)| answer::death(task, who));
    let own = || tasks().filter_map(|(_, task)| answer::told(task)).find(|told| !told.lost);
    let any = || tasks().find(|(_, task)| has_failed(task));
    killed
        .or_else(|| own().map(|failure| failure.why))
        .or_else(|| any().map(|(who, task)| why(who, Some(task)).to_string()))
        .unwrap_or_else(|| "a process of chat is gone".to_owned())
}
