//! What a process of a run says, each a line of JSON on standard output: at its end what it measured or
//! why there is nothing, and some of them more before.

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
pub(crate) enum Said<T> {
    Port(u16),
    Done(T),
    Failed(Failure),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) why: String,
    /// Whether it only lost the other side, whose failure is then the cause.
    pub(crate) lost: bool,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let lost = match error {
            Error::System { cause, .. } => matches!(
                cause.kind(),
                BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
            ),
            _ => false,
        };
        Self { why: error.to_string(), lost }
    }
}

/// Whether anybody listens; if not, the worker is dead, and so is this process at once.
pub(crate) fn tell(word: &impl Serialize) -> bool {
    let Ok(mut line) = serde_json::to_string(word) else { return false };
    line.push('\n');
    let mut output = std::io::stdout().lock();
    output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_ok()
}

pub(crate) fn say<T: Serialize>(result: &Result<T, Error>) -> ExitCode {
    let (said, code) = match result {
        Ok(measured) => (Said::Done(measured), ExitCode::SUCCESS),
        Err(error) => (Said::Failed(error.into()), ExitCode::FAILURE),
    };
    tell(&said);
    code
}

/// What a task has said so far, in whole lines; what else it printed is passed over.
pub(crate) fn lines<T: DeserializeOwned>(task: &Task) -> impl DoubleEndedIterator<Item = T> {
    let lines = task.output.last_bytes().split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| line.ends_with(b"\n")).flat_map(serde_json::from_slice)
}

fn said<T: DeserializeOwned>(task: &Task) -> Option<Said<T>> {
    lines(task).next_back()
}

pub(crate) fn has_come(task: &Task) -> bool {
    said::<IgnoredAny>(task).is_some()
}

pub(crate) fn port(task: &Task) -> Option<u16> {
    lines(task).find_map(|said: Said<IgnoredAny>| match said {
        Said::Port(port) => Some(port),
        _ => None,
    })
}

pub(crate) fn told(task: &Task) -> Option<Failure> {
    lines(task).find_map(|said: Said<IgnoredAny>| match said {
        Said::Failed(failure) => Some(failure),
        _ => None,
    })
}

/// By which signal a task died, if by one. `who` begins the sentence: `a client`.
pub(crate) fn death(task: &Task, who: &str) -> Option<String> {
    let signal = task.exit.and_then(|(status, _)| status.signal())?;
    Some(format!("{who} was killed by {}", signal_name(signal)))
}

pub(crate) fn failure(task: &Task, who: &str) -> Option<String> {
    death(task, who).or_else(|| told(task).map(|failure| failure.why))
}

/// What a task measured; else why it failed, or what it printed if it ended without a word.
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
