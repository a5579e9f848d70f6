//! The server of chat: a receiver and a sender task for every connection.
//!
//! The receiver of a user counts its messages on the user's semaphore of the room; the sender
//! takes them from there and sends one of its own to every other user of the room. The payload
//! is not passed on: it is a stand-in of the same size.

use super::gate::GateSet;
use super::protocol::{
    ALL_ACCEPTED, Config, FINISHED, Totals, WISHES, keys, message_of, no_thread, receive, thread,
};
use crate::answer::{Failure, Said};
use crate::door::Door;
use crate::observe::CpusSeen;
use crate::{Context, Error, answer, role, socket, sys};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Scope;

pub(crate) fn run(args: &[String]) -> Result<Totals, Error> {
    let config: Config = role::orders(args, "the server of chat")?;
    sys::open_more_files();
    // The original sets no option of its sockets.
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let (listener, address) = socket::listen(any, |_| Ok(()))?;
    let mut door = Door::guarded(listener, config.connections() + 1)?;
    answer::tell(&Said::<Totals>::Port(address.port()));
    let control = door.wait().context("the server cannot accept the client")?;
    let mut wishes = [0; WISHES];
    receive(&control, &mut wishes).context("the client did not say how many rooms it wants")?;
    if wishes_of(wishes) != (config.rooms, config.messages) {
        return Err(Error::failed("the client asked the server for another run than planned"));
    }
    let announce = |failure: &Failure| {
        answer::tell(&Said::<Totals>::Failed(failure.clone()));
    };
    let session = Session::new(config, announce);
    let session = session.inspect_err(|error| announce(&Failure::from(error)))?;
    serve(&session, &mut door, &control)
}

pub(crate) fn wishes_of([a, b, c, d, e, f, g, h]: [u8; WISHES]) -> (u32, u32) {
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

pub(crate) struct Session {
    config: Config,
    /// One set per room, one semaphore per user.
    rooms: Vec<GateSet>,
    done: GateSet,
    streams: Vec<OnceLock<TcpStream>>,
    received: AtomicU64,
    sent: AtomicU64,
    seen: CpusSeen,
    failure: OnceLock<Failure>,
    announce: fn(&Failure),
}

impl Session {
    /// Makes the semaphores of a run. A failure is announced before it is seen by the client, so
    /// that cause and consequence are not confused.
    pub(crate) fn new(config: Config, announce: fn(&Failure)) -> Result<Self, Error> {
        let gates = |key, count| {
            GateSet::new(config.waiting, key, count)
                .map_err(|error| super::no_semaphores("server", config.rooms, error))
        };
        let rooms =
            (0..config.rooms).map(|room| gates(room, config.users)).collect::<Result<_, _>>()?;
        let done = gates(keys::server_done(config.rooms), 1)?;
        done.set(0, 2 * config.connections())
            .map_err(|error| super::no_semaphores("server", config.rooms, error))?;
        let streams = (0..config.connections()).map(|_| OnceLock::new()).collect();
        Ok(Self {
            config,
            rooms,
            done,
            streams,
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            seen: CpusSeen::new(),
            failure: OnceLock::new(),
            announce,
        })
    }

    /// Ends the session: every task wakes with an error. The first reason counts.
    pub(crate) fn abort(&self, failure: Failure) {
        if self.failure.set(failure.clone()).is_ok() {
            (self.announce)(&failure);
            for stream in self.streams.iter().filter_map(OnceLock::get) {
                let _ = stream.shutdown(Shutdown::Both);
            }
            self.rooms.iter().for_each(GateSet::close);
            self.done.close();
        }
    }

    pub(crate) fn accepted(&self) -> u32 {
        self.streams.iter().filter(|stream| stream.get().is_some()).count() as u32
    }

    fn result(&self, result: Result<(), Error>) -> Result<(), Error> {
        match self.failure.get() {
            Some(failure) => Err(Error::failed(failure.why.clone())),
            None => result,
        }
    }

    fn receive_all(
        &self,
        user: u32,
        stream: &TcpStream,
        message: &mut [u8],
    ) -> std::io::Result<()> {
        let room = &self.rooms[(user / self.config.users) as usize];
        let index = (user % self.config.users) as u16;
        let mut received = 0;
        for number in 0..self.config.messages {
            receive(stream, message)?;
            received += 1;
            room.add(index, 1)?;
            if number == self.config.messages / 2 {
                self.seen.note();
            }
        }
        self.seen.note();
        self.received.fetch_add(received, Ordering::SeqCst);
        self.done.take(0)
    }

    fn send_to_others(&self, user: u32, message: &[u8]) -> std::io::Result<()> {
        let users = self.config.users;
        let room = &self.rooms[(user / users) as usize];
        let index = user % users;
        let first = (user - index) as usize;
        let mut sent = 0;
        for number in 0..self.config.messages {
            room.take(index as u16)?;
            let streams = self.streams[first..first + users as usize].iter().enumerate();
            for (_, stream) in streams.filter(|(other, _)| *other != index as usize) {
                // A message came, so the client has started, so every connection is accepted.
                let stream = stream.get().ok_or(std::io::ErrorKind::NotConnected)?;
                socket::send(stream, message)?;
                sent += 1;
            }
            if number == self.config.messages / 2 {
                self.seen.note();
            }
        }
        self.seen.note();
        self.sent.fetch_add(sent, Ordering::SeqCst);
        self.done.take(0)
    }
}

pub(crate) fn serve(
    session: &Session,
    door: &mut Door,
    control: &TcpStream,
) -> Result<Totals, Error> {
    std::thread::scope(|scope| {
        let served = accept_and_wait(scope, session, door, control);
        if let Err(error) = &served {
            session.abort(Failure::from(error));
        }
        session.result(served)
    })?;
    let mut word = [0];
    match receive(control, &mut word) {
        Ok(()) if word == [FINISHED] => {}
        Ok(()) => return Err(Error::failed("the client ended with a wrong control byte")),
        Err(error) => return Err(Error::system("the client ended without a word", error)),
    }
    Ok(Totals {
        sent: session.sent.load(Ordering::SeqCst),
        received: session.received.load(Ordering::SeqCst),
        elapsed_s: 0.0,
        cpus_ran: session.seen.cpus(),
    })
}

fn accept_and_wait<'scope>(
    scope: &'scope Scope<'scope, '_>,
    session: &'scope Session,
    door: &mut Door,
    mut control: &TcpStream,
) -> Result<(), Error> {
    let connections = session.config.connections();
    for user in 0..connections {
        let stream = accept(door, control, session)
            .with_context(|| format!("the server has {user} of {connections} connections"))?;
        let stream = session.streams[user as usize].get_or_init(|| stream);
        let failed = move |error: std::io::Error| {
            let what = format!("the server lost the connection of user {user}");
            session.abort(Failure::from(&Error::system(what, error)));
        };
        // Buffers are made here: a thread that allocates would get a heap of its own.
        let message = message_of(user, session.config.size);
        let mut buffer = message.clone();
        let receiver = thread().spawn_scoped(scope, move || {
            session.receive_all(user, stream, &mut buffer).unwrap_or_else(failed);
        });
        receiver.map_err(|error| no_thread("server", &session.config, error))?;
        let sender = thread().spawn_scoped(scope, move || {
            session.send_to_others(user, &message).unwrap_or_else(failed);
        });
        sender.map_err(|error| no_thread("server", &session.config, error))?;
    }
    control.write_all(&[ALL_ACCEPTED]).context("the server cannot start the client")?;
    session.done.wait_for_zero(0).context("the server cannot wait for its tasks")
}

fn accept(door: &mut Door, control: &TcpStream, session: &Session) -> std::io::Result<TcpStream> {
    loop {
        if let Some(stream) = door.next()? {
            if session.config.nodelay {
                stream.set_nodelay(true)?;
            }
            return Ok(stream);
        }
        let mut fds = vec![PollFd::new(control, PollFlags::IN | PollFlags::RDHUP)];
        fds.extend(door.fds());
        let brief = rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let ready = poll(&mut fds, Some(&brief));
        if session.failure.get().is_some() {
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        match ready {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        // Only the control connection has something to say, and it should have nothing.
        if fds[1..].iter().all(|fd| fd.revents().is_empty()) {
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
    }
}
