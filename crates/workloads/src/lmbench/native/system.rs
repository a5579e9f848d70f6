//! System calls: closing, `select`, a signal's handler, the clock.

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Closes a descriptor. When one is dropped Rust asks first, in debug builds, whether it is open.
pub(in crate::lmbench) fn close(descriptor: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was owned, and its owner is gone.
    match unsafe { libc::close(descriptor.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(in crate::lmbench) struct Descriptors {
    _open: Vec<OwnedFd>,
    set: libc::fd_set,
    /// One more than the highest: `select` looks at all below it (select(2)).
    end: libc::c_int,
}

impl Descriptors {
    /// A set of these, which stay open.
    pub(in crate::lmbench) fn new(open: Vec<OwnedFd>) -> io::Result<Self> {
        let end = open.iter().map(|fd| fd.as_raw_fd() + 1).max().unwrap_or(0);
        if end > libc::FD_SETSIZE as libc::c_int {
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

/// Signals caught by [`catch`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_agree() {
        let (one, two) = (clock_by_library().expect("read"), clock_by_system_call().expect("read"));
        assert!(one <= two && two - one < 1_000_000_000);
    }
}
