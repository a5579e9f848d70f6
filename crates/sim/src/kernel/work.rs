//! What a run has to do: programs, the tasks that start, the objects they share, and what happens to
//! the machine meanwhile.

use super::{Amount, Class, CpuId, CpuSet, ProfileId, Program, Step};

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

impl Work {
    /// Adds so many tasks of others that never sleep and have next to no share. Returns their program.
    pub fn run_beside(&mut self, profile: ProfileId, count: u32) -> u32 {
        let ns = Amount::Fixed(1_000_000);
        let steps = vec![Step::ComputeFor { profile, ns }, Step::Forever { from: 0 }];
        let program = self.programs.len() as u32;
        self.programs.push(Program { name: "others".to_owned(), steps });
        // Last, for tasks are made by the places of their entries.
        let of_others = Start { count, server: true, class: Class::Idle, ..Start::of(program) };
        self.starts.push(of_others);
        program
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Start {
    pub program: u32,
    /// 0: none starts by itself; others make them ([`Step::Make`]).
    pub count: u32,
    /// When. Tasks that start together are made one after another, as far apart as an idle CPU of
    /// the machine needs to wake.
    pub at_ns: u64,
    /// Nice value, -20 to 19.
    pub nice: i8,
    /// `cpu.weight` of a group that each of them is alone in, 1 to 10,000; `None`: 100. The article's policies know no groups.
    pub group_weight: Option<u32>,
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
    /// The part of it, as a fraction, that must be free for a writer to be woken: a third for TCP
    /// (`sk_stream_wspace`), three quarters for a local socket (`unix_writable`).
    pub room: [u64; 2],
    /// Whether the sender says that it is about to wait when it wakes the reader; pipes do.
    pub sync: bool,
    /// Time alone of a segment's way and its acknowledgement, for a connection whose small writes
    /// wait until what was sent before is acknowledged, all of them for one segment (Nagle). 0: every
    /// write is at the reader at once, and its way is no cost of its own.
    pub segment_ns: u64,
    /// Segments at first that are acknowledged as they come, whether they are read or not.
    pub quick_segments: u32,
    /// Writes that fill a segment; 0: any number.
    pub segment_writes: u32,
}

impl SocketSpec {
    /// A buffer that every write is in at once, as a pipe's.
    pub fn of(buffer_bytes: u64) -> Self {
        Self {
            buffer_bytes,
            room: [1, 3],
            sync: false,
            segment_ns: 0,
            quick_segments: 0,
            segment_writes: 0,
        }
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
