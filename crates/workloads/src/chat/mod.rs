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
pub mod serve;
pub(crate) mod server;

use crate::Error;
use crate::workload::{OWN_SERVER, ParamSpec, int, server_elsewhere};
use coretwin_base::parameters::Params;
use protocol::{Config, Waiting, keys};
use std::net::SocketAddr;

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

#[derive(Debug)]
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
