//! A handler for `SIGUSR1`, which counts.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static CAUGHT: AtomicU64 = AtomicU64::new(0);

/// Counts. Only one thread is ever in it, so it can do without a locked instruction.
extern "C" fn catch(_: libc::c_int) {
    CAUGHT.store(CAUGHT.load(Relaxed) + 1, Relaxed);
}

/// Signals caught so far.
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
