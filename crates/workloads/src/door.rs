//! The door of a server within a run: any user of the machine can connect to a port on loopback, and
//! the run's own clients alone are let in.
//!
//! A client connects and then announces the port of its end through a pipe, which only processes of the
//! run have. A connection that is not announced is held until it is; of too many, the oldest is
//! closed. When all expected clients are in, the listener is closed. So nothing is added to any
//! message, and nothing of the door is left when the clock starts.

use crate::answer;
use crate::supervisor::{Launch, Supervisor, TaskId};
use crate::{Context, Error};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, dup};
use rustix::pipe::{PipeFlags, pipe_with};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Connections that may wait for their announcement, which takes a client two system calls.
const UNANNOUNCED_MAX: usize = 1024;
/// Bytes of an announcement: a port, which a pipe carries whole.
const PORT: usize = size_of::<u16>();

/// The pipe of announcements as clients inherit it: the bell. Dropped when the last was started.
pub(crate) struct Handle {
    inherited: OwnedFd,
}

impl Handle {
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.inherited.as_raw_fd()))
    }
}

/// Starts a run's own server: it, where it listens (nowhere if it has ended), and the bell.
pub(crate) fn start_server(
    launch: Launch<'_>,
    supervisor: &mut Supervisor,
) -> Result<(TaskId, Option<SocketAddr>, Handle), Error> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).context("cannot make a pipe")?;
    let server = supervisor.start_with(launch, read.into())?;
    // Not before the server runs: it would inherit it, and wait for itself.
    let handle = Handle { inherited: dup(&write).context("cannot hand out a pipe")? };
    let port = |now: &Supervisor| now.task(server).and_then(answer::port);
    supervisor.wait(None, |now| now.has_ended(server) || port(now).is_some())?;
    let address = port(supervisor).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    Ok((server, address, handle))
}

pub(crate) struct Announcer(File);

impl Announcer {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        File::options().write(true).open(path).map(Self)
    }

    pub(crate) fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address)?;
        (&self.0).write_all(&stream.local_addr()?.port().to_ne_bytes())?;
        Ok(stream)
    }
}

pub(crate) struct Door {
    /// None: all are in.
    listener: Option<TcpListener>,
    /// None: everybody is welcome.
    guests: Option<Guests>,
    back: VecDeque<TcpStream>,
}

struct Guests {
    announcements: OwnedFd,
    expected: u32,
    /// Ports of which no connection was seen.
    announced: Vec<u16>,
    /// Connections that were not announced, the oldest first.
    unannounced: VecDeque<(SocketAddr, TcpStream)>,
}

impl Door {
    pub(crate) fn open(listener: TcpListener) -> Result<Self, Error> {
        Self::new(listener, None)
    }

    /// A door for a number of clients, which are announced on standard input.
    pub(crate) fn guarded(listener: TcpListener, expected: u32) -> Result<Self, Error> {
        let announcements = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
        let announcements = announcements.map_err(deaf)?;
        Self::hearing(announcements, listener, expected)
    }

    fn hearing(
        announcements: OwnedFd,
        listener: TcpListener,
        expected: u32,
    ) -> Result<Self, Error> {
        rustix::io::ioctl_fionbio(&announcements, true).map_err(deaf)?;
        let (announced, unannounced) = (Vec::new(), VecDeque::new());
        Self::new(listener, Some(Guests { announcements, expected, announced, unannounced }))
    }

    fn new(listener: TcpListener, guests: Option<Guests>) -> Result<Self, Error> {
        listener.set_nonblocking(true).context("cannot wait for many clients at once")?;
        Ok(Self { listener: Some(listener), guests, back: VecDeque::new() })
    }

    pub(crate) fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let listener = self.listener.as_ref();
        let guests = self.guests.as_ref().filter(|_| listener.is_some());
        let announcements = guests.map(|guests| guests.announcements.as_fd());
        let fds = listener.map(AsFd::as_fd).into_iter().chain(announcements);
        fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
    }

    /// `None`: no client is there now. `ConnectionReset`: the clients have ended before all were in.
    pub(crate) fn next(&mut self) -> io::Result<Option<TcpStream>> {
        if let Some(stream) = self.back.pop_front() {
            return Ok(Some(stream));
        }
        let Some(listener) = &self.listener else { return Ok(None) };
        // Strangers who come faster than they are looked at must not keep this from ending.
        for _ in 0..UNANNOUNCED_MAX {
            if let Some(guests) = &mut self.guests
                && let Some(stream) = guests.announced()?
            {
                guests.expected = guests.expected.saturating_sub(1);
                if guests.expected == 0 {
                    guests.unannounced.clear();
                    self.listener = None;
                }
                return Ok(Some(stream));
            }
            match (listener.accept(), &mut self.guests) {
                (Ok((stream, _)), None) => return Ok(Some(stream)),
                (Ok((stream, peer)), Some(guests)) => guests.hold(stream, peer),
                (Err(error), _) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                (Err(error), _) if error.kind() == ErrorKind::ConnectionAborted => {}
                // No descriptor is free: those of strangers are the first to go.
                (Err(error), guests) => {
                    let held = guests.as_mut().and_then(|guests| guests.unannounced.pop_front());
                    held.map(drop).ok_or(error)?;
                }
            }
        }
        Ok(None)
    }

    pub(crate) fn take_back(&mut self, streams: Vec<TcpStream>) {
        self.back.extend(streams);
    }

    pub(crate) fn wait(&mut self) -> io::Result<TcpStream> {
        loop {
            if let Some(stream) = self.next()? {
                return Ok(stream);
            }
            match poll(&mut self.fds().collect::<Vec<_>>(), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn deaf(error: Errno) -> Error {
    Error::system("cannot hear who is announced", error)
}

impl Guests {
    fn hold(&mut self, stream: TcpStream, peer: SocketAddr) {
        if self.unannounced.len() == UNANNOUNCED_MAX {
            self.unannounced.pop_front();
        }
        self.unannounced.push_back((peer, stream));
    }

    fn announced(&mut self) -> io::Result<Option<TcpStream>> {
        let mut ports = [0; 64 * PORT];
        loop {
            match rustix::io::read(&self.announcements, &mut ports) {
                Ok(0) => return Err(ErrorKind::ConnectionReset.into()),
                Ok(count) => {
                    let (ports, _) = ports[..count].as_chunks();
                    self.announced.extend(ports.iter().map(|port| u16::from_ne_bytes(*port)));
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let pair = self.announced.iter().enumerate().find_map(|(index, port)| {
            let end = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            let held = self.unannounced.iter().position(|(peer, _)| *peer == end)?;
            Some((index, held))
        });
        let Some((index, held)) = pair else { return Ok(None) };
        self.announced.remove(index);
        Ok(self.unannounced.remove(held).map(|(_, stream)| stream))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(expected: u32) -> (Door, SocketAddr, Announcer) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listening");
        let address = listener.local_addr().expect("address");
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
        let handle = Handle { inherited: dup(&write).expect("handed out") };
        let announcer = Announcer::open(&handle.path()).expect("opened");
        (Door::hearing(read, listener, expected).expect("a door"), address, announcer)
    }

    #[test]
    fn a_stranger_waits_outside_and_the_guest_comes_in() {
        let (mut door, address, announcer) = door(2);
        let strangers: Vec<_> =
            (0..20).map(|_| TcpStream::connect(address).expect("connected")).collect();
        for _ in 0..2 {
            let guest = announcer.connect(address).expect("connected");
            let inside = door.next().expect("no error").expect("the guest");
            assert_eq!(inside.peer_addr().expect("peer"), guest.local_addr().expect("own end"));
        }
        // All are in: nobody can connect any more, and who waited is sent away.
        assert!(door.next().expect("no error").is_none() && door.fds().count() == 0);
        assert!(TcpStream::connect(address).is_err());
        for mut stranger in strangers {
            let read = io::Read::read(&mut stranger, &mut [0]);
            assert!(read.is_err() || read.is_ok_and(|count| count == 0));
        }
    }

    #[test]
    fn a_guest_is_found_behind_more_strangers_than_may_wait() {
        let (mut door, address, announcer) = door(1);
        let mut strangers = Vec::new();
        for _ in 0..UNANNOUNCED_MAX + 10 {
            strangers.push(TcpStream::connect(address).expect("connected"));
            assert!(door.next().expect("no error").is_none());
        }
        let _guest = announcer.connect(address).expect("connected");
        assert!(door.next().expect("no error").is_some());
    }

    #[test]
    fn guests_that_have_ended_are_not_waited_for() {
        let (mut door, _, announcer) = door(1);
        drop(announcer);
        assert_eq!(door.wait().expect_err("gone").kind(), ErrorKind::ConnectionReset);
    }
}
