//! SysV semaphores that are removed however a run ends.
//!
//! The kernel keeps a semaphore set when its maker dies. So a run first draws a range of keys
//! that nobody uses and writes it to a small claim file, which it keeps locked as long as it
//! lives; its processes make their sets under those keys only. The run removes every set of its
//! range at its end, and if it is killed outright, the next run (or [`sweep`]) finds a claim that
//! nobody holds the lock of and removes the sets then.
//!
//! Claims lie in `/dev/shm`, whose life is that of the semaphores: it is empty after a reboot, and
//! containers that share one share the other. A set is only removed if its maker is the owner of
//! the claim, so that nobody can have the sets of others removed.

use crate::{Error, sys};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

const FOLDER: &str = "/dev/shm";
const PREFIX: &str = "coretwin-semaphores-";

/// The most keys one claim can hold: as many rooms as there can be, and a few.
pub(crate) const KEYS_MAX: u32 = 1 << 10;

/// A range of keys that belongs to this process. Dropping it removes every set of the range.
#[derive(Debug)]
pub(crate) struct Claim {
    /// First key of the range.
    pub(crate) base: i32,
    count: u32,
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl Claim {
    /// Claims a range of so many keys, after sweeping what dead runs left.
    pub(crate) fn new(count: u32) -> Result<Self, Error> {
        Self::new_in(Path::new(FOLDER), count.min(KEYS_MAX))
    }

    fn new_in(folder: &Path, count: u32) -> Result<Self, Error> {
        sweep_in(folder);
        let base = (0..64)
            .map(|_| draw_base())
            .find(|base| keys(*base, count).all(|key| sys::semaphores_find(key).is_none()))
            .ok_or_else(|| Error::failed("no range of SysV semaphore keys is free"))?;
        let path = folder.join(format!("{PREFIX}{:x}-{}", base as u32, std::process::id()));
        let trouble =
            |error| Error::system(format!("cannot claim keys in {}", path.display()), error);
        loop {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(trouble)?;
            flock(&file, FlockOperation::LockExclusive).map_err(trouble)?;
            if fstat(&file).map_err(trouble)?.st_nlink == 0 {
                continue; // A sweep came between making and locking it.
            }
            let mut file = File::from(file);
            let text = format!("{base} {count}\n");
            file.write_all(text.as_bytes()).map_err(|error| {
                Error::system(format!("cannot write {}", path.display()), error)
            })?;
            return Ok(Self { base, count, path, _file: file });
        }
    }

    /// How many sets of the range exist.
    pub(crate) fn existing(&self) -> usize {
        keys(self.base, self.count).filter_map(sys::semaphores_find).count()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        remove_sets(self.base, self.count, rustix::process::getuid().as_raw());
        // The file goes last, so that a death in between is swept.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes what killed runs have left: every set of a claim that nobody holds. Returns how many
/// sets were removed. Claims of others are only touched by root.
pub fn sweep() -> u32 {
    sweep_in(Path::new(FOLDER))
}

fn sweep_in(folder: &Path) -> u32 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let claims = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
    claims.filter_map(|entry| sweep_claim(&entry.path())).sum()
}

/// None if the claim is alive, not ours to read, or gone already.
fn sweep_claim(path: &Path) -> Option<u32> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive).ok()?;
    let owner = fstat(&file).ok()?.st_uid;
    let mut text = String::new();
    File::from(file.try_clone().ok()?).take(100).read_to_string(&mut text).ok()?;
    let removed = match parse(&text) {
        Some((base, count)) => remove_sets(base, count, owner),
        None => 0, // It died before it wrote the range, so before it made a set.
    };
    // Unlinked under the lock; a maker that waits for it sees that its file is gone.
    std::fs::remove_file(path).ok()?;
    Some(removed)
}

fn parse(text: &str) -> Option<(i32, u32)> {
    let (base, count) = text.trim().split_once(' ')?;
    Some((base.parse().ok()?, count.parse().ok().filter(|count| *count <= KEYS_MAX)?))
}

/// 22 random bits above the 10 that number the keys; never the private key 0.
fn draw_base() -> i32 {
    let random = RandomState::new().build_hasher().finish() as u32;
    (random | KEYS_MAX).wrapping_div(KEYS_MAX).wrapping_mul(KEYS_MAX).cast_signed()
}

fn keys(base: i32, count: u32) -> impl Iterator<Item = i32> {
    (0..count.cast_signed()).map(move |index| base.wrapping_add(index))
}

fn remove_sets(base: i32, count: u32, owner: u32) -> u32 {
    let sets = keys(base, count).filter_map(sys::semaphores_find);
    let own = sets.filter(|set| sys::semaphores_creator(*set).is_ok_and(|uid| uid == owner));
    own.filter(|set| sys::semaphores_remove(*set).is_ok()).count().try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_removes_its_sets_and_its_file() {
        let folder = tempfile::tempdir().expect("folder");
        let claim = Claim::new_in(folder.path(), 5).expect("claim");
        let set = sys::semaphores_create(claim.base + 4, 3).expect("set");
        assert_eq!(claim.existing(), 1);
        assert_eq!(sweep_in(folder.path()), 0, "a live claim is left alone");
        drop(claim);
        assert!(sys::semaphores_remove(set).is_err(), "the set is gone");
        assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0);
    }

    #[test]
    fn what_a_dead_run_left_is_swept() {
        let folder = tempfile::tempdir().expect("folder");
        let base = draw_base();
        let set = sys::semaphores_create(base + 1, 1).expect("set");
        let beyond = sys::semaphores_create(base + 2, 1).expect("set");
        std::fs::write(folder.path().join(format!("{PREFIX}dead")), format!("{base} 2\n"))
            .expect("claim");
        std::fs::write(folder.path().join(format!("{PREFIX}empty")), "").expect("claim");
        std::fs::write(folder.path().join("other"), format!("{base} 3\n")).expect("file");
        assert_eq!(sweep_in(folder.path()), 1);
        assert!(sys::semaphores_remove(set).is_err(), "inside the range it is gone");
        sys::semaphores_remove(beyond).expect("outside the range it is left alone");
        assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 1);
    }

    #[test]
    fn ranges_start_at_their_own_thousand() {
        for _ in 0..1000 {
            let base = draw_base().cast_unsigned();
            assert!(base >= KEYS_MAX && base.is_multiple_of(KEYS_MAX));
        }
    }
}
