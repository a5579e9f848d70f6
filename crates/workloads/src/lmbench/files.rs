//! Rows `file-create` and `file-delete`: files of a size, made one after the other in one folder, and
//! removed.
//!
//! A sample of creations begins in an empty folder, a sample of deletions in one with as many files
//! as it removes; both are made ready before the clock starts. There are at most 1000 at a time, so a
//! sample ends with them, however long it should be; and fewer where it takes long to make those that
//! are removed. A creation is an open that must make the file, one write if it has a size, and a close.

use super::harness::{Bench, Body, Place};
use crate::workload::{Outcome, Telling, int};
use crate::{Context, Error};
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The most files there are at a time, as LMbench has them.
const FILES: u64 = 1000;
/// And the most they hold together, in KiB.
const HELD_KIB: u64 = 64 << 10;
/// What a file takes beside its data at most, in KiB.
const EACH_KIB: u64 = 4;
/// How long it may take to make the files that a sample removes, and how many are made to find out.
const MAKING: Duration = Duration::from_millis(500);
const TRIED: u64 = 50;

/// How many files of that size there are at most.
fn most(size_kib: u32) -> u64 {
    HELD_KIB.checked_div(size_kib.into()).unwrap_or(FILES).clamp(1, FILES)
}

pub(super) fn folder_kib(size_kib: u32) -> u64 {
    // A file takes whole blocks.
    most(size_kib) * (u64::from(size_kib) + 2 * EACH_KIB)
}

struct Files {
    path: PathBuf,
    folder: OwnedFd,
    /// Made before, so that no name is composed while the clock runs.
    names: Vec<CString>,
    data: Vec<u8>,
    /// How many there are: the first of the names.
    there: u64,
    /// Files whose write was short.
    wrong: u64,
}

impl Files {
    fn new(place: &Place) -> Result<Self, Error> {
        let path = place.folder()?.to_path_buf();
        let size_kib = int(&place.params, "size_kib");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = rustix::fs::open(&path, flags, Mode::empty());
        let names = (0..most(size_kib)).flat_map(|file| CString::new(format!("file{file}")));
        Ok(Self {
            folder: folder.with_context(|| format!("cannot open {}", path.display()))?,
            names: names.collect(),
            data: vec![b'f'; size_kib as usize * 1024],
            there: 0,
            wrong: 0,
            path,
        })
    }

    fn create(&mut self, many: u64) -> Result<(), Error> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        for name in &self.names[self.there as usize..many as usize] {
            let file = openat(&self.folder, &**name, flags, Mode::RUSR | Mode::WUSR);
            let file = file.context("cannot make a file")?;
            if !self.data.is_empty() {
                let written = rustix::io::write(&file, &self.data).context("cannot make a file")?;
                self.wrong += u64::from(written != self.data.len());
            }
        }
        self.there = many;
        Ok(())
    }

    fn delete(&mut self) -> Result<(), Error> {
        for name in &self.names[..self.there as usize] {
            unlinkat(&self.folder, &**name, AtFlags::empty()).context("cannot remove a file")?;
        }
        self.there = 0;
        Ok(())
    }

    /// Whether the folder holds what it should: so many files of the size.
    fn are_right(&self) -> bool {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let sizes = entries.map(|entry| entry.metadata().map_or(u64::MAX, |file| file.len()));
        let (mut count, mut right) = (0, self.wrong == 0);
        for size in sizes {
            count += 1;
            right &= size == self.data.len() as u64;
        }
        right && count == self.there
    }
}

struct Create(Files);

impl Body for Create {
    fn before(&mut self, _count: u64) -> Result<(), Error> {
        self.0.delete()
    }

    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        self.0.create(count)
    }

    fn most(&self) -> u64 {
        self.0.names.len() as u64
    }

    fn remark(&mut self, to: &mut Outcome) {
        to.check("files_made", self.0.there > 0 && self.0.are_right());
    }
}

pub(super) fn file_create(place: &Place) -> Result<Bench, Error> {
    Ok(Bench::of(Create(Files::new(place)?)))
}

struct Delete {
    files: Files,
    /// Files that are made soon enough; fewer than there are names on a slow file system.
    most: u64,
}

impl Body for Delete {
    fn before(&mut self, count: u64) -> Result<(), Error> {
        self.files.create(count)
    }

    fn repeat(&mut self, _count: u64) -> Result<(), Error> {
        self.files.delete()
    }

    fn most(&self) -> u64 {
        self.most
    }

    fn remark(&mut self, to: &mut Outcome) {
        to.check("files_removed", self.files.are_right());
    }
}

pub(super) fn file_delete(place: &Place) -> Result<Bench, Error> {
    let mut files = Files::new(place)?;
    let all = files.names.len() as u64;
    let tried = TRIED.min(all);
    let start = Instant::now();
    files.create(tried)?;
    let soon = tried as f64 * MAKING.as_secs_f64() / start.elapsed().as_secs_f64();
    files.delete()?;
    Ok(Bench::of(Delete { files, most: (soon as u64).clamp(tried, all) }))
}
