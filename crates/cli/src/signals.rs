//! Ctrl-C, termination and hang-up raise the stop flag; a second one ends the program at once
//! (workers then end by themselves, because their input closes). Under `nohup` a hang-up does nothing.

use anyhow::{Context, Result};
use coretwin_lab::machine::Stop;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Whether a signal told us to stop, and which.
pub(crate) struct Signalled {
    pub(crate) stop: Stop,
    which: Arc<AtomicUsize>,
}

impl Signalled {
    pub(crate) fn listen() -> Result<Self> {
        let which = Arc::new(AtomicUsize::new(0));
        for signal in heeded() {
            let number = usize::try_from(signal).unwrap_or_default();
            // Before the flag, so that who sees it raised knows the number.
            signal_hook::flag::register_usize(signal, Arc::clone(&which), number)
                .context("cannot listen for signals")?;
        }
        Ok(Self { stop: stop_flag()?, which })
    }

    pub(crate) fn signal(&self) -> Option<Signal> {
        let raw = i32::try_from(self.which.load(Ordering::Relaxed)).ok()?;
        self.stop.raised().then(|| Signal::from_named_raw(raw).unwrap_or(Signal::TERM))
    }
}

/// Signals that stop a measurement; SIGHUP is one of them unless it was ignored when this program was started.
fn heeded() -> impl Iterator<Item = i32> {
    // Asked once: after a handler is registered, the signal is ignored no more.
    static IGNORED: OnceLock<bool> = OnceLock::new();
    let ignored = *IGNORED.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.unwrap_or(0) & (1 << (SIGHUP - 1)) != 0
    });
    [SIGINT, SIGTERM].into_iter().chain((!ignored).then_some(SIGHUP))
}

/// A flag that is raised by the first signal.
pub(crate) fn stop_flag() -> Result<Stop> {
    let stop = Stop::default();
    for signal in heeded() {
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
