//! The client of chat: a sender and a receiver task for every user, and the clock.
//!
//! A server that another user started may have other users or another message size, which the
//! protocol does not carry; then both sides would deadlock. So the patience
//! with such a server is bounded, by time-outs of the sockets; with our own no option is set.

use super::gate::GateSet;
use super::protocol::{
    ALL_ACCEPTED, Config, FINISHED, Totals, keys, message_of, no_thread, receive, sender_of, thread,
};
use crate::door::Announcer;
use crate::observe::CpusSeen;
use crate::{Context, Error, answer, role, socket, sys};
use std::io;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time-out for a server that another user started, in seconds.
pub(super) const PATIENCE_S: f64 = 30.0;

/// The role: runs against the server whose address is the second argument, reports, ends. The third
/// is the bell at its door if it is ours, else the patience with it, in seconds.
pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    let ready = entered.and_then(|()| {
        let config: Config = role::orders(args, "the client of chat")?;
        let address = args.get(1).and_then(|address| address.parse().ok());
        let address = address.ok_or_else(|| Error::failed("the client was given no address"))?;
        let third = args.get(2).map_or("", String::as_str);
        let patience = third.parse().ok();
        let patience = patience.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let announcer = match patience {
            Some(_) => None,
            None => Some(Arc::new(
                Announcer::open(third.as_ref())
                    .context("the client cannot announce itself to the server")?,
            )),
        };
        let server = Server { address, patience, announcer };
        sys::open_more_files();
        let control = server.connect(1).map_err(|error| {
            let what = format!("the client cannot reach the server at {address}");
            server.trouble(&config, what, error)
        })?;
        Ok((config, Connections { server, control, users: Vec::new() }))
    });
    match ready {
        // The connections close after the report, so that the server is not first to complain.
        Ok((config, mut connections)) => answer::say(&run(config, &mut connections)),
        Err(error) => answer::say::<Totals>(&Err(error)),
    }
}

#[derive(Clone)]
struct Server {
    address: SocketAddr,
    /// How long it may keep the start waiting, and half of how long a task; none: it is ours, and
    /// the worker sees when it ends.
    patience: Option<Duration>,
    /// By which ours knows its client from strangers.
    announcer: Option<Arc<Announcer>>,
}

impl Server {
    /// Connects; the connection may be silent for `times` times the patience.
    fn connect(&self, times: u32) -> io::Result<TcpStream> {
        if let Some(announcer) = &self.announcer {
            return announcer.connect(self.address);
        }
        let patience = self.patience.unwrap_or_default();
        let stream = TcpStream::connect_timeout(&self.address, patience)?;
        stream.set_read_timeout(Some(patience * times))?;
        stream.set_write_timeout(Some(patience * times))?;
        Ok(stream)
    }

    /// The sentence for an error of a connection: with a server that is not ours, silence most
    /// probably means that it waits for more, or has had all it expects.
    fn trouble(&self, config: &Config, what: impl Into<String>, error: io::Error) -> Error {
        use io::ErrorKind::{TimedOut, WouldBlock};
        match (self.patience, error.kind()) {
            (Some(_), TimedOut | WouldBlock) => self.stranger(config),
            _ => Error::system(what, error),
        }
    }

    fn stranger(&self, config: &Config) -> Error {
        let (address, users, size) = (self.address, config.users, config.size);
        Error::failed(format!(
            "the server at {address} does not answer; does it serve the same users ({users}) and \
             size ({size}), and nobody else? start it with `coretwin serve chat --users {users} \
             --size {size}`"
        ))
    }
}

struct Connections {
    server: Server,
    control: TcpStream,
    users: Vec<Arc<TcpStream>>,
}

struct Shared {
    config: Config,
    server: Server,
    start: GateSet,
    done: GateSet,
    sent: AtomicU64,
    received: AtomicU64,
    seen: CpusSeen,
}

impl Shared {
    fn new(config: Config, server: Server) -> Result<Self, Error> {
        let rooms = config.rooms;
        let trouble = |error| super::no_semaphores("client", rooms, error);
        let start = GateSet::new(config.waiting, keys::client_start(rooms), 1).map_err(trouble)?;
        let done = GateSet::new(config.waiting, keys::client_done(rooms), 1).map_err(trouble)?;
        done.set(0, 2 * config.connections()).map_err(trouble)?;
        let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { config, server, start, done, sent, received, seen: CpusSeen::new() })
    }

    fn send(&self, stream: &TcpStream, message: &[u8]) -> io::Result<()> {
        self.start.take(0)?;
        let mut sent = 0;
        for number in 0..self.config.messages {
            socket::send(stream, message)?;
            sent += 1;
            if number == self.config.messages / 2 {
                self.seen.note();
            }
        }
        self.seen.note();
        self.sent.fetch_add(sent, Ordering::SeqCst);
        self.done.take(0)
    }

    /// Messages count if together they are from all others of the room, equally many from each; with
    /// another's server, whose messages may say anything, if they are whole.
    fn receive(&self, user: u32, stream: &TcpStream, message: &mut [u8]) -> io::Result<()> {
        self.start.take(0)?;
        let count = u64::from(self.config.messages) * u64::from(self.config.users - 1);
        let (mut received, mut senders) = (0, 0);
        for number in 0..count {
            receive(stream, message)?;
            received += 1;
            senders += u64::from(sender_of(message));
            // Four looks along the way.
            if number % (count / 4 + 1) == 0 {
                self.seen.note();
            }
        }
        if self.server.announcer.is_none() || senders == self.config.senders_of(user) {
            self.received.fetch_add(received, Ordering::SeqCst);
        }
        self.done.take(0)
    }

    /// Ends the process at once: the worker removes what it leaves, and its sockets tell the
    /// server.
    fn give_up(&self, user: u32, error: io::Error) -> ! {
        let what = format!("the client lost the connection of user {user}");
        answer::say::<Totals>(&Err(self.server.trouble(&self.config, what, error)));
        std::process::exit(1)
    }
}

fn run(config: Config, connections: &mut Connections) -> Result<Totals, Error> {
    let wishes = [config.rooms.to_ne_bytes(), config.messages.to_ne_bytes()].concat();
    connections.control.write_all(&wishes).context("the client cannot speak to the server")?;
    let server = connections.server.clone();
    let shared = Arc::new(Shared::new(config, server.clone())?);
    let threads = start_tasks(&shared, connections)?;
    let mut word = [0];
    receive(&connections.control, &mut word).map_err(|error| {
        server.trouble(&shared.config, "the server ended before the start", error)
    })?;
    if word != [ALL_ACCEPTED] {
        return Err(Error::failed("the server started with a wrong control byte"));
    }
    let start = Instant::now();
    shared
        .start
        .add(0, 2 * shared.config.connections())
        .context("the client cannot start its tasks")?;
    shared.done.wait_for_zero(0).context("the client cannot wait for its tasks")?;
    let elapsed = start.elapsed();
    for thread in threads {
        thread.join().map_err(|_| Error::failed("a task of the client panicked"))?;
    }
    if server.patience.is_none() {
        connections.users.clear();
    }
    connections.control.write_all(&[FINISHED]).context("the client cannot say that it is done")?;
    if server.patience.is_some() {
        connections.users.clear();
        // Messages of twice the size, half as often, add up to the same. A server that was not
        // done leaves the last word unread, and its connection does not end but breaks.
        match receive(&connections.control, &mut word) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            _ => return Err(server.stranger(&shared.config)),
        }
    }
    Ok(Totals {
        sent: shared.sent.load(Ordering::SeqCst),
        received: shared.received.load(Ordering::SeqCst),
        elapsed_s: elapsed.as_secs_f64(),
        cpus_ran: shared.seen.cpus(),
    })
}

fn start_tasks(
    shared: &Arc<Shared>,
    connections: &mut Connections,
) -> Result<Vec<JoinHandle<()>>, Error> {
    let count = shared.config.connections();
    let mut threads = Vec::with_capacity(2 * count as usize);
    for user in 0..count {
        let stream = connect(&connections.server, shared.config.nodelay).map_err(|error| {
            let what = format!("the client made {user} of {count} connections");
            connections.server.trouble(&shared.config, what, error)
        })?;
        let stream = Arc::new(stream);
        connections.users.push(Arc::clone(&stream));
        // Buffers are made here: a thread that allocates would get a heap of its own.
        let message = message_of(user, shared.config.size);
        let mut buffer = message.clone();
        let (task, data) = (Arc::clone(shared), Arc::clone(&stream));
        let sender = thread().spawn(move || {
            task.send(&data, &message).unwrap_or_else(|error| task.give_up(user, error));
        });
        let (task, data) = (Arc::clone(shared), stream);
        let receiver = thread().spawn(move || {
            task.receive(user, &data, &mut buffer)
                .unwrap_or_else(|error| task.give_up(user, error));
        });
        for spawned in [sender, receiver] {
            threads.push(spawned.map_err(|error| no_thread("client", &shared.config, error))?);
        }
    }
    Ok(threads)
}

/// A task may wait twice as long as the start: those of other users come first.
fn connect(server: &Server, nodelay: bool) -> io::Result<TcpStream> {
    let stream = server.connect(2)?;
    if nodelay {
        stream.set_nodelay(true)?;
    }
    Ok(stream)
}
