//! Calls into the kernel as the original makes them. The system calls on names and directories differ from
//! those of Rust's library; a `fork` is a real one of the measuring process, whose cost grows with its memory;
//! the end of the heap is moved by the raw call, because some C libraries refuse `sbrk`, and theirs is told of
//! a heap that is not its own.
//!
//! The allocator of this process has its heap there too. It must not be used between the first move and
//! [`Break::back`]; the callers only count.

use crate::sys;
use std::ffi::CStr;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

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
    sys::done(unsafe { libc::unlink(path.as_ptr()) })
}

pub(in crate::aim9) fn link(from: &CStr, to: &CStr) -> io::Result<()> {
    // SAFETY: both paths are C strings.
    sys::done(unsafe { libc::link(from.as_ptr(), to.as_ptr()) })
}

/// `mkfifo`, of mode 0666 less the mask.
pub(in crate::aim9) fn mkfifo(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is a C string.
    sys::done(unsafe { libc::mkfifo(path.as_ptr(), 0o666) })
}

/// `stat`; the answer is not looked at.
pub(in crate::aim9) fn stat(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is a C string, and stat writes one `struct stat` to the address; all zeroes
    // is a valid one.
    sys::done(unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        libc::stat(path.as_ptr(), &raw mut status)
    })
}

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

/// An attached segment. Dropping it detaches it.
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

    pub(in crate::aim9) fn put(&mut self, from: &[u8]) {
        let size = from.len().min(self.bytes);
        // SAFETY: the segment has `bytes` bytes that nobody else writes; `from` is not in it.
        unsafe { libc::memcpy(self.address.cast(), from.as_ptr().cast(), size) };
    }

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

/// Forks; the child runs `work` and ends. The measuring process has one thread, so the
/// child has all that its parent had.
fn child(work: impl FnOnce() -> i32) -> io::Result<()> {
    // SAFETY: this process has one thread (a copy of a row starts none), so the child is in a
    // whole state. The child never returns from here.
    unsafe {
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => libc::exit(work()),
            _ => Ok(()),
        }
    }
}

pub(in crate::aim9) fn fork_and_exit() -> io::Result<()> {
    child(|| 0)
}

pub(in crate::aim9) fn fork_and_exec(program: &CStr) -> io::Result<()> {
    child(|| {
        let argv = [program.as_ptr(), ptr::null()];
        // SAFETY: the list ends in null and its strings live until the program is another.
        unsafe { libc::execv(program.as_ptr(), argv.as_ptr()) };
        127
    })
}

/// Starts a child that runs a line in a shell with `system`, and ends with its status.
pub(in crate::aim9) fn fork_and_shell(line: &CStr) -> io::Result<()> {
    child(|| {
        // SAFETY: the line is a C string.
        let status = unsafe { libc::system(line.as_ptr()) };
        if status == 0 { 0 } else { 126 }
    })
}

/// Waits until there is no child left; how many ended, and how many of them well.
pub(in crate::aim9) fn wait_for_all() -> io::Result<(u32, u32)> {
    let (mut ended, mut well) = (0, 0);
    loop {
        let mut status = 0;
        // SAFETY: wait writes one int to the address.
        if unsafe { libc::wait(&raw mut status) } < 0 {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::ECHILD) => return Ok((ended, well)),
                Some(libc::EINTR) => continue,
                _ => return Err(error),
            }
        }
        ended += 1;
        well += u32::from(status == 0);
    }
}

static CAUGHT: AtomicU32 = AtomicU32::new(0);

extern "C" fn catch(signal: libc::c_int) {
    install(signal);
    CAUGHT.store(CAUGHT.load(Relaxed) + 1, Relaxed);
}

fn install(signal: libc::c_int) {
    // SAFETY: the handler calls signal and writes one atomic number, which signals may do.
    unsafe { libc::signal(signal, catch as *const () as libc::sighandler_t) };
}

/// Sends itself `SIGUSR2` until `count` were caught; returns how many were sent.
pub(in crate::aim9) fn catch_signals(count: u32) -> u32 {
    CAUGHT.store(0, Relaxed);
    install(libc::SIGUSR2);
    let mut sent = 0;
    // Once: the C library no longer remembers it, and would ask the kernel every time.
    let own = std::process::id().cast_signed();
    while CAUGHT.load(Relaxed) < count {
        // SAFETY: it takes numbers only, and a handler is installed.
        unsafe { libc::kill(own, libc::SIGUSR2) };
        sent += 1;
    }
    sent
}

/// Puts a folder first where programs are searched for.
pub(in crate::aim9) fn search_first(folder: &std::path::Path) {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let mut first = folder.as_os_str().to_owned();
    first.push(":");
    first.push(path);
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var("PATH", first) };
}

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
