//! What tasks do: programs of steps.

use super::{CpuSet, ProfileId};
use crate::numbers::Numbers;
use crate::policies::Settings;

/// A number that is the same every time, or drawn anew each time from the task's own random stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    Fixed(u64),
    /// Evenly from the first to the second, both included.
    Between(u64, u64),
    /// Exponentially with this mean, at most 16 times the mean: times between independent events.
    Mean(u64),
}

impl Amount {
    pub fn most(self) -> u64 {
        match self {
            Self::Fixed(value) | Self::Between(_, value) => value,
            Self::Mean(mean) => mean.saturating_mul(16),
        }
    }
}

impl Numbers {
    #[inline]
    pub(crate) fn draw(&mut self, amount: Amount) -> u64 {
        match amount {
            Amount::Fixed(value) => value,
            Amount::Between(low, high) => low + self.below((high - low).saturating_add(1)),
            Amount::Mean(mean) => {
                // Never 0, so that the logarithm is finite.
                let unit = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                ((-libm::log(unit) * mean as f64) as u64).min(amount.most())
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Number(u32),
    /// The one whose number stands at this place of the task's own list ([`Start::own`]), so that
    /// many tasks can share a program and yet have objects of their own.
    ///
    /// [`Start::own`]: super::work::Start::own
    Own(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Where the task's last access to it ended; from the start again at its end.
    Next,
    /// Anywhere, drawn evenly, at a multiple of the page size.
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Children {
    /// Until one more has ended.
    One,
    /// Until all that were made so far have ended.
    All,
}

/// One step of a program. Amounts of time in a step are those of a task alone on its core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Work of a profile, in micro-operations.
    Compute {
        /// The kind of work; it decides the speed alone and beside others.
        profile: ProfileId,
        uops: Amount,
    },
    /// Work of a profile, by the time it takes alone.
    ComputeFor {
        profile: ProfileId,
        ns: Amount,
    },
    SystemCall {
        /// How long, beyond the cost of any system call.
        ns: Amount,
    },
    Sleep {
        ns: Amount,
    },
    /// Waits until so long after the last such deadline; the first deadline counts from the task's
    /// birth. Does not wait if the deadline is past.
    Period {
        ns: u64,
    },
    /// Puts bytes into a socket; waits while it is full.
    Send {
        socket: Which,
        bytes: Amount,
    },
    /// Takes bytes out of a socket; waits until all have come.
    Receive {
        socket: Which,
        bytes: Amount,
    },
    /// Takes from a semaphore; waits until it has that much.
    Down {
        semaphore: Which,
        count: u32,
    },
    Up {
        semaphore: Which,
        count: u32,
    },
    /// Takes a lock; waits while another has it.
    Lock(Which),
    Unlock(Which),
    /// Waits until so many tasks stand at the barrier, then all go on.
    Barrier {
        barrier: Which,
    },
    Fork {
        program: u32,
        /// Whether it shares memory with its parent, as a thread does.
        thread: bool,
    },
    /// Makes a child of an entry of the list of starts, whatever its count: its program, its objects, its class and
    /// nice value, and its parent's memory where the entry has `same_memory`.
    Make {
        start: u32,
    },
    /// Starts the program anew in fresh memory: the cost of exec; the steps go on after it.
    Exec,
    Wait(Children),
    Exit,
    /// Reads from a file, through the page cache.
    Read {
        file: Which,
        bytes: Amount,
        access: Access,
    },
    /// Writes to a file, through the page cache.
    Write {
        file: Which,
        bytes: Amount,
        access: Access,
    },
    /// Waits until a file's written pages are on the disk (fsync).
    Synchronise(Which),
    /// Removes a file's pages from the cache, written or not, as deleting it does.
    Forget(Which),
    Disk {
        bytes: Amount,
    },
    Yield,
    /// Changes where the task itself may run; `None`: everywhere.
    SetMask(Option<CpuSet>),
    SetNice(i8),
    Begin,
    /// An operation of this kind, by number, is done: it counts towards throughput, and its latency
    /// since the last `Begin`, `Done` or `Period` is noted.
    Done(u32),
    /// Goes back to an earlier step, so many times, then on. The loop may not be without work.
    Repeat {
        from: u32,
        /// How often beyond the first time.
        times: Amount,
    },
    Forever {
        from: u32,
    },
}

impl Step {
    /// What it takes or moves, or how often it repeats; 0 for other steps.
    pub(crate) fn amount(&self) -> Amount {
        match self {
            Self::Compute { uops: amount, .. }
            | Self::ComputeFor { ns: amount, .. }
            | Self::SystemCall { ns: amount }
            | Self::Sleep { ns: amount }
            | Self::Send { bytes: amount, .. }
            | Self::Receive { bytes: amount, .. }
            | Self::Read { bytes: amount, .. }
            | Self::Write { bytes: amount, .. }
            | Self::Disk { bytes: amount }
            | Self::Repeat { times: amount, .. } => *amount,
            Self::Period { ns } => Amount::Fixed(*ns),
            _ => Amount::Fixed(0),
        }
    }

    /// Whether time can pass, or the task wait, in it, whatever the costs of the machine.
    pub(crate) fn takes_time(&self) -> bool {
        match self {
            Self::Compute { .. }
            | Self::ComputeFor { .. }
            | Self::SystemCall { .. }
            | Self::Sleep { .. }
            | Self::Period { .. } => self.amount().most() > 0,
            Self::Receive { .. }
            | Self::Send { .. }
            | Self::Down { .. }
            | Self::Lock(_)
            | Self::Barrier { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Synchronise(_)
            | Self::Disk { .. }
            | Self::Exit
            | Self::Wait(_) => true,
            _ => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    pub name: String,
    pub steps: Vec<Step>,
}

/// How a run goes: its policy, its seed, its bounds, and what is kept of it.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub policy: Settings,
    pub seed: u64,
    /// The run ends here at the latest; by itself it ends when every task but servers is gone.
    pub until_ns: u64,
    /// Results count from here on, when caches are warm.
    pub warmup_ns: u64,
    /// Decisions that are kept, the first ones; the others are only counted.
    pub decisions_max: usize,
    /// Spans of the timeline that are kept, the first ones.
    pub spans_max: usize,
    pub events_max: u64,
    pub tasks_max: usize,
    /// Whether every invariant is checked after every event: slow, for tests.
    pub checked: bool,
    /// The program of tasks of others, whose switches and migrations are not counted.
    pub others: Option<u32>,
}

impl Options {
    /// A run of at most 10 s.
    pub fn new(policy: Settings) -> Self {
        Self {
            policy,
            seed: 1,
            until_ns: 10_000_000_000,
            warmup_ns: 0,
            decisions_max: 0,
            spans_max: 0,
            events_max: 10_000_000_000,
            tasks_max: 200_000,
            checked: false,
            others: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Key;

    #[test]
    fn amounts_have_their_mean_and_range() {
        let mut numbers = Key::new(1).numbers(7);
        let mut mean = |amount| {
            let draws: Vec<u64> = (0..20_000).map(|_| numbers.draw(amount)).collect();
            assert!(draws.iter().all(|draw| *draw <= amount.most()));
            draws.iter().sum::<u64>() / 20_000
        };
        assert_eq!(mean(Amount::Fixed(9)), 9);
        assert!((1490..1510).contains(&mean(Amount::Between(1000, 2000))));
        assert!((970..1030).contains(&mean(Amount::Mean(1000))));
        let first = |seed, serial| Key::new(seed).numbers(serial).below(u64::MAX);
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
        assert_eq!(first(1, 1), first(1, 1));
    }
}
