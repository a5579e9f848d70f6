//! Row `context-switch`: a token goes round a ring of processes over pipes, and each adds up its own
//! memory, the footprint, before it passes the token on.
//!
//! A turn of the ring is as many switches as it has processes. What the same pipe and the same
//! memory take in one process alone, whose caches then hold all of it, is taken off. So what is left
//! holds the switch and the wake-up, and what they lose: a footprint that no cache keeps for the
//! next time costs more than the switch itself.

use super::harness::Peer;
use super::harness::{Bench, Body, Place, checked};
use super::native::memory::{Memory, read};
use crate::workload::int;
use crate::{Context, Error};
use rustix::pipe::pipe;
use std::os::fd::OwnedFd;

const WORD: u64 = 3;

/// The two ends of a pipe, until their owners take them.
type Ends = (Option<OwnedFd>, Option<OwnedFd>);

/// A process of the ring, or alone: where tokens come from and go to, and its memory.
struct Member {
    from: OwnedFd,
    to: OwnedFd,
    footprint: Memory,
}

impl Member {
    fn new(from: OwnedFd, to: OwnedFd, footprint_kib: u32) -> Self {
        let mut footprint = Memory::new(footprint_kib);
        footprint.words_mut().fill(WORD);
        Self { from, to, footprint }
    }

    /// Adds up the memory; whether the sum is right.
    fn touch(&self) -> bool {
        let words = self.footprint.words();
        read(words) == WORD * words.len() as u64
    }

    fn send(&self, token: u64) -> Result<(), Error> {
        rustix::io::write(&self.to, &token.to_ne_bytes())
            .map(drop)
            .context("cannot pass the token on")
    }

    /// The token; none at the end of the ring.
    fn receive(&self) -> Result<Option<u64>, Error> {
        let mut token = [0; size_of::<u64>()];
        let read = rustix::io::read(&self.from, &mut token).context("cannot wait for the token")?;
        // A token is shorter than what pipes write in one piece (pipe(7)).
        Ok((read > 0).then(|| u64::from_ne_bytes(token)))
    }

    /// Waits for the token, touches, and passes it on, one more than it was, until the ring ends.
    fn pass_on(&self) -> Result<(), Error> {
        while let Some(token) = self.receive()? {
            let touched = self.touch();
            self.send(token + u64::from(touched))?;
        }
        Ok(())
    }

    /// Sends the token, waits for it, and touches; what it came back as.
    fn turn(&mut self) -> Result<u64, Error> {
        self.send(0)?;
        let token =
            self.receive()?.ok_or_else(|| Error::failed("a process of the ring has ended"))?;
        Ok(token + u64::from(self.touch()))
    }
}

fn open() -> Result<(OwnedFd, OwnedFd), Error> {
    pipe().context("cannot make a pipe")
}

/// The ends that belong to a member: it reads its own pipe, and writes to the next one.
fn take(pipes: &mut [Ends], member: usize) -> Result<(OwnedFd, OwnedFd), Error> {
    let next = (member + 1) % pipes.len();
    let (from, to) = (pipes[member].0.take(), pipes[next].1.take());
    from.zip(to).ok_or_else(|| Error::failed("a pipe of the ring was given away twice"))
}

pub(super) fn context_switch(place: &Place) -> Result<Bench, Error> {
    let (processes, kib) = (int(&place.params, "processes"), int(&place.params, "footprint_kib"));
    let mut pipes = Vec::new();
    for _ in 0..processes {
        let (from, to) = open()?;
        pipes.push((Some(from), Some(to)));
    }
    let mut others = Vec::new();
    for member in 1..processes as usize {
        // Neighbours are of different roles, so that a placement separates them.
        others.push(Peer::start(place, member % 2, || {
            let (from, to) = take(&mut pipes, member)?;
            // What it does not use it must not hold: the ring ends when one of its processes does.
            pipes.clear();
            Member::new(from, to, kib).pass_on()
        })?);
    }
    let (from, to) = take(&mut pipes, 0)?;
    drop(pipes);
    let mut own = Member::new(from, to, kib);
    // Every process that has added up its memory makes the token one more.
    let mut ring = checked("every_process_had_the_token", move || {
        let _lives = &others;
        Ok(own.turn()? == u64::from(processes))
    });
    ring.repeat(1)?;
    let (from, to) = open()?;
    let mut own = Member::new(from, to, kib);
    // As often as the ring has processes.
    let alone = checked("overhead_adds_up", move || {
        (0..processes).try_fold(true, |right, _| Ok(right & (own.turn()? == 1)))
    });
    Ok(Bench::of(ring).minus(alone).worth(processes.into()))
}
