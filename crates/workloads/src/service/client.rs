//! A connection of the generator: what is to be written, what was read, which answers are waited for.

use super::wire::{self, Next};
use crate::Error;
use coretwin_base::printable::clean;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::TcpStream;
use std::os::fd::OwnedFd;

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

pub(crate) struct Client {
    stream: TcpStream,
    /// Requests that are not written yet.
    pub(crate) out: Vec<u8>,
    /// When each request in `out` was due that no write was tried for.
    pub(crate) dues: Vec<u64>,
    /// Whether the kernel took no more; it says when it does.
    pub(crate) is_full: bool,
    is_watched_for_room: bool,
    got: Vec<u8>,
    taken: usize,
    /// Where answers come in the order of requests: their numbers.
    order: Option<VecDeque<u32>>,
}

impl Client {
    pub(crate) fn new(stream: TcpStream, in_order: bool) -> Self {
        Self {
            stream,
            out: Vec::new(),
            dues: Vec::new(),
            is_full: false,
            is_watched_for_room: false,
            got: Vec::with_capacity(2 * CHUNK),
            taken: 0,
            order: in_order.then(VecDeque::new),
        }
    }

    pub(crate) fn sends(&mut self, number: u32, due: u64) {
        self.dues.push(due);
        if let Some(order) = &mut self.order {
            order.push_back(number);
        }
    }

    /// Whether there is nothing to do in a flush.
    pub(crate) fn is_idle(&self) -> bool {
        self.dues.is_empty() && (self.is_full || (self.out.is_empty() && !self.is_watched_for_room))
    }

    /// Writes what the kernel takes, and asks to be told when it takes the rest. Whether the
    /// connection is open.
    pub(crate) fn flush(&mut self, epoll: &OwnedFd, index: u64) -> io::Result<bool> {
        while !self.out.is_empty() && !self.is_full {
            match rustix::net::send(&self.stream, &self.out, SendFlags::NOSIGNAL) {
                Ok(0) => return Ok(false),
                Ok(count) => drop(self.out.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.is_full = true,
                Err(error) => return Err(error.into()),
            }
        }
        if self.is_full != self.is_watched_for_room {
            self.is_watched_for_room = self.is_full;
            let also =
                if self.is_full { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
            let data = epoll::EventData::new_u64(index);
            epoll::modify(epoll, &self.stream, data, epoll::EventFlags::IN | also)?;
        }
        Ok(true)
    }

    /// Reads what has come, a chunk at most. Whether the connection is open.
    pub(crate) fn read(&mut self) -> io::Result<bool> {
        self.got.drain(..self.taken);
        self.taken = 0;
        self.got.reserve(CHUNK);
        let room = rustix::buffer::spare_capacity(&mut self.got);
        match rustix::net::recv(&self.stream, room, RecvFlags::DONTWAIT) {
            Ok((_, count)) => Ok(count > 0),
            Err(Errno::AGAIN | Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// The next whole answer of what was read: to which request, and whether it is a good one.
    pub(crate) fn answer(&mut self) -> Result<Option<(u32, bool)>, Error> {
        let bytes = &self.got[self.taken..];
        let next = match &self.order {
            Some(order) => wire::memcached(bytes, order),
            None => wire::own(bytes),
        };
        match next {
            Next::More => Ok(None),
            Next::Answer { bytes, number, good } => {
                self.taken += bytes;
                self.order.as_mut().map(VecDeque::pop_front);
                Ok(Some((number, good)))
            }
            Next::Wrong => {
                let begin = clean(&String::from_utf8_lossy(&bytes[..bytes.len().min(40)]));
                Err(Error::failed(format!("the server does not speak this protocol: '{begin}'")))
            }
        }
    }

    /// Writes all of it, waiting for room; for what is not timed.
    pub(crate) fn write_out(&mut self) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        crate::socket::send(&self.stream, &self.out)?;
        self.out.clear();
        self.stream.set_nonblocking(true)
    }

    /// Waits for the answer to one `set`; for what is not timed.
    pub(crate) fn read_stored(&mut self) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        let mut line = [0; b"STORED\r\n".len()];
        self.stream.read_exact(&mut line)?;
        self.stream.set_nonblocking(true)?;
        if line != *b"STORED\r\n" {
            let said = clean(&String::from_utf8_lossy(&line));
            return Err(io::Error::other(format!("it did not store a value but said '{said}'")));
        }
        Ok(())
    }
}
