//! `coretwin fleet run --here`: a task on this machine, from its plan to its bundle.

use super::sweeps;
use crate::exit::{CELLS_FAILED, DONE, INTERRUPTED, NOT_POSSIBLE, usage};
use crate::verb::account;
use crate::verb::study;
use crate::verb::study::args::Line;
use crate::{out, signals};
use anyhow::{Context, Result};
use coretwin_base::fleet::plan::{BundleHolds, FleetPlan, FleetSubject, Manifest, Task};
use coretwin_base::fleet::{MachineId, MemberState};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_host::lock::LockError;
use coretwin_host::root::Root;
use coretwin_lab::fleet::status::end_of;
use coretwin_lab::fleet::task::TaskHere;
use coretwin_lab::fleet::{as_log, engine_of, identity, node_name};
use coretwin_lab::machine::Stop;
use coretwin_store::fleet_folder::{FLEET, FleetFolder, LOGS};
use coretwin_store::recording::RECORDING;
use coretwin_store::{Bundle, JOURNAL, PLAN};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Most of a log that is shown when a task fails, in bytes.
const SHOWN: u64 = 2_000;
/// How often it is looked whether the host is free.
const LOOK_EVERY: Duration = Duration::from_millis(500);

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

pub(super) fn run(folder: &Path, args: &Tasks) -> Result<u8> {
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
            (true, _) => stop(&here),
            (_, true) => look(&here),
            _ => run_apart(&here),
        };
    }
    let stop = signals::stop_flag()?;
    let mut is_done = true;
    for task in tasks {
        let here = here(&fleet, &plan, task);
        let (path, manifest) = one(&here, &stop)?;
        tell(&here, &path)?;
        if args.print_bundle {
            out::text(&as_log(&path)?)?;
        }
        is_done &= manifest.state == MemberState::Complete;
        if stop.raised() {
            return Ok(INTERRUPTED);
        }
    }
    Ok(if is_done { DONE } else { CELLS_FAILED })
}

fn tell(here: &TaskHere<'_>, path: &Path) -> Result<()> {
    let path = path.strip_prefix(here.fleet.folder()).unwrap_or(path);
    out::text(&format!("bundle: {}\n", path.display()))
}

/// Puts a plan into a folder that has none. Whoever else does so puts the same.
fn put(plan: &Path, folder: &Path) -> Result<()> {
    let target = folder.join(FLEET);
    if target.exists() {
        return Ok(());
    }
    let name = format!(".{FLEET}.{}", std::process::id());
    let put = || {
        fs::create_dir_all(folder)?;
        fs::copy(plan, folder.join(&name))?;
        fs::rename(folder.join(&name), &target)
    };
    put().with_context(|| format!("cannot put {} into {}", plan.display(), folder.display()))
}

fn tasks<'a>(args: &Tasks, plan: &'a FleetPlan) -> Result<Vec<&'a Task>> {
    let number = match &args.task_of_index {
        None => args.task,
        Some(tasks) => Some(engine_of(plan)?.task_here(tasks).map_err(usage)?),
    };
    match number {
        None => Ok(plan.tasks.iter().collect()),
        Some(number) => Ok(vec![task(plan, number)?]),
    }
}

pub(super) fn task(plan: &FleetPlan, number: u32) -> Result<&Task> {
    let last = plan.count().saturating_sub(1);
    let unknown = || usage(format!("the fleet has tasks 0 to {last}, not {number}"));
    plan.tasks.get(number as usize).ok_or_else(unknown)
}

fn here<'a>(fleet: &'a FleetFolder, plan: &'a FleetPlan, task: &'a Task) -> TaskHere<'a> {
    let simulated = match &plan.subject {
        FleetSubject::Record(_) => None,
        FleetSubject::Study(_) => task.machine.as_deref().map(|machine| (machine, task.seed)),
        // A share of a grid gives the same cells wherever it is run.
        FleetSubject::Sweep(_) => Some((plan.digest.as_str(), u64::from(task.number))),
    };
    let (machine, node) = identity(simulated);
    TaskHere { fleet, plan, task, machine, node }
}

pub(super) fn identity(simulated: Option<(&str, u64)>) -> (MachineId, String) {
    let root = Root::system();
    match simulated {
        Some((machine, seed)) => {
            (identity::of_simulated(machine, seed), format!("{machine}, seed {seed}"))
        }
        None => {
            let node = node_name(&root);
            (identity::of_host(&root, &node), node)
        }
    }
}

/// Starts the task in a process group of its own, unless it runs already, and waits for its end.
fn run_apart(here: &TaskHere<'_>) -> Result<u8> {
    let log = here.fleet.log(here.task.number);
    fs::create_dir_all(here.fleet.path(LOGS))?;
    if here.holder().is_none() {
        let out = OpenOptions::new().create(true).append(true).open(&log);
        let out = out.with_context(|| format!("cannot write {}", log.display()))?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["fleet", "run"])
            .arg(here.fleet.folder())
            .args(["--here", "--task", &here.task.number.to_string()])
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()
            .context("cannot start the task")?;
        child.wait()?;
    } else {
        out::news("it runs already; waiting for it");
        // Nobody raises this one: whoever waits may be ended, and the task goes on.
        drop(here.lock(&Stop::default())?);
    }
    let Some((path, manifest)) = here.bundle()? else {
        let end = end_of(&log, SHOWN).map(|end| String::from_utf8_lossy(&end).into_owned());
        let end = end.unwrap_or_else(|error| format!("cannot read {}: {error}", log.display()));
        out::news(&end);
        return Ok(NOT_POSSIBLE);
    };
    tell(here, &path)?;
    let is_done = manifest.state == MemberState::Complete;
    Ok(if is_done { DONE } else { CELLS_FAILED })
}

fn stop(here: &TaskHere<'_>) -> Result<u8> {
    let process = here.holder().and_then(|holder| Pid::from_raw(holder.cast_signed()));
    if let Some(process) = process {
        kill_process(process, Signal::TERM).context("cannot stop the task")?;
    }
    Ok(DONE)
}

fn look(here: &TaskHere<'_>) -> Result<u8> {
    if let Some(holder) = here.holder() {
        out::text(&format!("running: {holder}\n"))?;
    }
    if let Some((path, manifest)) = here.bundle()? {
        tell(here, &path)?;
        if manifest.state == MemberState::Complete {
            out::text("complete\n")?;
        }
    }
    Ok(DONE)
}

/// A task to its end: a bundle, of which an earlier try may have made it already.
fn one(here: &TaskHere<'_>, stop: &Stop) -> Result<(PathBuf, Manifest)> {
    let number = here.task.number;
    if let Some(holder) = here.holder() {
        out::news(&format!("task {number}: process {holder} runs it; waiting for it"));
    }
    let lock = here.lock(stop)?;
    if let Some(found) = here.bundle()?
        && found.1.state == MemberState::Complete
    {
        out::news(&format!("task {number}: it is done already"));
        return Ok(found);
    }
    let before = journal_bytes(here);
    let (holds, state) = match &here.plan.subject {
        FleetSubject::Study(args) => (BundleHolds::Study, measure(here, args, stop)?),
        FleetSubject::Record(words) => (BundleHolds::Recording, record(here, words)?),
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
    if was_told
        && journal_bytes(here) > before
        && let Some(again) = engine_of(here.plan)?.run_again()
    {
        let back = again.map_or_else(
            |why| format!("not put back: {why}"),
            |()| "put back into the queue".to_owned(),
        );
        out::news(&format!("told to stop before it was done: {back}"));
    }
    Ok(found)
}

fn journal_bytes(here: &TaskHere<'_>) -> u64 {
    let files = [JOURNAL, "cells.jsonl", RECORDING].map(|name| here.results().join(name));
    files.iter().filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum()
}

/// The recording, for as long as is left of its time: an earlier try may have recorded some.
fn record(here: &TaskHere<'_>, words: &[String]) -> Result<MemberState> {
    let folder = here.results();
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let is_done = account::record_rest(words, &folder.join(RECORDING))?;
    let why = "it was told to stop".to_owned();
    Ok(if is_done { MemberState::Complete } else { MemberState::Partial(why) })
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

pub(super) fn state(bundle: &Bundle) -> MemberState {
    let why = match bundle.summary().map(|summary| summary.stopped_because) {
        Ok(
            StoppedBecause::Target
            | StoppedBecause::Verdict
            | StoppedBecause::Blocks
            | StoppedBecause::Budget,
        ) => {
            return MemberState::Complete;
        }
        Ok(StoppedBecause::Interrupted) => "it was told to stop",
        Ok(StoppedBecause::Busy) => "its machine was too busy: nothing was kept",
        Ok(StoppedBecause::Reboot) => "it waits for a reboot",
        Ok(StoppedBecause::Error | StoppedBecause::Running) | Err(_) => "it was broken off",
    };
    MemberState::Partial(why.to_owned())
}
