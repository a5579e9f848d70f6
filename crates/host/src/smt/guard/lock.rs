//! The lock of a guard: whoever holds it leads, whoever waits for it is the understudy.
//!
//! The kernel releases the lock however the leader dies. The file is removed when the guard is over;
//! a waiting understudy then gets the lock of a file that is no more, and knows. What the leader
//! writes into the file tells whoever starts a guard that it is ready, and an understudy that
//! becomes leader what was seen before.

use super::identity::Identity;
use crate::root::Root;
use crate::smt::saved::{Slot, folder};
use coretwin_base::caps;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::{Errno, retry_on_intr};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) leader: u32,
    pub(super) understudy: u32,
    /// Whom it guards, as [`Identity`] writes it.
    pub(super) holder: String,
    /// Whether it stands: the understudy is started, and it is not about to end.
    pub(super) ready: bool,
    /// Whether the state was there once, so that its absence means that all is done.
    pub(super) armed: bool,
    /// In what it is weaker than it should be, a sentence each.
    pub(super) warnings: Vec<String>,
}

#[derive(Debug)]
pub(super) struct LockFile {
    file: File,
    path: PathBuf,
}

#[derive(Debug)]
pub(super) enum Looked {
    /// No file: no guard.
    Nobody,
    /// Held. The record is none while it is being written.
    Led(Option<Record>),
    /// Held by nobody: the guard is dead. While this lives, nobody can take it over.
    Abandoned(LockFile),
}

impl LockFile {
    pub(super) fn create(root: &Root, slot: Slot) -> io::Result<Self> {
        folder(root)?;
        let path = root.path(&slot.guard_lock());
        Self::open(path, OFlags::CREATE).map_err(Into::into)
    }

    pub(super) fn open_existing(root: &Root, slot: Slot) -> io::Result<Option<Self>> {
        match Self::open(root.path(&slot.guard_lock()), OFlags::empty()) {
            Ok(lock) => Ok(Some(lock)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn open(path: PathBuf, more: OFlags) -> Result<Self, Errno> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
        let file = open(&path, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(Self { file: File::from(file), path })
    }

    pub(super) fn look(root: &Root, slot: Slot) -> io::Result<Looked> {
        let Some(mut lock) = Self::open_existing(root, slot)? else { return Ok(Looked::Nobody) };
        match flock(&lock.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Looked::Abandoned(lock)),
            Err(Errno::WOULDBLOCK) => Ok(Looked::Led(lock.record())),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the lock. It is had until this is dropped or the process ends.
    pub(super) fn wait(&self) -> io::Result<()> {
        Ok(retry_on_intr(|| flock(&self.file, FlockOperation::LockExclusive))?)
    }

    pub(super) fn is_current(&self) -> bool {
        let identity = |meta: io::Result<std::fs::Metadata>| meta.map(|m| (m.dev(), m.ino())).ok();
        let own = identity(self.file.metadata());
        own.is_some() && own == identity(self.path.symlink_metadata())
    }

    /// The record in the file; `None` if there is none or it is being written.
    pub(super) fn record(&mut self) -> Option<Record> {
        self.file.rewind().ok()?;
        let text = caps::STATE.text(&self.file).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Replaces the record in one write, so that whoever is killed meanwhile leaves one: a shorter
    /// one is filled up with blanks. Only for whoever has the lock.
    pub(super) fn write(&mut self, record: &Record) -> io::Result<()> {
        let length = usize::try_from(self.file.metadata()?.len()).unwrap_or(0);
        let text = format!("{:<1$}\n", serde_json::to_string(record)?, length.saturating_sub(1));
        self.file.write_all_at(text.as_bytes(), 0)
    }

    /// Removes the file, if it is still the one under its name. Only for whoever has the lock.
    pub(super) fn remove(&self) {
        if self.is_current() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Record {
    pub(super) fn stands_for(&self, holder: Identity) -> bool {
        self.ready && self.holder == holder.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_tells_who_leads_and_an_abandoned_one_is_seen() {
        let (_folder, root) = crate::fake::of_files(&[]);
        let look = || LockFile::look(&root, Slot::Study).expect("look");
        assert!(matches!(look(), Looked::Nobody));
        let mut lock = LockFile::create(&root, Slot::Study).expect("create");
        lock.wait().expect("lock");
        assert!(matches!(look(), Looked::Led(None)), "nothing is written yet");
        let holder = Identity::own(&Root::system());
        let record = Record { leader: 7, holder: holder.to_string(), ..Record::default() };
        lock.write(&record).expect("write");
        lock.write(&Record { ready: true, ..record }).expect("write");
        let Looked::Led(Some(record)) = look() else { panic!("led") };
        assert!(record.stands_for(holder) && record.leader == 7);
        drop(lock);
        let Looked::Abandoned(lock) = look() else { panic!("abandoned") };
        assert!(lock.is_current());
        lock.remove();
        assert!(!lock.is_current() && matches!(look(), Looked::Nobody));
    }

    #[test]
    fn there_is_a_record_at_every_moment() {
        let (_folder, root) = crate::fake::of_files(&[]);
        let mut lock = LockFile::create(&root, Slot::Study).expect("create");
        let long = Record { warnings: vec!["a long sentence".to_owned()], ..Record::default() };
        lock.write(&long).expect("write");
        let length = lock.file.metadata().expect("file").len();
        for record in [Record::default(), long] {
            lock.write(&record).expect("write");
            // A file that shrinks was empty for a moment.
            assert_eq!(lock.file.metadata().expect("file").len(), length);
            assert_eq!(lock.record(), Some(record));
        }
    }

    #[test]
    fn links_are_not_followed() {
        let (_folder, root) = crate::fake::of_files(&[]);
        std::fs::create_dir_all(root.path("run/coretwin")).expect("create");
        std::os::unix::fs::symlink("/etc/passwd", root.path(&Slot::Study.guard_lock()))
            .expect("link");
        assert!(LockFile::create(&root, Slot::Study).is_err());
        assert!(LockFile::look(&root, Slot::Study).is_err());
    }
}
