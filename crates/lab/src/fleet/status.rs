//! How far a fleet is: what is there, what is missing, how it is finished.

use super::child::last_words;
use super::engine::Known;
use coretwin_base::fleet::plan::{FleetPlan, Manifest};
use coretwin_base::fleet::{MemberState, Refused};
use coretwin_store::Extent;
use coretwin_store::fleet_bundle::FleetBundle;
use coretwin_store::fleet_folder::FleetFolder;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How far a fleet is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    pub schema: u32,
    pub fleet: String,
    pub tasks: Vec<TaskStatus>,
    pub refused: Vec<Refused>,
    /// The command that finishes the fleet; `None` if it is done.
    pub finish: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskStatus {
    pub task: u32,
    pub name: String,
    pub state: State,
    pub about: String,
    /// The machine it ran on, if it has a bundle.
    pub machine: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Done,
    /// A bundle of a study that was broken off is here.
    Partial,
    Waiting,
    Running,
    Failed,
    Missing,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Missing => "missing",
        }
    }
}

#[derive(Debug, Default)]
pub struct Bundles {
    pub by_task: BTreeMap<u32, Vec<(PathBuf, Manifest)>>,
    /// Those that do not read, or are of another fleet.
    pub refused: Vec<Refused>,
}

impl Bundles {
    /// Looks at the manifest of every bundle of a fleet, and at all of those that did not count at
    /// the last merge: what is damaged behind its manifest is missing, and its task is not done.
    pub fn of(fleet: &FleetFolder, plan: &FleetPlan) -> Result<Self, coretwin_store::Error> {
        let mut found = Self::default();
        let suspects: BTreeSet<String> = fleet.refused()?.into_iter().map(|one| one.file).collect();
        for path in fleet.bundles()? {
            let file = path.strip_prefix(fleet.folder()).unwrap_or(&path).display().to_string();
            let manifest = if suspects.contains(&file) {
                FleetBundle::read(&path, Extent::Report).map(|bundle| bundle.manifest)
            } else {
                FleetBundle::manifest_of(&path)
            };
            match manifest {
                Ok(manifest) if manifest.fleet != plan.digest => found
                    .refused
                    .push(Refused { file, reason: "it is of another fleet".to_owned() }),
                Ok(manifest) => match plan.unplanned(manifest.task) {
                    None => found.by_task.entry(manifest.task).or_default().push((path, manifest)),
                    Some(reason) => found.refused.push(Refused { file, reason }),
                },
                Err(error) => {
                    let reason = error.beside(&path);
                    found.refused.push(Refused { file, reason });
                }
            }
        }
        Ok(found)
    }

    /// The tasks of which there is no bundle, not even a partial one.
    pub fn without(&self, plan: &FleetPlan) -> Vec<u32> {
        let tasks = plan.tasks.iter().map(|task| task.number);
        tasks.filter(|task| !self.by_task.contains_key(task)).collect()
    }

    pub fn is_done(&self, task: u32) -> bool {
        let complete =
            |(_, manifest): &(PathBuf, Manifest)| manifest.state == MemberState::Complete;
        self.by_task.get(&task).is_some_and(|bundles| bundles.iter().any(complete))
    }

    pub fn open(&self, plan: &FleetPlan) -> Vec<u32> {
        plan.tasks.iter().map(|task| task.number).filter(|task| !self.is_done(*task)).collect()
    }
}

const LOG_LOOKED_AT: u64 = 4096;

pub fn end_of(log: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What is known of a task that left no bundle, with the last that its log says.
fn log_end(fleet: &FleetFolder, task: u32, known: &str) -> String {
    let path = fleet.log(task);
    match end_of(&path, LOG_LOOKED_AT).ok().as_deref().and_then(last_words) {
        Some(words) if !words.contains(known) => {
            format!("{known}; its log {} ends: {words}", path.display())
        }
        _ if known.starts_with("no bundle") => "not started".to_owned(),
        _ => known.to_owned(),
    }
}

pub fn status(
    fleet: &FleetFolder,
    plan: &FleetPlan,
    bundles: Bundles,
    known: &BTreeMap<u32, Known>,
) -> Status {
    let tasks: Vec<TaskStatus> = plan
        .tasks
        .iter()
        .map(|task| {
            let found = bundles.by_task.get(&task.number).and_then(|found| {
                let rank = |m: &&(PathBuf, Manifest)| m.1.state == MemberState::Complete;
                found.iter().max_by_key(rank)
            });
            let machine = found.map(|(_, manifest)| manifest.machine.to_string());
            let (state, about) = match (found.map(|(_, m)| &m.state), known.get(&task.number)) {
                (Some(MemberState::Complete), _) => {
                    (State::Done, found.map_or_else(String::new, |(_, m)| format!("on {}", m.name)))
                }
                (_, Some(Known::Running(about))) => (State::Running, about.clone()),
                (_, Some(Known::Waiting(about))) => (State::Waiting, about.clone()),
                (Some(MemberState::Partial(why)), _) => (State::Partial, why.clone()),
                (None, Some(Known::Failed(why))) => {
                    (State::Failed, log_end(fleet, task.number, why))
                }
                (None, None) => (State::Missing, log_end(fleet, task.number, "no bundle of it")),
            };
            TaskStatus { task: task.number, name: task.name.clone(), state, about, machine }
        })
        .collect();
    let stands = |task: &TaskStatus| matches!(task.state, State::Done);
    let moves = |task: &TaskStatus| matches!(task.state, State::Waiting | State::Running);
    let folder = fleet.folder().display().to_string();
    let finish = if tasks.iter().all(stands) {
        None
    } else if tasks.iter().all(|task| stands(task) || moves(task)) {
        Some(["coretwin", "fleet", "status", &folder].map(str::to_owned).to_vec())
    } else {
        Some(["coretwin", "fleet", "run", &folder].map(str::to_owned).to_vec())
    };
    Status {
        schema: coretwin_base::schema::SCHEMA,
        fleet: plan.digest.clone(),
        tasks,
        refused: bundles.refused,
        finish,
    }
}
