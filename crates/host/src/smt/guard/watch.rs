//! The life of a guard process.

use super::identity::{Identity, Life};
use super::launch::{self, OURSELVES};
use super::lock::{LockFile, Record};
use super::{GuardError, shelter};
use crate::process::pid;
use crate::root::Root;
use crate::sched_ext::keeper;
use crate::smt::kernel::Kernel;
use crate::smt::restore::{Restored, restore_stored};
use crate::smt::saved::{self, FOLDER, Slot, Stored};
use crate::smt::{SwitchError, writer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::{PidfdFlags, pidfd_open};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// How often a restoration that leaves something to do is tried: what is busy now may be free soon.
const ATTEMPTS: u32 = 4;
/// The pause before the second attempt; it doubles.
const PAUSE: Duration = Duration::from_millis(250);
/// An understudy that lived shorter than this is replaced after a pause: one that cannot live is
/// started again and again, and must not take a CPU from what is measured.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// That pause: short, because meanwhile nobody could take over.
const BREATH: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// As the first of two steps: it starts the guard, which has no parent then, and ends.
    Detach,
    /// By systemd, in a unit: its control group is a good place, so it stays there.
    Unit,
    /// By the leader, to take over from it.
    Understudy,
    /// As the guard, by whoever wants one.
    Plain,
}

#[derive(Debug)]
pub enum Ended {
    /// It started the guard and ended: it was the first of the two steps.
    Detached,
    /// Nothing was to be done: the state is gone, is kept, or is somebody else's.
    NotNeeded,
    /// The holder died, and this came of putting the machine back.
    Restored(Restored),
    Failed(SwitchError),
}

/// Runs a guard process of a slot until its holder is gone or has put the machine back itself: the
/// whole of `coretwin smt guard`.
///
/// Signals that ask it to end must be caught by the caller; SIGKILL is what the understudy is for.
/// Errors: [`GuardError`] if it could not stand.
pub fn run(
    root: &Root,
    kernel: &dyn Kernel,
    slot: Slot,
    holder: Identity,
    start: Start,
) -> Result<Ended, GuardError> {
    let process = holder.process();
    let stand = || {
        if !holder.is_in_our_namespace(root) {
            return Err(GuardError::Namespace);
        }
        if start == Start::Detach {
            launch::detach(slot, holder)?;
            return Ok(Ended::Detached);
        }
        let warnings = shelter::take(root, start == Start::Unit);
        let fail = |cause| GuardError::Lock { path: root.path(&slot.guard_lock()), cause };
        // An understudy that comes when all is over must not begin anew.
        let opened = match start {
            Start::Understudy => LockFile::open_existing(root, slot),
            _ => LockFile::create(root, slot).map(Some),
        };
        let Some(mut lock) = opened.map_err(fail)? else { return Ok(Ended::NotNeeded) };
        lock.wait().map_err(fail)?;
        let record = lock.record();
        // A leader that died before it wrote a record, or while it did, was ours all the same.
        let is_strange = record.as_ref().is_some_and(|record| record.holder != holder.to_string());
        if !lock.is_current() || (start == Start::Understudy && is_strange) {
            return Ok(Ended::NotNeeded);
        }
        let earlier = record.filter(|_| !is_strange);
        let record = Record {
            leader: std::process::id(),
            understudy: 0,
            holder: holder.to_string(),
            ready: false,
            armed: earlier.is_some_and(|earlier| earlier.armed),
            warnings,
        };
        let leader = Leader {
            root,
            kernel,
            slot,
            holder,
            lock,
            record,
            life: holder.life(root),
            understudy: None,
            folder: watch_folder(root),
        };
        leader.lead().map_err(fail)
    };
    stand().inspect_err(|error| {
        tell(root, &format!("coretwin: the guard of process {process} cannot stand: {error}\n"));
    })
}

struct Leader<'a> {
    root: &'a Root,
    kernel: &'a dyn Kernel,
    slot: Slot,
    holder: Identity,
    lock: LockFile,
    record: Record,
    life: Life,
    understudy: Option<Understudy>,
    /// Readable when a file appears in the folder of states or goes; `None` if the system has no
    /// more of these.
    folder: Option<OwnedFd>,
}

struct Understudy {
    child: Child,
    ends: Option<OwnedFd>,
    started: Instant,
}

impl Leader<'_> {
    fn lead(mut self) -> std::io::Result<Ended> {
        loop {
            if self.life.has_ended() && !self.state_is_there() {
                self.lock.remove();
                return Ok(Ended::NotNeeded);
            }
            self.see_to_understudy();
            self.see_to_record()?;
            if self.life.has_ended() {
                let ended = self.replace_holder();
                self.lock.remove();
                return Ok(ended);
            }
            if self.record.armed && !self.state_is_there() && self.take_leave()? {
                self.lock.remove();
                return Ok(Ended::NotNeeded);
            }
            self.sleep();
        }
    }

    fn state_is_there(&self) -> bool {
        self.root.exists(&self.slot.file())
    }

    /// Writes what we are, if that is news.
    fn see_to_record(&mut self) -> std::io::Result<()> {
        let understudy = self.understudy.as_ref().map_or(0, |understudy| understudy.child.id());
        let record = Record {
            understudy,
            ready: true,
            armed: self.record.armed || self.state_is_there(),
            ..self.record.clone()
        };
        if record != self.record {
            self.lock.write(&record)?;
            self.record = record;
        }
        Ok(())
    }

    /// Stands down before it looks for the state a last time, because the holder, which may be about
    /// to change the machine again, writes the state before it looks whether we stand: one of the
    /// two sees the other. Whether to go.
    fn take_leave(&mut self) -> std::io::Result<bool> {
        self.record.ready = false;
        self.lock.write(&self.record)?;
        Ok(!self.state_is_there())
    }

    fn see_to_understudy(&mut self) {
        let mut lived = None;
        if let Some(understudy) = &mut self.understudy {
            match understudy.child.try_wait() {
                Ok(None) => return,
                _ => lived = Some(understudy.started.elapsed()),
            }
        }
        if lived.is_some_and(|lived| lived < SHORT_LIFE) {
            std::thread::sleep(BREATH);
        }
        let mut command = launch::command(Path::new(OURSELVES), self.slot, self.holder);
        self.understudy = match command.arg("--understudy").spawn() {
            Ok(child) => {
                let ends = pid(child.id());
                let ends = ends.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
                Some(Understudy { child, ends, started: Instant::now() })
            }
            // Alone we still guard; the next turn tries again.
            Err(_) => None,
        };
    }

    fn sleep(&mut self) {
        let understudy = self.understudy.as_ref().and_then(|understudy| understudy.ends.as_ref());
        let holder = self.life.descriptor();
        let complete = holder.is_some() && understudy.is_some() && self.folder.is_some();
        // What cannot be waited for is looked at often.
        let timeout = match complete {
            true => Timespec { tv_sec: 60, tv_nsec: 0 },
            false => Timespec { tv_sec: 0, tv_nsec: 100_000_000 },
        };
        let watched = [holder, understudy, self.folder.as_ref()];
        let mut polled: Vec<PollFd<'_>> =
            watched.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        // An interruption is as good as a wake-up: everything is looked at again.
        let _ = poll(&mut polled, Some(&timeout));
        let is_first = polled.first().is_some_and(|fd| !fd.revents().is_empty());
        match &self.life {
            Life::Watched(_) if is_first => self.life = Life::Ended,
            Life::Unwatched => self.life = self.holder.life(self.root),
            _ => {}
        }
        if let Some(folder) = &self.folder {
            let mut events = [0_u8; 4096];
            while rustix::io::read(folder.as_fd(), &mut events[..]).is_ok_and(|read| read > 0) {}
        }
    }

    /// The holder is gone: does what it can no longer do.
    fn replace_holder(&self) -> Ended {
        let mut pause = PAUSE;
        for attempt in 1..=ATTEMPTS {
            let ended = self.restore();
            let done = match &ended {
                Ended::Restored(restored) => restored.is_complete(),
                Ended::Failed(_) => false,
                _ => true,
            };
            if done || attempt == ATTEMPTS {
                self.log(&ended);
                return ended;
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
        Ended::NotNeeded
    }

    /// Puts the machine back, if the state is still there, is the holder's and is not kept. Nobody
    /// else writes meanwhile.
    fn restore(&self) -> Ended {
        let left_behind = || {
            let is_left = |stored: &Stored| !stored.kept && self.holder.is(&stored.holder);
            saved::read(self.root, self.slot).map(|stored| stored.filter(is_left))
        };
        let restore = || {
            // Looked at before it is waited for: whoever writes now may wait for our end.
            if left_behind()?.is_none() {
                return Ok(None);
            }
            let writer = writer::wait(self.root)?;
            let Some(stored) = left_behind()? else { return Ok(None) };
            // CPUs come and go under the kernel's own scheduler, as the study would have had it.
            keeper::end_of_study(self.root, &stored.holder);
            let restored = restore_stored(&writer, self.root, self.kernel, &stored)?;
            Ok(Some(restored))
        };
        match restore() {
            Ok(None) => Ended::NotNeeded,
            Ok(Some(restored)) => Ended::Restored(restored),
            Err(error) => Ended::Failed(error),
        }
    }

    fn log(&self, ended: &Ended) {
        let what = match ended {
            Ended::Restored(restored) => restored.sentence(),
            Ended::Failed(error) => format!("nothing could be put back: {error}"),
            Ended::Detached | Ended::NotNeeded => return,
        };
        let holder = self.holder.process();
        tell(
            self.root,
            &format!("coretwin: process {holder} died while it used the SMT switch; {what}\n"),
        );
    }
}

/// Tells the kernel log; without one, a file beside the state.
fn tell(root: &Root, line: &str) {
    let append = |path: &str, line: &str| -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().append(true).open(root.path(path))?;
        file.write_all(line.as_bytes())
    };
    // Level 4 is a warning (syslog(2)).
    if append("dev/kmsg", &format!("<4>{line}")).is_err() {
        let path = root.path(&format!("{FOLDER}/smt-guard.log"));
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// A descriptor that is readable when a file comes into the folder of states or goes.
fn watch_folder(root: &Root) -> Option<OwnedFd> {
    let events = WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE_SELF;
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    inotify::add_watch(&watch, root.path(FOLDER), events).ok()?;
    Some(watch)
}
