//! Starts processes, watches them, and ends every one of them.
//!
//! A worker is one thread that waits for everything at once: output, the end of children, signals,
//! its own standard input (which ends when the caller is gone) and the time limit. It is
//! the reaper of all its descendants, so that a process that leaves its group or session still
//! comes back to it to be ended and counted.

use crate::observe;
use crate::role::{self, Entry};
use crate::sys::{self, Signals, Usage};
use crate::{Context, Error, Stop};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::study::job::RunAs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// First look at where a command runs, after its start: early, for short commands.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const NEXT_LOOK: Duration = Duration::from_millis(250);
/// How long the last processes may take to die of SIGKILL.
const DYING: Duration = Duration::from_secs(10);
/// How much standard output is kept of a process that answers on it, in bytes.
const ANSWER: usize = 1 << 20;
/// How much output is kept to be shown when a command fails, in bytes.
const SHOWN: usize = 4096;
/// How much of the end of standard error goes into a message, in characters.
const SAID: usize = 160;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskId(u64);

#[derive(Debug, Default)]
pub(crate) struct Launch<'a> {
    pub(crate) role: &'static str,
    pub(crate) args: Vec<String>,
    /// CPUs, where they are not those of the worker.
    pub(crate) cpus: Option<&'a CpuSet>,
    pub(crate) folder: Option<&'a str>,
    /// Whether its CPU time, memory and CPUs count, and its group ends with it.
    pub(crate) measured: bool,
    pub(crate) keep: usize,
}

impl<'a> Launch<'a> {
    pub(crate) fn measured(
        role: &'static str,
        args: Vec<String>,
        cpus: Option<&'a CpuSet>,
    ) -> Self {
        Self { role, args, cpus, measured: true, ..Self::default() }
    }

    /// A measured process that answers on standard output, see [`answer`](crate::answer).
    pub(crate) fn answering(
        role: &'static str,
        args: Vec<String>,
        cpus: Option<&'a CpuSet>,
    ) -> Self {
        Self { keep: ANSWER, ..Self::measured(role, args, cpus) }
    }
}

pub(crate) struct Task {
    pid: i32,
    measured: bool,
    pub(crate) exit: Option<(ExitStatus, Instant)>,
    /// CPU time and memory, once it has ended, of it and of what it waited for.
    pub(crate) usage: Usage,
    pub(crate) cpus_ran: CpuSet,
    /// The socket on its standard input while it is held, see [`role::HELD`].
    gate: Option<UnixStream>,
    said: Vec<u8>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    pub(crate) output: Tail,
    /// The end of standard output and error together, in the order they came.
    pub(crate) shown: Tail,
    complaint: Tail,
}

impl Task {
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    pub(crate) fn is_held(&self) -> bool {
        self.said.first() == Some(&role::READY) || self.exit.is_some()
    }

    pub(crate) fn refusal(&self) -> Option<String> {
        let text = self.said.strip_prefix(&[role::READY]).unwrap_or(&self.said);
        (!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
    }

    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(self.shown.last_bytes()).into_owned()
    }

    /// The end of its standard error, to follow a message of how it ended: on one line, and without
    /// control characters. Empty if it said nothing.
    pub(crate) fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(self.complaint.last_bytes());
        let words = text.split(|c: char| c.is_whitespace() || c.is_control());
        let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let cut = line.char_indices().rev().nth(SAID - 1).map_or(0, |(at, _)| at);
        match (line.is_empty(), cut) {
            (true, _) => String::new(),
            (false, 0) => format!("; it said: {line}"),
            (false, _) => format!("; it said: …{}", &line[cut..]),
        }
    }

    fn read_output(&mut self) {
        drain(&mut self.stdout, &mut self.output, &mut self.shown);
        drain(&mut self.stderr, &mut self.complaint, &mut self.shown);
    }

    fn read_gate(&mut self) {
        let Some(gate) = &mut self.gate else { return };
        let mut buffer = [0; 1024];
        match gate.read(&mut buffer) {
            Ok(0) => self.gate = None,
            Ok(count) => self.said.extend_from_slice(&buffer[..count]),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.gate = None,
        }
    }
}

fn drain(pipe: &mut Option<OwnedFd>, output: &mut Tail, shown: &mut Tail) {
    let mut buffer = [0; 16 * 1024];
    // A full pipe and more, but with a bound: a writer may be as fast as this reader.
    for _ in 0..64 {
        let Some(fd) = pipe else { return };
        match rustix::io::read(&*fd, &mut buffer) {
            Ok(0) => *pipe = None,
            Ok(count) => {
                shown.push(&buffer[..count]);
                output.push(&buffer[..count]);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return,
            Err(_) => *pipe = None,
        }
    }
}

pub(crate) struct Tail {
    bytes: Vec<u8>,
    limit: usize,
    pub(crate) lines: u64,
    pub(crate) truncated: bool,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, lines: 0, truncated: false }
    }

    pub(crate) fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        self.lines += more.iter().filter(|byte| **byte == b'\n').count() as u64;
        // Cut at twice the limit, so that each byte is moved at most once.
        if self.bytes.len() > 2 * self.limit {
            self.truncated = true;
            self.bytes.drain(..self.bytes.len() - self.limit);
        }
    }

    pub(crate) fn last_bytes(&self) -> &[u8] {
        &self.bytes[self.bytes.len().saturating_sub(self.limit)..]
    }
}

pub struct Supervisor {
    tasks: BTreeMap<TaskId, Task>,
    next_task: u64,
    signals: Signals,
    /// When everything is ended, and the limit it comes from, in seconds.
    deadline: (Instant, f64),
    /// Whether standard input and signals no longer end the work.
    deaf: bool,
    environment: Vec<(&'static str, String)>,
    core_sched: bool,
    next_look: Option<Instant>,
    pub(crate) usage: Usage,
    pub(crate) cpus_ran: CpuSet,
}

impl Supervisor {
    /// Becomes the reaper of this process's descendants, and reads its signals from now on.
    pub(crate) fn new(
        timeout_s: f64,
        user: Option<&RunAs>,
        core_sched: bool,
    ) -> Result<Self, Error> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .context("cannot become the reaper of descendants")?;
        let watched = [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];
        let signals = Signals::watch(&watched).context("cannot watch signals")?;
        let environment = user.map_or_else(Vec::new, |user| {
            vec![
                ("HOME", user.home.clone()),
                ("USER", user.name.clone()),
                ("LOGNAME", user.name.clone()),
            ]
        });
        Ok(Self {
            tasks: BTreeMap::new(),
            next_task: 0,
            signals,
            deadline: deadline(timeout_s),
            deaf: false,
            environment,
            core_sched,
            next_look: None,
            usage: Usage::default(),
            cpus_ran: CpuSet::new(),
        })
    }

    pub(crate) fn limit(&mut self, timeout_s: f64) {
        let limit = deadline(timeout_s);
        if limit.0 < self.deadline.0 {
            self.deadline = limit;
        }
    }

    /// From now on only this much time is left, and nothing else ends the work: for what has to
    /// be done after the measurement, whatever ended it.
    pub(crate) fn last_orders(&mut self, timeout_s: f64) {
        self.deaf = true;
        self.deadline = deadline(timeout_s);
    }

    pub(crate) fn start(&mut self, launch: Launch<'_>) -> Result<TaskId, Error> {
        self.start_with(launch, Stdio::null())
    }

    pub(crate) fn start_with(&mut self, launch: Launch<'_>, stdin: Stdio) -> Result<TaskId, Error> {
        const START: &str = "cannot start a process";
        let entry = Entry {
            parent: std::process::id(),
            cpus: launch.cpus.cloned(),
            core_sched: self.core_sched && launch.measured,
        };
        let entry = role::written(&entry)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("coretwin-worker").arg(launch.role).arg(entry).args(&launch.args);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = launch.folder {
            command.current_dir(folder);
        }
        let gate = if role::HELD.contains(&launch.role) {
            let (ours, theirs) = UnixStream::pair().context(START)?;
            ours.set_nonblocking(true).context(START)?;
            command.stdin(Stdio::from(OwnedFd::from(theirs)));
            Some(ours)
        } else {
            command.stdin(stdin);
            None
        };
        let mut child = command.spawn().context(START)?;
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        for pipe in [&stdout, &stderr].into_iter().flatten() {
            rustix::io::ioctl_fionbio(pipe, true).context(START)?;
        }
        let id = TaskId(self.next_task);
        self.next_task += 1;
        let task = Task {
            pid: child.id().cast_signed(),
            measured: launch.measured,
            exit: None,
            usage: Usage::default(),
            cpus_ran: CpuSet::new(),
            gate,
            said: Vec::new(),
            stdout,
            stderr,
            output: Tail::new(launch.keep),
            shown: Tail::new(SHOWN),
            complaint: Tail::new(4 * SAID),
        };
        self.tasks.insert(id, task);
        Ok(id)
    }

    pub(crate) fn tell(&self, id: TaskId, word: &[u8]) {
        if let Some(mut gate) = self.tasks.get(&id).and_then(|task| task.gate.as_ref()) {
            // An error means that the process has ended, which is seen elsewhere; the socket has
            // room for far more.
            let _ = gate.write_all(word);
        }
    }

    pub(crate) fn wait_until_held(&mut self, ids: &[TaskId]) -> Result<(), Error> {
        let held = |now: &Self| ids.iter().all(|id| now.task(*id).is_none_or(Task::is_held));
        self.wait(None, held).map(drop)
    }

    pub(crate) fn release(&mut self, tasks: &[TaskId]) -> Instant {
        let start = Instant::now();
        for id in tasks {
            let Some(task) = self.tasks.get_mut(id) else { continue };
            // Before it was bound it was where the worker is.
            task.cpus_ran = CpuSet::new();
            if let Some(gate) = &task.gate {
                // An error means that the process has ended, which is seen elsewhere.
                let _ = gate.shutdown(std::net::Shutdown::Write);
            }
        }
        self.next_look = Some(start + FIRST_LOOK);
        start
    }

    pub(crate) fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id)
    }

    pub(crate) fn has_ended(&self, id: TaskId) -> bool {
        self.tasks.get(&id).is_none_or(|task| task.exit.is_some())
    }

    pub(crate) fn take(&mut self, id: TaskId) -> Option<Task> {
        self.tasks.remove(&id)
    }

    pub(crate) fn signal(&self, id: TaskId, signal: Signal) {
        if let Some(task) = self.tasks.get(&id).filter(|task| task.exit.is_none()) {
            signal_group(task.pid, signal);
        }
    }

    /// Waits until `done`, or until that time (then the answer is false).
    pub(crate) fn wait(
        &mut self,
        until: Option<Instant>,
        done: impl Fn(&Self) -> bool,
    ) -> Result<bool, Error> {
        loop {
            if done(self) {
                return Ok(true);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
            self.step(until)?;
        }
    }

    fn step(&mut self, until: Option<Instant>) -> Result<(), Error> {
        let stdin = rustix::stdio::stdin();
        let waits = [until, self.next_look, Some(self.deadline.0)];
        let wake = waits.into_iter().flatten().min().unwrap_or(self.deadline.0);
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if !self.deaf {
            fds.push(PollFd::new(&stdin, PollFlags::IN));
        }
        for task in self.tasks.values() {
            let pipes = [&task.stdout, &task.stderr].into_iter().flatten().map(OwnedFd::as_fd);
            let gate = task.gate.as_ref().map(UnixStream::as_fd);
            fds.extend(pipes.chain(gate).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        }
        match poll(&mut fds, Some(&timespec_until(wake))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("cannot wait", error)),
        }
        let stdin_ready = !self.deaf && !fds[1].revents().is_empty();
        drop(fds);
        for task in self.tasks.values_mut() {
            task.read_gate();
            task.read_output();
        }
        let signal = self.read_signals();
        self.reap();
        if self.next_look.is_some_and(|look| Instant::now() >= look) {
            self.look();
        }
        if Instant::now() >= self.deadline.0 {
            return Err(Stop::Timeout(self.deadline.1).into());
        }
        if self.deaf {
            return Ok(());
        }
        if let Some(signal) = signal {
            return Err(Stop::Signal(signal).into());
        }
        if stdin_ready && !matches!(rustix::io::read(stdin, &mut [0; 512]), Ok(1..)) {
            return Err(Stop::Abandoned.into());
        }
        Ok(())
    }

    /// The last signal that asks to end, if one came.
    fn read_signals(&self) -> Option<i32> {
        std::iter::from_fn(|| self.signals.next()).filter(|signal| *signal != libc::SIGCHLD).last()
    }

    /// Reaps every child that has ended. False: there is no child left.
    fn reap(&mut self) -> bool {
        loop {
            let pid = match sys::ended_child() {
                Ok(Some(pid)) => pid,
                Ok(None) => return true,
                Err(error) => return error.raw_os_error() != Some(libc::ECHILD),
            };
            let ended = Instant::now();
            let task = self.tasks.values_mut().find(|task| task.pid == pid && task.exit.is_none());
            // An orphan counts: it was started by something measured, or very nearly always so.
            let measured = task.as_ref().is_none_or(|task| task.measured);
            let last: CpuSet = observe::cpu_of(pid).into_iter().collect();
            if measured {
                self.cpus_ran = self.cpus_ran.union(&last);
            }
            if measured && task.is_some() {
                // Before reaping, while the group's number cannot mean another group.
                signal_group(pid, Signal::KILL);
            }
            let Ok((status, usage)) = sys::reap(pid) else { return true };
            if measured {
                self.usage.user_s += usage.user_s;
                self.usage.system_s += usage.system_s;
                self.usage.peak_kib = self.usage.peak_kib.max(usage.peak_kib);
            }
            if let Some(task) = task {
                task.read_gate();
                task.read_output();
                task.exit = Some((status, ended));
                task.usage = usage;
                task.cpus_ran = task.cpus_ran.union(&last);
            }
        }
    }

    fn look(&mut self) {
        for task in self.tasks.values_mut().filter(|task| task.measured && task.exit.is_none()) {
            let cpus = observe::cpus_of_trees([task.pid]);
            task.cpus_ran = task.cpus_ran.union(&cpus);
            self.cpus_ran = self.cpus_ran.union(&cpus);
        }
        self.next_look = Some(Instant::now() + NEXT_LOOK);
    }

    pub(crate) fn end_measured(&mut self) -> Result<(), Error> {
        let running = |(_, task): &(&TaskId, &Task)| task.measured && task.exit.is_none();
        let ids: Vec<TaskId> = self.tasks.iter().filter(running).map(|(id, _)| *id).collect();
        ids.iter().for_each(|id| self.signal(*id, Signal::KILL));
        self.wait(None, |supervisor| ids.iter().all(|id| supervisor.has_ended(*id))).map(drop)
    }

    pub(crate) fn end_all(&mut self) -> Result<(), Error> {
        let limit = Instant::now() + DYING;
        let own = std::process::id().cast_signed();
        while self.reap() {
            for task in self.tasks.values().filter(|task| task.exit.is_none()) {
                signal_group(task.pid, Signal::KILL);
            }
            // The children of those that die become ours, and die in a later round.
            let children = observe::children(own);
            for pid in children.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            if Instant::now() >= limit {
                return Err(Error::failed(format!("the processes {children:?} do not end")));
            }
            let mut fds = [PollFd::new(&self.signals, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
            self.read_signals();
        }
        Ok(())
    }
}

fn signal_group(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // An error means that the group is empty.
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

/// A limit that is not a number, or longer than a century, is a century.
fn deadline(timeout_s: f64) -> (Instant, f64) {
    let century = 3_155_760_000.0;
    let seconds = if timeout_s.is_nan() { century } else { timeout_s.clamp(0.0, century) };
    (Instant::now() + Duration::from_secs_f64(seconds), timeout_s)
}

fn timespec_until(wake: Instant) -> Timespec {
    let left = wake.saturating_duration_since(Instant::now());
    // A nanosecond more, so that the time has come when poll returns.
    Timespec {
        tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos().saturating_add(1).min(999_999_999)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_last_bytes() {
        let mut tail = Tail::new(4);
        tail.push(b"abc");
        assert_eq!((tail.last_bytes(), tail.truncated), (&b"abc"[..], false));
        for byte in b"defghijklmnop" {
            tail.push(&[*byte]);
        }
        assert_eq!((tail.last_bytes(), tail.truncated), (&b"mnop"[..], true));
    }

    #[test]
    fn odd_limits_are_far_away() {
        for odd in [f64::NAN, f64::INFINITY, 1e300] {
            assert!(deadline(odd).0 > Instant::now() + Duration::from_secs(1_000_000_000));
        }
        assert!(deadline(-1.0).0 <= Instant::now());
    }
}
