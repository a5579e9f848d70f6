//! The machine that runs the work, as data.

use super::{CoRun, Costs, CpuId, Layout};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    Halt,
    /// It polls for work (`idle=poll`): awake at once, and in its siblings' way.
    Poll,
}

pub(crate) const IDLE: [(&str, Idle); 2] = [("halt", Idle::Halt), ("poll", Idle::Poll)];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub layout: Layout,
    pub costs: Costs,
    pub speeds: CoRun,
    pub idle: Idle,
    /// The CPU that takes interrupts of devices.
    pub interrupts: CpuId,
    pub cache: PageCacheSpec,
    pub disk: DiskSpec,
}

impl Machine {
    /// A machine with these CPUs and speeds, no costs, and the disk and memory of 2002.
    pub fn new(layout: Layout, speeds: CoRun) -> Self {
        Self {
            layout,
            costs: Costs::none(),
            speeds,
            idle: Idle::Halt,
            interrupts: CpuId(0),
            cache: PageCacheSpec::of_2002(),
            disk: DiskSpec::of_2002(),
        }
    }
}

/// Memory for the page cache, and when written pages go to disk. Names follow /proc/sys/vm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCacheSpec {
    /// Pages of 4 KiB.
    pub pages: u32,
    /// Above this part of them written (in percent), writing back begins.
    pub dirty_background_percent: u32,
    /// Above this part, writers wait.
    pub dirty_percent: u32,
    /// Pages written longer ago than this are written back.
    pub dirty_expire_ns: u64,
    /// How often that is looked at.
    pub dirty_writeback_ns: u64,
    pub read_ahead: u32,
}

impl PageCacheSpec {
    /// 512 MiB, with Linux's defaults of that time as far as remembered: 30 % and 60 %, 30 s and 5 s,
    /// 128 KiB of read-ahead. Assumptions.
    pub fn of_2002() -> Self {
        Self {
            pages: 131_072,
            dirty_background_percent: 30,
            dirty_percent: 60,
            dirty_expire_ns: 30_000_000_000,
            dirty_writeback_ns: 5_000_000_000,
            read_ahead: 32,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpec {
    /// Size, in blocks of 4 KiB.
    pub blocks: u64,
    /// Moving the arm to the next track.
    pub seek_least_ns: u64,
    /// Moving it from edge to edge; between, the time grows with the square root of the way.
    pub seek_most_ns: u64,
    /// One turn: a request that does not follow the last waits for half of that on average.
    pub turn_ns: u64,
    pub block_ns: u64,
    /// Requests that may be queued; more wait outside.
    pub queue: u32,
    /// Blocks that neighbouring requests are merged into, at most.
    pub merge_blocks: u32,
}

impl DiskSpec {
    /// A disk of 7,200 turns a minute and 40 MB/s: round numbers, assumptions.
    pub fn of_2002() -> Self {
        Self {
            blocks: 10_000_000,
            seek_least_ns: 1_000_000,
            seek_most_ns: 16_000_000,
            turn_ns: 8_333_333,
            block_ns: 100_000,
            queue: 128,
            merge_blocks: 32,
        }
    }
}
