//! Chat: rooms of users who all write to each other, over loopback TCP. The article's Tables 3
//! and 4.
//!
//! `protocol` is what the two processes agree on, `server` and `client` are the processes, `gate`
//! is what their tasks wait on, `run` is the worker's side: it starts both and adds up. `serve` is the
//! server without a run, `lobby` where its clients wait.
//!
//! How it differs from the original, and why:
//! * tasks are threads of two processes, not `clone` without `CLONE_THREAD`, which no C library
//!   supports today; the kernel schedules both alike;
//! * the server listens on a free port, so that runs need not wait for each other's port;
//! * stacks are 64 KiB instead of 16 KiB, of which only what is touched costs memory.

pub(crate) mod client;
pub(crate) mod gate;
mod lobby;
pub(crate) mod protocol;
mod run;
pub(crate) mod serve;
pub(crate) mod server;

use crate::workload::{
    Facts, Measured, OWN_SERVER, ParamKind, ParamSpec, START_S, Workload, int, needs,
    server_elsewhere, wrong,
};
use crate::{Error, answer, supervisor::Supervisor};
use coretwin_base::machine::limits::{Limit, Need};
use coretwin_base::param::Params;
use coretwin_base::study::job::Job;
use protocol::{Config, Failure, Message, Totals, Waiting, keys};
use std::net::SocketAddr;
use std::process::ExitCode;

/// Chat, and two other benchmarks to compare it with.
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
    ParamSpec {
        name: "messages",
        // The semaphore of a user can count to it.
        kind: ParamKind::Int { default: 100, min: 1, max: SEMAPHORE_MAX as i64 },
        about: "messages each user sends",
    },
    ParamSpec {
        name: "rooms",
        kind: ParamKind::Int { default: 10, min: 1, max: CONNECTIONS_MAX as i64 / USERS },
        about: "rooms; 80 tasks each",
    },
    ParamSpec {
        name: "server",
        kind: ParamKind::Text { default: OWN_SERVER },
        about: "'own', or the loopback ADDRESS:PORT of a running `coretwin serve chat`",
    },
    ParamSpec {
        name: "size",
        kind: ParamKind::Int { default: 100, min: 4, max: 65_536 },
        about: "size of a message, in bytes",
    },
    ParamSpec {
        name: "users",
        kind: ParamKind::Int { default: USERS, min: 2, max: 1000 },
        about: "users of a room",
    },
];

/// A variant of chat.
#[derive(Debug)]
pub struct Chat {
    name: &'static str,
    futexes: bool,
    nodelay: bool,
}

impl Chat {
    /// The server elsewhere that was asked for, if any.
    fn server(&self, params: &Params) -> Result<Option<SocketAddr>, Error> {
        server_elsewhere(self.name, params, 9999)
    }

    /// The run that complete and checked parameters ask for; `base` is the first key.
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

    fn run(
        &self,
        params: &Params,
        job: &Job,
        supervisor: &mut Supervisor,
    ) -> Result<Measured, Error> {
        run::run(self, params, job, supervisor)
    }
}

/// A process of chat reports how it ended.
fn report(result: Result<Totals, Error>) -> ExitCode {
    match result {
        Ok(totals) => {
            answer::tell(&Message::Done(totals));
            ExitCode::SUCCESS
        }
        Err(error) => {
            answer::tell(&Message::Failed(Failure::from(&error)));
            ExitCode::FAILURE
        }
    }
}

fn no_semaphores(who: &str, rooms: u32, error: std::io::Error) -> Error {
    let sets = keys::count(rooms);
    Error::system(format!("the {who} cannot make its share of {sets} SysV semaphore sets"), error)
}
