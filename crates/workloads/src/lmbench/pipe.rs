//! Row `pipe-latency`: a byte to a second process and back. An operation is the whole round trip:
//! two processes are woken in it.

use super::harness::peer::Peer;
use super::harness::{Bench, Body, Place};
use crate::Error;
use rustix::io::{read, write};
use rustix::pipe::pipe;
use std::os::fd::OwnedFd;

/// The role of the process that sends back.
const ECHO: usize = 1;

struct RoundTrips {
    there: OwnedFd,
    back: OwnedFd,
    /// Round trips whose byte was another.
    wrong: u64,
    _echo: Peer,
}

pub(super) fn pipe_latency(place: &Place) -> Result<Bench, Error> {
    let trouble = |error| Error::system("cannot make a pipe", error);
    let (from_parent, there) = pipe().map_err(trouble)?;
    let (back, to_parent) = pipe().map_err(trouble)?;
    let echo = Peer::start(place, ECHO, || {
        let mut byte = [0];
        while let Ok(1) = read(&from_parent, &mut byte) {
            if !matches!(write(&to_parent, &byte), Ok(1)) {
                return Err(Error::failed("cannot send a byte back"));
            }
        }
        Ok(())
    })?;
    // Its ends are the other process's alone now: should that end, this one is not left waiting.
    drop((from_parent, to_parent));
    let mut trips = RoundTrips { there, back, wrong: 0, _echo: echo };
    trips.repeat(1)?;
    Ok(Bench::of(trips))
}

impl Body for RoundTrips {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        let lost = |error| Error::system("the second process does not answer", error);
        for trip in 0..count {
            let (sent, mut came) = ([trip as u8], [0]);
            write(&self.there, &sent).map_err(lost)?;
            match read(&self.back, &mut came).map_err(lost)? {
                0 => return Err(Error::failed("the second process has ended")),
                _ => self.wrong += u64::from(came != sent),
            }
        }
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        vec![("bytes_came_back", self.wrong == 0)]
    }
}
