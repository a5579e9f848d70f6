//! Rows `disk_*` and `sync_disk_*`: files of 1 KiB blocks written, read and copied, in order and at
//! random. Without `sync` everything is a copy to and from the page cache; with it every write
//! waits for the disk (`O_SYNC`), as far as the file system keeps that promise.
//!
//! As in the original, filling a file before random access is timed and earns no credit.

use super::arithmetic::Random;
use super::{FILE_KIB, Place, Prepared, made};
use crate::Context;
use crate::workload::{Telling, int};
use rustix::fs::{Mode, OFlags, SeekFrom, open, seek, unlink};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// In bytes.
const BLOCK: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Work {
    RandomRead,
    RandomWrite,
    Read,
    Write,
    Copy,
    SyncRandomWrite,
    SyncWrite,
    SyncCopy,
    SyncUpdate,
}

struct Disk {
    work: Work,
    folder: PathBuf,
    /// The input that all calls read.
    common: PathBuf,
    blocks: u64,
    random: Random,
    block: [u8; BLOCK],
    /// Calls so far: each has scratch files of its own name.
    calls: u64,
    moved: u64,
}

impl Disk {
    fn one_call(&mut self) -> io::Result<()> {
        let half = self.blocks / 2;
        match self.work {
            Work::RandomRead => self.at_random(OFlags::RDONLY, self.blocks),
            Work::RandomWrite => self.at_random(OFlags::WRONLY, self.blocks),
            Work::SyncRandomWrite => self.at_random(OFlags::WRONLY | OFlags::SYNC, half),
            Work::SyncUpdate => self.at_random(OFlags::RDWR | OFlags::SYNC, half),
            Work::Read => {
                let common = open(&self.common, OFlags::RDONLY, Mode::empty())?;
                seek(&common, SeekFrom::Start(0))?;
                (0..self.blocks).try_for_each(|_| self.read(&common))
            }
            Work::Write => {
                let scratch = self.scratch();
                let file = create(&scratch, OFlags::empty())?;
                unlink(&scratch)?;
                (0..self.blocks).try_for_each(|_| self.write(&file))
            }
            Work::SyncWrite => {
                let scratch = self.scratch();
                let file = create(&scratch, OFlags::SYNC)?;
                (0..half).try_for_each(|_| self.write(&file))?;
                Ok(unlink(&scratch)?)
            }
            Work::Copy => self.copy(OFlags::empty(), self.blocks),
            Work::SyncCopy => self.copy(OFlags::SYNC, half),
        }
    }

    fn scratch(&self) -> PathBuf {
        self.folder.join(format!("tmpb.{:05}{:05}", std::process::id() % 100_000, self.calls))
    }

    /// A file filled in order and opened again; then random blocks.
    fn at_random(&mut self, flags: OFlags, blocks: u64) -> io::Result<()> {
        let scratch = self.scratch();
        let file = create(&scratch, OFlags::empty())?;
        // The two synchronous rows fill what they will use: all of it, or half.
        let filled = if self.work == Work::SyncRandomWrite { blocks } else { self.blocks };
        (0..filled).try_for_each(|_| self.fill(&file))?;
        drop(file);
        let file = open(&scratch, flags, Mode::empty())?;
        let sync = flags.contains(OFlags::SYNC);
        if !sync {
            unlink(&scratch)?;
        }
        for _ in 0..blocks {
            let at = u64::from(self.random.next()) % filled;
            seek(&file, SeekFrom::Start(at * BLOCK as u64))?;
            match self.work {
                Work::RandomRead => self.read(&file)?,
                Work::SyncUpdate => {
                    // What was read is written behind where it was read.
                    read_block(&file, &mut self.block)?;
                    self.write(&file)?;
                }
                _ => self.write(&file)?,
            }
        }
        if sync {
            unlink(&scratch)?;
        }
        Ok(())
    }

    fn copy(&mut self, flags: OFlags, blocks: u64) -> io::Result<()> {
        let common = open(&self.common, OFlags::RDONLY, Mode::empty())?;
        let scratch = self.scratch();
        let file = create(&scratch, flags)?;
        unlink(&scratch)?;
        for _ in 0..blocks {
            read_block(&common, &mut self.block)?;
            self.write(&file)?;
        }
        Ok(())
    }

    fn read(&mut self, file: &OwnedFd) -> io::Result<()> {
        self.moved += 1;
        read_block(file, &mut self.block)
    }

    fn write(&mut self, file: &OwnedFd) -> io::Result<()> {
        self.moved += 1;
        self.fill(file)
    }

    /// A block that earns no credit.
    fn fill(&self, file: &OwnedFd) -> io::Result<()> {
        whole(rustix::io::write(file, &self.block))
    }
}

fn read_block(file: &OwnedFd, block: &mut [u8; BLOCK]) -> io::Result<()> {
    whole(rustix::io::read(file, block))
}

fn whole(moved: Result<usize, Errno>) -> io::Result<()> {
    match moved {
        Ok(BLOCK) => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(error) => Err(error.into()),
    }
}

fn create(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    Ok(open(path, flags, Mode::from_raw_mode(0o777))?)
}

pub(super) fn prepare(place: &Place, work: Work) -> Prepared {
    let folder = place.folder()?.to_owned();
    let common = folder.join("tmpa.common");
    let blocks = u64::from(int(&place.params, FILE_KIB.name));
    let content = vec![b'a'; blocks as usize * BLOCK];
    std::fs::write(&common, content)
        .with_context(|| format!("cannot write {}", common.display()))?;
    let (block, random) = ([b'a'; BLOCK], Random::new());
    let disk = Disk { work, folder, common, blocks, random, block, calls: 0, moved: 0 };
    let call = |row: &mut Disk| {
        row.calls += 1;
        row.one_call().with_context(|| format!("cannot work on files in {}", row.folder.display()))
    };
    made(disk, call, |row, calls, to| {
        let half = matches!(
            row.work,
            Work::SyncRandomWrite | Work::SyncWrite | Work::SyncCopy | Work::SyncUpdate
        );
        let credited = if half { row.blocks / 2 } else { row.blocks };
        to.check("blocks_moved", row.moved == calls * credited);
        to.check("block_content", row.block == [b'a'; BLOCK]);
        to.higher("file_kib", row.blocks as f64, "KiB");
    })
}
