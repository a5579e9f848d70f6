//! The folder itself: `plan.json`, `journal.jsonl`, `environment.json`, `summary.json`, reports.

use crate::disk::{self, Disk};
use crate::error::Error;
use crate::journal::{Journal, read_journal};
use crate::line::{Extent, record};
use crate::scan::Read;
use coretwin_base::account::cputime::result::CputimeSummary;
use coretwin_base::caps::{self, Cap};
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::summary::Summary;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub const PLAN: &str = "plan.json";
pub const JOURNAL: &str = "journal.jsonl";
pub const ENVIRONMENT: &str = "environment.json";
/// Derived: what came of an experiment of `cputime`.
pub const CPUTIME: &str = "cputime.json";
/// Derived: effects and verdicts.
pub const SUMMARY: &str = "summary.json";

#[derive(Debug, Clone)]
pub struct Bundle {
    folder: PathBuf,
    owner: Option<(u32, u32)>,
}

impl Bundle {
    /// Makes a folder for a new study and stores its plan. With `owner`, everything written belongs to
    /// that user and group (a study under sudo leaves nothing of root's behind). Errors: if the folder
    /// holds a study already, or cannot be made.
    pub fn create(folder: &Path, plan: &Plan, owner: Option<(u32, u32)>) -> Result<Self, Error> {
        let bundle = Self { folder: folder.to_owned(), owner };
        if [PLAN, JOURNAL].iter().any(|file| bundle.path(file).exists()) {
            return Err(Error::Occupied { folder: folder.to_owned() });
        }
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.exists())
            .collect();
        fs::create_dir_all(folder).map_err(|source| Error::io("make", folder, source))?;
        missing.iter().try_for_each(|made| bundle.give_folder(made))?;
        if let Err(error) = bundle.write_json(PLAN, plan) {
            // A folder without a plan is no study; best effort, the error is what matters.
            missing.iter().for_each(|made| drop(fs::remove_dir(made)));
            return Err(error);
        }
        Ok(bundle)
    }

    /// Opens the folder of an existing study and reads its plan. What a plan of boots could not know
    /// when it was drawn (their CPUs, whether SMT was active) is filled in from the environment.
    /// Errors: if there is no study, or its plan (of boots: or environment) does not read or is from a
    /// newer version.
    pub fn open(folder: &Path, owner: Option<(u32, u32)>) -> Result<(Self, Plan), Error> {
        let bundle = Self { folder: folder.to_owned(), owner };
        if !bundle.path(PLAN).exists() {
            return Err(Error::NotAStudy { folder: folder.to_owned(), file: PLAN });
        }
        let plan = bundle.read_json::<Plan>(PLAN)?;
        plan.check().map_err(|what| Error::wrong(&bundle.path(PLAN), what))?;
        if plan.reboots() {
            let boots = bundle.environment()?.boots;
            return Ok((bundle, plan.with_boots(&boots)));
        }
        Ok((bundle, plan))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Opens the journal of this plan for appending. Errors: as [`Journal::open`], or if the plan
    /// contradicts a reading.
    pub fn journal(&self, plan: &Plan) -> Result<(Journal, Read), Error> {
        let path = self.path(JOURNAL);
        let (journal, read) = Journal::open(&path)?;
        disk::give(journal.file(), self.owner)
            .map_err(|source| Error::io("give away", &path, source))?;
        Ok((journal, read.of_plan(plan, &path)?))
    }

    /// Reads the journal of this plan; a study broken off before its first reading has none yet.
    /// Errors: as [`read_journal`], or if the plan contradicts a reading.
    pub fn readings(&self, plan: &Plan, extent: Extent) -> Result<Read, Error> {
        let path = self.path(JOURNAL);
        let read = if path.exists() { read_journal(&path, extent)? } else { Read::default() };
        read.of_plan(plan, &path)
    }

    /// Reads the environment; empty if the study was broken off before it was written.
    pub fn environment(&self) -> Result<Environment, Error> {
        let exists = self.path(ENVIRONMENT).exists();
        if exists { self.read_json(ENVIRONMENT) } else { Ok(Environment::default()) }
    }

    /// Errors: if there is none, it does not read, or it is from a newer version.
    pub fn summary(&self) -> Result<Summary, Error> {
        self.read_json(SUMMARY)
    }

    /// Errors: as [`Bundle::summary`].
    pub fn cputime(&self) -> Result<CputimeSummary, Error> {
        self.read_json(CPUTIME)
    }

    /// Writes a record as JSON, whole or not at all.
    pub fn write_json<T: Serialize>(&self, file: &str, record: &T) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(record)
            .map_err(|error| Error::io("write", &self.path(file), error.into()))?;
        text.push('\n');
        self.write(file, text.as_bytes())
    }

    /// Writes a file, whole or not at all.
    pub fn write(&self, file: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path(file);
        let temporary = self.path(&format!(".{file}.new"));
        Disk::giving_to(self.owner)
            .replace(&path, &temporary, bytes)
            .map_err(|source| Error::writing(&path, bytes.len() as u64, source))
    }

    /// Gives a folder away that was just made, if it still is that: not what it became a link to.
    fn give_folder(&self, path: &Path) -> Result<(), Error> {
        let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
        let mut options = fs::OpenOptions::new();
        let opened = options.read(true).custom_flags(flags.bits().cast_signed()).open(path);
        opened
            .and_then(|folder| disk::give(&folder, self.owner))
            .map_err(|source| Error::io("give away", path, source))
    }

    fn read_json<T: DeserializeOwned>(&self, file: &str) -> Result<T, Error> {
        let path = self.path(file);
        record(&path, 0, &read_capped(&caps::RECORD, &path)?)
    }
}

pub(crate) fn read_capped(cap: &'static Cap, path: &Path) -> Result<Vec<u8>, Error> {
    let read = File::open(path).and_then(|file| cap.read(file));
    read.map_err(|source| Error::io("read", path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_no_rest_is_left() {
        let folder = tempfile::tempdir().expect("folder");
        let bundle = Bundle { folder: folder.path().to_owned(), owner: None };
        bundle.write("report.md", b"one").expect("write");
        bundle.write("report.md", b"two").expect("write again");
        assert_eq!(fs::read(bundle.path("report.md")).expect("read"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 1);
    }

    #[test]
    fn a_folder_without_a_plan_is_no_study() {
        let folder = tempfile::tempdir().expect("folder");
        let error = Bundle::open(folder.path(), None).expect_err("no study").to_string();
        assert!(error.contains("holds no study") && error.contains("plan.json"), "{error}");
    }

    #[test]
    fn a_broken_file_is_named_with_line_and_column() {
        let folder = tempfile::tempdir().expect("folder");
        fs::write(folder.path().join(PLAN), "{\n\"schema\": 1,\n\"arms\": 7}").expect("write");
        let error = Bundle::open(folder.path(), None).expect_err("broken").to_string();
        assert!(error.contains("plan.json: line 3, column 9: field arms: invalid"), "{error}");
        fs::write(folder.path().join(PLAN), "{\"schema\": 2}").expect("write");
        let error = Bundle::open(folder.path(), None).expect_err("newer").to_string();
        assert!(error.contains("schema 2"), "{error}");
    }
}
