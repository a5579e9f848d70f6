//! Processes as LMbench makes them: a real `fork` of the measuring process, whose cost grows with
//! its memory, where Rust's library would share it.

use rustix::process::Pid;
use std::io;

/// Forks. The child does as it is told and ends with that status, as a C program that calls `exit`.
pub(in crate::lmbench) fn fork(work: impl FnOnce() -> i32) -> io::Result<Pid> {
    // SAFETY: a measuring process has one thread, so the child is in a whole state. The child
    // never returns from here.
    let pid = unsafe {
        match libc::fork() {
            0 => libc::exit(work()),
            pid => pid,
        }
    };
    // -1 is no pid.
    Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)
}
