//! What a worker that was killed outright leaves behind, and the process that removes it at once.

use crate::supervisor::{Launch, Supervisor, TaskId};
use crate::{Error, held_file, role, scratch, semaphores};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long the janitor waits for the last processes of a dead worker to let go.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(5);

/// Returns how many folders, semaphore sets and segments of killed runs were removed.
pub fn sweep() -> u32 {
    semaphores::sweep() + scratch::sweep()
}

/// Starts a process that outlives a worker that is killed, and removes what it made. To be called
/// before anything is made; it ends with the worker's other processes.
pub(crate) fn start_janitor(supervisor: &mut Supervisor) -> Result<TaskId, Error> {
    let (role, folder) = (role::JANITOR, Some("/"));
    supervisor.start(Launch { role, folder, ..Launch::default() })
}

/// The role: when the worker dies, which closes the socket on standard input, sweeps until nothing is
/// left. Unlike every other role it does not die with the worker.
pub(crate) fn janitor() -> ExitCode {
    let mut end = Vec::new();
    // An error also means that the worker is gone.
    let _ = std::io::stdin().read_to_end(&mut end);
    let start = Instant::now();
    loop {
        sweep();
        // The worker's processes die with it, but may take a moment: until then a folder can grow.
        let clean =
            held_file::abandoned(Path::new(held_file::FOLDER), held_file::PREFIX).is_empty();
        if clean || start.elapsed() > PATIENCE {
            return ExitCode::SUCCESS;
        }
        std::thread::sleep(LOOK);
    }
}
