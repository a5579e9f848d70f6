//! What a process of a run says at its end: a line of JSON on standard output, with what it measured
//! or why there is nothing.

use crate::Error;
use crate::error::signal_name;
use crate::supervisor::Task;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said<T> {
    Done(T),
    Failed(String),
}

/// The process says how it went. Its exit status.
pub(crate) fn say<T: Serialize>(result: &Result<T, Error>) -> ExitCode {
    let (said, code) = match result {
        Ok(measured) => (Said::Done(measured), ExitCode::SUCCESS),
        Err(error) => (Said::Failed(error.to_string()), ExitCode::FAILURE),
    };
    if let Ok(mut line) = serde_json::to_string(&said) {
        line.push('\n');
        // If nobody listens, the worker is dead, and so is this process at once.
        let _ = std::io::stdout().write_all(line.as_bytes());
    }
    code
}

/// What a task has said, if its line is whole.
fn said<T: DeserializeOwned>(task: &Task) -> Option<Said<T>> {
    let mut lines = task.output.last_bytes().split_inclusive(|byte| *byte == b'\n');
    lines.rfind(|line| line.ends_with(b"\n")).and_then(|line| serde_json::from_slice(line).ok())
}

/// Whether a task has said how it went.
pub(crate) fn has_come(task: &Task) -> bool {
    said::<IgnoredAny>(task).is_some()
}

/// Why a task failed, if it did. `who` begins the sentence: `a client`.
pub(crate) fn failure(task: &Task, who: &str) -> Option<String> {
    if let Some(signal) = task.exit.and_then(|(status, _)| status.signal()) {
        return Some(format!("{who} was killed by {}", signal_name(signal)));
    }
    match said::<IgnoredAny>(task) {
        Some(Said::Failed(why)) => Some(why),
        _ => None,
    }
}

/// What a task measured.
///
/// # Errors
/// Why it failed, or that it ended without a word, with what else it printed.
pub(crate) fn of<T: DeserializeOwned>(task: Option<&Task>, who: &str) -> Result<T, Error> {
    if let Some(why) = task.and_then(|task| failure(task, who)) {
        return Err(Error::failed(why));
    }
    match task.and_then(said) {
        Some(Said::Done(measured)) => Ok(measured),
        _ => {
            let shown = task.map(Task::shown).unwrap_or_default();
            Err(Error::failed(format!("{who} ended without a result: {}", shown.trim())))
        }
    }
}
