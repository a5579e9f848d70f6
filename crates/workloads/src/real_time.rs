//! Threads of the real-time classes (sched(7)), which come before all others.

use crate::sys;
use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealTime {
    Fifo,
    RoundRobin,
}

impl RealTime {
    /// Makes this thread one of the class, of a priority from 1 to 99; threads it starts are not. It
    /// takes root, or `CAP_SYS_NICE`.
    pub fn enter(self, priority: u8) -> io::Result<()> {
        let policy = match self {
            Self::Fifo => libc::SCHED_FIFO,
            Self::RoundRobin => libc::SCHED_RR,
        };
        sys::enter_class(policy | libc::SCHED_RESET_ON_FORK, priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own, which stays real-time if that is permitted.
    #[test]
    fn a_thread_is_what_it_asked_for_or_is_refused() {
        let policy = |class: RealTime| {
            let refused = class.enter(1).err().map(|error| error.raw_os_error());
            let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("its own");
            // proc_pid_stat(5): the policy is field 41.
            let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
            (refused, fields.clone().nth(38).map(str::to_owned))
        };
        for (class, number) in [(RealTime::Fifo, "1"), (RealTime::RoundRobin, "2")] {
            let (refused, policy) = std::thread::spawn(move || policy(class)).join().expect("end");
            match refused {
                None => assert_eq!(policy.as_deref(), Some(number)),
                Some(error) => assert_eq!(error, Some(libc::EPERM)),
            }
        }
        let error = RealTime::Fifo.enter(0).expect_err("no such priority");
        assert!(matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EPERM)), "{error}");
    }
}
