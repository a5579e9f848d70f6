//! Descriptors: closed by one call and no other, and sets of them that `select` is asked about.

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::ptr;

/// Closes a descriptor. When one is dropped Rust asks first, in debug builds, whether it is open.
pub(in crate::lmbench) fn close(descriptor: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was owned and is nobody's any more.
    match unsafe { libc::close(descriptor.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Descriptors that are asked about together.
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
