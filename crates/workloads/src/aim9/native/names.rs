//! The C library's calls on file names and directories, as the original makes them: the system
//! calls that follow differ from those of Rust's library.

use std::ffi::CStr;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// `creat`: an empty file for writing, of mode 0777 less the mask.
pub(in crate::aim9) fn creat(path: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the path is a C string; the descriptor is owned by nobody else.
    unsafe {
        match libc::creat(path.as_ptr(), 0o777) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

pub(in crate::aim9) fn unlink(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is a C string.
    check(unsafe { libc::unlink(path.as_ptr()) })
}

pub(in crate::aim9) fn link(from: &CStr, to: &CStr) -> io::Result<()> {
    // SAFETY: both paths are C strings.
    check(unsafe { libc::link(from.as_ptr(), to.as_ptr()) })
}

/// `mkfifo`, of mode 0666 less the mask.
pub(in crate::aim9) fn mkfifo(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is a C string.
    check(unsafe { libc::mkfifo(path.as_ptr(), 0o666) })
}

/// `stat`; the answer is not looked at.
pub(in crate::aim9) fn stat(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is a C string, and stat writes one `struct stat` to the address; all zeroes
    // is a valid one.
    check(unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        libc::stat(path.as_ptr(), &raw mut status)
    })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[derive(Debug)]
pub(in crate::aim9) struct Directory(NonNull<libc::DIR>);

impl Directory {
    pub(in crate::aim9) fn open(path: &CStr) -> io::Result<Self> {
        // SAFETY: the path is a C string.
        let stream = unsafe { libc::opendir(path.as_ptr()) };
        NonNull::new(stream).map(Self).ok_or_else(io::Error::last_os_error)
    }

    /// `readdir`: whether there was another entry.
    pub(in crate::aim9) fn read(&mut self) -> bool {
        // SAFETY: the stream is open, and the entry is not kept.
        unsafe { !libc::readdir(self.0.as_ptr()).is_null() }
    }

    pub(in crate::aim9) fn rewind(&mut self) {
        // SAFETY: the stream is open.
        unsafe { libc::rewinddir(self.0.as_ptr()) }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and this is its last use.
        unsafe { libc::closedir(self.0.as_ptr()) };
    }
}
