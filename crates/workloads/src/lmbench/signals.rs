//! Rows `signal-install` and `signal-overhead`: a handler installed, and a signal caught.

use super::harness::{Bench, Body, Place, each, repeated};
use super::native::signals::{caught, install};
use crate::Error;
use rustix::process::{Pid, Signal, getpid, kill_process, test_kill_process};
use std::io;

pub(super) fn signal_install(_: &Place) -> Result<Bench, Error> {
    installed()?;
    Ok(each("install a signal handler", install))
}

fn installed() -> Result<(), Error> {
    install().map(drop).map_err(|error| Error::system("cannot install a signal handler", error))
}

/// Signals sent by the process to itself, and caught before the call that sends returns.
struct Caught {
    own: Pid,
    sent: u64,
    before: u64,
}

/// A signal sent and caught, less a call that only asks whether one could be sent: what is left is
/// its delivery, the handler, and the way back. Where the machine is noisy a sample can be below 0,
/// and stays so: cut off at 0, the noise would be taken for time.
pub(super) fn signal_overhead(_: &Place) -> Result<Bench, Error> {
    installed()?;
    let own = getpid();
    let ask = move || test_kill_process(own).map(|()| true).map_err(io::Error::from);
    let caught = Caught { own, sent: 0, before: caught() };
    Ok(Bench::of(caught).minus(repeated("send no signal", ask)))
}

impl Body for Caught {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        for _ in 0..count {
            kill_process(self.own, Signal::USR1)
                .map_err(|error| Error::system("cannot send a signal", error))?;
        }
        self.sent += count;
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        vec![("signals_caught", caught() - self.before == self.sent)]
    }
}
