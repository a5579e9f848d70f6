//! Processes and signals as the original makes them: a real `fork` of the measuring process, whose
//! cost grows with its memory, where Rust's library would share it.

use std::ffi::CStr;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

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

/// Starts a child that ends at once.
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
