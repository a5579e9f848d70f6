//! Sockets of chat and tbench: they listen, and carry whole messages. The kernel may take or give a part
//! only, be interrupted, or lose patience; a caller gets the whole message or an error.
//!
//! In the usual case a message is one `send` and one `recv`. Patience is the socket's own time-out: a
//! message may take twice as long from its first part on, so that no client holds a server by
//! trickling.

use crate::Error;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Connections that may wait to be accepted: the original chat's, and more than the 20 of tbench's, so
/// that of many clients that come at once none is delayed by seconds. The kernel clips it to
/// `net.core.somaxconn`.
pub(crate) const BACKLOG: i32 = 4096;

/// Listens on an address, of which port 0 is any free one; also which it is then. `options` are set
/// before it is bound.
pub(crate) fn listen(
    address: SocketAddr,
    options: impl FnOnce(&OwnedFd) -> rustix::io::Result<()>,
) -> Result<(TcpListener, SocketAddr), Error> {
    let listening = || -> io::Result<(TcpListener, SocketAddr)> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        options(&socket)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        let listener = TcpListener::from(socket);
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    listening().map_err(|error| {
        let what = format!("cannot listen on {address}");
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => "another program has the port; stop it, or name another",
            io::ErrorKind::AddrNotAvailable => "this machine has no such address",
            io::ErrorKind::PermissionDenied => "ports below 1024 are for root",
            _ => return Error::system(what, error),
        };
        Error::failed(format!("{what}: {error}; {hint}"))
    })
}

/// Both ends of a connection over loopback, whoever else connects meanwhile.
pub(crate) fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let (listener, address) =
        listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), |_| Ok(())).map_err(io::Error::other)?;
    let one = TcpStream::connect(address)?;
    loop {
        match listener.accept()? {
            (other, peer) if peer == one.local_addr()? => return Ok((one, other)),
            _ => {}
        }
    }
}

/// Two sockets of datagrams over loopback that hear each other alone.
pub(crate) fn udp_pair() -> io::Result<(UdpSocket, UdpSocket)> {
    let local = (Ipv4Addr::LOCALHOST, 0);
    let (one, other) = (UdpSocket::bind(local)?, UdpSocket::bind(local)?);
    one.connect(other.local_addr()?)?;
    other.connect(one.local_addr()?)?;
    drain(&one);
    drain(&other);
    Ok((one, other))
}

/// Throws away what came to a socket of datagrams before it was connected, while anybody could send.
pub(crate) fn drain(socket: &impl AsFd) {
    while rustix::net::recv(socket, &mut [0; 1], RecvFlags::DONTWAIT).is_ok() {}
}

/// Sends all of it; fails with a time-out if the other side reads too slowly.
pub(crate) fn send(socket: &impl AsFd, bytes: &[u8]) -> io::Result<()> {
    let patience = || patience(socket, Timeout::Send);
    let send = |at: usize| rustix::net::send(socket, &bytes[at..], SendFlags::NOSIGNAL);
    match whole(bytes.len(), send, patience)? {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Fills the buffer; returns how many bytes there were: fewer at the end of the stream alone. With
/// [`RecvFlags::TRUNC`] they are thrown away instead.
pub(crate) fn receive(
    socket: &impl AsFd,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> io::Result<usize> {
    let patience = || patience(socket, Timeout::Recv);
    let length = buffer.len();
    let flags = flags | RecvFlags::WAITALL;
    let receive =
        |at: usize| rustix::net::recv(socket, &mut buffer[at..], flags).map(|(_, count)| count);
    whole(length, receive, patience)
}

fn patience(socket: &impl AsFd, which: Timeout) -> Option<Duration> {
    socket_timeout(socket, which).ok().flatten()
}

/// Writes all of it to a pipe or socket that others do not hold up.
pub(crate) fn write_whole(to: &impl AsFd, bytes: &[u8]) -> io::Result<()> {
    whole(bytes.len(), |at| rustix::io::write(to, &bytes[at..]), || None).map(drop)
}

/// Fills the buffer from one; returns how many bytes there were: fewer at its end alone.
pub(crate) fn read_whole(from: &impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let length = buffer.len();
    whole(length, |at| rustix::io::read(from, &mut buffer[at..]), || None)
}

/// Goes on with `part` from where it is until all is done, the stream ends (0), or patience does.
fn whole(
    length: usize,
    mut part: impl FnMut(usize) -> Result<usize, Errno>,
    patience: impl Fn() -> Option<Duration>,
) -> io::Result<usize> {
    let mut done = 0;
    let mut slow: Option<(Instant, Option<Duration>)> = None;
    while done < length {
        match part(done) {
            Ok(0) => break,
            Ok(count) => done += count.min(length - done),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if done < length {
            let (since, patience) = slow.get_or_insert_with(|| (Instant::now(), patience()));
            if patience.is_some_and(|patience| since.elapsed() > patience) {
                return Err(Errno::AGAIN.into());
            }
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::random::Stream;
    use rustix::net::socketpair;
    use std::io::{ErrorKind, Read, Write};

    /// A kernel that takes and gives parts, is interrupted, loses patience, loses the other side.
    struct Faults {
        stream: Stream,
        made: u64,
    }

    impl Faults {
        /// How many of so many bytes.
        fn part(&mut self, left: usize) -> Result<usize, Errno> {
            let fault = match self.stream.below(16) {
                0..4 => return self.made(Err(Errno::INTR)),
                4 if self.stream.below(4) == 0 => Errno::AGAIN,
                5 if self.stream.below(4) == 0 => Errno::CONNRESET,
                6 if self.stream.below(4) == 0 => return self.made(Ok(0)),
                7..13 => {
                    let count = self.stream.below(left as u64) as usize + 1;
                    return self.made(Ok(count));
                }
                _ => return Ok(left),
            };
            self.made(Err(fault))
        }

        fn made(&mut self, part: Result<usize, Errno>) -> Result<usize, Errno> {
            self.made += 1;
            part
        }
    }

    #[test]
    fn under_any_faults_a_message_is_whole_or_ends_with_its_reason() {
        let seeds: u64 = std::env::var("CORETWIN_FAULT_SEEDS")
            .map_or(2000, |text| text.parse().expect("CORETWIN_FAULT_SEEDS is a number"));
        let (mut made, mut whole_ones, mut ended, mut failed) = (0, 0_u64, 0_u64, 0_u64);
        for seed in 0..seeds {
            let mut faults = Faults { stream: Stream::new(seed, "sockets", 0), made: 0 };
            let length = 1 + faults.stream.below(70_000) as usize;
            // Where each part began, and how long it was.
            let mut parts = Vec::new();
            let result = whole(
                length,
                |at| {
                    let count = faults.part(length - at)?;
                    parts.push((at, count));
                    Ok(count)
                },
                || None,
            );
            let mut next = 0;
            for (at, count) in parts {
                assert_eq!(at, next, "seed {seed}: nothing twice, nothing left out");
                next += count;
            }
            match result {
                Ok(done) if done == length => whole_ones += 1,
                Ok(done) => {
                    assert_eq!(done, next, "seed {seed}");
                    ended += 1;
                }
                Err(error) => {
                    let kinds = [ErrorKind::WouldBlock, ErrorKind::ConnectionReset];
                    assert!(kinds.contains(&error.kind()), "seed {seed}: {error}");
                    failed += 1;
                }
            }
            made += faults.made;
        }
        let _ = writeln!(io::stdout(), "\ndid: {made} faults of sockets");
        assert!(whole_ones > seeds / 2 && ended > 0 && failed > 0, "{whole_ones} {ended} {failed}");
    }

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .expect("a pair of sockets")
    }

    #[test]
    fn a_long_message_goes_through_a_small_buffer() {
        let (here, there) = pair();
        rustix::net::sockopt::set_socket_send_buffer_size(&here, 4096).expect("small");
        let message: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| send(&here, &message).expect("sent"));
            let mut got = vec![0; message.len()];
            let count = receive(&there, &mut got, RecvFlags::empty()).expect("received");
            assert!(count == message.len() && got == message);
        });
        drop(here);
        assert_eq!(receive(&there, &mut [0; 9], RecvFlags::empty()).expect("the end"), 0);
    }

    #[test]
    fn who_trickles_or_does_not_read_is_given_up() {
        let (here, there) = pair();
        let brief = Some(Duration::from_millis(20));
        rustix::net::sockopt::set_socket_timeout(&here, Timeout::Recv, brief).expect("set");
        rustix::net::sockopt::set_socket_timeout(&here, Timeout::Send, brief).expect("set");
        std::thread::scope(|scope| {
            // A byte now and then, for ever.
            scope.spawn(|| {
                let mut trickle = std::fs::File::from(there.try_clone().expect("cloned"));
                while trickle.write_all(b"x").is_ok() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let mut buffer = vec![0; 1 << 20];
            let error = receive(&here, &mut buffer, RecvFlags::empty()).expect_err("too slow");
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            // It reads a little, and never enough.
            let reads = scope.spawn(|| {
                let mut slow = std::fs::File::from(there.try_clone().expect("cloned"));
                while slow.read(&mut [0; 64]).is_ok_and(|count| count > 0) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let error = send(&here, &vec![0; 64 << 20]).expect_err("too slow");
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            rustix::net::shutdown(&here, rustix::net::Shutdown::Both).expect("shut");
            reads.join().expect("read");
        });
    }
}
