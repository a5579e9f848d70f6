//! The client of chat: a sender and a receiver task for every user, and the clock.

use super::gate::GateSet;
use super::protocol::{
    ALL_ACCEPTED, Config, FINISHED, Totals, keys, message_of, no_thread, raise_open_files, receive,
    send_all, thread,
};
use crate::Error;
use crate::observe::CpusSeen;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// The role: runs against the server whose address is the second argument, reports, ends.
pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    let ready = entered.and_then(|()| {
        let config = super::config_from(args)?;
        let address = args.get(1).and_then(|address| address.parse().ok());
        let address = address.ok_or_else(|| Error::failed("the client was given no address"))?;
        raise_open_files();
        let control = TcpStream::connect(address).map_err(|error| {
            Error::system(format!("the client cannot reach the server at {address}"), error)
        })?;
        Ok((config, Connections { address, control, users: Vec::new() }))
    });
    match ready {
        // The connections close after the report, so that the server is not first to complain.
        Ok((config, mut connections)) => super::report(run(config, &mut connections)),
        Err(error) => super::report(Err(error)),
    }
}

/// The client's ends of all connections.
struct Connections {
    address: SocketAddr,
    control: TcpStream,
    users: Vec<Arc<TcpStream>>,
}

/// What the client's tasks share.
struct Shared {
    config: Config,
    start: GateSet,
    done: GateSet,
    sent: AtomicU64,
    received: AtomicU64,
    seen: CpusSeen,
}

impl Shared {
    fn new(config: Config) -> Result<Self, Error> {
        let rooms = config.rooms;
        let trouble = |error| super::no_semaphores("client", rooms, error);
        let start = GateSet::new(config.waiting, keys::client_start(rooms), 1).map_err(trouble)?;
        let done = GateSet::new(config.waiting, keys::client_done(rooms), 1).map_err(trouble)?;
        done.set(0, 2 * config.connections()).map_err(trouble)?;
        let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { config, start, done, sent, received, seen: CpusSeen::new() })
    }

    fn send(&self, stream: &TcpStream, message: &[u8]) -> std::io::Result<()> {
        self.start.take(0)?;
        for number in 0..self.config.messages {
            send_all(stream, message)?;
            if number == self.config.messages / 2 {
                self.seen.note();
            }
        }
        self.seen.note();
        self.sent.fetch_add(u64::from(self.config.messages), Ordering::SeqCst);
        self.done.take(0)
    }

    fn receive(&self, stream: &TcpStream, message: &mut [u8]) -> std::io::Result<()> {
        self.start.take(0)?;
        let count = u64::from(self.config.messages) * u64::from(self.config.users - 1);
        for number in 0..count {
            receive(stream, message)?;
            // Four looks along the way.
            if number % (count / 4 + 1) == 0 {
                self.seen.note();
            }
        }
        self.received.fetch_add(count, Ordering::SeqCst);
        self.done.take(0)
    }
}

/// Ends the process at once: the worker removes what it leaves, and its sockets tell the server.
fn give_up(user: u32, error: std::io::Error) -> ! {
    let what = format!("the client lost the connection of user {user}");
    super::report(Err(Error::system(what, error)));
    std::process::exit(1)
}

fn run(config: Config, connections: &mut Connections) -> Result<Totals, Error> {
    let trouble = |what: &'static str| move |error| Error::system(what, error);
    let wishes = [config.rooms.to_ne_bytes(), config.messages.to_ne_bytes()].concat();
    connections
        .control
        .write_all(&wishes)
        .map_err(trouble("the client cannot speak to the server"))?;
    let shared = Arc::new(Shared::new(config)?);
    let threads = start_tasks(&shared, connections)?;
    let mut word = [0];
    receive(&connections.control, &mut word)
        .map_err(trouble("the server ended before the start"))?;
    if word != [ALL_ACCEPTED] {
        return Err(Error::failed("the server started with a wrong control byte"));
    }
    let start = Instant::now();
    shared
        .start
        .add(0, 2 * shared.config.connections())
        .map_err(trouble("the client cannot start its tasks"))?;
    shared.done.wait_for_zero(0).map_err(trouble("the client cannot wait for its tasks"))?;
    let elapsed = start.elapsed();
    for thread in threads {
        thread.join().map_err(|_| Error::failed("a task of the client panicked"))?;
    }
    connections.users.clear();
    connections
        .control
        .write_all(&[FINISHED])
        .map_err(trouble("the client cannot say that it is done"))?;
    Ok(Totals {
        sent: shared.sent.load(Ordering::SeqCst),
        received: shared.received.load(Ordering::SeqCst),
        elapsed_s: elapsed.as_secs_f64(),
        cpus_ran: shared.seen.cpus(),
    })
}

/// Connects every user, one after the other, and starts its two tasks.
fn start_tasks(
    shared: &Arc<Shared>,
    connections: &mut Connections,
) -> Result<Vec<JoinHandle<()>>, Error> {
    let count = shared.config.connections();
    let mut threads = Vec::with_capacity(2 * count as usize);
    for user in 0..count {
        let stream = connect(connections.address, shared.config.nodelay).map_err(|error| {
            Error::system(format!("the client made {user} of {count} connections"), error)
        })?;
        let stream = Arc::new(stream);
        connections.users.push(Arc::clone(&stream));
        // Buffers are made here: a thread that allocates would get a heap of its own.
        let message = message_of(user, shared.config.size);
        let mut buffer = message.clone();
        let (task, data) = (Arc::clone(shared), Arc::clone(&stream));
        let sender = thread().spawn(move || {
            task.send(&data, &message).unwrap_or_else(|error| give_up(user, error));
        });
        let (task, data) = (Arc::clone(shared), stream);
        let receiver = thread().spawn(move || {
            task.receive(&data, &mut buffer).unwrap_or_else(|error| give_up(user, error));
        });
        for spawned in [sender, receiver] {
            threads.push(spawned.map_err(|error| no_thread("client", &shared.config, error))?);
        }
    }
    Ok(threads)
}

fn connect(address: SocketAddr, nodelay: bool) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    if nodelay {
        stream.set_nodelay(true)?;
    }
    Ok(stream)
}
