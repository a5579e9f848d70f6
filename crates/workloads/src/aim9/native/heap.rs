//! The end of the heap moved by the raw system call: the C library's `sbrk` is refused by some
//! libraries, and would be told of a heap that is not its own.
//!
//! The allocator of this process has its heap there too. It must not be used between the first
//! move and [`Break::back`]; the callers only count.

use std::ptr;

#[derive(Debug)]
pub(in crate::aim9) struct Break {
    found: usize,
    now: usize,
}

impl Break {
    pub(in crate::aim9) fn find() -> Self {
        let now = set(0);
        Self { found: now, now }
    }

    /// Moves it by that many bytes, with one system call; returns `false` if the kernel refused.
    #[must_use]
    pub(in crate::aim9) fn move_by(&mut self, bytes: isize) -> bool {
        let wanted = self.now.wrapping_add_signed(bytes);
        let moved = wanted >= self.found && set(wanted) == wanted;
        if moved {
            self.now = wanted;
        }
        moved
    }

    /// Writes one byte every `step` bytes of the last `length` bytes of the heap.
    pub(in crate::aim9) fn touch_last(&self, length: usize, step: usize) {
        if length > self.now - self.found || step == 0 {
            return;
        }
        for offset in (0..length).step_by(step) {
            // SAFETY: the address is between where the heap ended when found and where it ends
            // now: memory that the kernel gave since then, and that nobody else knows of.
            unsafe {
                ptr::with_exposed_provenance_mut::<u8>(self.now - length + offset)
                    .write_volatile(1);
            }
        }
    }

    #[must_use]
    pub(in crate::aim9) fn back(&mut self) -> bool {
        self.now = self.found;
        set(self.found) == self.found
    }
}

/// Asks the kernel for the end of the heap; it answers with where that is now (brk(2), notes).
fn set(end: usize) -> usize {
    // SAFETY: the allocator knows its heap only up to where it was when first found, and the
    // callers above never end it before that.
    let now = unsafe { libc::syscall(libc::SYS_brk, end) };
    usize::try_from(now).unwrap_or(0)
}

/// Page faults of this process so far that needed no disk.
pub(in crate::aim9) fn minor_faults() -> u64 {
    // SAFETY: getrusage writes one rusage to the address; all zeroes is a valid one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_minflt).unwrap_or(0)
}
