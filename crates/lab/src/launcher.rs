//! Starting a worker for one job, and never leaving one behind.
//!
//! The worker's standard input stays open while it works. When it closes, for whatever reason
//! (this process was killed, too), the worker ends everything it started. So stopping a worker is
//! closing its input, and killing it is only the second resort.

use crate::machine::{GLANCE, MachineError, Stop};
use coretwin_base::caps;
use coretwin_base::study::job::{Job, Outcome};
use coretwin_host::process::{self, Group};
use coretwin_host::root::Root;
use std::fmt::Display;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long a worker may take to clean up once its input is closed.
const CLEANUP: Duration = Duration::from_secs(10);
/// How long a worker may overrun its own time-out before it counts as hung.
const GRACE_S: f64 = 30.0;
/// Most bytes of what a worker said that are shown.
const SHOWN: usize = 4096;
const WORKER: &str = "coretwin-worker";

/// Where the worker's program is. Errors: a sentence saying where it was looked for.
pub fn worker_path() -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("cannot tell where this program is: {error}"))?;
    let beside = own.with_file_name(WORKER);
    // Test binaries live one folder below the programs they test.
    let above = own.parent().and_then(|folder| folder.parent()).map(|folder| folder.join(WORKER));
    [Some(beside.clone()), above].into_iter().flatten().find(|path| path.is_file()).ok_or_else(
        || {
            format!(
                "the program {WORKER} is missing; it belongs beside coretwin, at {}",
                beside.display()
            )
        },
    )
}

/// Runs one job in a worker of its own. Errors: [`MachineError::Stopped`] if the stop flag was
/// raised; [`MachineError::Refused`] if the worker could not be started or gave no answer.
pub(crate) fn launch(
    root: &Root,
    worker: &Path,
    job: &Job,
    stop: &Stop,
) -> Result<Outcome, MachineError> {
    let refused = |what: &str, why: &dyn Display| {
        MachineError::Refused(format!("{what} {}: {why}", worker.display()))
    };
    let line = serde_json::to_string(job).map_err(|error| refused("cannot ask", &error))?;
    // A group of its own: Ctrl-C on the terminal is for us, the worker hears of it by its input.
    let (mut group, pipes) =
        Group::start(&mut Command::new(worker)).map_err(|error| refused("cannot start", &error))?;
    let mut input = pipes.stdin;
    let asked = writeln!(input, "{line}");
    let answers = listen(pipes.stdout);
    let answer = match asked {
        Ok(()) => wait(&answers, job, stop),
        Err(_) => Wait::Silent,
    };
    drop(input);
    let ended = group.wait(CLEANUP);
    drop(group);
    if matches!(answer, Wait::Silent) {
        // The worker is gone and could not clean up; what it started is ours to end now.
        process::end_descendants(root);
        coretwin_workloads::leftovers::sweep();
    }
    match answer {
        Wait::Stopped => Err(MachineError::Stopped),
        Wait::Answer(answer) => serde_json::from_slice(&answer).map_err(|error| {
            let said = String::from_utf8_lossy(&answer[..answer.len().min(SHOWN)]);
            refused("cannot understand", &format!("{error}; it said: {said}"))
        }),
        Wait::Unheard(error) => Err(refused("cannot hear the answer of", &error)),
        Wait::Silent => {
            let mut complaint = String::new();
            let _ = pipes.stderr.take(SHOWN as u64).read_to_string(&mut complaint);
            let status = match ended {
                Ok(Some(status)) => status.to_string(),
                _ => "it did not end and was killed".to_owned(),
            };
            let complaint = match complaint.trim() {
                "" => "was it killed, or did the machine run out of memory?",
                said => said,
            };
            Err(refused("no answer from", &format!("{status}; {complaint}")))
        }
    }
}

enum Wait {
    Answer(Vec<u8>),
    Unheard(io::Error),
    Stopped,
    Silent,
}

fn wait(answers: &Receiver<io::Result<Vec<u8>>>, job: &Job, stop: &Stop) -> Wait {
    let deadline = Instant::now() + Duration::from_secs_f64(job.timeout_s + GRACE_S);
    loop {
        match answers.recv_timeout(GLANCE) {
            Ok(Ok(answer)) if !answer.trim_ascii().is_empty() => return Wait::Answer(answer),
            Ok(Err(error)) => return Wait::Unheard(error),
            Ok(Ok(_)) | Err(RecvTimeoutError::Disconnected) => return Wait::Silent,
            Err(RecvTimeoutError::Timeout) if stop.raised() => return Wait::Stopped,
            Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => return Wait::Silent,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Reads the first line the worker writes, in a thread, so that the stop flag can be watched.
fn listen(output: ChildStdout) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        let read = caps::LINE.line(&mut BufReader::new(output), &mut line);
        // The receiver is gone if the study was stopped meanwhile; that is fine.
        let _ = sender.send(read.map(|_| line));
    });
    receiver
}
