//! One study per host: two at once would measure each other.
//!
//! The lock is a `flock` on an open file, so the kernel releases it however the holder dies. It
//! must hold between users: the file is world-readable, whoever did not create it opens it to read
//! only, and *every* folder of the list is locked, because not every user can write the first one
//! (and whoever can lock it finds the other's lock in a later one).

use crate::root::Root;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 3] = ["run/lock", "var/lock", "tmp"];
const FILE: &str = "coretwin.lock";
/// More than the longest process id, in bytes.
const HOLDER_BYTES_MAX: u64 = 16;

/// The lock, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct HostLock {
    files: Vec<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "another coretwin{} measures on this host and holds {}; wait for it or stop it: two \
         studies at once would measure each other",
        holder.map_or_else(String::new, |process| format!(" (process {process})")),
        path.display()
    )]
    Held {
        path: PathBuf,
        /// Process id of the holder, if it can be told (not from inside another container).
        holder: Option<u32>,
    },
    #[error(
        "no lock file can be had in {} ({cause}); make one of these folders writable",
        folders()
    )]
    NoFolder { cause: std::io::Error },
}

fn folders() -> String {
    FOLDERS.map(|folder| format!("/{folder}")).join(", ")
}

/// Takes the host's lock, without waiting. Errors: [`LockError::Held`] naming the holder, or
/// [`LockError::NoFolder`].
pub fn acquire(root: &Root) -> Result<HostLock, LockError> {
    let mut lock = HostLock { files: Vec::new() };
    let mut problem = Errno::NOENT;
    for folder in FOLDERS {
        let path = root.path(folder).join(FILE);
        let file = match open(&path) {
            Ok(file) => file,
            Err(error) => {
                problem = error;
                continue;
            }
        };
        // /var/lock is usually a link to /run/lock; our own lock is no rival.
        if lock.files.iter().any(|held| same_file(held, &file)) {
            continue;
        }
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let holder = holder(root, &file);
                return Err(LockError::Held { path, holder });
            }
            Err(error) => {
                problem = error;
                continue;
            }
        }
        write_holder(&file);
        lock.files.push(file);
    }
    if lock.files.is_empty() {
        return Err(LockError::NoFolder { cause: problem.into() });
    }
    Ok(lock)
}

/// Opens the file, or creates it. Opening comes first and never asks to create: in a sticky folder
/// the kernel refuses that for another user's file (`fs.protected_regular`). Links of either kind,
/// and pipes that would block, are refused: anybody can leave one in /tmp.
fn open(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    // A file that vanishes or appears between two attempts is tried again, a few times.
    for _ in 0..4 {
        for access in [OFlags::RDWR, OFlags::RDONLY] {
            match rustix::fs::open(path, flags | access, Mode::empty()) {
                Ok(file) => return regular(File::from(file)),
                Err(Errno::ACCESS | Errno::ROFS) => {}
                Err(Errno::NOENT) => break,
                Err(error) => return Err(error),
            }
        }
        match rustix::fs::open(path, flags | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode) {
            Ok(file) => {
                // The mode given above was cut by the umask.
                let _ = rustix::fs::fchmod(&file, mode);
                return Ok(File::from(file));
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::AGAIN)
}

fn regular(file: File) -> Result<File, Errno> {
    match file.metadata() {
        // A second name may be that of a file which must not be emptied for our number.
        Ok(metadata) if metadata.is_file() && metadata.nlink() <= 1 => Ok(file),
        _ => Err(Errno::INVAL),
    }
}

fn same_file(a: &File, b: &File) -> bool {
    let identity = |file: &File| file.metadata().map(|meta| (meta.dev(), meta.ino())).ok();
    identity(a).is_some() && identity(a) == identity(b)
}

/// Our process id as the file's text; not possible in another user's file, which is fine, because
/// `/proc/locks` tells too.
fn write_holder(mut file: &File) {
    if file.set_len(0).is_ok() {
        let _ = writeln!(file, "{}", std::process::id());
    }
}

/// Who holds the lock: `/proc/locks` knows, the file's own text is the second best.
fn holder(root: &Root, file: &File) -> Option<u32> {
    let inode = file.metadata().map(|meta| meta.ino()).ok()?;
    let locks = root.text("proc/locks").unwrap_or_default();
    holder_in(&locks, inode).or_else(|| {
        let mut text = String::new();
        // Anybody may have made it, as long as there is room.
        file.take(HOLDER_BYTES_MAX).read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    })
}

/// Finds `1: FLOCK  ADVISORY  WRITE 1234 00:19:4711 0 EOF` by inode (the device numbers shown do
/// not match those of stat on some file systems). A holder in another pid namespace shows as 0.
fn holder_in(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, process, place, ..] = words[..] else { return None };
        let found: u64 = place.rsplit(':').next()?.parse().ok()?;
        (found == inode).then(|| process.parse().ok()).flatten().filter(|process| *process != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn root() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("folder");
        for sub in ["run/lock", "var", "tmp"] {
            std::fs::create_dir_all(folder.path().join(sub)).expect("create");
        }
        std::os::unix::fs::symlink("../run/lock", folder.path().join("var/lock")).expect("link");
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn the_second_is_refused_until_the_first_is_done() {
        let (_folder, root) = root();
        let first = acquire(&root).expect("lock");
        assert_eq!(first.files.len(), 2, "var/lock is run/lock: {:?}", first.files);
        let refusal = acquire(&root).expect_err("held").to_string();
        let own = format!("(process {})", std::process::id());
        assert!(refusal.contains(&own) && refusal.contains("wait for it"), "{refusal}");
        drop(first);
        acquire(&root).expect("free again");
    }

    #[test]
    fn one_who_can_only_use_the_last_folder_still_excludes_the_others() {
        let (folder, root) = root();
        let alone = Root::at(folder.path().join("user"));
        std::fs::create_dir_all(alone.path("")).expect("create");
        std::os::unix::fs::symlink("../tmp", alone.path("tmp")).expect("link");
        let first = acquire(&alone).expect("lock");
        assert_eq!(first.files.len(), 1);
        assert!(matches!(acquire(&root), Err(LockError::Held { .. })));
    }

    #[test]
    fn death_releases_it_and_links_are_not_followed() {
        let (folder, root) = root();
        let path = folder.path().join("tmp").join(FILE);
        std::os::unix::fs::symlink("/dev/null", &path).expect("link");
        let lock = acquire(&root).expect("the other folder is enough");
        assert_eq!(lock.files.len(), 1);
        drop(lock);
        std::fs::write(root.path("run/lock").join(FILE), "").expect("write");
        let mut child = std::process::Command::new("flock")
            .args(["--no-fork", "run/lock/coretwin.lock", "sleep", "60"])
            .current_dir(folder.path())
            .spawn()
            .expect("flock(1)");
        let held = || matches!(acquire(&root), Err(LockError::Held { .. }));
        while !held() {
            std::thread::yield_now();
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
        acquire(&root).expect("released by the kernel");
    }

    #[test]
    fn a_file_that_has_another_name_is_left_alone() {
        let (folder, root) = root();
        let precious = folder.path().join("precious");
        std::fs::write(&precious, "kept").expect("write");
        std::fs::hard_link(&precious, folder.path().join("tmp").join(FILE)).expect("link");
        let lock = acquire(&root).expect("the other folder is enough");
        assert_eq!(lock.files.len(), 1, "{:?}", lock.files);
        assert_eq!(std::fs::read_to_string(&precious).expect("read"), "kept");
    }

    #[test]
    fn no_folder_is_an_error_that_names_them() {
        let folder = tempfile::tempdir().expect("folder");
        let error = acquire(&Root::at(folder.path().join("none"))).expect_err("none").to_string();
        assert!(error.contains("/run/lock, /var/lock, /tmp"), "{error}");
    }

    #[test]
    fn holders_are_found_by_inode() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 00:19:4711 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 1234 00:19:4711 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 99 00:19:4711 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 0 00:19:12 0 EOF\n";
        assert_eq!(holder_in(locks, 4711), Some(1234));
        assert_eq!(holder_in(locks, 12), None);
        assert_eq!(holder_in(locks, 1), None);
    }

    proptest! {
        #[test]
        fn never_panics(locks in "([0-9]: FLOCK A W|[0-9: \\n]|\\PC)*") {
            let _ = holder_in(&locks, 1);
        }
    }
}
