//! A signal to us is one to the command: it is passed on to every process of it, whatever process
//! groups they made. What the terminal sends has reached them with us.

use coretwin_host::process;
use coretwin_host::root::Root;
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use std::fs::File;
use std::time::{Duration, Instant};

/// Who has had the signal by the terminal, and still runs, gets it by us after so long.
const ANEW: Duration = Duration::from_millis(500);
/// Who still runs is asked to end.
const ASKED: Duration = Duration::from_secs(3);
/// Nobody is waited for any longer.
const GIVEN_UP: Duration = Duration::from_secs(6);

pub(super) struct Forward {
    began: Instant,
    /// What is sent, after how long; the next first.
    steps: Vec<(Duration, Signal)>,
}

impl Forward {
    pub(super) fn new(signal: Signal) -> Self {
        let by_terminal = [Signal::INT, Signal::HUP].contains(&signal) && is_in_foreground();
        let first = if by_terminal { ANEW } else { Duration::ZERO };
        Self { began: Instant::now(), steps: vec![(first, signal), (ASKED, Signal::TERM)] }
    }

    /// Sends what is due to everything that descends from us; whether to wait on.
    pub(super) fn goes_on(&mut self, root: &Root) -> bool {
        let waited = self.began.elapsed();
        while let Some((_, signal)) = self.steps.first().filter(|(after, _)| waited >= *after) {
            for process in process::descendants(root, std::process::id()) {
                if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
                    // It may have ended meanwhile, or be another user's.
                    let _ = kill_process(pid, *signal);
                }
            }
            self.steps.remove(0);
        }
        waited < GIVEN_UP
    }
}

/// Whether the keys of our terminal send their signals to our process group.
fn is_in_foreground() -> bool {
    let terminal = File::open("/dev/tty");
    terminal.is_ok_and(|terminal| tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp()))
}
