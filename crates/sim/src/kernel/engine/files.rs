//! Steps that use files and the disk.

use super::steps::Next;
use super::{DISK, Engine, Run, WRITE_BACK};
use crate::kernel::{
    Access, CpuId, Disk, Machine, PageCache, PageCacheSpec, PageState, Purpose, Request,
    StorageOutcome, TaskId, Waiting, Which, Work,
};
use crate::numbers::{Key, Numbers};

pub(crate) const PAGE_BYTES: u64 = 4096;

/// The most pages that one reading asks the disk for at once, read ahead or not: 128 KiB.
const READ: u64 = 32;

/// Pages sent to the disk at once when writing back.
const BATCH: usize = 256;

#[derive(Debug)]
pub(super) struct Storage {
    spec: PageCacheSpec,
    cache: PageCache,
    disk: Disk,
    disk_blocks: u64,
    files: Vec<File>,
    numbers: Numbers,
    throttled: Vec<TaskId>,
    counts: StorageOutcome,
}

/// A file: its blocks lie together.
#[derive(Debug)]
struct File {
    first_block: u64,
    bytes: u64,
    writing: usize,
    waiters: Vec<TaskId>,
}

impl Storage {
    pub(super) fn new(machine: &Machine, work: &Work, seed: u64) -> Self {
        let mut block = 0;
        let file = |bytes: &u64| {
            let first_block = block;
            block += bytes.div_ceil(PAGE_BYTES);
            File { first_block, bytes: *bytes, writing: 0, waiters: Vec::new() }
        };
        Self {
            files: work.files.iter().map(file).collect(),
            spec: machine.cache,
            cache: PageCache::new(machine.cache.pages),
            disk: Disk::new(machine.disk),
            disk_blocks: machine.disk.blocks,
            numbers: Key::new(seed).numbers(0),
            throttled: Vec::new(),
            counts: StorageOutcome::default(),
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.disk.serving.is_some()
    }

    pub(super) fn outcome(&self) -> StorageOutcome {
        StorageOutcome {
            evicted: self.cache.evicted,
            requests: self.disk.served,
            blocks: self.disk.blocks,
            disk_busy_ns: self.disk.busy_ns,
            ..self.counts
        }
    }

    pub(super) fn forget_counts(&mut self) {
        self.counts = StorageOutcome::default();
        self.cache.evicted = 0;
        self.disk.forget_counts();
    }

    fn part_of_cache(&self, percent: u32) -> usize {
        self.spec.pages as usize * percent as usize / 100
    }

    /// Reads a page, and those after it that a sequential reader will want and that are not cached.
    /// Returns whether memory was found for the first.
    fn read_from(&mut self, file: u32, page: u64, ahead: u64) -> bool {
        let File { first_block, bytes, .. } = self.files[file as usize];
        let end = bytes.div_ceil(PAGE_BYTES).min(page + 1 + ahead);
        for number in page..end {
            if self.cache.find(file, number).is_some() {
                break;
            }
            let Some(slot) = self.cache.add(file, number, PageState::Reading) else {
                return number > page;
            };
            self.counts.misses += 1;
            let purposes = vec![Purpose::Page(slot)];
            let block = first_block + number;
            self.disk.submit(Request { block, blocks: 1, write: false, purposes });
        }
        true
    }

    fn write_out(&mut self, slot: u32) {
        self.cache.begin_writing(slot);
        let (file, number) = self.cache.key(slot);
        let entry = &mut self.files[file as usize];
        entry.writing += 1;
        let block = entry.first_block + number;
        let purposes = vec![Purpose::Page(slot)];
        self.disk.submit(Request { block, blocks: 1, write: true, purposes });
    }

    fn write_back(&mut self, until_ns: u64) {
        for _ in 0..BATCH {
            match self.cache.oldest_dirty() {
                Some((slot, since_ns)) if since_ns <= until_ns => self.write_out(slot),
                _ => return,
            }
        }
    }
}

impl Engine<'_> {
    /// Where in a file an access begins, drawn or remembered once for the step.
    fn place(&mut self, task: TaskId, file: usize, access: Access) -> u64 {
        let bytes = self.storage.files[file].bytes;
        let own = &mut self.tasks[task.index()];
        if let Some(place) = own.place {
            return place;
        }
        let place = match access {
            Access::Random => own.numbers.below(bytes.div_ceil(PAGE_BYTES)) * PAGE_BYTES,
            Access::Next => {
                let known = own.positions.iter().find(|(number, _)| *number == file as u32);
                known.map_or(0, |(_, place)| *place)
            }
        };
        own.place = Some(place);
        place
    }

    /// Advances an access by a page: its new place, or `None` if it is done.
    fn next_page(&mut self, task: TaskId, file: usize, access: Access, place: u64) -> Option<u64> {
        let bytes = self.storage.files[file].bytes;
        let own = &mut self.tasks[task.index()];
        let part = (PAGE_BYTES - place % PAGE_BYTES).min(bytes - place).min(own.amount);
        own.amount -= part;
        let place = (place + part) % bytes;
        own.place = Some(place);
        if own.amount > 0 {
            return Some(place);
        }
        own.place = None;
        if access == Access::Next {
            match own.positions.iter_mut().find(|(number, _)| *number == file as u32) {
                Some((_, known)) => *known = place,
                None => own.positions.push((file as u32, place)),
            }
        }
        None
    }

    pub(super) fn read(&mut self, task: TaskId, which: Which, access: Access) -> Run<Next> {
        let file = self.object(task, which, self.storage.files.len(), "file")?;
        if self.tasks[task.index()].amount == 0 {
            return Ok(Next::Goes);
        }
        let mut place = self.place(task, file, access);
        let ahead =
            if access == Access::Next { u64::from(self.storage.spec.read_ahead) } else { 0 };
        loop {
            let storage = &mut self.storage;
            let page = place / PAGE_BYTES;
            match storage.cache.find(file as u32, page) {
                Some(slot) if storage.cache.state(slot) == PageState::Reading => {
                    storage.cache.wait(slot, task);
                    self.start_disk();
                    return Ok(Next::Waits(Waiting::Disk));
                }
                Some(slot) => {
                    storage.counts.hits += 1;
                    storage.cache.touch(slot);
                    match self.next_page(task, file, access, place) {
                        Some(next) => place = next,
                        None => return Ok(Next::Goes),
                    }
                }
                None => {
                    let wanted = self.tasks[task.index()].amount.div_ceil(PAGE_BYTES);
                    if !storage.read_from(file as u32, page, ahead.max(wanted.min(READ))) {
                        return Ok(self.throttle(task));
                    }
                }
            }
        }
    }

    pub(super) fn write(&mut self, task: TaskId, which: Which, access: Access) -> Run<Next> {
        let file = self.object(task, which, self.storage.files.len(), "file")?;
        if self.tasks[task.index()].amount == 0 {
            return Ok(Next::Goes);
        }
        let mut place = self.place(task, file, access);
        loop {
            let now_ns = self.view.now_ns;
            let storage = &mut self.storage;
            if storage.cache.unwritten() >= storage.part_of_cache(storage.spec.dirty_percent) {
                return Ok(self.throttle(task));
            }
            let page = place / PAGE_BYTES;
            let slot = match storage.cache.find(file as u32, page) {
                Some(slot) if storage.cache.state(slot) == PageState::Reading => {
                    storage.cache.wait(slot, task);
                    self.start_disk();
                    return Ok(Next::Waits(Waiting::Disk));
                }
                found => found.or_else(|| storage.cache.add(file as u32, page, PageState::Clean)),
            };
            let Some(slot) = slot else { return Ok(self.throttle(task)) };
            storage.cache.touch(slot);
            storage.cache.mark_dirty(slot, now_ns);
            if storage.cache.unwritten()
                > storage.part_of_cache(storage.spec.dirty_background_percent)
            {
                storage.write_back(u64::MAX);
                self.start_disk();
            }
            let slot = self.machine_slot(WRITE_BACK);
            if !self.events.is_set(slot) {
                self.events.set(slot, now_ns + self.machine.cache.dirty_writeback_ns);
            }
            match self.next_page(task, file, access, place) {
                Some(next) => place = next,
                None => return Ok(Next::Goes),
            }
        }
    }

    fn throttle(&mut self, task: TaskId) -> Next {
        let storage = &mut self.storage;
        storage.counts.throttled += 1;
        storage.throttled.push(task);
        storage.write_back(u64::MAX);
        self.start_disk();
        Next::Waits(Waiting::Throttled)
    }

    pub(super) fn synchronise(&mut self, task: TaskId, which: Which) -> Run<Next> {
        let file = self.object(task, which, self.storage.files.len(), "file")?;
        if std::mem::take(&mut self.tasks[task.index()].answered) {
            return Ok(Next::Goes);
        }
        let storage = &mut self.storage;
        for slot in storage.cache.of_file(file as u32) {
            if matches!(storage.cache.state(slot), PageState::Dirty { .. }) {
                storage.write_out(slot);
            }
        }
        if storage.files[file].writing == 0 {
            return Ok(Next::Goes);
        }
        storage.files[file].waiters.push(task);
        self.start_disk();
        Ok(Next::Waits(Waiting::Written))
    }

    pub(super) fn forget(&mut self, task: TaskId, which: Which) -> Run<Next> {
        let file = self.object(task, which, self.storage.files.len(), "file")?;
        for slot in self.storage.cache.of_file(file as u32) {
            self.storage.cache.forget(slot);
        }
        Ok(Next::Goes)
    }

    pub(super) fn disk_read(&mut self, task: TaskId) -> Next {
        let own = &mut self.tasks[task.index()];
        if std::mem::take(&mut own.answered) || own.amount == 0 {
            return Next::Goes;
        }
        let blocks = own.amount.div_ceil(PAGE_BYTES).min(self.storage.disk_blocks);
        let block = own.numbers.below(self.storage.disk_blocks - blocks + 1);
        let purposes = vec![Purpose::Task(task)];
        self.storage.disk.submit(Request { block, blocks, write: false, purposes });
        self.start_disk();
        Next::Waits(Waiting::Disk)
    }

    fn start_disk(&mut self) {
        let storage = &mut self.storage;
        if let Some(time_ns) = storage.disk.start(&mut storage.numbers) {
            self.events.set(self.machine_slot(DISK), self.view.now_ns + time_ns);
        }
    }

    /// The disk is done with a request: its interrupt wakes the tasks that wait for it.
    pub(super) fn disk_done(&mut self) -> Run {
        let asked = self.machine.interrupts;
        let here = if self.view.online.contains(asked) { asked } else { self.first_online() };
        let Some(request) = self.storage.disk.serving.take() else { return Ok(()) };
        let costs = &self.machine.costs;
        let pages = if request.write { request.blocks } else { 0 };
        self.charge(here, costs.interrupt_ns + costs.write_back_ns.saturating_mul(pages));
        self.start_disk();
        for purpose in request.purposes {
            match purpose {
                Purpose::Task(task) => self.answer(task, here)?,
                Purpose::Page(slot) => self.page_done(slot, request.write, here)?,
            }
        }
        let storage = &mut self.storage;
        let room = storage.cache.unwritten() < storage.part_of_cache(storage.spec.dirty_percent);
        if room || storage.cache.writing == 0 {
            for task in std::mem::take(&mut storage.throttled) {
                self.wake(task, here, false)?;
            }
        }
        Ok(())
    }

    fn page_done(&mut self, slot: u32, write: bool, here: CpuId) -> Run {
        let storage = &mut self.storage;
        for task in storage.cache.finish(slot, self.view.now_ns) {
            self.wake(task, here, false)?;
        }
        if write {
            let storage = &mut self.storage;
            storage.counts.written_back += 1;
            let (file, _) = storage.cache.key(slot);
            let file = &mut storage.files[file as usize];
            file.writing -= 1;
            if file.writing == 0 {
                for task in std::mem::take(&mut file.waiters) {
                    self.answer(task, here)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn write_back_due(&mut self) -> Run {
        let storage = &mut self.storage;
        let old_ns = self.view.now_ns.checked_sub(storage.spec.dirty_expire_ns);
        if let Some(old_ns) = old_ns {
            storage.write_back(old_ns);
        }
        if storage.cache.oldest_dirty().is_some() {
            let next_ns = self.view.now_ns + self.machine.cache.dirty_writeback_ns;
            self.events.set(self.machine_slot(WRITE_BACK), next_ns);
        }
        self.start_disk();
        Ok(())
    }
}
