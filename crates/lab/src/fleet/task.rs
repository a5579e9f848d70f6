//! A task on its machine: its folder, its lock, its bundle.
//!
//! The folder is one for each task *and machine*, because a task that is started again may come to
//! another machine, and a study must not go on there. Everything a task writes has its own name, so
//! the fleet's folder may lie on a shared file system.

use crate::error::Error;
use crate::machine::{MachineError, Stop};
use coretwin_base::caps;
use coretwin_base::fleet::plan::{BundleHolds, FleetPlan, Manifest, Task};
use coretwin_base::fleet::{MachineId, MemberState};
use coretwin_base::schema::SCHEMA;
use coretwin_store::fleet_bundle::{self, FleetBundle};
use coretwin_store::fleet_folder::{BUNDLES, FleetFolder, WORK};
use coretwin_store::recording::RECORDING;
use coretwin_store::{ENVIRONMENT, JOURNAL, PLAN};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Clone)]
pub struct TaskHere<'a> {
    pub fleet: &'a FleetFolder,
    pub plan: &'a FleetPlan,
    pub task: &'a Task,
    pub machine: MachineId,
    pub node: String,
}

impl TaskHere<'_> {
    pub fn folder(&self) -> PathBuf {
        self.fleet.path(WORK).join(format!("task-{:04}-{}", self.task.number, self.machine))
    }

    pub fn results(&self) -> PathBuf {
        self.folder().join("study")
    }

    pub(crate) fn try_lock(&self) -> Result<Option<File>, Error> {
        let folder = self.folder();
        let problem = |error: std::io::Error| {
            Error::NotPossible(format!("cannot write {}: {error}", folder.display()))
        };
        fs::create_dir_all(&folder).map_err(problem)?;
        let path = folder.join("lock");
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(problem)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        file.set_len(0).map_err(problem)?;
        file.write_all(std::process::id().to_string().as_bytes()).map_err(problem)?;
        Ok(Some(file))
    }

    /// Takes the task's lock, and waits for another try of it to end. Errors: as
    /// [`Self::try_lock`]; [`MachineError::Stopped`] if `stop` is raised meanwhile.
    pub fn lock(&self, stop: &Stop) -> Result<File, Error> {
        loop {
            if let Some(lock) = self.try_lock()? {
                return Ok(lock);
            }
            if stop.raised() {
                return Err(MachineError::Stopped.into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    pub fn holder(&self) -> Option<u32> {
        let mut file = File::open(self.folder().join("lock")).ok()?;
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return None;
        }
        file.rewind().ok()?;
        let text = caps::STATE.text(file).ok()?;
        text.trim().parse().ok()
    }

    /// The bundle of this task and machine, if there is one, with whether it is complete. Of
    /// several a complete one, else the last by name.
    pub fn bundle(&self) -> Result<Option<(PathBuf, Manifest)>, Error> {
        let mut found = self.bundles()?;
        found.sort_by_key(|(_, manifest)| manifest.state == MemberState::Complete);
        Ok(found.pop())
    }

    /// Bundles of this task and machine that read; what is wrong with others, a merge says.
    fn bundles(&self) -> Result<Vec<(PathBuf, Manifest)>, Error> {
        let all = self.fleet.bundles().map_err(unwritable)?;
        let begin = format!("{}-", self.machine);
        let of_machine = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin))
        };
        Ok(all
            .into_iter()
            .filter(of_machine)
            .filter_map(|path| FleetBundle::manifest_of(&path).ok().map(|found| (path, found)))
            .filter(|(_, found)| found.task == self.task.number && found.fleet == self.plan.digest)
            .collect())
    }

    /// Makes a bundle of what is in the task's folder, and takes away the partial one of an earlier
    /// try.
    pub fn pack(&self, holds: BundleHolds, state: MemberState) -> Result<PathBuf, Error> {
        let earlier = self.bundles()?;
        let names: &[&str] = match holds {
            BundleHolds::Study | BundleHolds::Survey => &[PLAN, JOURNAL, ENVIRONMENT],
            BundleHolds::Sweep => &["sweep.json", "cells.jsonl"],
            BundleHolds::Recording => &[RECORDING],
        };
        let folder = self.results();
        let path = pack(self, &folder, names, holds, state)?;
        for (other, _) in earlier.into_iter().filter(|(other, _)| *other != path) {
            let _ = fs::remove_file(other);
        }
        Ok(path)
    }
}

pub fn pack(
    here: &TaskHere<'_>,
    folder: &Path,
    names: &[&str],
    holds: BundleHolds,
    state: MemberState,
) -> Result<PathBuf, Error> {
    let manifest = Manifest {
        schema: SCHEMA,
        coretwin: env!("CARGO_PKG_VERSION").to_owned(),
        fleet: here.plan.digest.clone(),
        task: here.task.number,
        machine: here.machine.clone(),
        name: here.node.clone(),
        holds,
        state,
        files: BTreeMap::new(),
    };
    let files = names.iter().map(|name| (*name, folder.join(name)));
    // A study that was stopped before its first reading has no journal, and knows no environment.
    let files: Vec<(&str, PathBuf)> =
        files.filter(|(name, path)| *name == PLAN || path.exists()).collect();
    fleet_bundle::write(&here.fleet.path(BUNDLES), manifest, &files).map_err(unwritable)
}

pub(super) fn unwritable(error: coretwin_store::Error) -> Error {
    Error::NotPossible(error.to_string())
}
