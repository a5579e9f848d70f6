//! `coretwin fleet run --here`: a task on this machine, from its plan to its bundle.

mod apart;

use super::sweeps;
use crate::exit::{CELLS_FAILED, DONE, INTERRUPTED, Usage};
use crate::verb::study;
use crate::verb::study::args::Line;
use crate::{out, signals};
use anyhow::{Context, Result};
use coretwin_base::fleet::plan::{BundleHolds, FleetPlan, FleetSubject, Manifest, Task};
use coretwin_base::fleet::{MachineId, MemberState};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_host::lock::LockError;
use coretwin_host::root::Root;
use coretwin_lab::fleet::task::{TaskHere, TaskLock};
use coretwin_lab::fleet::{identity, requeue};
use coretwin_lab::machine::Stop;
use coretwin_store::fleet_folder::{FLEET, FleetFolder};
use coretwin_store::{Bundle, JOURNAL, PLAN};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How often it is looked whether the host is free.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Which tasks are run here, and how.
#[derive(clap::Args)]
pub(super) struct Tasks {
    /// The task [default: every one that is not done]
    #[arg(long, value_name = "N", requires = "here")]
    task: Option<u32>,
    /// The task of this index of an indexed Job, out of these
    #[arg(long, value_name = "N,…", requires = "here", value_delimiter = ',', hide = true)]
    task_of_index: Option<Vec<u32>>,
    /// A plan that is put into the folder first, if it has none
    #[arg(long, value_name = "FILE", requires = "here", hide = true)]
    plan: Option<PathBuf>,
    /// Print the bundle, for whoever reads the log
    #[arg(long, requires = "here", hide = true)]
    print_bundle: bool,
    /// Run apart from this connection, and wait for it
    #[arg(long, requires = "task", hide = true)]
    apart: bool,
    /// Tell the task that runs here to stop
    #[arg(long, requires = "task", hide = true)]
    stop: bool,
    /// Say what the task does
    #[arg(long, requires = "task", hide = true)]
    look: bool,
}

/// Runs the tasks that are asked for.
pub(super) fn run(folder: &Path, args: &Tasks) -> Result<ExitCode> {
    if let Some(plan) = &args.plan {
        put(plan, folder)?;
    }
    let (fleet, plan) = FleetFolder::open(folder)?;
    let tasks = tasks(args, &plan)?;
    if let [task] = tasks[..]
        && (args.apart || args.stop || args.look)
    {
        let here = here(&fleet, &plan, task);
        return match (args.stop, args.look) {
            (true, _) => apart::stop(&here),
            (_, true) => apart::look(&here),
            _ => apart::run(&here),
        };
    }
    let stop = signals::stop_flag()?;
    let mut is_done = true;
    for task in tasks {
        let here = here(&fleet, &plan, task);
        let (path, manifest) = one(&here, &stop)?;
        let path = path.strip_prefix(fleet.folder()).unwrap_or(&path).display().to_string();
        out::text(&format!("bundle: {path}\n"))?;
        if args.print_bundle {
            out::text(&coretwin_lab::fleet::as_log(&fleet.path(&path))?)?;
        }
        is_done &= manifest.state == MemberState::Complete;
        if stop.raised() {
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
    Ok(ExitCode::from(if is_done { DONE } else { CELLS_FAILED }))
}

/// Puts a plan into a folder that has none. Whoever else does so puts the same.
fn put(plan: &Path, folder: &Path) -> Result<()> {
    let target = folder.join(FLEET);
    if target.exists() {
        return Ok(());
    }
    let name = format!(".{FLEET}.{}", std::process::id());
    let put = || {
        std::fs::create_dir_all(folder)?;
        std::fs::copy(plan, folder.join(&name))?;
        std::fs::rename(folder.join(&name), &target)
    };
    put().with_context(|| format!("cannot put {} into {}", plan.display(), folder.display()))
}

/// The tasks that are meant.
fn tasks<'a>(args: &Tasks, plan: &'a FleetPlan) -> Result<Vec<&'a Task>> {
    let number = match &args.task_of_index {
        None => args.task,
        Some(tasks) => {
            let index = std::env::var("JOB_COMPLETION_INDEX").ok();
            let index = index.and_then(|index| index.parse::<usize>().ok());
            let task = index.and_then(|index| tasks.get(index)).copied();
            Some(task.ok_or_else(|| {
                Usage(
                    "--task-of-index: JOB_COMPLETION_INDEX is not set, or not one of them"
                        .to_owned(),
                )
            })?)
        }
    };
    match number {
        None => Ok(plan.tasks.iter().collect()),
        Some(number) => match plan.tasks.get(number as usize) {
            Some(task) => Ok(vec![task]),
            None => Err(Usage(format!(
                "the fleet has tasks 0 to {}, not {number}",
                plan.count().saturating_sub(1)
            ))
            .into()),
        },
    }
}

fn here<'a>(fleet: &'a FleetFolder, plan: &'a FleetPlan, task: &'a Task) -> TaskHere<'a> {
    let simulated = match &plan.subject {
        FleetSubject::Study(_) => task.machine.as_deref().map(|machine| (machine, task.seed)),
        // A share of a grid gives the same cells wherever it is run.
        FleetSubject::Sweep(_) => Some((plan.digest.as_str(), u64::from(task.number))),
    };
    let (machine, node) = identity(simulated);
    TaskHere { fleet, plan, task, machine, node }
}

/// Which machine is measured, and what its users call it.
pub(super) fn identity(simulated: Option<(&str, u64)>) -> (MachineId, String) {
    let root = Root::system();
    match simulated {
        Some((machine, seed)) => {
            (identity::of_simulated(machine, seed), format!("{machine}, seed {seed}"))
        }
        None => {
            let node = identity::node_name(&root, &|name| std::env::var(name).ok());
            (identity::of_host(&root, &node), node)
        }
    }
}

/// A task to its end: a bundle, of which an earlier try may have made it already.
fn one(here: &TaskHere<'_>, stop: &Stop) -> Result<(PathBuf, Manifest)> {
    let lock: TaskLock = here.lock(stop)?;
    if let Some(found) = here.bundle()?
        && found.1.state == MemberState::Complete
    {
        out::news(&format!("task {}: it is done already", here.task.number));
        return Ok(found);
    }
    let before = journal_bytes(here);
    let (holds, state) = match &here.plan.subject {
        FleetSubject::Study(args) => (BundleHolds::Study, measure(here, args, stop)?),
        FleetSubject::Sweep(texts) => {
            let (share, of) = (here.task.number, here.plan.count());
            let is_done = sweeps::share(texts, &here.results(), (share, of), stop)?;
            let why = "it was stopped before its last cell".to_owned();
            let state = if is_done { MemberState::Complete } else { MemberState::Partial(why) };
            (BundleHolds::Sweep, state)
        }
    };
    let path = here.pack(holds, state)?;
    drop(lock);
    let found = here.bundle()?.with_context(|| format!("{} is gone again", path.display()))?;
    let was_told = stop.raised() && found.1.state != MemberState::Complete;
    // Only what gets on is put back: a limit that is too short for a single run would go on for ever.
    if was_told && journal_bytes(here) > before {
        ask_for_more();
    }
    Ok(found)
}

/// Length of the journal, in bytes.
fn journal_bytes(here: &TaskHere<'_>) -> u64 {
    let files = [JOURNAL, "cells.jsonl"].map(|name| here.results().join(name));
    files.iter().filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum()
}

/// Asks Slurm, if this is one of its jobs, to run it again.
fn ask_for_more() {
    let Ok(job) = std::env::var("SLURM_JOB_ID") else { return };
    match requeue(&job) {
        Ok(()) => out::news("told to stop before it was done: put back into the queue"),
        Err(why) => out::news(&format!("told to stop before it was done, and not put back: {why}")),
    }
}

/// The study: a new one, or the one that an earlier try of this task left on this machine.
fn measure(here: &TaskHere<'_>, args: &[String], stop: &Stop) -> Result<MemberState> {
    let folder = here.results();
    let is_begun = folder.join(PLAN).exists();
    let mut told = false;
    loop {
        let mut words = vec!["coretwin study".to_owned()];
        let path = folder.display().to_string();
        if is_begun {
            words.extend(["--resume".to_owned(), path]);
            // The user's word that SMT may be switched was given for the whole study.
            words.extend(args.iter().take_while(|w| *w != "--").filter(|w| *w == "--yes").cloned());
        } else {
            let seed = here.task.seed.to_string();
            words.extend(["--out".to_owned(), path, "--seed".to_owned(), seed]);
            let machine = here.task.machine.as_ref();
            words.extend(machine.into_iter().flat_map(|m| ["--machine".to_owned(), m.clone()]));
            words.extend(args.iter().cloned());
        }
        let ran = study::run(&Line::read(words)?);
        match ran {
            Ok(_) => break,
            // Another task on the same node; two at once would measure each other.
            Err(error) if is_held(&error) && !stop.raised() => {
                if !std::mem::replace(&mut told, true) {
                    out::news(&format!("{error:#}; waiting for it"));
                }
                std::thread::sleep(LOOK_EVERY);
            }
            // What was measured counts, if anything was.
            Err(error) => match Bundle::open(&folder, None) {
                Ok((bundle, _)) if bundle.path(JOURNAL).exists() => {
                    out::news(&format!("{error:#}"));
                    return Ok(MemberState::Partial(format!("{error:#}")));
                }
                _ => return Err(error),
            },
        }
    }
    Ok(state(&Bundle::open(&folder, None)?.0))
}

fn is_held(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(LockError::Held { .. })))
}

/// Whether a study was done, by its own summary.
pub(super) fn state(bundle: &Bundle) -> MemberState {
    let why = match bundle.summary().map(|summary| summary.stopped_because) {
        Ok(StoppedBecause::Target | StoppedBecause::Blocks | StoppedBecause::Budget) => {
            return MemberState::Complete;
        }
        Ok(StoppedBecause::Interrupted) => "it was told to stop",
        Ok(StoppedBecause::Busy) => "its machine was too busy: nothing was kept",
        Ok(StoppedBecause::Reboot) => "it waits for a reboot",
        Ok(StoppedBecause::Error | StoppedBecause::Running) | Err(_) => "it was broken off",
    };
    MemberState::Partial(why.to_owned())
}
