//! Windows without a screen: JSON, a line each, or whatever else is to be done with them.

use crate::Error;
use crate::live::Until;
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::terminal::Signals;
use coretwin_base::printable::printable;
use std::io::Write;
use std::time::{Duration, Instant};

/// Longest sleep, so that a signal is heeded soon.
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// Hands every window to `sink` until the end or a signal.
///
/// # Errors
/// [`Error`] if the machine cannot be read, or what the sink says.
pub fn each(
    source: &mut Source,
    interval: Duration,
    until: Until,
    signals: &Signals,
    sink: &mut dyn FnMut(&Snapshot) -> Result<(), Error>,
) -> Result<(), Error> {
    let began = Instant::now();
    let mut window_began = began;
    let mut windows = 0;
    while !signals.end() && !until.reached(windows, began) {
        let window_due = window_began + interval;
        let next = source.due().map_or(window_due, |due| due.min(window_due));
        let wait = next.saturating_duration_since(Instant::now());
        std::thread::sleep(wait.min(SLEEP_MAX));
        source.look()?;
        if Instant::now() >= window_due {
            window_began = Instant::now();
            sink(&source.snapshot()?)?;
            windows += 1;
            source.rest();
        }
    }
    Ok(())
}

/// Writes a snapshot as a line of JSON.
///
/// # Errors
/// [`Error::Write`] with what the system says.
pub fn json(out: &mut dyn Write, snapshot: &Snapshot) -> Result<(), Error> {
    let line = serde_json::to_string(snapshot).map_err(|error| Error::Write(error.into()))?;
    writeln!(out, "{}", printable(&line)).and_then(|()| out.flush()).map_err(Error::Write)
}
