//! The calls as requests to a server: one connection for each client.

use super::protocol::{MESSAGE_END, SHORTEST, Traffic, head, length_of, sizes};
use crate::Error;
use crate::dbench::load::{Call, Load, Operation, PathId};
use crate::dbench::replay::{Backend, Moved};
use crate::door::Announcer;
use crate::socket;
use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    /// The bell at the door of a server that is ours.
    pub(crate) bell: Option<PathBuf>,
    /// Patience with a server that is not ours, in seconds; none: it is ours, and the worker sees
    /// when it ends.
    pub(crate) patience_s: Option<f64>,
    /// Whether replies are copied out of the kernel instead of being thrown away there.
    pub(crate) copies_replies: bool,
}

pub(crate) struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    discards: RecvFlags,
    lengths: Vec<usize>,
    buffer: Vec<u8>,
    traffic: Traffic,
}

impl Connection {
    pub(crate) fn new(load: &Load, client: u32, service: &Service) -> Result<Self, Error> {
        let address = service.address;
        let trouble = |error: io::Error| match error.kind() {
            ErrorKind::ConnectionRefused => Error::failed(format!(
                "nobody listens at {address}: is one running? `coretwin serve tbench` starts one"
            )),
            _ => Error::system(format!("a client cannot reach the server at {address}"), error),
        };
        let patience = service.patience_s.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let stream = match (&service.bell, patience) {
            (Some(bell), _) => Announcer::open(bell).and_then(|bell| bell.connect(address)),
            (None, Some(patience)) => TcpStream::connect_timeout(&address, patience),
            (None, None) => TcpStream::connect(address),
        };
        let stream = stream.map_err(trouble)?;
        stream.set_nodelay(true).map_err(trouble)?;
        stream.set_read_timeout(patience).map_err(trouble)?;
        stream.set_write_timeout(patience).map_err(trouble)?;
        let ids = (0..load.paths.len()).map(|id| PathId(u32::try_from(id).unwrap_or(u32::MAX)));
        let mut connection = Self {
            stream,
            address,
            discards: match service.copies_replies {
                true => RecvFlags::empty(),
                false => RecvFlags::TRUNC,
            },
            lengths: ids.map(|path| length_of(load, path, client)).collect(),
            buffer: vec![0; MESSAGE_END],
            traffic: Traffic::default(),
        };
        connection.exchange(SHORTEST, SHORTEST).map_err(Error::failed)?;
        Ok(connection)
    }

    fn exchange(&mut self, request: usize, reply: usize) -> Result<(), String> {
        let exchanged = self.send(request, reply).and_then(|()| self.receive(reply));
        exchanged.map_err(|error| self.why(error))?.then_some(()).ok_or_else(|| {
            let said = u32::from_be_bytes([
                self.buffer[0],
                self.buffer[1],
                self.buffer[2],
                self.buffer[3],
            ]);
            format!(
                "the server at {} does not speak as a tbench server: it announced {said} bytes, \
                 where {} were asked for",
                self.address,
                reply - 4
            )
        })?;
        self.traffic.exchanges += 1;
        self.traffic.requests_bytes += request as u64;
        self.traffic.replies_bytes += reply as u64;
        Ok(())
    }

    fn send(&mut self, request: usize, reply: usize) -> io::Result<()> {
        let head = head(request, reply);
        self.buffer[..head.len()].copy_from_slice(&head);
        socket::send(&self.stream, &self.buffer[..request])
    }

    /// Whether the reply announces itself as it should.
    fn receive(&mut self, reply: usize) -> io::Result<bool> {
        self.fill(4, RecvFlags::empty())?;
        if self.buffer[..4] != head(reply, SHORTEST)[..4] {
            return Ok(false);
        }
        self.fill(reply - 4, self.discards)?;
        Ok(true)
    }

    fn fill(&mut self, length: usize, flags: RecvFlags) -> io::Result<()> {
        match socket::receive(&self.stream, &mut self.buffer[..length], flags)? {
            count if count == length => Ok(()),
            _ => Err(ErrorKind::ConnectionReset.into()),
        }
    }

    fn why(&self, error: io::Error) -> String {
        let address = self.address;
        match error.kind() {
            ErrorKind::WouldBlock => format!(
                "the server at {address} does not answer: is it a tbench server, and is it alone?"
            ),
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                format!("the server at {address} has closed the connection: is it a tbench server?")
            }
            _ => format!("the connection with the server at {address} broke: {error}"),
        }
    }
}

impl Backend for Connection {
    fn perform(&mut self, operation: &Operation) -> Result<Moved, String> {
        let length = |path: PathId| self.lengths[path.0 as usize];
        match sizes(&operation.call, length) {
            Some((request, reply)) => self.exchange(request, reply)?,
            None => {
                if let Call::Sleep(pause) = operation.call {
                    std::thread::sleep(Duration::from_micros(pause.into()));
                }
            }
        }
        Ok(match operation.call {
            Call::Read { expected, .. } => Moved::Read(expected),
            Call::Write { size, .. } => Moved::Written(size),
            _ => Moved::Nothing,
        })
    }

    fn end_of_pass(&mut self) {}

    fn traffic(&self) -> Option<Traffic> {
        Some(self.traffic)
    }
}
