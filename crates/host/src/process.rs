//! Starting a worker in a process group of its own, waiting for it with a limit, and ending it
//! with everything it started.

use crate::stat_line::StatLine;
use crate::{Error, root::Root};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A process that leads a process group, with its standard streams piped. Dropping it ends the
/// whole group.
#[derive(Debug)]
pub struct Group {
    child: Child,
    ended: Option<ExitStatus>,
}

#[derive(Debug)]
pub struct Pipes {
    /// Its standard input; closing it tells a worker that nobody waits for it any more.
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

impl Group {
    pub fn start(command: &mut Command) -> Result<(Self, Pipes), Error> {
        let fail = |command: &Command, cause| Error::Start {
            program: command.get_program().to_string_lossy().into_owned(),
            cause,
        };
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|cause| fail(command, cause))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Self { child, ended: None };
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                Ok((group, Pipes { stdin, stdout, stderr }))
            }
            _ => Err(fail(command, std::io::Error::other("its streams are not piped"))),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the leader at most that long; `None` if it still runs then. When it has ended,
    /// what is left of its group is killed: a worker leaves nothing behind.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>, Error> {
        let process = self.id();
        let fail = |cause: std::io::Error| Error::Process { process, cause };
        if self.ended.is_none() {
            let ended = ends_within(self.pid(), limit).map_err(|errno| fail(errno.into()))?;
            if ended {
                self.reap().map_err(fail)?;
            }
        }
        Ok(self.ended)
    }

    /// Sends a signal to every process of the group; nothing, once the leader was waited for,
    /// because then its number may belong to somebody else.
    pub fn signal(&self, signal: Signal) {
        if let (None, Some(pid)) = (self.ended, self.pid()) {
            let _ = kill_process_group(pid, signal);
        }
    }

    /// Ends the group and every descendant of the leader, also those that left the group, and
    /// reaps the leader. `root` is where `/proc` is found.
    pub fn end(&mut self, root: &Root) {
        if self.ended.is_some() {
            return;
        }
        // A process that forks while it is being listed shows in the next listing.
        for _ in 0..8 {
            let found = descendants(root, self.id());
            if found.is_empty() {
                break;
            }
            for process in found.into_iter().filter_map(pid) {
                let _ = kill_process(process, Signal::KILL);
            }
        }
        let _ = self.reap();
    }

    /// Kills the group while its leader, dead or alive, still holds the number, then reaps it.
    fn reap(&mut self) -> std::io::Result<()> {
        self.signal(Signal::KILL);
        self.ended = Some(self.child.wait()?);
        Ok(())
    }

    fn pid(&self) -> Option<Pid> {
        pid(self.id())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end(&Root::system());
    }
}

/// Makes this process the one that orphans among its descendants come to, so that
/// [`end_descendants`] still finds what a killed worker leaves. Errors: if the kernel refuses (it
/// knows this since 3.4).
pub fn adopt_orphans() -> std::io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Ends and reaps every descendant of this process, orphans included if it adopts them.
pub fn end_descendants(root: &Root) {
    let own = rustix::process::getpid().as_raw_pid().unsigned_abs();
    // Each round also ends what was forked during the one before.
    for _ in 0..1000 {
        let found = descendants(root, own);
        for process in found.iter().filter_map(|process| pid(*process)) {
            let _ = kill_process(process, Signal::KILL);
        }
        while let Ok(Some(_)) = rustix::process::waitpid(None, rustix::process::WaitOptions::NOHANG)
        {
        }
        if found.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn pid(process: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(process).ok()?)
}

/// Sleeps until the process ends or the time is over, on a descriptor of the process; whether it
/// ended. It is not reaped.
fn ends_within(process: Option<Pid>, limit: Duration) -> Result<bool, Errno> {
    let descriptor = pidfd_open(process.ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
    let start = Instant::now();
    loop {
        let left = limit.saturating_sub(start.elapsed());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Every living process that descends from one, nearest first. Processes whose parents died are
/// adopted by another and are not found.
pub fn descendants(root: &Root, ancestor: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for process in root.numbered("proc", "") {
        let Ok(text) = root.text(&format!("proc/{process}/stat")) else { continue };
        let living = StatLine::parse(&text).filter(|stat| !stat.has_ended());
        if let Some(parent) = living.and_then(|stat| stat.field(4)) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        next += 1;
        found.extend(children.remove(&process).unwrap_or_default());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};

    fn shell(script: &str) -> (Group, Pipes) {
        Group::start(Command::new("sh").args(["-c", script])).expect("sh")
    }

    #[test]
    fn streams_are_piped_and_the_status_comes_back() {
        let (mut group, mut pipes) = shell("read line; echo got $line; exit 3");
        pipes.stdin.write_all(b"this\n").expect("write");
        let mut output = String::new();
        pipes.stdout.read_to_string(&mut output).expect("read");
        assert_eq!(output, "got this\n");
        let status = group.wait(Duration::from_secs(60)).expect("wait").expect("ended");
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn waiting_ends_at_its_limit_and_ending_ends_everything() {
        let script = "sleep 600 & setsid sleep 601 & echo up; wait";
        let (mut group, pipes) = shell(script);
        let mut line = String::new();
        BufReader::new(pipes.stdout).read_line(&mut line).expect("read");
        assert_eq!(group.wait(Duration::from_millis(1)).expect("wait"), None);
        let root = Root::system();
        let mut started = descendants(&root, group.id());
        while started.len() < 2 {
            started = descendants(&root, group.id());
        }
        group.end(&root);
        let gone = |process: &u32| {
            let stat = root.text(&format!("proc/{process}/stat")).unwrap_or_default();
            StatLine::parse(&stat).is_none_or(|stat| stat.has_ended())
        };
        while !started.iter().all(gone) {
            std::thread::yield_now();
        }
        assert!(group.wait(Duration::ZERO).expect("wait").is_some());
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Group::start(&mut Command::new("/no/such/program")).expect_err("missing");
        assert!(error.to_string().starts_with("cannot start /no/such/program: "), "{error}");
    }
}
