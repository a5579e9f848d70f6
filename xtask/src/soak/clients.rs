//! Clients of the servers, good ones and others, as a seed draws them: they do what they should, are
//! silent, send garbage or half a message, ask for far too much, go in the middle, read nothing.

use crate::random::Random;
use anyhow::{Context, Result, ensure};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a good client waits for an answer: the server may have a silent one before it, and the
/// machine other work.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a good client tries, as one may be taken for silent where the machine stands still, and a
/// server may have nothing to tell yet.
const TRIES: u32 = 60;
/// Between two tries.
const AGAIN: Duration = Duration::from_secs(1);
/// Users of a room; the server must be told the same.
pub(super) const USERS: u32 = 2;
/// Size of a message of chat.
const CHAT_BYTES: usize = 100;

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Chat,
    Tbench,
    Http,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Good,
    Silent,
    Garbage,
    Half,
    Greedy,
    Gone,
}

const MANNERS: [Manner; 8] = [
    Manner::Good,
    Manner::Good,
    Manner::Good,
    Manner::Garbage,
    Manner::Half,
    Manner::Greedy,
    Manner::Gone,
    Manner::Silent,
];

/// How many of each there were.
#[derive(Debug, Default)]
pub(super) struct Served {
    pub(super) good: u64,
    pub(super) others: u64,
}

/// One client comes and goes.
///
/// # Errors
/// If a good one was not served.
pub(super) fn visit(
    server: SocketAddr,
    protocol: Protocol,
    random: &mut Random,
    served: &mut Served,
) -> Result<()> {
    let manner = MANNERS[random.below(MANNERS.len())];
    if manner == Manner::Good {
        return good(server, protocol, served);
    }
    served.others += 1;
    // Whether the server listens to such a client to its end is its own business.
    let _ = bad(server, protocol, manner, random);
    Ok(())
}

/// A client that must be served.
pub(super) fn good(server: SocketAddr, protocol: Protocol, served: &mut Served) -> Result<()> {
    let mut last = Ok(());
    for _ in 0..TRIES {
        last = match protocol {
            Protocol::Chat => chat(server),
            Protocol::Tbench => tbench(server),
            Protocol::Http => http(server),
        };
        if last.is_ok() {
            served.good += 1;
            return Ok(());
        }
        std::thread::sleep(AGAIN);
    }
    last.with_context(|| format!("a good client of {protocol:?} was refused {TRIES} times"))
}

fn connect(server: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A room whose two users send each other some messages.
fn chat(server: SocketAddr) -> Result<()> {
    const MESSAGES: u32 = 5;
    let mut control = connect(server)?;
    control.write_all(&[1_u32.to_ne_bytes(), MESSAGES.to_ne_bytes()].concat())?;
    let users = (0..USERS).map(|_| connect(server)).collect::<Result<Vec<_>>>()?;
    let mut word = [0];
    control.read_exact(&mut word)?;
    ensure!(word == [0x11], "the server began with {word:?}");
    for _ in 0..MESSAGES {
        for mut user in &users {
            user.write_all(&[7; CHAT_BYTES])?;
        }
    }
    for mut user in &users {
        user.read_exact(&mut [0; CHAT_BYTES * MESSAGES as usize])?;
    }
    control.write_all(&[0x22])?;
    // It closes when it has counted.
    ensure!(control.read(&mut word)? == 0, "the server goes on");
    Ok(())
}

fn tbench(server: SocketAddr) -> Result<()> {
    let mut stream = connect(server)?;
    for (request, reply) in [(8_u32, 8_u32), (100, 5000), (9000, 40)] {
        let mut message = vec![0; request as usize];
        message[..4].copy_from_slice(&(request - 4).to_be_bytes());
        message[4..8].copy_from_slice(&(reply - 4).to_be_bytes());
        stream.write_all(&message)?;
        let mut answer = vec![0; reply as usize];
        stream.read_exact(&mut answer)?;
        ensure!(answer[..4] == (reply - 4).to_be_bytes(), "another answer than asked for");
    }
    Ok(())
}

fn http(server: SocketAddr) -> Result<()> {
    let mut stream = connect(server)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: soak\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("# EOF"), "{answer}");
    Ok(())
}

fn bad(server: SocketAddr, protocol: Protocol, manner: Manner, random: &mut Random) -> Result<()> {
    let mut stream = connect(server)?;
    let greedy = match protocol {
        Protocol::Chat => vec![0xff; 8],
        Protocol::Tbench => [[0, 1, 0x11, 0x6b].to_vec(), vec![0xff; 4]].concat(),
        Protocol::Http => [b"GET /metrics HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 8192]].concat(),
    };
    let half = match protocol {
        // Connections are announced, and one is made.
        Protocol::Chat => [1_u32.to_ne_bytes(), 5_u32.to_ne_bytes()].concat(),
        Protocol::Tbench => vec![0, 0, 0x10, 0, 0, 0, 0x10, 0, 1, 2, 3],
        Protocol::Http => b"GET /met".to_vec(),
    };
    match manner {
        Manner::Good | Manner::Silent => {}
        Manner::Garbage => {
            let bytes: Vec<u8> = (0..1 + random.below(2000)).map(|_| random.next() as u8).collect();
            stream.write_all(&bytes)?;
        }
        Manner::Half => {
            stream.write_all(&half[..1 + random.below(half.len())])?;
            let one = connect(server)?;
            if random.below(2) == 0 {
                // An end of sending, while it goes on to read.
                stream.shutdown(Shutdown::Write)?;
            }
            drop(one);
        }
        Manner::Greedy => stream.write_all(&greedy)?,
        Manner::Gone => {
            stream.write_all(&half)?;
            return Ok(());
        }
    }
    // Until the server has had enough; what it sends is of no interest.
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
