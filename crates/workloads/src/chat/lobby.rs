//! Where clients of `coretwin serve chat` wait until they have said what they want. A silent
//! client delays no other: all are polled at once, and if there are too many the oldest are
//! dropped.

use super::protocol::WISHES;
use crate::door::Door;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

const PLACES: usize = 256;

struct Waiting {
    stream: TcpStream,
    from: Option<IpAddr>,
    since: Instant,
    said: Vec<u8>,
}

/// Clients that have not said what they want, the oldest first.
#[derive(Default)]
pub(super) struct Lobby {
    waiting: Vec<Waiting>,
}

pub(super) enum Left {
    /// It wants this. It does not wait for an answer: the silent ones from its address that came later
    /// are, as far as anybody can tell, its users.
    Wants(TcpStream, [u8; WISHES], Vec<TcpStream>),
    Gone(&'static str),
}

impl Lobby {
    pub(super) fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.waiting.iter().map(|one| PollFd::new(&one.stream, PollFlags::IN))
    }

    /// Lets in the next client at the door; returns whether there was one.
    pub(super) fn let_in(&mut self, door: &mut Door) -> io::Result<bool> {
        let Some(stream) = door.next()? else { return Ok(false) };
        if self.waiting.len() == PLACES {
            self.waiting.remove(self.most_dispensable());
        }
        let from = stream.peer_addr().ok().map(|peer| peer.ip());
        self.waiting.push(Waiting { stream, from, since: Instant::now(), said: Vec::new() });
        Ok(true)
    }

    /// The one from the address with the most clients here that came first.
    fn most_dispensable(&self) -> usize {
        let from = |address| self.waiting.iter().filter(|one| one.from == address).count();
        let most = self.waiting.iter().map(|one| from(one.from)).max();
        self.waiting.iter().position(|one| Some(from(one.from)) == most).unwrap_or(0)
    }

    /// The next client that has said what it wants, has closed, or has been silent for too long.
    pub(super) fn next(&mut self, patience: Duration) -> Option<Left> {
        let (index, left) = self.waiting.iter_mut().enumerate().find_map(|(index, one)| {
            let gone = match one.hear() {
                Ok(true) => return Some((index, None)),
                Ok(false) => (one.since.elapsed() > patience).then_some("a client said nothing"),
                Err(_) => Some("the client did not say how many rooms it wants"),
            };
            Some((index, Some(gone?)))
        })?;
        let Waiting { stream, said, from, .. } = self.waiting.remove(index);
        let Ok(said) = said.try_into() else { return left.map(Left::Gone) };
        let is_user = |one: &mut Waiting| one.from == from && one.said.is_empty();
        let users = self.waiting.extract_if(index.., is_user).map(|one| one.stream);
        Some(Left::Wants(stream, said, users.collect()))
    }
}

impl Waiting {
    fn hear(&mut self) -> io::Result<bool> {
        let mut more = [0; WISHES];
        let wanted = WISHES - self.said.len();
        match rustix::net::recv(&self.stream, &mut more[..wanted], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => Err(ErrorKind::UnexpectedEof.into()),
            Ok((_, count)) => {
                self.said.extend_from_slice(&more[..count]);
                Ok(self.said.len() == WISHES)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
