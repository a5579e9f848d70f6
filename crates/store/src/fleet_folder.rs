//! The folder of a fleet: `fleet.json`, `bundles/`, `work/`, `log/`, `merged/`.
//!
//! It may lie on a file system that many machines share: a task writes only to files of its own, and
//! a bundle appears whole.

use crate::error::Error;
use crate::fleet_bundle::{ENDING, sha256};
use crate::line::record;
use coretwin_base::fleet::{Fleet, Member, Refused};
use coretwin_base::fleet_plan::FleetPlan;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// The plan.
pub const FLEET: &str = "fleet.json";
/// One file a machine.
pub const BUNDLES: &str = "bundles";
/// Studies under way, one folder a task and machine.
pub const WORK: &str = "work";
/// What tasks said, one file a task.
pub const LOGS: &str = "log";
/// What a merge made.
pub const MERGED: &str = "merged";
/// A [`Member`] a line.
pub const MEMBERS: &str = "members.jsonl";
/// A [`Refused`] a line.
pub const REFUSED: &str = "refused.jsonl";

/// A fleet's folder.
#[derive(Debug, Clone)]
pub struct FleetFolder {
    folder: PathBuf,
}

impl FleetFolder {
    /// Makes a folder for a new fleet: the plan, with its digest filled in, and files for its engine
    /// beside it.
    ///
    /// # Errors
    /// If the folder holds a fleet already, or cannot be written.
    pub fn create(folder: &Path, plan: &mut FleetPlan) -> Result<Self, Error> {
        let fleet = Self { folder: folder.to_owned() };
        let path = fleet.path(FLEET);
        if path.exists() {
            return Err(Error::FleetOccupied { folder: folder.to_owned() });
        }
        for made in [fleet.path(BUNDLES), fleet.path(LOGS), fleet.path(WORK)] {
            fs::create_dir_all(&made).map_err(|source| Error::io("make", &made, source))?;
        }
        let json = |error: serde_json::Error| Error::io("write", &path, error.into());
        plan.digest = sha256(plan.digested().map_err(json)?.as_bytes());
        let text = serde_json::to_string_pretty(plan).map_err(json)? + "\n";
        fleet.write(FLEET, text.as_bytes())?;
        Ok(fleet)
    }

    /// Opens a fleet's folder and reads its plan.
    ///
    /// # Errors
    /// If there is none, or its plan does not read, was altered, or is from a newer version.
    pub fn open(folder: &Path) -> Result<(Self, FleetPlan), Error> {
        let fleet = Self { folder: folder.to_owned() };
        let path = fleet.path(FLEET);
        if !path.exists() {
            return Err(Error::NotAFleet { folder: folder.to_owned() });
        }
        let bytes = fs::read(&path).map_err(|source| Error::io("read", &path, source))?;
        let plan: FleetPlan = record(&path, 0, &bytes)?;
        let bad = |what: String| Error::Plan { path: path.clone(), what };
        plan.check().map_err(bad)?;
        let digested = plan.digested().map_err(|error| bad(error.to_string()))?;
        // A newer program may have written fields that this one does not know; they count too.
        if plan.coretwin == env!("CARGO_PKG_VERSION") && sha256(digested.as_bytes()) != plan.digest
        {
            return Err(bad(
                "it was altered since it was drawn (field digest); draw another fleet \
                            with coretwin fleet plan"
                    .to_owned(),
            ));
        }
        Ok((fleet, plan))
    }

    /// Path of a file or folder in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path(name);
        replace(&path, |out| out.write_all(bytes))
            .map_err(|source| Error::writing(&path, bytes.len() as u64, source))?;
        Ok(path)
    }

    /// Every bundle, sorted.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn bundles(&self) -> Result<Vec<PathBuf>, Error> {
        bundles_in(&self.path(BUNDLES))
    }

    /// Stores what a merge found.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_merged(&self, fleet: &Fleet) -> Result<(), Error> {
        let merged = self.path(MERGED);
        fs::create_dir_all(&merged).map_err(|source| Error::io("make", &merged, source))?;
        write_lines(&merged.join(MEMBERS), &fleet.members)?;
        write_lines(&merged.join(REFUSED), &fleet.refused)
    }

    /// Reads what the last merge found; equal texts are kept once.
    ///
    /// # Errors
    /// If nothing was merged yet, or it does not read.
    pub fn merged(&self) -> Result<Fleet, Error> {
        let mut known = BTreeSet::new();
        let merged = self.path(MERGED);
        let members = read_lines(&merged.join(MEMBERS), |member: &mut Member| {
            member.share(&mut known);
        })?;
        let refused = read_lines(&merged.join(REFUSED), |_: &mut Refused| ())?;
        Ok(Fleet { members, refused })
    }
}

/// Every bundle in a folder, sorted; none if there is no such folder.
///
/// # Errors
/// If it cannot be read.
pub fn bundles_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let problem = |source| Error::io("read", folder, source);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(problem)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(problem)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(ENDING) && !name.starts_with('.') {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn write_lines<T: Serialize>(path: &Path, records: &[T]) -> Result<(), Error> {
    let written = replace(path, |out| {
        records.iter().try_for_each(|record| {
            serde_json::to_writer(&mut *out, record)?;
            out.write_all(b"\n")
        })
    });
    written.map_err(|source| Error::writing(path, 4096 * records.len() as u64, source))
}

fn read_lines<T: DeserializeOwned>(
    path: &Path,
    mut take: impl FnMut(&mut T),
) -> Result<Vec<T>, Error> {
    let problem = |source| Error::io("read", path, source);
    let mut found = Vec::new();
    for (number, line) in BufReader::new(File::open(path).map_err(problem)?).lines().enumerate() {
        let mut one = record(path, number, line.map_err(problem)?.as_bytes())?;
        take(&mut one);
        found.push(one);
    }
    Ok(found)
}

/// Writes a file, whole or not at all.
fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.new"));
    let written = (|| {
        let mut out = io::BufWriter::new(File::create(&temporary)?);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&temporary, path)?;
        // The rename itself must survive a crash: the folder is synced too.
        File::open(folder)?.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
