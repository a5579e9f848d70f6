//! The command whose CPU time is accounted for.

use anyhow::{Context, Result};
use coretwin_account::target::Whole;
use coretwin_base::account::CommandEnd;
use coretwin_host::root::Root;
use coretwin_host::{process, user};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Child;
use std::time::{Duration, Instant};

/// After an interruption a command has so long to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// A command that was started.
pub(super) struct Command {
    root: Root,
    child: Child,
    children_before_s: f64,
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
        let child = command.spawn().with_context(|| {
            format!("cannot start {}; check its name, and that it may be run", words[0])
        })?;
        Ok(Self { root: root.clone(), child, children_before_s })
    }

    /// Its process.
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

    /// Waits for it; if we were interrupted and it was not, it is asked to end.
    pub(super) fn end(&mut self, interrupted: bool) -> Result<CommandEnd> {
        if interrupted {
            let began = Instant::now();
            while !self.has_ended() && began.elapsed() < GRACE {
                // Ctrl-C reaches the command by itself.
                if began.elapsed() > GRACE / 4
                    && let Some(pid) = self.pid()
                {
                    let _ = kill_process(pid, Signal::TERM);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        if !self.has_ended() {
            return Ok(CommandEnd { exit_status: None, signal: None });
        }
        let status = self.child.wait().context("cannot wait for the command")?;
        Ok(CommandEnd { exit_status: status.code(), signal: status.signal() })
    }

    /// CPU time of it and everything it waited for; none if it still runs.
    pub(super) fn whole(&self) -> Option<Whole> {
        if !self.has_ended() {
            return None;
        }
        let used_s = children_s(&self.root)? - self.children_before_s;
        Some(Whole { used_s, error_s: 0.03, of_process: None })
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
