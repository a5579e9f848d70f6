//! Calls through the C library, as LMbench makes them: short ones, `select`, a signal's handler, the clock; and
//! a real `fork` of the measuring process, whose cost grows with its memory, where Rust's library would share it.

use crate::sys::done;
use rustix::process::Pid;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn bytes(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

pub(in crate::lmbench) fn getppid() -> i32 {
    // SAFETY: it has no arguments and cannot fail (getppid(2)).
    unsafe { libc::getppid() }
}

pub(in crate::lmbench) fn read(from: &OwnedFd, to: &mut [u8; 1]) -> io::Result<usize> {
    // SAFETY: the kernel writes one byte at most to the address of one.
    bytes(unsafe { libc::read(from.as_raw_fd(), to.as_mut_ptr().cast(), 1) })
}

pub(in crate::lmbench) fn write(to: &OwnedFd, byte: &[u8; 1]) -> io::Result<usize> {
    // SAFETY: the kernel reads one byte at the address of one.
    bytes(unsafe { libc::write(to.as_raw_fd(), byte.as_ptr().cast(), 1) })
}

/// The file's size.
pub(in crate::lmbench) fn stat(path: &CStr) -> io::Result<i64> {
    // SAFETY: all zeroes is a valid stat, which lives, with the string, until the call returns.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        done(libc::stat(path.as_ptr(), &raw mut stat)).map(|()| stat.st_size)
    }
}

/// The file's size.
pub(in crate::lmbench) fn fstat(file: &OwnedFd) -> io::Result<i64> {
    // SAFETY: all zeroes is a valid stat, which lives until the call returns.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        done(libc::fstat(file.as_raw_fd(), &raw mut stat)).map(|()| stat.st_size)
    }
}

pub(in crate::lmbench) fn open(path: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the string lives until the call returns; a descriptor that it gives is nobody else's.
    unsafe {
        match libc::open(path.as_ptr(), libc::O_RDONLY) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor)),
        }
    }
}

/// Sends a signal to a process; 0 only asks whether one could be sent.
pub(in crate::lmbench) fn kill(pid: Pid, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: it has no memory to read or write (kill(2)).
    done(unsafe { libc::kill(pid.as_raw_nonzero().get(), signal) })
}

/// Closes a descriptor. When one is dropped Rust asks first, in debug builds, whether it is open.
pub(in crate::lmbench) fn close(descriptor: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was owned, and its owner is gone.
    done(unsafe { libc::close(descriptor.into_raw_fd()) })
}

pub(in crate::lmbench) struct Descriptors {
    _open: Vec<OwnedFd>,
    set: libc::fd_set,
    /// `select` looks at all below it (select(2)).
    end: libc::c_int,
}

impl Descriptors {
    /// A set of these, which stay open; the kernel is told to look at the lowest so many.
    pub(in crate::lmbench) fn new(open: Vec<OwnedFd>, looked_at: usize) -> io::Result<Self> {
        let mut ends: Vec<_> = open.iter().map(|fd| fd.as_raw_fd() + 1).collect();
        ends.sort_unstable();
        let end = looked_at.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0);
        if ends.last() > Some(&(libc::FD_SETSIZE as libc::c_int)) {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        // SAFETY: all zeroes is a valid set, FD_ZERO makes it an empty one, and every descriptor
        // is below FD_SETSIZE.
        let set = unsafe {
            let mut set: libc::fd_set = std::mem::zeroed();
            libc::FD_ZERO(&raw mut set);
            open.iter().for_each(|fd| libc::FD_SET(fd.as_raw_fd(), &raw mut set));
            set
        };
        Ok(Self { _open: open, set, end })
    }

    /// How many of them can be written to, without waiting. The set is copied first, for the kernel
    /// writes its answer over it.
    pub(in crate::lmbench) fn writable(&self) -> io::Result<i32> {
        let mut set = self.set;
        let mut timeout = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: set and timeout live until the call returns; the other sets are not given.
        let ready = unsafe {
            let none = ptr::null_mut();
            libc::select(self.end, none, &raw mut set, none, &raw mut timeout)
        };
        if ready < 0 { Err(io::Error::last_os_error()) } else { Ok(ready) }
    }
}

static CAUGHT: AtomicU64 = AtomicU64::new(0);

/// Counts. Only one thread is ever in it, so it can do without a locked instruction.
extern "C" fn catch(_: libc::c_int) {
    CAUGHT.store(CAUGHT.load(Relaxed) + 1, Relaxed);
}

pub(in crate::lmbench) fn caught() -> u64 {
    CAUGHT.load(Relaxed)
}

/// Installs the handler: with no other signal held off, and no flag. Whether the handler before was
/// the same.
pub(in crate::lmbench) fn install() -> io::Result<bool> {
    let handler = catch as *const () as libc::sighandler_t;
    // SAFETY: all zeroes is a valid sigaction; the handler writes one atomic number, which signals
    // may do; both structures live until the call returns.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        libc::sigemptyset(&raw mut action.sa_mask);
        match libc::sigaction(libc::SIGUSR1, &raw const action, &raw mut before) {
            0 => Ok(before.sa_sigaction == handler),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Reads the monotonic clock by a system call, past the C library; in ns.
pub(in crate::lmbench) fn clock_by_system_call() -> io::Result<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime writes one timespec to the address (clock_gettime(2)).
    let result =
        unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(nanoseconds(&time))
}

/// Reads the monotonic clock as programs do, through the C library; in ns.
pub(in crate::lmbench) fn clock_by_library() -> io::Result<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime writes one timespec to the address (clock_gettime(2)).
    if unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(nanoseconds(&time))
}

fn nanoseconds(time: &libc::timespec) -> i64 {
    time.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec)
}

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

pub(in crate::lmbench) fn fork_and_shell(line: &CStr) -> io::Result<Pid> {
    fork(|| {
        close_output();
        let argv = [c"sh".as_ptr(), c"-c".as_ptr(), line.as_ptr(), ptr::null()];
        // SAFETY: the list ends in null and its strings live until the program is another.
        unsafe { libc::execv(c"/bin/sh".as_ptr(), argv.as_ptr()) };
        127
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_agree() {
        let (one, two) = (clock_by_library().expect("read"), clock_by_system_call().expect("read"));
        assert!(one <= two && two - one < 1_000_000_000);
    }
}
