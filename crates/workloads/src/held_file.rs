//! Small files in `/dev/shm` that a run keeps locked as long as it lives, and that name what it
//! has to leave no trace of. When the lock is free, its run is dead, and the next run
//! removes what it names.
//!
//! `/dev/shm` is empty after a reboot, and containers that share one share the other.

use crate::{Context, Error};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

pub(crate) const FOLDER: &str = "/dev/shm";
pub(crate) const PREFIX: &str = "coretwin-";
/// Longest text that is read, in bytes: a path, and a little.
const TEXT_MAX: u64 = 8192;

pub(crate) struct HeldFile {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl HeldFile {
    /// Makes the file, locks it, and only then writes the text into it.
    pub(crate) fn create(folder: &Path, name: &str, text: &str) -> Result<Self, Error> {
        let path = folder.join(name);
        let trouble = |error| Error::system(format!("cannot make {}", path.display()), error);
        loop {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(trouble)?;
            flock(&file, FlockOperation::LockExclusive).map_err(trouble)?;
            if fstat(&file).map_err(trouble)?.st_nlink == 0 {
                continue; // A sweep came between making and locking it.
            }
            let mut file = File::from(file);
            file.write_all(text.as_bytes())
                .with_context(|| format!("cannot write {}", path.display()))?;
            return Ok(Self { path, _file: file });
        }
    }

    pub(crate) fn remove(&self) {
        // If it cannot be, the next sweep finds nothing to do and removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A file whose holder is dead, locked by us now.
pub(crate) struct Abandoned {
    path: PathBuf,
    pub(crate) owner: u32,
    /// What it names; empty if its maker died before writing it.
    pub(crate) text: String,
    _file: File,
}

impl Abandoned {
    /// Removes the file under its lock; a maker that waits for the lock sees that it is gone.
    pub(crate) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

pub(crate) fn abandoned(folder: &Path, prefix: &str) -> Vec<Abandoned> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix)));
    named.filter_map(|entry| seize(entry.path())).collect()
}

/// `None` if the file is held, not ours to read, or gone already.
fn seize(path: PathBuf) -> Option<Abandoned> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(&path, flags, Mode::empty()).ok()?;
    flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive).ok()?;
    let status = fstat(&file).ok()?;
    let mut text = String::new();
    let file = File::from(file);
    (&file).take(TEXT_MAX).read_to_string(&mut text).ok()?;
    (status.st_nlink > 0).then_some(Abandoned { path, owner: status.st_uid, text, _file: file })
}
