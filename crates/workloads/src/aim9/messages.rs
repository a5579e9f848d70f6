//! Rows `pipe_cpy`, `fifo_test`, `stream_pipe`, `dgram_pipe`, `tcp_test`, `udp_test`: messages that
//! a process sends to itself, so that no other ever runs.
//!
//! A call makes its channel, sends and reads messages of the original's sizes, and closes it. The
//! original's loop counts down before it works, so one message fewer is moved than credited. TCP
//! and UDP use 127.0.0.1 instead of the host's own name. The connecting end of TCP closes at once
//! (a linger of 0), or thousands of connections would wait for their end and take every port.
//!
//! Other users can reach both while a call opens its channel: of TCP the connection from our own end is
//! taken, of UDP both ends are connected, which the original's are not. That is one system call more of
//! TCP's about 190, and three more of UDP's about 210.

use super::native::kernel::{self as native, Segment};
use super::{Place, Prepared, c_path, made};
use crate::socket::{BACKLOG, drain, read_whole, write_whole};
use crate::workload::Telling;
use crate::{Context, Error, sys};
use rustix::fs::{Mode, OFlags, open};
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrV4, SocketFlags, SocketType, acceptfrom, bind, connect,
    getsockname, listen, socket, socketpair, sockopt,
};
use std::ffi::CString;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// Sizes of messages in turn, in bytes.
#[rustfmt::skip]
const SIZES: [usize; 31] = [
    1, 3, 5, 7, 16, 32, 64, 512, 1024, 2048, 1, 3, 5, 7, 16, 32, 64, 512, 1024, 2048,
    32, 32, 32, 32, 32, 32, 512, 512, 512, 512, 512,
];
const LARGEST: usize = 2048;

pub(super) enum Channel {
    Pipe,
    Fifo(PathBuf, CString),
    StreamPair,
    DatagramPair,
    Tcp,
    Udp,
}

/// Two ends, and what has to stay open beside them.
struct Ends {
    write: OwnedFd,
    read: OwnedFd,
    _other: Option<OwnedFd>,
}

impl Channel {
    fn open(&self) -> io::Result<Ends> {
        let ends = |(write, read), _other| Ok(Ends { write, read, _other });
        match self {
            Self::Pipe => {
                let (read, write) = rustix::pipe::pipe()?;
                ends((write, read), None)
            }
            Self::Fifo(path, name) => {
                // One of a run that was ended may be there.
                let _ = native::unlink(name);
                native::mkfifo(name)?;
                let flags = OFlags::NONBLOCK;
                let read = open(path, flags | OFlags::RDONLY, Mode::empty())?;
                ends((open(path, flags | OFlags::RDWR, Mode::empty())?, read), None)
            }
            Self::StreamPair => ends(pair(SocketType::STREAM)?, None),
            Self::DatagramPair => ends(pair(SocketType::DGRAM)?, None),
            Self::Tcp => {
                let listening = bound(SocketType::STREAM)?;
                sockopt::set_tcp_nodelay(&listening, true)?;
                if !sockopt::tcp_nodelay(&listening)? {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                // The original's 5 places could be taken by others, and never freed.
                listen(&listening, BACKLOG)?;
                let read = socket(AddressFamily::INET, SocketType::STREAM, None)?;
                connect(&read, &getsockname(&listening)?)?;
                let ours = getsockname(&read)?;
                let write = loop {
                    match acceptfrom(&listening)? {
                        (write, peer) if peer.as_ref() == Some(&ours) => break write,
                        _ => {}
                    }
                };
                sockopt::set_socket_linger(&read, Some(Duration::ZERO))?;
                ends((write, read), Some(listening))
            }
            Self::Udp => {
                let (read, write) = (bound(SocketType::DGRAM)?, bound(SocketType::DGRAM)?);
                connect(&write, &getsockname(&read)?)?;
                connect(&read, &getsockname(&write)?)?;
                drain(&read);
                ends((write, read), None)
            }
        }
    }

    fn close(&self, ends: Ends) -> io::Result<()> {
        let Ends { write, read, _other } = ends;
        // Of TCP the end without a linger must not be the first to close: it would wait.
        drop(read);
        drop(write);
        match self {
            Self::Fifo(_, name) => native::unlink(name),
            _ => Ok(()),
        }
    }
}

fn pair(kind: SocketType) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, kind, SocketFlags::empty(), None)?)
}

fn bound(kind: SocketType) -> io::Result<OwnedFd> {
    let made = socket(AddressFamily::INET, kind, None)?;
    bind(&made, &SocketAddrAny::from(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)))?;
    Ok(made)
}

/// `credited` messages are credited a call; one fewer is moved.
pub(super) fn prepare(channel: Channel, credited: u64) -> Prepared {
    // Which size is next, never set back; and messages that arrived to their last byte.
    let one_call = move |(turn, whole): &mut (usize, u64)| {
        let ends = channel.open()?;
        let message = [b'm'; LARGEST];
        let mut received = [0; LARGEST];
        for _ in 1..credited {
            let size = SIZES[*turn % SIZES.len()];
            *turn += 1;
            received[size - 1] = 0;
            write_whole(&ends.write, &message[..size])?;
            if read_whole(&ends.read, &mut received[..size])? < size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            *whole += u64::from(received[size - 1] == b'm');
        }
        channel.close(ends)
    };
    let call = move |state: &mut _| one_call(state).context("cannot send a message to itself");
    made((0, 0), call, move |(turn, whole), calls, to| {
        let messages = calls * (credited - 1);
        to.check("messages_counted", *turn as u64 == messages && *whole == messages);
    })
}

pub(super) fn fifo_test(place: &Place) -> Prepared {
    let path = place.folder()?.join("fifo");
    let name = c_path(&path)?;
    prepare(Channel::Fifo(path, name), 100)
}

/// Messages of a call; here all are moved that are credited.
const SHARED_MESSAGES: u32 = 100;

/// A segment of SysV shared memory and a semaphore made, messages put in and taken out under the
/// semaphore, and both removed. The original's key is its process number; ours is one that the worker
/// has claimed, so that a killed run leaves nothing.
pub(super) fn shared_memory(place: &Place) -> Prepared {
    let key = place.key.ok_or_else(|| Error::failed("no key was claimed for shared memory"))?;
    let one_call = move |(turn, right): &mut (usize, bool)| {
        let segment = sys::segment_create(key, LARGEST)?;
        let semaphore = sys::semaphores_create(key, 1)?;
        let mut memory = Segment::attach(segment, LARGEST)?;
        sys::semaphore_set(semaphore, 0, 1)?;
        let message = [b'm'; LARGEST];
        let mut taken = [0; LARGEST];
        for _ in 0..SHARED_MESSAGES {
            let size = SIZES[*turn % SIZES.len()];
            *turn += 1;
            sys::semaphore_operate(semaphore, 0, -1)?;
            memory.put(&message[..size]);
            sys::semaphore_operate(semaphore, 0, 1)?;
            sys::semaphore_operate(semaphore, 0, -1)?;
            memory.take(&mut taken[..size]);
            sys::semaphore_operate(semaphore, 0, 1)?;
        }
        *right &= taken.starts_with(b"m");
        drop(memory);
        sys::segment_remove(segment)?;
        sys::semaphores_remove(semaphore)
    };
    let call = move |state: &mut _| {
        one_call(state).context("cannot use SysV shared memory and semaphores here")
    };
    made((0, true), call, |(turn, right), calls, to| {
        let messages = calls * u64::from(SHARED_MESSAGES);
        to.check("messages_counted", *right && *turn as u64 == messages);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{SendFlags, sendto};

    #[test]
    fn datagrams_of_others_are_not_heard() {
        let ends = Channel::Udp.open().expect("opened");
        let stranger = bound(SocketType::DGRAM).expect("a socket");
        let target = getsockname(&ends.read).expect("its port");
        // What is sent to a port is there, or refused, when the call returns.
        sendto(&stranger, b"theirs", SendFlags::empty(), &target).expect("sent");
        write_whole(&ends.write, b"ours").expect("sent");
        let mut message = [0; 6];
        let count = rustix::io::read(&ends.read, &mut message).expect("a message");
        assert_eq!(&message[..count], b"ours");
    }
}
