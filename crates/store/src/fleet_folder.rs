//! The folder of a fleet: `fleet.json`, `bundles/`, `work/`, `log/`, `merged/`.
//!
//! It may lie on a file system that many machines share: a task writes only to files of its own, and
//! a bundle appears whole.

use crate::bundle::read_capped;
use crate::disk::{Disk, temporary};
use crate::error::Error;
use crate::fleet_bundle::{ENDING, sha256};
use crate::line::record;
use coretwin_base::caps;
use coretwin_base::fleet::plan::FleetPlan;
use coretwin_base::fleet::{Fleet, Member, Refused};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub const FLEET: &str = "fleet.json";
/// One file a machine.
pub const BUNDLES: &str = "bundles";
/// Studies under way, one folder a task and machine.
pub const WORK: &str = "work";
pub const LOGS: &str = "log";
/// What a merge made.
pub const MERGED: &str = "merged";
/// A [`Member`] a line.
pub(crate) const MEMBERS: &str = "members.jsonl";
/// A [`Refused`] a line.
pub(crate) const REFUSED: &str = "refused.jsonl";
/// What the bundles were when they were merged.
const STAMP: &str = "stamp";

#[derive(Debug, Clone)]
pub struct FleetFolder {
    folder: PathBuf,
}

impl FleetFolder {
    /// Makes a folder for a new fleet: the plan, with its digest filled in, and files for its engine
    /// beside it. Errors: if the folder holds a fleet already, or cannot be written.
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

    /// Errors: if there is none, or its plan does not read, was altered, or is from a newer version.
    pub fn open(folder: &Path) -> Result<(Self, FleetPlan), Error> {
        let fleet = Self { folder: folder.to_owned() };
        let path = fleet.path(FLEET);
        if !path.exists() {
            return Err(Error::NotAFleet { folder: folder.to_owned() });
        }
        let plan: FleetPlan = record(&path, 0, &read_capped(&caps::RECORD, &path)?)?;
        let bad = |what: String| Error::wrong(&path, what);
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

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path(name);
        Disk::default()
            .replace(&path, &temporary(&path), bytes)
            .map_err(|source| Error::writing(&path, bytes.len() as u64, source))?;
        Ok(path)
    }

    /// Every bundle, sorted.
    pub fn bundles(&self) -> Result<Vec<PathBuf>, Error> {
        bundles_in(&self.path(BUNDLES))
    }

    /// The log of a task, where its engine keeps one here.
    pub fn log(&self, task: u32) -> PathBuf {
        self.path(LOGS).join(format!("task-{task}.log"))
    }

    /// Stores what a merge of files with that stamp found. Each file that was there stays until the new
    /// one is whole.
    pub fn write_merged(&self, fleet: &Fleet, stamp: &str) -> Result<(), Error> {
        let merged = self.path(MERGED);
        fs::create_dir_all(&merged).map_err(|source| Error::io("make", &merged, source))?;
        store_merged(&mut Disk::default(), &merged, fleet, stamp)
    }

    /// What did not count at the last merge; nothing if there was none.
    pub fn refused(&self) -> Result<Vec<Refused>, Error> {
        let path = self.path(MERGED).join(REFUSED);
        if !path.exists() {
            return Ok(Vec::new());
        }
        read_lines(&path, |_| ())
    }

    /// Reads what the last merge found, if it was of files with that stamp; equal texts are kept once.
    pub fn merged(&self, stamp: &str) -> Result<Option<Fleet>, Error> {
        let mut known = BTreeSet::new();
        let merged = self.path(MERGED);
        let stored = read_capped(&caps::STATE, &merged.join(STAMP)).unwrap_or_default();
        if !sealed(&merged, stamp).is_ok_and(|sealed| sealed.as_bytes() == stored) {
            return Ok(None);
        }
        let members = read_lines(&merged.join(MEMBERS), |member: &mut Member| {
            member.share(&mut known);
        })?;
        let refused = read_lines(&merged.join(REFUSED), |_: &mut Refused| ())?;
        Ok(Some(Fleet { members, refused }))
    }
}

/// Stands for bundles as they are now, for a plan and this version of the program: another as soon as
/// one of them is changed, in place too, or comes, or goes.
pub fn stamp(plan: &FleetPlan, files: &[PathBuf]) -> String {
    let mut text = format!("{}\n{}\n", env!("CARGO_PKG_VERSION"), plan.digest);
    for path in files {
        // One that cannot be looked at (a link to nowhere) is refused by the merge, and stays one.
        text += &of_file(path).unwrap_or_else(|error| format!("{} {error}\n", path.display()));
    }
    sha256(text.as_bytes())
}

fn of_file(path: &Path) -> Result<String, Error> {
    let of = fs::metadata(path).map_err(|source| Error::io("read", path, source))?;
    // The kernel's own time of the last change, which nobody can set.
    let changed = (of.ctime(), of.ctime_nsec());
    Ok(format!("{} {} {} {changed:?}\n", path.display(), of.ino(), of.len()))
}

/// A stamp, and what a merge made of the bundles it stands for, so that a changed merge is found, too.
fn sealed(merged: &Path, stamp: &str) -> Result<String, Error> {
    let [members, refused] = [MEMBERS, REFUSED].map(|name| of_file(&merged.join(name)));
    Ok(format!("{stamp}\n{}\n", sha256((members? + &refused?).as_bytes())))
}

/// Every bundle in a folder, sorted; empty if there is no such folder.
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

fn store_merged(disk: &mut Disk, merged: &Path, fleet: &Fleet, stamp: &str) -> Result<(), Error> {
    // The stamp goes first and comes last, so that it never stands for anything else.
    let path = merged.join(STAMP);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("replace", &path, error));
        }
        _ => {}
    }
    write_lines(disk, &merged.join(MEMBERS), &fleet.members)?;
    write_lines(disk, &merged.join(REFUSED), &fleet.refused)?;
    disk.replace(&path, &temporary(&path), sealed(merged, stamp)?.as_bytes())
        .map_err(|source| Error::writing(&path, 4096, source))
}

fn write_lines<T: Serialize>(disk: &mut Disk, path: &Path, records: &[T]) -> Result<(), Error> {
    let written = disk.replace_by(path, &temporary(path), |out| {
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
    let mut file = BufReader::new(File::open(path).map_err(problem)?).take(caps::JOURNAL.bytes);
    let mut line = Vec::new();
    while caps::LINE.line(&mut file, &mut line).map_err(problem)? > 0 {
        let mut one = record(path, found.len(), &line)?;
        take(&mut one);
        found.push(one);
    }
    if file.limit() == 0 { Err(problem(caps::JOURNAL.exceeded())) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::faults;

    fn refused(count: usize, reason: &str) -> Fleet {
        let one = |number| Refused { file: format!("b-{number}"), reason: reason.to_owned() };
        Fleet { members: Vec::new(), refused: (0..count).map(one).collect() }
    }

    #[test]
    fn under_any_faults_a_merge_is_the_old_one_or_the_new_one() {
        let scratch = tempfile::tempdir().expect("folder");
        let folder = FleetFolder { folder: scratch.path().to_owned() };
        // More than a buffer, so that it is written in pieces.
        let [old, new] = [refused(3, "old"), refused(800, "new")];
        folder.write_merged(&old, "old").expect("no faults yet");
        let merged = folder.path(MERGED);
        let before = fs::read(merged.join(REFUSED)).expect("old");
        let refused_now =
            || -> Vec<Refused> { read_lines(&merged.join(REFUSED), |_| ()).expect("whole") };
        let (mut made, mut failed) = (0, 0);
        let seeds = faults::seeds(500);
        for seed in 0..seeds {
            fs::write(merged.join(REFUSED), &before).expect("old");
            fs::write(merged.join(STAMP), sealed(&merged, "old").expect("files")).expect("old");
            let mut disk = Disk { faults: Some(faults::Faults::new(seed)), ..Disk::default() };
            let stored = store_merged(&mut disk, &merged, &new, "new");
            assert_eq!(folder.merged("old").expect("it reads"), None, "seed {seed}");
            let found = folder.merged("new").expect("it reads");
            match stored {
                Ok(()) => assert_eq!(found.as_ref(), Some(&new), "seed {seed}"),
                Err(error) => {
                    assert_eq!(found, None, "seed {seed}");
                    let refused = refused_now();
                    assert!(refused == old.refused || refused == new.refused, "seed {seed}");
                    let text = error.to_string();
                    assert!(text.contains("free at least") || text.contains("error"), "{text}");
                    failed += 1;
                }
            }
            let names = fs::read_dir(&merged).expect("folder").flatten();
            let left = names.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
            assert_eq!(left.count(), 0, "seed {seed}: something is left beside");
            made += disk.faults.map_or(0, |faults| faults.made);
        }
        faults::tell(made);
        // By hand: then it is no longer what a merge found.
        folder.write_merged(&new, "new").expect("no faults");
        assert_eq!(folder.merged("new").expect("it reads"), Some(new));
        fs::write(merged.join(REFUSED), &before).expect("by hand");
        assert_eq!(folder.merged("new").expect("it reads"), None);
        assert!(made > seeds / 2 && failed > seeds / 10 && failed < seeds, "{made}, {failed}");
    }
}
