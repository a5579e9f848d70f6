//! The command whose CPU time is accounted for.

use anyhow::{Context, Result};
use coretwin_account::target::Whole;
use coretwin_base::account::CommandEnd;
use coretwin_host::root::Root;
use coretwin_host::{process, user};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_process, waitid};
use rustix::termios::tcgetpgrp;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Child;
use std::time::{Duration, Instant};

#[derive(Debug, thiserror::Error)]
#[error("cannot start {program}: {cause}; check its name, and that it may be run")]
pub(super) struct NotStarted {
    program: String,
    cause: io::Error,
}

impl NotStarted {
    /// Whether there is no such program; else it is there and cannot be run.
    pub(super) fn is_absent(&self) -> bool {
        self.cause.kind() == io::ErrorKind::NotFound
    }
}

pub(super) struct Command {
    root: Root,
    child: Child,
    children_before_s: f64,
    forward: Option<Forward>,
}

impl Command {
    /// Starts it with our standard streams, as the user who called sudo. Its orphans come to us.
    pub(super) fn start(root: &Root, words: &[String]) -> Result<Self> {
        process::adopt_orphans().context("cannot adopt what the command leaves behind")?;
        let mut command = std::process::Command::new(&words[0]);
        command.args(&words[1..]);
        if let Some(user) = user::invoking_user(root)? {
            command.uid(user.uid).gid(user.gid);
        }
        let children_before_s = children_s(root).unwrap_or(0.0);
        let child =
            command.spawn().map_err(|cause| NotStarted { program: words[0].clone(), cause })?;
        Ok(Self { root: root.clone(), child, children_before_s, forward: None })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// Whether it has ended; it is not waited for, so that what it ran can still be read.
    pub(super) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(pid) = self.pid() else { return true };
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }

    /// Passes on a signal that we got, and says whether it is still worth waiting for the end.
    pub(super) fn is_ending(&mut self, signal: Signal) -> bool {
        let forward = self.forward.get_or_insert_with(|| Forward::new(signal));
        forward.goes_on(&self.root)
    }

    pub(super) fn end(&mut self) -> Result<CommandEnd> {
        if !self.has_ended() {
            return Ok(CommandEnd { exit_status: None, signal: None });
        }
        let status = self.child.wait().context("cannot wait for the command")?;
        Ok(CommandEnd { exit_status: status.code(), signal: status.signal() })
    }

    /// CPU time of it and everything it waited for; `None` if it still runs.
    pub(super) fn whole(&self) -> Option<Whole> {
        if !self.has_ended() {
            return None;
        }
        let used_s = children_s(&self.root)? - self.children_before_s;
        Some(Whole { used_s, error_s: 0.03 })
    }
}

/// CPU time of children that were waited for (`/proc/self/stat`, fields 16 and 17), in seconds.
fn children_s(root: &Root) -> Option<f64> {
    let stat = root.text("proc/self/stat").ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(13);
    let ticks = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    Some(ticks / rustix::param::clock_ticks_per_second() as f64)
}

/// Who has had the signal by the terminal, and still runs, gets it by us after so long.
const ANEW: Duration = Duration::from_millis(500);
/// Who still runs is asked to end.
const ASKED: Duration = Duration::from_secs(3);
/// Nobody is waited for any longer.
const GIVEN_UP: Duration = Duration::from_secs(6);

struct Forward {
    began: Instant,
    /// What is sent, after how long; the next first.
    steps: Vec<(Duration, Signal)>,
}

impl Forward {
    fn new(signal: Signal) -> Self {
        let by_terminal = [Signal::INT, Signal::HUP].contains(&signal) && is_in_foreground();
        let first = if by_terminal { ANEW } else { Duration::ZERO };
        Self { began: Instant::now(), steps: vec![(first, signal), (ASKED, Signal::TERM)] }
    }

    /// Sends what is due to everything that descends from us; whether to wait on.
    fn goes_on(&mut self, root: &Root) -> bool {
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
