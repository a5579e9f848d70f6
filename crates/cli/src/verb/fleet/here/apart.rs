//! A task that outlives the connection it was started by.

use crate::exit::{CELLS_FAILED, DONE, NOT_POSSIBLE};
use crate::out;
use anyhow::{Context, Result};
use coretwin_base::fleet::MemberState;
use coretwin_lab::fleet::task::TaskHere;
use coretwin_lab::machine::Stop;
use coretwin_store::fleet_folder::LOGS;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// Most of a log that is shown when a task fails, in bytes.
const SHOWN: u64 = 2_000;

/// Starts the task in a process group of its own, unless it runs already, and waits for its end.
pub(super) fn run(here: &TaskHere<'_>) -> Result<ExitCode> {
    let log = log(here);
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
        out::news(&tail(&log));
        return Ok(ExitCode::from(NOT_POSSIBLE));
    };
    let path = path.strip_prefix(here.fleet.folder()).unwrap_or(&path);
    out::text(&format!("bundle: {}\n", path.display()))?;
    let is_done = manifest.state == MemberState::Complete;
    Ok(ExitCode::from(if is_done { DONE } else { CELLS_FAILED }))
}

/// Tells the task to stop.
pub(super) fn stop(here: &TaskHere<'_>) -> Result<ExitCode> {
    let process = here.holder().and_then(|holder| Pid::from_raw(holder.cast_signed()));
    if let Some(process) = process {
        kill_process(process, Signal::TERM).context("cannot stop the task")?;
    }
    Ok(ExitCode::from(DONE))
}

/// Says what the task does, and which bundle it has.
pub(super) fn look(here: &TaskHere<'_>) -> Result<ExitCode> {
    if let Some(holder) = here.holder() {
        out::text(&format!("running: {holder}\n"))?;
    }
    if let Some((path, manifest)) = here.bundle()? {
        let path = path.strip_prefix(here.fleet.folder()).unwrap_or(&path);
        out::text(&format!("bundle: {}\n", path.display()))?;
        if manifest.state == MemberState::Complete {
            out::text("complete\n")?;
        }
    }
    Ok(ExitCode::from(DONE))
}

fn log(here: &TaskHere<'_>) -> PathBuf {
    here.fleet.log(here.task.number)
}

/// The end of a log.
fn tail(path: &PathBuf) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SHOWN)))?;
        let mut bytes = Vec::new();
        file.take(SHOWN).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_else(|error| format!("cannot read {}: {error}", path.display()))
}
