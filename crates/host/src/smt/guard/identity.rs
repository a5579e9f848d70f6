//! Who is guarded: a process, told from a later one of the same number.

use crate::process::pid;
use crate::root::Root;
use crate::smt::capture;
use crate::smt::saved::Holder;
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open};
use std::fmt;
use std::os::fd::OwnedFd;
use std::str::FromStr;

/// A process: its number, when it started, and the namespace in which the number is meant. Written
/// `PID:TICKS:NAMESPACE` on the guard's command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    process: u32,
    started_ticks: u64,
    namespace: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' names no process; it is PID:TICKS:NAMESPACE")]
pub struct BadIdentity(String);

impl Identity {
    pub fn own(root: &Root) -> Self {
        let holder = capture::holder(root, std::process::id());
        Self {
            process: holder.process,
            started_ticks: holder.started_ticks,
            namespace: own_namespace(root),
        }
    }

    pub(super) fn process(self) -> u32 {
        self.process
    }

    /// Whether it is the one for which a state was saved.
    pub(super) fn is(self, holder: &Holder) -> bool {
        (self.process, self.started_ticks) == (holder.process, holder.started_ticks)
    }

    /// Whether its number means the same to us as to whoever wrote it.
    pub(super) fn is_in_our_namespace(self, root: &Root) -> bool {
        self.namespace == own_namespace(root)
    }

    pub(super) fn life(self, root: &Root) -> Life {
        let Self { process, started_ticks, .. } = self;
        Life::of(root, &Holder { process, started_ticks, command_line: String::new() })
    }
}

#[derive(Debug)]
pub(crate) enum Life {
    Ended,
    /// It lives; the descriptor becomes readable when it ends.
    Watched(OwnedFd),
    /// It lives as far as can be told, and must be looked at again.
    Unwatched,
}

impl Life {
    /// Whether a process lives. The descriptor comes first and the start is compared after: a number
    /// that went to somebody else before or between shows another start.
    pub(crate) fn of(root: &Root, process: &Holder) -> Self {
        let opened = pid(process.process)
            .map_or(Err(Errno::SRCH), |pid| pidfd_open(pid, PidfdFlags::empty()));
        Self::by(root, process, opened)
    }

    /// The same with what the kernel gave for a descriptor. Only ESRCH is death: a guard that has no
    /// descriptors left (EMFILE) would else put the machine back under a study that lives, and leave
    /// a scheduler in charge.
    pub(crate) fn by(root: &Root, process: &Holder, descriptor: Result<OwnedFd, Errno>) -> Self {
        match descriptor {
            Err(Errno::SRCH) => Self::Ended,
            _ if !capture::is_alive(root, process) => Self::Ended,
            Ok(descriptor) => Self::Watched(descriptor),
            Err(_) => Self::Unwatched,
        }
    }

    pub(super) fn descriptor(&self) -> Option<&OwnedFd> {
        if let Self::Watched(descriptor) = self { Some(descriptor) } else { None }
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self, Self::Ended)
    }
}

/// The number of our pid namespace; 0 if it cannot be told.
fn own_namespace(root: &Root) -> u64 {
    let link = std::fs::read_link(root.path("proc/self/ns/pid")).unwrap_or_default();
    let text = link.to_string_lossy();
    let number = text.trim_start_matches("pid:[").trim_end_matches(']');
    number.parse().unwrap_or(0)
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.process, self.started_ticks, self.namespace)
    }
}

impl FromStr for Identity {
    type Err = BadIdentity;

    fn from_str(text: &str) -> Result<Self, BadIdentity> {
        let parse = || {
            let mut numbers = text.split(':');
            let identity = Self {
                process: numbers.next()?.parse().ok()?,
                started_ticks: numbers.next()?.parse().ok()?,
                namespace: numbers.next()?.parse().ok()?,
            };
            numbers.next().is_none().then_some(identity)
        };
        parse().ok_or_else(|| BadIdentity(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn this_process_lives_and_an_earlier_one_of_its_number_does_not() {
        let root = Root::system();
        let own = Identity::own(&root);
        assert!(own.life(&root).descriptor().is_some() && own.is_in_our_namespace(&root));
        let earlier = Identity { started_ticks: own.started_ticks - 1, ..own };
        assert!(earlier.life(&root).has_ended());
        assert!(!Identity { namespace: 1, ..own }.is_in_our_namespace(&root));
    }

    #[test]
    fn the_dead_are_dead_before_they_are_reaped() {
        let root = Root::system();
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let holder = capture::holder(&root, child.id());
        let identity =
            Identity { process: child.id(), started_ticks: holder.started_ticks, namespace: 0 };
        assert!(identity.is(&holder) && identity.life(&root).descriptor().is_some());
        child.kill().expect("kill");
        while !identity.life(&root).has_ended() {
            std::thread::yield_now();
        }
        child.wait().expect("reaped");
        assert!(identity.life(&root).has_ended());
    }

    #[test]
    fn only_what_the_kernel_calls_gone_is_dead() {
        let root = Root::system();
        let own = capture::holder(&root, std::process::id());
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::PERM, Errno::NOSYS] {
            assert!(matches!(Life::by(&root, &own, Err(errno)), Life::Unwatched), "{errno}");
            // Its number has gone to us: whoever it was is dead, with or without a descriptor.
            let earlier = Holder { started_ticks: own.started_ticks - 1, ..own.clone() };
            assert!(Life::by(&root, &earlier, Err(errno)).has_ended(), "{errno}");
        }
        assert!(Life::by(&root, &own, Err(Errno::SRCH)).has_ended());
        // Nor is what cannot be read: a folder stands for a file that gives an error.
        let folder = tempfile::tempdir().expect("folder");
        let stat = folder.path().join(format!("proc/{}/stat", own.process));
        std::fs::create_dir_all(&stat).expect("folder");
        let blind = Root::at(folder.path());
        assert!(matches!(Life::by(&blind, &own, Err(Errno::MFILE)), Life::Unwatched));
        std::fs::remove_dir(&stat).expect("removed");
        assert!(Life::by(&blind, &own, Err(Errno::MFILE)).has_ended());
    }

    #[test]
    fn words_survive_a_round_trip() {
        let own = Identity::own(&Root::system());
        assert_eq!(own.to_string().parse(), Ok(own));
        for text in ["", "1", "1:2", "1:2:3:4", "a:b:c", "-1:2:3"] {
            assert!(text.parse::<Identity>().is_err(), "{text}");
        }
    }
}
