//! A disk with one arm: requests wait in order of block, neighbours are merged, and the arm goes up
//! through them and starts again from the lowest (C-LOOK, Linux's classic elevator).

use super::{DiskSpec, TaskId};
use crate::numbers::Numbers;
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A task that reads past the page cache.
    Task(TaskId),
    Page(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) block: u64,
    pub(crate) blocks: u64,
    pub(crate) write: bool,
    pub(crate) purposes: Vec<Purpose>,
}

#[derive(Debug)]
pub(crate) struct Disk {
    spec: DiskSpec,
    /// By first block; the number keeps equal blocks apart.
    queue: BTreeMap<(u64, u64), Request>,
    outside: VecDeque<Request>,
    sequence: u64,
    /// Where the arm is: the block after the last one served.
    head: u64,
    /// `None` while it is idle.
    pub(crate) serving: Option<Request>,
    pub(crate) served: u64,
    pub(crate) blocks: u64,
    pub(crate) busy_ns: u64,
}

impl Disk {
    pub(crate) fn new(spec: DiskSpec) -> Self {
        Self {
            spec,
            queue: BTreeMap::new(),
            outside: VecDeque::new(),
            sequence: 0,
            head: 0,
            serving: None,
            served: 0,
            blocks: 0,
            busy_ns: 0,
        }
    }

    pub(crate) fn submit(&mut self, request: Request) {
        if let Some(request) = self.merge(request) {
            if self.queue.len() < self.spec.queue as usize {
                self.insert(request);
            } else {
                self.outside.push_back(request);
            }
        }
    }

    fn insert(&mut self, request: Request) {
        self.sequence += 1;
        self.queue.insert((request.block, self.sequence), request);
    }

    /// Merges it with the request that ends where it begins, else with the one that begins where it
    /// ends; gives it back if there is neither.
    fn merge(&mut self, request: Request) -> Option<Request> {
        let most = u64::from(self.spec.merge_blocks);
        let fits =
            |other: &Request| other.write == request.write && other.blocks + request.blocks <= most;
        let before = self.queue.range_mut(..(request.block, 0)).next_back();
        if let Some((_, other)) = before
            && other.block + other.blocks == request.block
            && fits(other)
        {
            other.blocks += request.blocks;
            other.purposes.extend(request.purposes);
            return None;
        }
        let end = request.block + request.blocks;
        let after = self.queue.range((end, 0)..(end + 1, 0)).find(|(_, other)| fits(other));
        if let Some(key) = after.map(|(key, _)| *key)
            && let Some(mut other) = self.queue.remove(&key)
        {
            other.block = request.block;
            other.blocks += request.blocks;
            other.purposes.extend(request.purposes);
            self.insert(other);
            return None;
        }
        Some(request)
    }

    /// If the disk is free and has something to do, begins with it: how long it takes.
    pub(crate) fn start(&mut self, numbers: &mut Numbers) -> Option<u64> {
        if self.serving.is_some() {
            return None;
        }
        let above = self.queue.range((self.head, 0)..).next();
        let key = above.or_else(|| self.queue.iter().next()).map(|(key, _)| *key)?;
        let request = self.queue.remove(&key)?;
        while self.queue.len() < self.spec.queue as usize
            && let Some(next) = self.outside.pop_front()
        {
            if let Some(next) = self.merge(next) {
                self.insert(next);
            }
        }
        let mut time_ns = self.spec.block_ns * request.blocks;
        if request.block != self.head {
            let way = request.block.abs_diff(self.head);
            // The square root of the way's part of the disk, in 65,536ths.
            let part = (((u128::from(way)) << 32) / u128::from(self.spec.blocks)).isqrt() as u64;
            let more_ns = self.spec.seek_most_ns - self.spec.seek_least_ns;
            time_ns += self.spec.seek_least_ns + ((more_ns * part) >> 16);
            time_ns += numbers.below(self.spec.turn_ns + 1);
        }
        self.head = request.block + request.blocks;
        self.served += 1;
        self.blocks += request.blocks;
        self.busy_ns += time_ns;
        self.serving = Some(request);
        Some(time_ns)
    }

    pub(crate) fn forget_counts(&mut self) {
        (self.served, self.blocks, self.busy_ns) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Key;

    fn request(block: u64, task: u32) -> Request {
        let purposes = vec![Purpose::Task(TaskId(task))];
        Request { block, blocks: 1, write: false, purposes }
    }

    #[test]
    fn the_arm_goes_up_and_neighbours_go_together() {
        let mut disk = Disk::new(DiskSpec::of_2002());
        let mut numbers = Key::new(1).numbers(0);
        for (task, block) in [500, 100, 900, 101, 99, 100].into_iter().enumerate() {
            disk.submit(request(block, task as u32));
        }
        let mut order = Vec::new();
        while disk.start(&mut numbers).is_some() {
            let done = disk.serving.take().expect("it was started");
            order.push((done.block, done.blocks, done.purposes.len()));
            if order.len() == 2 {
                disk.submit(request(50, 9));
            }
        }
        assert_eq!(order, [(99, 3, 3), (500, 1, 1), (900, 1, 1), (50, 1, 1), (100, 1, 1)]);
    }

    #[test]
    fn what_follows_needs_no_seek() {
        let spec = DiskSpec::of_2002();
        let mut disk = Disk::new(spec);
        let mut numbers = Key::new(1).numbers(0);
        disk.submit(request(1_000_000, 0));
        let first = disk.start(&mut numbers).expect("free");
        assert!(disk.start(&mut numbers).is_none(), "one at a time");
        assert!(first >= spec.seek_least_ns + spec.block_ns, "{first}");
        disk.serving.take();
        disk.submit(request(1_000_001, 0));
        assert_eq!(disk.start(&mut numbers), Some(spec.block_ns));
    }
}
