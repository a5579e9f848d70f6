//! The bytes of the maps; `c/overlap.h` has the same shapes.

use super::{PLACES, SIBLINGS_MAX};

/// The clocks of a core: with 0 to [`SIBLINGS_MAX`] siblings busy.
pub(super) const CLOCKS: usize = SIBLINGS_MAX + 1;
/// `struct cpu`, `struct core`, `struct task`, in bytes.
pub(super) const CPU_BYTES: usize = 64 * 8;
pub(super) const CORE_BYTES: usize = (16 + 16 * 16) * 8;
pub(super) const TASK_BYTES: usize = 42 * 8;
/// Keys in a line, `WAYS`.
pub(super) const WAYS: u32 = 8;

/// `enum cpu_state`.
pub(super) const UNSEEN: u32 = 0;
pub(super) const ONLINE: u32 = 1;
pub(super) const OFFLINE: u32 = 2;

/// Places in `struct cpu`, in words of 8 bytes.
mod cpu {
    pub(super) const STATE: usize = 1;
    pub(super) const TASK: usize = 3;
    pub(super) const SINCE: usize = 4;
    pub(super) const HEAD: usize = 6;
    pub(super) const PREVIOUS: usize = 10;
    pub(super) const TASKS_NS: usize = 11;
    pub(super) const SWITCHES: usize = 18;
    pub(super) const STRANGERS: usize = 21;
    pub(super) const CLOSED: usize = 45;
}

/// Places in `struct task`.
mod task {
    pub(super) const RUN: usize = 3;
    pub(super) const SETTLED: usize = RUN + super::PLACES;
    pub(super) const ADDRESS: usize = SETTLED + super::PLACES;
    pub(super) const COMM: usize = ADDRESS + 5;
}

/// Words of 8 bytes; 0 past the end, for a shape's size is checked when it is loaded.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn whole(&self, at: usize) -> u64 {
        let bytes = self.0.get(at * 8..at * 8 + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    }

    fn half(&self, at: usize, second: usize) -> u32 {
        let start = at * 8 + second * 4;
        let bytes = self.0.get(start..start + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    }

    fn array<const N: usize>(&self, at: usize) -> [u64; N] {
        std::array::from_fn(|index| self.whole(at + index))
    }
}

/// What a CPU has, and what it had when it closed a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cpu {
    pub(super) offline: bool,
    pub(super) strangers: u64,
    pub(super) strangers_ns: u64,
    pub(super) contended: u64,
    pub(super) lost: u64,
    pub(super) lost_ns: u64,
    pub(super) unlisted: u64,
    pub(super) switches: u64,
    pub(super) closed: Closed,
}

/// What the loader tells the program of a CPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    pub(super) core: u32,
    pub(super) place: u32,
    pub(super) siblings: u32,
    pub(super) kind: u32,
    /// The lines of keys, a power of two, less one.
    pub(super) lines_mask: u32,
    pub(super) online: bool,
}

/// All of a CPU from the beginning to the end of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) at: u64,
    pub(super) window: u64,
    pub(super) tasks_ns: u64,
    pub(super) idle_ns: u64,
    pub(super) offline_ns: u64,
    pub(super) run_ns: u64,
    pub(super) unlisted_ns: u64,
    pub(super) core_ns: [u64; CLOCKS],
}

impl Cpu {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let words = Words(bytes);
        let closed = cpu::CLOSED;
        Self {
            offline: words.half(cpu::STATE, 1) == OFFLINE,
            strangers: words.whole(cpu::STRANGERS),
            strangers_ns: words.whole(cpu::STRANGERS + 1),
            contended: words.whole(cpu::STRANGERS + 2),
            lost: words.whole(cpu::STRANGERS + 3),
            lost_ns: words.whole(cpu::STRANGERS + 4),
            unlisted: words.whole(cpu::STRANGERS + 5),
            switches: words.whole(cpu::SWITCHES),
            closed: Closed {
                at: words.whole(closed),
                window: words.whole(closed + 1),
                tasks_ns: words.whole(closed + 2),
                idle_ns: words.whole(closed + 3),
                offline_ns: words.whole(closed + 4),
                run_ns: words.whole(closed + 6),
                unlisted_ns: words.whole(closed + 7),
                core_ns: words.array(closed + 8),
            },
        }
    }

    /// The addresses of the task that a CPU has and of the one before it, none for the idle task; none
    /// at all of a CPU that is offline.
    pub(super) fn running(bytes: &[u8]) -> Option<[Option<u64>; 2]> {
        let words = Words(bytes);
        let task = |at: usize| Some(words.whole(at)).filter(|&task| task > 0);
        (words.half(cpu::STATE, 1) == ONLINE).then(|| [task(cpu::TASK), task(cpu::PREVIOUS)])
    }

    /// What an offline CPU would have closed, could it be asked, at `now`.
    pub(super) fn offline(bytes: &[u8], now: u64) -> Self {
        let words = Words(bytes);
        let mut cpu = Self::read(bytes);
        let away_ns = now.saturating_sub(words.whole(cpu::SINCE));
        cpu.closed = Closed {
            at: words.whole(cpu::SINCE) + away_ns,
            tasks_ns: words.whole(cpu::TASKS_NS),
            idle_ns: words.whole(cpu::TASKS_NS + 1),
            offline_ns: words.whole(cpu::TASKS_NS + 2) + away_ns,
            run_ns: words.whole(cpu::TASKS_NS + 4),
            unlisted_ns: words.whole(cpu::TASKS_NS + 5),
            ..cpu.closed
        };
        cpu
    }

    /// The bytes of a CPU that has not begun.
    pub(super) fn fresh(given: Given, now: u64) -> Vec<u8> {
        let Given { core, place, siblings, kind, lines_mask, online } = given;
        let state = if online { UNSEEN } else { OFFLINE };
        let mut bytes = vec![0; CPU_BYTES];
        for (at, half) in [core, place, siblings, state, kind, lines_mask].into_iter().enumerate() {
            bytes[at * 4..at * 4 + 4].copy_from_slice(&half.to_ne_bytes());
        }
        put(&mut bytes, cpu::SINCE, now);
        // No head that a core can have: the first look reads the clocks.
        put(&mut bytes, cpu::HEAD, u64::MAX);
        bytes
    }
}

/// The bytes of a core whose clocks begin now.
pub(super) fn fresh_core(now: u64) -> Vec<u8> {
    let mut bytes = vec![0; CORE_BYTES];
    // The first member of the first record.
    put(&mut bytes, 16, now);
    bytes
}

fn put(bytes: &mut [u8], at: usize, word: u64) {
    bytes[at * 8..at * 8 + 8].copy_from_slice(&word.to_ne_bytes());
}

/// The places of a line of keys that are filled, with the addresses of their tasks.
pub(super) fn filled(line: u32, bytes: &[u8]) -> impl Iterator<Item = (u32, u64)> + '_ {
    let words = Words(bytes);
    // 0 is free, 1 is about to be filled.
    (0..WAYS)
        .map(move |way| (line * WAYS + way, words.whole(way as usize)))
        .filter(|&(_, address)| address > 1)
}

/// A task's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) run_ns: [u64; PLACES],
    pub(super) settled_ns: [u64; PLACES],
    pub(super) window: u64,
    pub(super) address: u64,
    pub(super) started: u64,
    pub(super) cgroup: u64,
    pub(super) tid: u32,
    pub(super) tgid: u32,
    pub(super) parent: u32,
    pub(super) followed: u32,
    pub(super) cpu: u32,
    pub(super) comm: String,
}

impl Task {
    /// `None` if it is not a task's entry.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < TASK_BYTES {
            return None;
        }
        let words = Words(bytes);
        let comm = &bytes[task::COMM * 8..TASK_BYTES];
        let length = comm.iter().position(|&byte| byte == 0).unwrap_or(comm.len());
        Some(Self {
            window: words.whole(0),
            cpu: words.half(2, 0),
            run_ns: words.array(task::RUN),
            settled_ns: words.array(task::SETTLED),
            address: words.whole(task::ADDRESS),
            started: words.whole(task::ADDRESS + 1),
            cgroup: words.whole(task::ADDRESS + 2),
            tid: words.half(task::ADDRESS + 3, 0),
            tgid: words.half(task::ADDRESS + 3, 1),
            parent: words.half(task::ADDRESS + 4, 0),
            followed: words.half(task::ADDRESS + 4, 1),
            comm: String::from_utf8_lossy(&comm[..length]).into_owned(),
        })
    }

    /// Its run time from the beginning to the end of the window before the open one.
    pub(super) fn at_end(&self, open: u64) -> [u64; PLACES] {
        if self.window >= open { self.settled_ns } else { self.run_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_cpu_is_read_back() {
        let given = Given { core: 3, place: 1, siblings: 2, kind: 0, lines_mask: 7, online: false };
        let bytes = Cpu::fresh(given, 77);
        let cpu = Cpu::read(&bytes);
        assert!(cpu.offline);
        let closed = Cpu::offline(&bytes, 100).closed;
        assert_eq!((closed.at, closed.offline_ns, closed.tasks_ns), (100, 23, 0));
        assert_eq!((Words(&bytes).half(0, 0), Words(&bytes).half(2, 1)), (3, 7));
        assert_eq!(Words(&bytes).whole(cpu::HEAD), u64::MAX);
        assert_eq!(Cpu::running(&bytes), None, "offline");
        let mut online = bytes.clone();
        online[cpu::STATE * 8 + 4..cpu::STATE * 8 + 8].copy_from_slice(&ONLINE.to_ne_bytes());
        put(&mut online, cpu::PREVIOUS, 5);
        assert_eq!(Cpu::running(&online), Some([None, Some(5)]));
        assert_eq!(Cpu::read(&[]), Cpu::default(), "no panic on a map of another shape");
        assert_eq!(Words(&fresh_core(77)).whole(16), 77);
    }

    #[test]
    fn a_line_tells_who_is_where() {
        let mut bytes = vec![0; WAYS as usize * 8];
        put(&mut bytes, 0, 1);
        put(&mut bytes, 3, 640);
        put(&mut bytes, 7, 128);
        assert_eq!(filled(2, &bytes).collect::<Vec<_>>(), [(19, 640), (23, 128)]);
        assert_eq!(filled(2, &[]).count(), 0);
    }

    #[test]
    fn a_task_is_what_it_was_when_the_window_closed() {
        let mut bytes = vec![0; TASK_BYTES];
        put(&mut bytes, task::RUN + 1, 50);
        put(&mut bytes, task::SETTLED + 1, 20);
        put(&mut bytes, 0, 4);
        bytes[task::COMM * 8..task::COMM * 8 + 3].copy_from_slice(b"a\xffb");
        let read = Task::read(&bytes).expect("whole");
        assert_eq!(read.comm, "a\u{fffd}b");
        assert_eq!(read.at_end(4)[1], 20, "charged since");
        assert_eq!(read.at_end(5)[1], 50, "not charged since");
        assert!(Task::read(&bytes[1..]).is_none());
    }
}
