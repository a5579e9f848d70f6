//! A second process beside the measuring one: a fork of it, on the CPUs of its own role.

use super::Place;
use crate::lmbench::native::system;
use crate::{Context, Error, role, sys};
use rustix::process::{
    Pid, Signal, WaitOptions, getppid, kill_process, set_parent_process_death_signal, waitpid,
};

/// A process that is ended and reaped when this is dropped, and dies with the measuring process.
#[derive(Debug)]
pub(crate) struct Peer {
    pid: Pid,
}

impl Peer {
    /// Starts it: what it does, and which of the row's roles it is (the measuring process is the
    /// first, 0). What keeps it from its CPUs is known only by its end, so a row whose answers need the
    /// peer sees it there.
    pub(crate) fn start(
        place: &Place,
        role: usize,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let parent = rustix::process::getpid();
        let enter = || {
            set_parent_process_death_signal(Some(Signal::KILL))
                .context("cannot die with the measuring process")?;
            if getppid() != Some(parent) {
                return Err(Error::failed("the measuring process has died"));
            }
            if let Some(cpus) = place.cpus.get(role) {
                role::bind(cpus)?;
            }
            if place.core_sched {
                sys::core_sched_create().context("cannot take a core-scheduling cookie")?;
            }
            work()
        };
        let child = system::fork(|| match enter() {
            Ok(()) => 0,
            Err(error) => {
                // The worker shows what comes on standard error.
                let line = format!("{error}\n");
                let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
                1
            }
        });
        let pid = child.context("cannot start a second process")?;
        Ok(Self { pid })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // An error means that it has ended already, and was reaped or never ours.
        let _ = kill_process(self.pid, Signal::KILL);
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}
