//! Rows `pipe-latency`, `tcp-latency`, `udp-latency`, `unix-latency`, and `pipe-bandwidth`, `tcp-bandwidth`,
//! `udp-bandwidth`, `unix-bandwidth`: messages between two processes of this machine.
//!
//! Latency is the whole way there and back of a message: a second process reads it and sends it
//! back. Bandwidth is what one process writes and the other has read: a sample begins with a word
//! that says how many messages come, and ends when the receiver answers that all have come and were
//! right. UDP would lose what the receiver does not read in time, so there the sender waits for an
//! answer after every few messages, as few as fit into the receiver's buffer.
//!
//! TCP sends at once (`TCP_NODELAY`): one message is under way at a time, or whole blocks are.

use super::harness::{Bench, Body, Peer, Place, checked};
use super::native::system as native;
use crate::workload::{Outcome, Telling, int};
use crate::{Context, Error, socket};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

const SECOND: usize = 1;
/// A datagram that is not there after this long was lost.
const LOST: Duration = Duration::from_secs(10);
/// The most datagrams under way, and the most bytes in them: half of what a receiver's buffer has
/// room for by default, with what the kernel keeps of each (socket(7), rmem_default).
const UNDER_WAY: u64 = 64;
const UNDER_WAY_BYTES: u64 = 64 << 10;
/// Period of the pattern in messages, in bytes.
const PATTERN: usize = 251;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Pipe,
    Tcp,
    Udp,
    Unix,
}

struct End {
    read: OwnedFd,
    write: OwnedFd,
}

impl End {
    fn of(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        let read = socket.into();
        Ok(Self { write: read.try_clone()?, read })
    }

    fn send(&self, message: &[u8]) -> io::Result<()> {
        socket::write_whole(&self.write, message)
    }

    /// Fills the buffer; `false` at the end of all messages.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<bool> {
        match socket::read_whole(&self.read, buffer)? {
            0 => Ok(false),
            read if read == buffer.len() => Ok(true),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// A number, which is a message of its own.
    fn number(&self) -> io::Result<Option<u64>> {
        let mut number = [0; size_of::<u64>()];
        Ok(self.receive(&mut number)?.then(|| u64::from_ne_bytes(number)))
    }
}

impl Channel {
    fn open(self) -> io::Result<(End, End)> {
        match self {
            Self::Pipe => {
                let (there, back) = (rustix::pipe::pipe()?, rustix::pipe::pipe()?);
                Ok((End { read: back.0, write: there.1 }, End { read: there.0, write: back.1 }))
            }
            Self::Tcp => {
                let (one, other) = socket::tcp_pair()?;
                for stream in [&one, &other] {
                    stream.set_nodelay(true)?;
                }
                Ok((End::of(one)?, End::of(other)?))
            }
            Self::Udp => {
                let (one, other) = socket::udp_pair()?;
                one.set_read_timeout(Some(LOST))?;
                Ok((End::of(one)?, End::of(other)?))
            }
            Self::Unix => {
                let (one, other) = UnixStream::pair()?;
                Ok((End::of(one)?, End::of(other)?))
            }
        }
    }

    /// Messages that are sent before an answer is waited for.
    fn window(self, message_bytes: usize) -> u64 {
        match self {
            Self::Udp => (UNDER_WAY_BYTES / message_bytes as u64).clamp(1, UNDER_WAY),
            _ => u64::MAX,
        }
    }
}

fn with_peer(
    place: &Place,
    channel: Channel,
    work: fn(&End, Channel, usize) -> io::Result<()>,
) -> Result<(End, Peer), Error> {
    let opened = channel.open();
    let (own, other) = opened.context("cannot open a channel")?;
    let mut own = Some(own);
    let peer = Peer::start(place, SECOND, || {
        // Or it would wait for an end that it holds itself.
        own.take();
        let worked = work(&other, channel, message_bytes(place));
        worked.context("the second process cannot go on")
    })?;
    own.zip(Some(peer)).ok_or_else(|| Error::failed("an end of a channel was given away twice"))
}

fn message_bytes(place: &Place) -> usize {
    int(&place.params, "message_bytes") as usize
}

fn unanswered(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => Error::failed(
            "a datagram was lost: the buffers of sockets are too small for the messages; ask for \
             smaller ones (message_bytes), or raise net.core.rmem_default",
        ),
        _ => Error::system("the second process does not answer", error),
    }
}

fn echo(end: &End, _: Channel, message_bytes: usize) -> io::Result<()> {
    let mut message = vec![0; message_bytes];
    while end.receive(&mut message)? {
        end.send(&message)?;
    }
    Ok(())
}

pub(super) fn latency(place: &Place, channel: Channel) -> Result<Bench, Error> {
    let (end, echo) = with_peer(place, channel, echo)?;
    let mut message = pattern(message_bytes(place));
    let (mut came, last) = (vec![0; message.len()], message.len() - 1);
    let mut number = 0_u8;
    let mut trip = move || {
        let _lives = &echo;
        number = number.wrapping_add(1);
        message[0] = number;
        end.send(&message)?;
        match end.receive(&mut came)? {
            true => Ok(came[0] == number && came[last] == message[last]),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    };
    let mut trips = checked("messages_came_back", move || trip().map_err(unanswered));
    trips.repeat(1)?;
    Ok(Bench::of(trips))
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| (place % PATTERN) as u8).collect()
}

/// Reads messages, and answers how many bytes of them were right: after each window of them, and
/// after the last that was announced.
fn sink(end: &End, channel: Channel, message_bytes: usize) -> io::Result<()> {
    let expected = pattern(message_bytes);
    let mut buffer = vec![0; message_bytes];
    while let Some(mut count) = end.number()? {
        while count > 0 {
            let some = count.min(channel.window(message_bytes));
            let bytes = some.saturating_mul(message_bytes as u64);
            let right = swallow(end, channel, &mut buffer, &expected, bytes)?;
            end.send(&right.to_ne_bytes())?;
            count -= some;
        }
    }
    Ok(())
}

/// Reads `bytes` bytes; returns how many were right, judged by the last byte of each piece.
fn swallow(
    end: &End,
    channel: Channel,
    buffer: &mut [u8],
    expected: &[u8],
    bytes: u64,
) -> io::Result<u64> {
    let (mut read, mut right) = (0, 0);
    while read < bytes {
        let most = buffer.len().min(usize::try_from(bytes - read).unwrap_or(usize::MAX));
        let piece = rustix::io::read(&end.read, &mut buffer[..most])?;
        if piece == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read += piece as u64;
        let place = (read - 1) % expected.len() as u64;
        let whole = channel != Channel::Udp || piece == expected.len();
        if whole && buffer[piece - 1] == expected[place as usize] {
            right += piece as u64;
        }
    }
    Ok(right)
}

struct Stream {
    end: End,
    message: Vec<u8>,
    window: u64,
    /// Answers by which not all had come right.
    wrong: u64,
    _sink: Peer,
}

impl Stream {
    fn all(&mut self, mut count: u64) -> io::Result<()> {
        self.end.send(&count.to_ne_bytes())?;
        while count > 0 {
            let some = count.min(self.window);
            for _ in 0..some {
                self.end.send(&self.message)?;
            }
            let right = self.end.number()?.ok_or(io::ErrorKind::UnexpectedEof)?;
            self.wrong += u64::from(right != some * self.message.len() as u64);
            count -= some;
        }
        Ok(())
    }
}

impl Body for Stream {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        self.all(count).map_err(unanswered)
    }

    fn remark(&mut self, to: &mut Outcome) {
        to.check("all_bytes_received", self.wrong == 0);
    }
}

pub(super) fn bandwidth(place: &Place, channel: Channel) -> Result<Bench, Error> {
    let (end, peer) = with_peer(place, channel, sink)?;
    let message = pattern(message_bytes(place));
    let window = channel.window(message.len());
    let amount = message.len() as f64;
    let mut stream = Stream { end, message, window, wrong: 0, _sink: peer };
    stream.repeat(1)?;
    Ok(Bench::of(stream).worth(amount))
}

/// A byte to a second process and back through another pipe: two processes are woken in it.
pub(super) fn pipe_latency(place: &Place) -> Result<Bench, Error> {
    let (from_parent, there) = rustix::pipe::pipe().context("cannot make a pipe")?;
    let (back, to_parent) = rustix::pipe::pipe().context("cannot make a pipe")?;
    let echo = Peer::start(place, SECOND, || {
        let mut byte = [0];
        while let Ok(1) = native::read(&from_parent, &mut byte) {
            if !matches!(native::write(&to_parent, &byte), Ok(1)) {
                return Err(Error::failed("cannot send a byte back"));
            }
        }
        Ok(())
    })?;
    // Its ends are the other process's alone now: should that end, this one is not left waiting.
    drop((from_parent, to_parent));
    let lost = "the second process does not answer";
    let mut number = 0_u8;
    let mut trips = checked("bytes_came_back", move || {
        let _lives = &echo;
        number = number.wrapping_add(1);
        let (sent, mut came) = ([number], [0]);
        native::write(&there, &sent).context(lost)?;
        match native::read(&back, &mut came).context(lost)? {
            0 => Err(Error::failed("the second process has ended")),
            _ => Ok(came == sent),
        }
    });
    trips.repeat(1)?;
    Ok(Bench::of(trips))
}
