//! What the process that holds the scheduler leaves in `/run` for everybody else: who it is, for whom
//! and with which options it loaded, what it counts, and, at the end, how that came.
//!
//! The file is replaced as a whole, so nobody reads half of it. It says nothing about an earlier boot,
//! and of a process that is gone it says what was last known: whether the scheduler is in charge, the
//! kernel says.

use crate::Error;
use crate::root::{Root, replace};
use crate::smt::capture;
use crate::smt::saved::{self, Holder};
use coretwin_base::printable::printable;
use coretwin_base::schema::{self, SCHEMA};
use coretwin_base::simulation::live::Options;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

pub const FILE: &str = "run/coretwin/sched.json";
/// What ran and what waited when the kernel last ejected a scheduler, in the kernel's words.
pub const DUMP: &str = "run/coretwin/sched-dump.txt";

/// What the process that holds a scheduler leaves in `/run/coretwin/sched.json` each second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub schema: u32,
    pub boot_id: String,
    /// The process that holds it; when that ends, the kernel's own scheduler takes over.
    pub keeper: Holder,
    /// The study it was loaded for; `None` if by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<Holder>,
    /// When it was loaded, in UTC, `2026-01-31T12:00:00Z`.
    pub loaded_utc: String,
    pub options: Options,
    /// Programs of which it knows who goes well with whom on a core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partners: Vec<String>,
    /// When these were counted.
    pub counted_utc: String,
    /// By the names that `sched status` explains.
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
    /// The cores as it sees them, in its own order.
    #[serde(default)]
    pub cores: Vec<Core>,
    /// How it ended; `None` while it is loaded, and if its process was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    /// Its CPUs that are online.
    pub online: u32,
    /// Its CPUs that run a task.
    pub running: u32,
    /// Tasks that wait there.
    pub queued: u32,
}

/// How it ended: the kernel's number and words, and what they mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The kernel's number for the kind of end (`enum scx_exit_kind`, kernel/sched/ext.c).
    pub kind: u64,
    /// A number that the scheduler or the kernel added.
    #[serde(default)]
    pub code: i64,
    /// The kernel's words for the kind.
    pub reason: String,
    /// The kernel's words for this case; may be empty.
    pub message: String,
    pub explanation: String,
    /// The file with the kernel's dump of that moment: what ran and what waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dump: Option<String>,
}

impl Ending {
    /// What it means, and where the kernel's dump is.
    pub fn story(&self) -> String {
        let dump = self.dump.iter().map(|path| format!("; what ran and waited then: {path}"));
        self.explanation.clone() + &dump.collect::<String>()
    }
}

impl Record {
    /// A record of this process, for a study or for itself.
    pub fn new(root: &Root, options: Options, study: Option<u32>, now_utc: String) -> Self {
        Self {
            schema: SCHEMA,
            boot_id: capture::machine(root).boot_id,
            keeper: capture::holder(root, std::process::id()),
            study: study.map(|process| capture::holder(root, process)),
            loaded_utc: now_utc.clone(),
            options,
            partners: Vec::new(),
            counted_utc: now_utc,
            counters: BTreeMap::new(),
            cores: Vec::new(),
            ending: None,
        }
    }

    /// Whether its process still runs, in this boot.
    pub fn is_kept(&self, root: &Root) -> bool {
        self.is_of_this_boot(root) && capture::is_alive(root, &self.keeper)
    }

    pub fn is_of_this_boot(&self, root: &Root) -> bool {
        capture::machine(root).boot_id == self.boot_id
    }
}

/// Reads the record; `None` if there is none. Errors: [`Error::Read`], or [`Error::Content`] for
/// what is no record.
pub fn read(root: &Root) -> Result<Option<Record>, Error> {
    let path = root.path(FILE);
    let text = match root.text(FILE) {
        Ok(text) => text,
        Err(Error::Read { cause, .. }) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let content = |path: PathBuf, why: String| Error::Content { path, why };
    let record: Record =
        serde_json::from_str(&text).map_err(|error| content(path.clone(), error.to_string()))?;
    schema::check(record.schema).map_err(|newer| content(path, newer.to_string()))?;
    Ok(Some(record))
}

pub fn write(root: &Root, record: &Record) -> Result<(), Error> {
    let path = root.path(FILE);
    let written = (|| {
        drop(saved::folder(root)?);
        replace(&path, &(serde_json::to_string(record)? + "\n"))
    })();
    written.map_err(|cause| Error::Write { path, cause })
}

/// Keeps the kernel's dump, in place of an earlier one; its path, or `None` where there is nothing to keep.
/// Names of tasks stand in it, so control characters are shown.
pub fn write_dump(root: &Root, dump: &str) -> Result<Option<String>, Error> {
    if dump.is_empty() {
        return Ok(None);
    }
    let path = root.path(DUMP);
    let lines: String = dump.lines().map(|line| format!("{}\n", printable(line))).collect();
    match saved::folder(root).and_then(|_| replace(&path, &lines)) {
        Ok(()) => Ok(Some(path.display().to_string())),
        Err(cause) => Err(Error::Write { path, cause }),
    }
}

pub fn remove(root: &Root) -> Result<(), Error> {
    let path = root.path(FILE);
    match std::fs::remove_file(&path) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Err(Error::Write { path, cause }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_dead_keeper_keeps_nothing() {
        let (folder, root) = crate::fake::written("vm-adjacent");
        assert_eq!(read(&root).expect("none"), None);
        let mut record = Record::new(&root, Options::default(), Some(77), "now".to_owned());
        record.counters.insert("decisions".to_owned(), 5);
        write(&root, &record).expect("written");
        assert_eq!(read(&root).expect("readable").expect("there"), record);
        assert!(!record.is_kept(&root), "this process is not in the fake /proc");
        let living = Root::system();
        let record = Record::new(&living, Options::default(), None, "now".to_owned());
        assert!(record.is_kept(&living));
        assert!(!Record { boot_id: "earlier".to_owned(), ..record }.is_kept(&living));
        std::fs::write(folder.path().join(FILE), "{\"schema\":1").expect("written");
        let error = read(&root).expect_err("torn").to_string();
        assert!(error.contains("sched.json: "), "{error}");
    }
}
