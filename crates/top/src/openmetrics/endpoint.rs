//! The text over HTTP/1.1: `GET /metrics` and nothing else.
//!
//! One thread; what others can make it do is bounded: connections at the same time, bytes of a
//! request, time until a connection must be done. A connection that comes when all places are taken
//! gets that of another, so nobody is shut out by those who hold theirs in silence. Connections are
//! closed after one answer. The text is made once a window, not once a request.

use crate::Error;
use coretwin_base::caps;
use coretwin_base::openmetrics::CONTENT_TYPE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cmp::Reverse;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Connections at the same time. One more takes the place of another, see [`Server::dispensable`].
pub const CONNECTIONS_MAX: usize = 64;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// Bytes of a request, head and all.
pub const REQUEST_BYTES_MAX: usize = caps::REQUEST.bytes as usize;
/// Time from the first byte's chance to arrive to the last byte taken.
pub const TIME_MAX: Duration = Duration::from_secs(2);
/// How long a stop may take to be noticed.
const NOTICE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Endpoint {
    pub address: SocketAddr,
    text: Arc<Mutex<Arc<str>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Listens and serves until it is dropped. Before the first window the answer is 503. Errors:
    /// [`Error::Listen`] if the address is taken or not this machine's.
    pub fn start(address: SocketAddr) -> Result<Self, Error> {
        let fail = |cause| Error::Listen { address, cause };
        let listener = TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        // The standard library's 128 are few: one too many is silently delayed by a second.
        rustix::net::listen(&listener, BACKLOG).map_err(|error| fail(error.into()))?;
        let address = listener.local_addr().map_err(fail)?;
        let text: Arc<Mutex<Arc<str>>> = Arc::new(Mutex::new(Arc::from("")));
        let stop = Arc::new(AtomicBool::new(false));
        let server = Server {
            listener,
            text: Arc::clone(&text),
            stop: Arc::clone(&stop),
            connections: Vec::new(),
        };
        let thread = std::thread::Builder::new()
            .name("openmetrics".to_owned())
            .spawn(move || server.serve())
            .map_err(fail)?;
        Ok(Self { address, text, stop, thread: Some(thread) })
    }

    pub fn publish(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = Arc::from(text);
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Server {
    listener: TcpListener,
    text: Arc<Mutex<Arc<str>>>,
    stop: Arc<AtomicBool>,
    connections: Vec<Connection>,
}

/// A connection: first a request is read, then an answer written, then the end awaited.
struct Connection {
    stream: TcpStream,
    from: IpAddr,
    until: Instant,
    request: Vec<u8>,
    answer: Option<Vec<u8>>,
    written: usize,
}

impl Server {
    fn serve(mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            self.wait();
            self.accept();
            let text = &self.text;
            let text = || Arc::clone(&text.lock().unwrap_or_else(PoisonError::into_inner));
            let now = Instant::now();
            self.connections
                .retain_mut(|connection| now < connection.until && connection.goes_on(&text));
        }
    }

    /// Until something can be done, or for a short while.
    fn wait(&self) {
        let mut waiting: Vec<PollFd<'_>> = self
            .connections
            .iter()
            .map(|connection| {
                let flags = match connection.answer {
                    Some(_) if !connection.is_written() => PollFlags::OUT,
                    _ => PollFlags::IN,
                };
                PollFd::new(&connection.stream, flags)
            })
            .collect();
        waiting.push(PollFd::new(&self.listener, PollFlags::IN));
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(NOTICE.subsec_nanos()) };
        // Interrupted is as good as over.
        let _ = poll(&mut waiting, Some(&time));
    }

    fn accept(&mut self) {
        // Half of the places, so that each new one is looked at before it can lose its own.
        for _ in 0..CONNECTIONS_MAX / 2 {
            let (stream, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    // As where no file can be opened: it stays ready, and would be asked for ever.
                    std::thread::sleep(NOTICE);
                    return;
                }
            };
            if stream.set_nonblocking(true).is_ok() {
                if self.connections.len() == CONNECTIONS_MAX {
                    self.connections.remove(self.dispensable());
                }
                self.connections.push(Connection {
                    stream,
                    from: peer.ip(),
                    until: Instant::now() + TIME_MAX,
                    request: Vec::new(),
                    answer: None,
                    written: 0,
                });
            }
        }
    }

    /// Which connection loses its place: of the address that has the most, the oldest, those before
    /// all others that have their answer, and then those that have sent nothing.
    fn dispensable(&self) -> usize {
        let of = |from: IpAddr| self.connections.iter().filter(|one| one.from == from).count();
        let worth = |one: &Connection| match &one.answer {
            _ if one.is_written() => 0,
            None if one.request.is_empty() => 1,
            None => 2,
            Some(_) => 3,
        };
        let places = self.connections.iter().enumerate();
        // Of equals the first, which is the oldest.
        let least = places.min_by_key(|(_, one)| (Reverse(of(one.from)), worth(one)));
        least.map_or(0, |(index, _)| index)
    }
}

impl Connection {
    fn is_written(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| self.written >= answer.len())
    }

    /// Does what can be done now; whether there is more to come.
    fn goes_on(&mut self, text: &dyn Fn() -> Arc<str>) -> bool {
        if self.answer.is_none() && !self.read(text) {
            return false;
        }
        let Some(answer) = &self.answer else { return true };
        while self.written < answer.len() {
            match self.stream.write(&answer[self.written..]) {
                Ok(0) => return false,
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        // Closing with unread bytes would reset the connection and could take the answer with it, so
        // the other side closes first, or its time ends.
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        match self.stream.read(&mut [0; 1024]) {
            Ok(count) => count > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    /// Reads what has come, and answers a request that is whole; whether the other side is there.
    fn read(&mut self, text: &dyn Fn() -> Arc<str>) -> bool {
        let mut bytes = [0; 1024];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => self.request.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            if let Some(answer) = answer(&self.request, text) {
                self.answer = Some(answer);
                self.request = Vec::new();
                return true;
            }
        }
    }
}

/// The answer to what was read until now; `None` while the head is not whole.
fn answer(request: &[u8], text: &dyn Fn() -> Arc<str>) -> Option<Vec<u8>> {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n");
    if end.is_none() && request.len() <= REQUEST_BYTES_MAX {
        // A first line that will be refused needs no rest.
        let line_is_whole = request.contains(&b'\n');
        let get = b"GET ";
        let is_get = request.starts_with(get) || get.starts_with(request);
        return (line_is_whole && !is_get).then(|| refused("405 Method Not Allowed"));
    }
    if end.is_none_or(|end| end > REQUEST_BYTES_MAX) {
        return Some(refused("431 Request Header Fields Too Large"));
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = std::str::from_utf8(line).unwrap_or_default();
    let mut words = line.split(' ');
    let (method, path, version) = (words.next(), words.next(), words.next());
    if !version.is_some_and(|version| version.starts_with("HTTP/1.")) || words.next().is_some() {
        return Some(refused("400 Bad Request"));
    }
    if method != Some("GET") {
        return Some(refused("405 Method Not Allowed"));
    }
    let path = path.unwrap_or_default().split('?').next();
    if path != Some("/metrics") {
        return Some(refused("404 Not Found"));
    }
    let text = text();
    if text.is_empty() {
        return Some(refused("503 Service Unavailable"));
    }
    Some(whole("200 OK", CONTENT_TYPE, &text))
}

fn refused(status: &str) -> Vec<u8> {
    let text = format!("{status}: this is coretwin top; GET /metrics is all there is\n");
    whole(status, "text/plain; charset=utf-8", &text)
}

fn whole(status: &str, kind: &str, text: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nAllow: GET\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests;
