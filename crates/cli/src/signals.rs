//! Ctrl-C, termination and hang-up raise the stop flag; a second one ends the program at once
//! (workers then end by themselves, because their input closes).

use anyhow::{Context, Result};
use coretwin_lab::machine::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// A flag that is raised by the first signal.
pub(crate) fn stop_flag() -> Result<Stop> {
    let stop = Stop::default();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Order matters: the shutdown handler sees the flag as the *previous* signal left it.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(crate::exit::INTERRUPTED),
            stop.flag(),
        )
        .and_then(|_| signal_hook::flag::register(signal, stop.flag()))
        .context("cannot listen for signals")?;
    }
    Ok(stop)
}
