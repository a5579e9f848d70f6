//! What client and server of tbench say to each other, in the form of dbench 4.
//!
//! A request of S bytes begins with S − 4 and with R − 4, R being the size of the reply it wants,
//! both as 32-bit numbers, the greatest byte first. The reply of R bytes begins with R − 4. Nothing
//! else in either means anything. A client has one request under way at most, and its first has
//! 8 bytes and wants as many.

use crate::dbench::load::{Call, Load, PathId};
use std::io;

/// Messages are shorter than this, in bytes: the original server ends a connection beyond.
pub const MESSAGE_END: usize = 70_000;
/// Size of the shortest request, and of the first one and its reply, in bytes.
pub const SHORTEST: usize = 8;
/// Where the original's server listens.
pub const PORT: u16 = 7003;
/// Names that the reply to one part of a search carries.
const NAMES_OF_A_PART: usize = 11;

/// Sizes of a request and its reply for a call, in bytes, as dbench 4 has them; `None` if nothing
/// is sent. Calls that only our own load knows are as large as those that do their part there.
pub(crate) fn sizes(call: &Call, length_of: impl Fn(PathId) -> usize) -> Option<(usize, usize)> {
    let path = |path: PathId| 2 * length_of(path);
    Some(match *call {
        Call::Open { path: file, .. } => (74 + path(file), 87),
        Call::Close(_) => (47, 39),
        Call::Read { expected, .. } => (59, 59 + expected as usize),
        Call::Write { size, .. } => (59 + size as usize, 55),
        Call::Unlink(file) | Call::MakeDirectory(file) | Call::RemoveDirectory(file) => {
            (43 + path(file), 39)
        }
        Call::Rename { from, to } => (47 + path(from) + path(to), 39),
        Call::QueryPath(file) => (55 + path(file), 71),
        Call::QueryFile(_) | Call::QueryFileSystem => (59, 71),
        Call::SetTimes(_) | Call::SetMode(_) => (71, 47),
        Call::Find { path: pattern, count, .. } => (59 + path(pattern), 39 + 90 * count as usize),
        Call::FindOpen { path: folder, .. } => (59 + path(folder), 39),
        Call::FindNext(_) => (59, 39 + 90 * NAMES_OF_A_PART),
        Call::Flush(_) | Call::FindClose(_) => (41, 39),
        Call::Lock { .. } => (51, 39),
        Call::Deltree(_) | Call::Sleep(_) => return None,
    })
}

/// The path as messages carry it: dbench 4 puts the folder it runs in before it, which is `.`.
pub(crate) fn length_of(load: &Load, path: PathId, client: u32) -> usize {
    "./".len() + load.path_of(path, client).len()
}

/// The first call of a load that does not fit into a message.
pub(crate) fn too_long(load: &Load) -> Option<usize> {
    // No client has a longer number.
    let length = |path| length_of(load, path, u32::MAX);
    load.operations.iter().position(|operation| {
        sizes(&operation.call, length)
            .is_some_and(|(request, reply)| request.max(reply) >= MESSAGE_END)
    })
}

pub(crate) fn head(request: usize, reply: usize) -> [u8; 8] {
    let word = |size: usize| (size as u32).saturating_sub(4).to_be_bytes();
    let ([a, b, c, d], [e, f, g, h]) = (word(request), word(reply));
    [a, b, c, d, e, f, g, h]
}

pub trait Stream {
    /// Fills the buffer; fewer bytes only at the end of the stream.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Traffic {
    pub exchanges: u64,
    pub requests_bytes: u64,
    pub replies_bytes: u64,
}

impl Traffic {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            exchanges: self.exchanges + other.exchanges,
            requests_bytes: self.requests_bytes + other.requests_bytes,
            replies_bytes: self.replies_bytes + other.replies_bytes,
        }
    }
}

/// Answers requests until the client closes. `buffer` has [`MESSAGE_END`] bytes; nothing a client
/// says makes it read or write more. An error says what is no message; `traffic` holds what was
/// answered until then.
pub fn serve(stream: &mut impl Stream, buffer: &mut [u8], traffic: &mut Traffic) -> io::Result<()> {
    loop {
        match stream.receive(&mut buffer[..4])? {
            0 => return Ok(()),
            4 => {}
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        let rest = length(&buffer[..4])?;
        if rest < SHORTEST - 4 {
            return Err(malformed(format!("a request of {} bytes", rest + 4)));
        }
        if stream.receive(&mut buffer[4..4 + rest])? != rest {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let wanted = length(&buffer[4..8])?;
        buffer.copy_within(4..8, 0);
        stream.send(&buffer[..4 + wanted])?;
        traffic.exchanges += 1;
        traffic.requests_bytes += 4 + rest as u64;
        traffic.replies_bytes += 4 + wanted as u64;
    }
}

fn length(word: &[u8]) -> io::Result<usize> {
    let bytes: [u8; 4] = word.try_into().map_err(|_| malformed("no length".to_owned()))?;
    let length = u32::from_be_bytes(bytes) as usize;
    if length + 4 >= MESSAGE_END {
        return Err(malformed(format!("a message of {} bytes", length + 4)));
    }
    Ok(length)
}

fn malformed(what: String) -> io::Error {
    let why = format!(
        "{what} was asked for, and messages have {SHORTEST} to {} bytes: this is no tbench client",
        MESSAGE_END - 1
    );
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a client sends, and what comes back; breaks off after a bounded number of bytes of
    /// replies.
    struct Recorded<'a> {
        requests: &'a [u8],
        replies: Vec<u8>,
    }

    impl Stream for Recorded<'_> {
        fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.requests.len());
            let (now, rest) = self.requests.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.requests = rest;
            Ok(count)
        }

        fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.replies.extend_from_slice(bytes);
            Ok(())
        }
    }

    fn served(requests: &[u8]) -> (io::Result<()>, Traffic, Vec<u8>) {
        let mut stream = Recorded { requests, replies: Vec::new() };
        let (mut buffer, mut traffic) = (vec![0; MESSAGE_END], Traffic::default());
        let ended = serve(&mut stream, &mut buffer, &mut traffic);
        (ended, traffic, stream.replies)
    }

    #[test]
    fn requests_get_replies_of_the_size_they_want() {
        let mut requests = head(8, 8).to_vec();
        requests.extend(head(100, 69_999));
        requests.extend([7; 92]);
        let (ended, traffic, replies) = served(&requests);
        ended.expect("served");
        assert_eq!(traffic, Traffic { exchanges: 2, requests_bytes: 108, replies_bytes: 70_007 });
        assert_eq!(replies.len(), 70_007);
        assert_eq!((&replies[..4], &replies[8..12]), (&[0, 0, 0, 4][..], &head(0, 69_999)[4..]));
    }

    #[test]
    fn what_is_no_message_ends_the_connection() {
        for (requests, what) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], "a message of 1195725860 bytes"),
            (&head(7, 8)[..], "a request of 7 bytes"),
            (&head(70_000, 8)[..], "a message of 70000 bytes"),
            (&head(8, 70_000)[..], "a message of 70000 bytes"),
            (&head(8, 8)[..3], "unexpected end of file"),
            (&head(9, 8)[..], "unexpected end of file"),
        ] {
            let (ended, traffic, _) = served(requests);
            let error = ended.expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
            assert_eq!(traffic, Traffic::default());
        }
    }

    proptest! {
        #[test]
        fn nothing_a_client_says_makes_it_panic_or_write_much(
            requests in prop::collection::vec(prop_oneof![Just(0_u8), Just(1), any::<u8>()], 0..300)
        ) {
            let (_, traffic, replies) = served(&requests);
            prop_assert!(traffic.requests_bytes <= requests.len() as u64);
            prop_assert_eq!(traffic.replies_bytes, replies.len() as u64);
            prop_assert!(replies.len() <= requests.len() / SHORTEST * MESSAGE_END);
        }
    }
}
