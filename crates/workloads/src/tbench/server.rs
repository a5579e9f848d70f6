//! The server of tbench: listens, and gives every connection a process of its own, as the original
//! does by `fork`, or a thread.
//!
//! The process is this executable again, started with the connection as its standard input, so that
//! nothing unsafe is needed; that takes longer than a fork, before the clock starts. What ends
//! comes back through a pipe, one line of JSON for each connection.
//!
//! Alone, as `coretwin serve tbench` runs it, it serves all clients at once, those of dbench 4's tbench too.

use super::protocol::{MESSAGE_END, Stream, Traffic, serve};
use crate::answer::Said;
use crate::door::Door;
use crate::role::{self, Entry, TBENCH_CONNECTION};
use crate::serve::ServeEvent;
use crate::{Error, answer, socket, sys};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::RecvFlags;
use rustix::net::sockopt::{Timeout, set_socket_reuseaddr, set_socket_timeout, set_tcp_nodelay};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

const CONNECTIONS_MAX: usize = 2100;
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Clients that are announced on standard input; `None`: every client is served.
    pub(crate) clients: Option<u32>,
    pub(crate) threads: bool,
    /// The executable whose role a process takes; none: this one.
    pub(crate) executable: Option<PathBuf>,
    pub(crate) core_sched: bool,
    /// How long a client may be silent, or not read, in seconds; `None`: without a limit.
    pub(crate) patience_s: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) traffic: Traffic,
    /// Why, if it was not the client's wish.
    pub(crate) failure: Option<String>,
}

pub(crate) fn run(args: &[String]) -> Result<(), Error> {
    let settings: Settings = role::orders(args, "the server")?;
    sys::open_more_files();
    let (listener, address) = listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    answer::tell(&Said::<Ended>::Port(address.port()));
    accept_all(listener, &settings, None, &mut |event| match event {
        Event::Started => {}
        Event::Ended(ended) => {
            answer::tell(&Said::Done(ended));
        }
    })
}

/// The role of a process that serves one connection, which is its standard input.
pub(crate) fn connection_main(entered: Result<(), Error>) -> ExitCode {
    let ended = match entered {
        Ok(()) => converse(rustix::stdio::stdin()),
        Err(error) => Ended { traffic: Traffic::default(), failure: Some(error.to_string()) },
    };
    answer::tell(&ended);
    ExitCode::SUCCESS
}

enum Event {
    Started,
    Ended(Ended),
}

fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    socket::listen(address, |socket| {
        set_socket_reuseaddr(socket, true)?;
        // Accepted connections inherit it.
        set_tcp_nodelay(socket, true)
    })
}

struct Live {
    pipe: File,
    said: Vec<u8>,
    server: Server,
}

enum Server {
    Process(Child),
    Thread(TcpStream),
}

impl Live {
    fn ended(&mut self) -> Option<Ended> {
        let mut buffer = [0; 1024];
        match self.pipe.read(&mut buffer) {
            Ok(count) if count > 0 => {
                self.said.extend_from_slice(&buffer[..count]);
                return None;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return None,
            _ => {}
        }
        if let Server::Process(child) = &mut self.server {
            let _ = child.wait();
        }
        let nothing = || Ended {
            traffic: Traffic::default(),
            failure: Some("the process of a connection died".to_owned()),
        };
        Some(serde_json::from_slice(&self.said).unwrap_or_else(|_| nothing()))
    }

    fn end(mut self) {
        match &mut self.server {
            Server::Process(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Server::Thread(stream) => {
                // Its thread sees the end of the stream, and its last words are waited for.
                let _ = stream.shutdown(Shutdown::Both);
                let _ = self.pipe.read_to_end(&mut self.said);
            }
        }
    }
}

/// Serves every client until `stop` says so; without it, until it is killed. It then ends what it
/// has started.
fn accept_all(
    listener: TcpListener,
    settings: &Settings,
    stop: Option<&dyn Fn() -> bool>,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let mut door = match settings.clients {
        Some(clients) => Door::guarded(listener, clients)?,
        None => Door::open(listener)?,
    };
    let mut live: Vec<Live> = Vec::new();
    let ended = loop {
        if stop.is_some_and(|stop| stop()) {
            break Ok(());
        }
        let ready = match wait(&door, &live, stop.is_some()) {
            Ok(ready) => ready,
            Err(error) => break Err(error),
        };
        let count = live.len();
        for index in (0..count).rev().filter(|index| ready[*index]) {
            if let Some(ended) = live[index].ended() {
                live.swap_remove(index);
                on_event(Event::Ended(ended));
            }
        }
        if !ready[count..].contains(&true) {
            continue;
        }
        // Others must have their turn, however many come.
        for _ in 0..CONNECTIONS_MAX {
            match door.next() {
                // One too many: it sees the end of the stream.
                Ok(Some(_)) if live.len() >= CONNECTIONS_MAX => {}
                Ok(Some(stream)) => match start(stream, settings) {
                    Ok(started) => {
                        live.push(started);
                        on_event(Event::Started);
                    }
                    Err(error) => {
                        let failure = Some(format!("cannot serve a connection: {error}"));
                        on_event(Event::Ended(Ended { traffic: Traffic::default(), failure }));
                    }
                },
                Ok(None) => break,
                // No descriptor is free now: one will be when a connection ends.
                Err(_) => {
                    std::thread::sleep(LOOK);
                    break;
                }
            }
        }
    };
    live.into_iter().for_each(Live::end);
    ended
}

/// Waits for clients and for ends: whether each connection, and then the door, has something.
fn wait(door: &Door, live: &[Live], brief: bool) -> Result<Vec<bool>, Error> {
    let pipes = live.iter().map(|one| PollFd::new(&one.pipe, PollFlags::IN));
    let mut fds: Vec<PollFd<'_>> = pipes.chain(door.fds()).collect();
    let look = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    match poll(&mut fds, brief.then_some(&look)) {
        Ok(_) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(rustix::io::Errno::INTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(Error::system("cannot wait for clients", error)),
    }
}

fn start(stream: TcpStream, settings: &Settings) -> io::Result<Live> {
    let patience = settings.patience_s.and_then(|s| Duration::try_from_secs_f64(s).ok());
    set_socket_timeout(&stream, Timeout::Recv, patience)?;
    set_socket_timeout(&stream, Timeout::Send, patience)?;
    let (pipe, last_words) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let server = if settings.threads {
        let own = stream.try_clone()?;
        let mut last_words = File::from(last_words);
        std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            let ended = converse(stream.as_fd());
            drop(stream);
            if let Ok(text) = serde_json::to_string(&ended) {
                let _ = last_words.write_all(text.as_bytes());
            }
        })?;
        Server::Thread(own)
    } else {
        let entry =
            Entry { parent: std::process::id(), cpus: None, core_sched: settings.core_sched };
        let own = || PathBuf::from("/proc/self/exe");
        let mut command = Command::new(settings.executable.clone().unwrap_or_else(own));
        command.arg0("coretwin-worker").arg(TBENCH_CONNECTION);
        command.arg(serde_json::to_string(&entry)?);
        command.stdin(OwnedFd::from(stream)).stdout(last_words).stderr(Stdio::null());
        Server::Process(command.spawn()?)
    };
    Ok(Live { pipe: File::from(pipe), said: Vec::new(), server })
}

fn converse(stream: BorrowedFd<'_>) -> Ended {
    let mut buffer = vec![0; MESSAGE_END];
    let mut traffic = Traffic::default();
    let ended = serve(&mut Socket(stream), &mut buffer, &mut traffic);
    let failure = ended.err().map(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            "a client was silent, too slow, or did not read, for too long".to_owned()
        }
        ErrorKind::UnexpectedEof => "a client stopped in the middle of a message".to_owned(),
        _ => error.to_string(),
    });
    Ended { traffic, failure }
}

struct Socket<'a>(BorrowedFd<'a>);

impl Stream for Socket<'_> {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        socket::receive(&self.0, buffer, RecvFlags::empty())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        socket::send(&self.0, bytes)
    }
}

#[derive(Debug, Clone)]
pub struct TbenchOptions {
    pub address: SocketAddr,
    pub threads: bool,
    /// The worker's executable, which serves a connection where processes do.
    pub worker: PathBuf,
    /// How long a client may be silent, or not read, before it is let go.
    pub patience: Duration,
    /// Whether to end when there has been a client and the last has gone.
    pub once: bool,
}

/// Serves tbench until `stop` says so, which is asked about twenty times a second. What goes wrong
/// with a client is an event.
pub fn serve_tbench(
    options: &TbenchOptions,
    stop: impl Fn() -> bool,
    mut on_event: impl FnMut(ServeEvent),
) -> Result<(), Error> {
    sys::open_more_files();
    let (listener, address) = listen(options.address)?;
    on_event(ServeEvent::Listening(address));
    let settings = Settings {
        clients: None,
        threads: options.threads,
        executable: Some(options.worker.clone()),
        core_sched: false,
        patience_s: Some(options.patience.as_secs_f64()),
    };
    let live = Cell::new(0_u64);
    let last_gone = Cell::new(false);
    let over = || stop() || (options.once && last_gone.get());
    accept_all(listener, &settings, Some(&over), &mut |event| match event {
        Event::Started => live.set(live.get() + 1),
        Event::Ended(ended) => {
            live.set(live.get().saturating_sub(1));
            last_gone.set(live.get() == 0);
            on_event(match ended.failure {
                Some(why) => ServeEvent::Failed(why),
                None => ServeEvent::Exchanged {
                    exchanges: ended.traffic.exchanges,
                    received_bytes: ended.traffic.requests_bytes,
                    sent_bytes: ended.traffic.replies_bytes,
                },
            });
        }
    })
}
