//! What a run has to do: programs, the tasks that start, the objects they share, and what happens to
//! the machine meanwhile.

use super::{Class, CpuId, CpuSet, Program};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Work {
    pub programs: Vec<Program>,
    /// Tasks that start by themselves, in this order where times are equal.
    pub starts: Vec<Start>,
    pub sockets: Vec<SocketSpec>,
    /// Semaphores, by number: what they hold at first.
    pub semaphores: Vec<u32>,
    pub locks: u32,
    /// Barriers, by number: how many tasks must meet.
    pub barriers: Vec<u32>,
    /// Files, by number: their length in bytes, all on disk at first.
    pub files: Vec<u64>,
    pub script: Vec<Scripted>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Start {
    pub program: u32,
    pub count: u32,
    /// When. Tasks that start together are made one after another, as far apart as an idle CPU of
    /// the machine needs to wake.
    pub at_ns: u64,
    /// Nice value, -20 to 19.
    pub nice: i8,
    pub class: Class,
    /// Where they may run; `None`: everywhere.
    pub mask: Option<CpuSet>,
    /// The CPU on which they are made, where a policy that does not balance new tasks leaves them.
    /// `None`: the first CPU.
    pub on: Option<CpuId>,
    /// Whether they are servers: the run does not wait for their end.
    pub server: bool,
    pub threads: bool,
    /// Whether they share memory with the tasks of the entry before, as other threads of the same
    /// process do; for entries that start at the same time.
    pub same_memory: bool,
    /// Numbers of their own objects, see [`Which::Own`](super::program::Which::Own). Children have
    /// their parent's.
    pub own: Vec<u32>,
}

impl Start {
    pub fn of(program: u32) -> Self {
        Self { program, count: 1, ..Self::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketSpec {
    pub buffer_bytes: u64,
    /// Whether the sender says that it is about to wait when it wakes the reader; pipes do.
    pub sync: bool,
    /// Time alone of a segment's way and its acknowledgement, for a connection whose small writes
    /// wait until what was sent before is acknowledged, all of them for one segment (Nagle). 0: every
    /// write is at the reader at once, and its way is no cost of its own.
    pub segment_ns: u64,
}

impl SocketSpec {
    /// A buffer that every write is in at once, as a pipe's.
    pub fn of(buffer_bytes: u64) -> Self {
        Self { buffer_bytes, sync: false, segment_ns: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scripted {
    pub at_ns: u64,
    pub event: MachineEvent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineEvent {
    /// A CPU goes offline. The last one online stays.
    Offline(CpuId),
    Online(CpuId),
    /// Every CPU but the first of each core goes offline.
    SmtOff,
    SmtOn,
    /// Tasks of a program get another mask; `None`: everywhere.
    SetMask {
        program: u32,
        mask: Option<CpuSet>,
    },
    SetNice {
        program: u32,
        nice: i8,
    },
}
