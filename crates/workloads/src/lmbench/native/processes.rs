//! Processes as LMbench makes them: a real `fork` of the measuring process, whose cost grows with
//! its memory, where Rust's library would share it.

use rustix::process::Pid;
use std::ffi::CStr;
use std::io;
use std::ptr;

/// Forks. The child runs `work` and exits with its result, as a C program that calls `exit`.
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

/// Closes standard output, as the child of LMbench does before it becomes another program: what
/// that writes is refused, and nothing has to be read.
fn close_output() {
    // SAFETY: only a child that becomes another program at once comes here, so nobody else's
    // descriptor can take the number in between.
    unsafe { libc::close(1) };
}

/// Starts a child that becomes the program, without an environment.
pub(in crate::lmbench) fn fork_and_execve(program: &CStr) -> io::Result<Pid> {
    fork(|| {
        close_output();
        let argv = [program.as_ptr(), ptr::null()];
        // SAFETY: the list ends in null and its strings live until the program is another; no
        // environment is an empty one on Linux.
        unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), ptr::null()) };
        127
    })
}

/// Starts a child that becomes the shell and has it run the line.
pub(in crate::lmbench) fn fork_and_shell(line: &CStr) -> io::Result<Pid> {
    fork(|| {
        close_output();
        let argv = [c"sh".as_ptr(), c"-c".as_ptr(), line.as_ptr(), ptr::null()];
        // SAFETY: the list ends in null and its strings live until the program is another.
        unsafe { libc::execv(c"/bin/sh".as_ptr(), argv.as_ptr()) };
        127
    })
}
