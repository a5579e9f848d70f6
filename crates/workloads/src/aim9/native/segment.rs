//! Shared memory, attached.

use std::io;
use std::ptr;

/// An attached segment. Dropping it detaches it.
#[derive(Debug)]
pub(in crate::aim9) struct Segment {
    address: *mut u8,
    bytes: usize,
}

impl Segment {
    /// Attaches a segment of at least `bytes` bytes, for this process alone.
    pub(in crate::aim9) fn attach(id: i32, bytes: usize) -> io::Result<Self> {
        // SAFETY: the kernel chooses the address, so it overlaps nothing.
        let address = unsafe { libc::shmat(id, ptr::null(), 0) };
        if address.addr() == usize::MAX {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { address: address.cast(), bytes })
    }

    /// Copies into the segment.
    pub(in crate::aim9) fn put(&mut self, from: &[u8]) {
        let size = from.len().min(self.bytes);
        // SAFETY: the segment has `bytes` bytes that nobody else writes; `from` is not in it.
        unsafe { libc::memcpy(self.address.cast(), from.as_ptr().cast(), size) };
    }

    /// Copies out of the segment.
    pub(in crate::aim9) fn take(&self, to: &mut [u8]) {
        let size = to.len().min(self.bytes);
        // SAFETY: the segment has `bytes` bytes that nobody else writes; `to` is not in it.
        unsafe { libc::memcpy(to.as_mut_ptr().cast(), self.address.cast(), size) };
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: it was attached there, and this is its last use.
        unsafe { libc::shmdt(self.address.cast()) };
    }
}
