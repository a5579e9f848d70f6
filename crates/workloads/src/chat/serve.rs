//! The server of chat alone, for a client elsewhere on this machine: `coretwin serve chat`, and
//! `coretwin run chat:server=127.0.0.1:9999`.
//!
//! It serves one client after the other until it is told to stop. By default it listens on
//! loopback only: the protocol has no authentication and starts thousands of threads for any client
//! that connects, and a study measures one machine, not the network between two.
//!
//! In the lobby clients wait until they have said what they want. A silent client delays no other: all are
//! polled at once, and if there are too many the oldest are dropped.

use super::protocol::{Config, Totals, WISHES, Waiting, keys};
use super::server::{Session, serve, wishes_of};
use super::{CONNECTIONS_MAX, SEMAPHORE_MAX};
use crate::answer::Failure;
use crate::door::Door;
use crate::semaphores::Claim;
use crate::serve::ServeEvent;
use crate::{Error, socket, sys};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::net::sockopt::set_socket_reuseaddr;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(50);

/// Which variant of chat the server is; the client has to be of the same.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    #[default]
    Plain,
    Futex,
    NoDelay,
}

/// How to serve chat. Users and message size are not part of the protocol, so a client that differs
/// from them cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatOptions {
    pub address: IpAddr,
    /// Port to listen on; 0: any free one.
    pub port: u16,
    /// Whether to end after one client.
    pub once: bool,
    pub variant: Variant,
    /// Users of a room, 2 to 1000.
    pub users: u32,
    /// Size of a message, in bytes.
    pub message_bytes: u32,
    /// How long a client may take to say what it wants, and for each connection that it then makes.
    pub patience: Duration,
    pub longest: Duration,
}

impl Default for ChatOptions {
    /// The original's port, users and message size; a minute's patience, an hour at most.
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 9999,
            once: false,
            variant: Variant::Plain,
            users: 20,
            message_bytes: 100,
            patience: Duration::from_secs(60),
            longest: Duration::from_secs(3600),
        }
    }
}

/// Serves chat until `stop` says so, and then removes everything it made. `stop` is asked about
/// twenty times a second, from another thread too; a flag that a signal handler sets will do. A
/// client that fails is an event, or, with `once`, an error.
pub fn serve_chat(
    options: &ChatOptions,
    stop: impl Fn() -> bool + Sync,
    mut on_event: impl FnMut(ServeEvent),
) -> Result<(), Error> {
    sys::open_more_files();
    let address = SocketAddr::new(options.address, options.port);
    // To be started again at once on a port of its user's choice.
    let (listener, address) = socket::listen(address, |socket| set_socket_reuseaddr(socket, true))?;
    on_event(ServeEvent::Listening(address));
    let (mut door, mut lobby) = (Door::open(listener)?, Lobby::default());
    while !stop() {
        let came = lobby.let_in(&mut door);
        let served = match (lobby.next(options.patience), came) {
            (Some(Left::Wants(control, wishes, users)), _) => {
                door.take_back(users);
                one_client(options, wishes_of(wishes), &mut door, &control, &stop, &mut on_event)
            }
            (Some(Left::Gone(why)), _) => Err(Error::failed(why)),
            (None, Ok(true)) => continue,
            (None, Ok(false)) => {
                wait_for_any(&door, &lobby)?;
                continue;
            }
            (None, Err(error)) => {
                // No descriptor is free, say: one may be soon.
                std::thread::sleep(LOOK);
                Err(Error::system("cannot accept a client", error))
            }
        };
        match served {
            _ if stop() => return Ok(()),
            Err(error) if options.once => return Err(error),
            Err(error) => on_event(ServeEvent::Failed(error.to_string())),
            Ok(()) if options.once => return Ok(()),
            Ok(()) => {}
        }
    }
    Ok(())
}

fn one_client(
    options: &ChatOptions,
    wishes: (u32, u32),
    door: &mut Door,
    control: &TcpStream,
    stop: &(impl Fn() -> bool + Sync),
    on_event: &mut impl FnMut(ServeEvent),
) -> Result<(), Error> {
    let (rooms, messages) = within_limits(options, wishes)?;
    on_event(ServeEvent::Started { rooms, messages });
    let claim = match options.variant {
        Variant::Futex => None,
        Variant::Plain | Variant::NoDelay => Some(Claim::new(keys::count(rooms))?),
    };
    let waiting = match &claim {
        Some(claim) => Waiting::Semaphores { base: claim.base },
        None => Waiting::Futexes,
    };
    let config = Config {
        rooms,
        users: options.users,
        messages,
        size: options.message_bytes,
        waiting,
        nodelay: options.variant == Variant::NoDelay,
    };
    let (watch, wanted) =
        (Watch::new(options, config.connections()), (config.sent(), config.received()));
    let session = Session::new(config, |_| {})?;
    let totals = serve_watched(&session, door, control, watch, stop)?;
    let right = wanted == (totals.received, totals.sent);
    on_event(ServeEvent::Served { received: totals.received, sent: totals.sent, right });
    Ok(())
}

fn within_limits(
    options: &ChatOptions,
    (rooms, messages): (u32, u32),
) -> Result<(u32, u32), Error> {
    let rooms_max = (CONNECTIONS_MAX / options.users.max(1)).min(keys::ROOMS_MAX);
    if (1..=rooms_max).contains(&rooms) && (1..=SEMAPHORE_MAX).contains(&messages) {
        return Ok((rooms, messages));
    }
    Err(Error::failed(format!(
        "a client asked for {rooms} rooms and {messages} messages; with {} users a room this server \
         takes 1 to {rooms_max} rooms and 1 to {SEMAPHORE_MAX} messages",
        options.users
    )))
}

fn serve_watched(
    session: &Session,
    door: &mut Door,
    control: &TcpStream,
    mut watch: Watch,
    stop: &(impl Fn() -> bool + Sync),
) -> Result<Totals, Error> {
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !finished.load(Ordering::SeqCst) {
                let why = match stop() {
                    true => Some("the server was stopped"),
                    false => watch.too_long(session.accepted()),
                };
                if let Some(why) = why {
                    session.abort(Failure { why: why.to_owned(), lost: false });
                    let _ = control.shutdown(Shutdown::Both);
                    return;
                }
                std::thread::sleep(LOOK);
            }
        });
        let served = serve(session, door, control);
        finished.store(true, Ordering::SeqCst);
        served
    })
}

/// Watches a client's progress, so that none holds the server without a bound.
struct Watch {
    began: Instant,
    moved: Instant,
    connections: u32,
    wanted: u32,
    patience: Duration,
    longest: Duration,
}

impl Watch {
    fn new(options: &ChatOptions, wanted: u32) -> Self {
        let (began, patience, longest) = (Instant::now(), options.patience, options.longest);
        Self { began, moved: began, connections: 0, wanted, patience, longest }
    }

    fn too_long(&mut self, connections: u32) -> Option<&'static str> {
        if connections != self.connections {
            (self.connections, self.moved) = (connections, Instant::now());
        }
        if connections < self.wanted && self.moved.elapsed() > self.patience {
            return Some("a client did not make the connections that it announced");
        }
        (self.began.elapsed() > self.longest).then_some("a client took too long")
    }
}

fn wait_for_any(door: &Door, lobby: &Lobby) -> Result<(), Error> {
    let brief = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    match poll(&mut door.fds().chain(lobby.fds()).collect::<Vec<_>>(), Some(&brief)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(Error::system("cannot wait for a client", error)),
    }
}

const PLACES: usize = 256;

struct Waiter {
    stream: TcpStream,
    from: Option<IpAddr>,
    since: Instant,
    said: Vec<u8>,
}

#[derive(Default)]
struct Lobby {
    waiting: Vec<Waiter>,
}

enum Left {
    /// It wants this. It does not wait for an answer: the silent ones from its address that came later
    /// are, as far as anybody can tell, its users.
    Wants(TcpStream, [u8; WISHES], Vec<TcpStream>),
    Gone(&'static str),
}

impl Lobby {
    fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.waiting.iter().map(|one| PollFd::new(&one.stream, PollFlags::IN))
    }

    fn let_in(&mut self, door: &mut Door) -> io::Result<bool> {
        let Some(stream) = door.next()? else { return Ok(false) };
        if self.waiting.len() == PLACES {
            self.waiting.remove(self.most_dispensable());
        }
        let from = stream.peer_addr().ok().map(|peer| peer.ip());
        self.waiting.push(Waiter { stream, from, since: Instant::now(), said: Vec::new() });
        Ok(true)
    }

    /// The one from the address with the most clients here that came first.
    fn most_dispensable(&self) -> usize {
        let from = |address| self.waiting.iter().filter(|one| one.from == address).count();
        let most = self.waiting.iter().map(|one| from(one.from)).max();
        self.waiting.iter().position(|one| Some(from(one.from)) == most).unwrap_or(0)
    }

    /// The next client that has said what it wants, has closed, or has been silent for too long.
    fn next(&mut self, patience: Duration) -> Option<Left> {
        let (index, left) = self.waiting.iter_mut().enumerate().find_map(|(index, one)| {
            let gone = match one.hear() {
                Ok(true) => return Some((index, None)),
                Ok(false) => (one.since.elapsed() > patience).then_some("a client said nothing"),
                Err(_) => Some("the client did not say how many rooms it wants"),
            };
            Some((index, Some(gone?)))
        })?;
        let Waiter { stream, said, from, .. } = self.waiting.remove(index);
        let Ok(said) = said.try_into() else { return left.map(Left::Gone) };
        let is_user = |one: &mut Waiter| one.from == from && one.said.is_empty();
        let users = self.waiting.extract_if(index.., is_user).map(|one| one.stream);
        Some(Left::Wants(stream, said, users.collect()))
    }
}

impl Waiter {
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
