//! What the two processes of chat agree on.

use crate::{Error, socket};
use coretwin_base::machine::cpu_set::CpuSet;
use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::TcpStream;
use std::thread::Builder;

pub(crate) const ALL_ACCEPTED: u8 = 0x11;
/// Bytes of what a client asks for: rooms and messages, two native 32-bit integers.
pub(crate) const WISHES: usize = 8;
pub(crate) const FINISHED: u8 = 0x22;
/// Stack of a task, in bytes. The original's 16 KiB is the least a thread can have today, and too
/// little for an unoptimised build; what is not touched costs no memory.
const STACK: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Waiting {
    Semaphores {
        /// First key: one for each room, then those of client and server (see `keys`).
        base: i32,
    },
    Futexes,
}

/// One run, as both processes see it. Only rooms and messages go over the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Config {
    pub(crate) rooms: u32,
    pub(crate) users: u32,
    pub(crate) messages: u32,
    /// Size of a message, in bytes.
    pub(crate) size: u32,
    pub(crate) waiting: Waiting,
    /// Whether `TCP_NODELAY` is set; the original sets no option at all.
    pub(crate) nodelay: bool,
}

impl Config {
    pub(crate) fn connections(&self) -> u32 {
        self.rooms * self.users
    }

    pub(crate) fn sent(&self) -> u64 {
        u64::from(self.connections()) * u64::from(self.messages)
    }

    /// Messages that the client receives: each goes to all other users of its room.
    pub(crate) fn received(&self) -> u64 {
        self.sent() * u64::from(self.users - 1)
    }

    /// The sum of the senders of all messages that a user receives.
    pub(crate) fn senders_of(&self, user: u32) -> u64 {
        let room = user - user % self.users;
        let others = (room..room + self.users).filter(|other| *other != user);
        others.map(u64::from).sum::<u64>() * u64::from(self.messages)
    }
}

/// The keys of a run, counted from its base: the rooms come first.
pub(crate) mod keys {
    const OTHERS: u32 = 3;
    pub(crate) const ROOMS_MAX: u32 = crate::semaphores::KEYS_MAX - OTHERS;

    pub(crate) fn count(rooms: u32) -> u32 {
        rooms + OTHERS
    }
    pub(crate) fn server_done(rooms: u32) -> u32 {
        rooms
    }
    pub(crate) fn client_start(rooms: u32) -> u32 {
        rooms + 1
    }
    pub(crate) fn client_done(rooms: u32) -> u32 {
        rooms + 2
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// From the starting gun to the end of the last task, in seconds; the client's.
    pub(crate) elapsed_s: f64,
    pub(crate) cpus_ran: CpuSet,
}

/// Receives one message whole. A short one is an error: the stream ended, or its time-out passed
/// (`WouldBlock`).
pub(crate) fn receive(stream: &TcpStream, message: &mut [u8]) -> io::Result<()> {
    match socket::receive(stream, message, RecvFlags::empty())? {
        count if count == message.len() => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The message of a user: its number, over and over, as 4-byte integers.
pub(crate) fn message_of(user: u32, size: u32) -> Vec<u8> {
    user.to_ne_bytes().into_iter().cycle().take(size as usize).collect()
}

pub(crate) fn sender_of(message: &[u8]) -> u32 {
    message.first_chunk().map_or(u32::MAX, |user| u32::from_ne_bytes(*user))
}

pub(crate) fn thread() -> Builder {
    Builder::new().stack_size(STACK)
}

pub(crate) fn no_thread(who: &str, config: &Config, error: io::Error) -> Error {
    let tasks = 2 * config.connections();
    Error::system(format!("the {who} cannot make its {tasks} threads"), error)
}
