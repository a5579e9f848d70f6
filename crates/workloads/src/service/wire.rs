//! What generator and server say to each other: the form of our own, and memcached's text protocol.
//!
//! Our own: a request is its number, its kind (32 bits each) and its argument (64 bits); an answer the
//! number, how many bytes follow (32 bits each), and those. Numbers are of this machine's order.

use std::collections::VecDeque;

pub(crate) const REQUEST: usize = 16;
pub(crate) const ANSWER: usize = 8;
/// The longest answer of our own, behind its head.
pub(crate) const REPLY_MAX: u32 = 64 << 10;
/// The longest line that memcached answers with, in bytes: a key has 250 at most.
const LINE_MAX: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) number: u32,
    pub(crate) kind: u32,
    pub(crate) argument: u64,
}

impl Request {
    pub(crate) fn write(self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.number.to_ne_bytes());
        to.extend_from_slice(&self.kind.to_ne_bytes());
        to.extend_from_slice(&self.argument.to_ne_bytes());
    }

    pub(crate) fn read(bytes: &[u8; REQUEST]) -> Self {
        let [a, b, c, d, e, f, g, h, argument @ ..] = *bytes;
        Self {
            number: u32::from_ne_bytes([a, b, c, d]),
            kind: u32::from_ne_bytes([e, f, g, h]),
            argument: u64::from_ne_bytes(argument),
        }
    }
}

pub(crate) fn answer_head(number: u32, reply: u32) -> [u8; ANSWER] {
    let mut head = [0; ANSWER];
    head[..4].copy_from_slice(&number.to_ne_bytes());
    head[4..].copy_from_slice(&reply.to_ne_bytes());
    head
}

/// The next thing in what a server sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// So many bytes are an answer: to this request, and whether it is a good one.
    Answer { bytes: usize, number: u32, good: bool },
    /// More has to come.
    More,
    /// It does not speak this protocol.
    Wrong,
}

pub(crate) fn own(bytes: &[u8]) -> Next {
    let Some(([a, b, c, d, e, f, g, h], _)) = bytes.split_first_chunk::<ANSWER>() else {
        return Next::More;
    };
    let reply = u32::from_ne_bytes([*e, *f, *g, *h]);
    let whole = ANSWER + reply as usize;
    match reply <= REPLY_MAX {
        false => Next::Wrong,
        true if bytes.len() < whole => Next::More,
        true => {
            let number = u32::from_ne_bytes([*a, *b, *c, *d]);
            Next::Answer { bytes: whole, number, good: true }
        }
    }
}

/// Answers come in the order of requests; `waiting` has their numbers.
pub(crate) fn memcached(bytes: &[u8], waiting: &VecDeque<u32>) -> Next {
    let Some(line) = line(bytes) else {
        return if bytes.len() > LINE_MAX { Next::Wrong } else { Next::More };
    };
    let (good, length) = match bytes[..line - 2].split(|byte| *byte == b' ').next() {
        Some(b"STORED") => (true, line),
        Some(b"VALUE") => {
            let mut words = bytes[..line - 2].split(|byte| *byte == b' ');
            let size =
                words.next_back().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
            let Some(size) = size.filter(|size: &usize| *size <= 1 << 20) else {
                return Next::Wrong;
            };
            // The value, its line end, and the end of the answer.
            let whole = line + size + b"\r\nEND\r\n".len();
            if bytes.len() < whole {
                return Next::More;
            }
            if !bytes[..whole].ends_with(b"\r\nEND\r\n") {
                return Next::Wrong;
            }
            (true, whole)
        }
        // A key that is gone, a value that had no room, and errors.
        Some(b"END" | b"NOT_STORED" | b"ERROR" | b"SERVER_ERROR" | b"CLIENT_ERROR") => {
            (false, line)
        }
        _ => return Next::Wrong,
    };
    match waiting.front() {
        Some(number) => Next::Answer { bytes: length, number: *number, good },
        None => Next::Wrong,
    }
}

/// Length of the first line with its end.
fn line(bytes: &[u8]) -> Option<usize> {
    let looked = &bytes[..bytes.len().min(LINE_MAX)];
    looked.windows(2).position(|end| end == b"\r\n").map(|at| at + 2)
}

pub(crate) fn get(key: u64, to: &mut Vec<u8>) {
    to.extend_from_slice(format!("get coretwin-{key}\r\n").as_bytes());
}

pub(crate) fn set(key: u64, value: &[u8], quiet: bool, to: &mut Vec<u8>) {
    let quiet = if quiet { " noreply" } else { "" };
    let head = format!("set coretwin-{key} 0 0 {}{quiet}\r\n", value.len());
    to.extend_from_slice(head.as_bytes());
    to.extend_from_slice(value);
    to.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_form_is_read_as_it_is_written_in_any_pieces() {
        let request = Request { number: 7, kind: 2, argument: u64::MAX - 1 };
        let mut bytes = Vec::new();
        request.write(&mut bytes);
        assert_eq!(Request::read(bytes.first_chunk().expect("whole")), request);
        let mut answer = answer_head(9, 3).to_vec();
        answer.extend_from_slice(b"abc+");
        for length in 0..ANSWER + 3 {
            assert_eq!(own(&answer[..length]), Next::More);
        }
        assert_eq!(own(&answer), Next::Answer { bytes: 11, number: 9, good: true });
        assert_eq!(own(&answer_head(9, REPLY_MAX + 1)), Next::Wrong);
    }

    #[test]
    fn memcached_is_understood_in_any_pieces_and_others_are_not() {
        let waiting = VecDeque::from([4]);
        for (text, good) in [
            ("STORED\r\n", true),
            ("VALUE coretwin-1 0 5\r\nab\r\nc\r\nEND\r\n", true),
            ("END\r\n", false),
            ("SERVER_ERROR out of memory storing object\r\n", false),
        ] {
            let bytes = text.len();
            let more = format!("{text}STORED\r\n");
            let answer = Next::Answer { bytes, number: 4, good };
            assert_eq!(memcached(more.as_bytes(), &waiting), answer);
            for length in 0..bytes {
                assert_eq!(memcached(&text.as_bytes()[..length], &waiting), Next::More, "{text}");
            }
            assert_eq!(memcached(text.as_bytes(), &VecDeque::new()), Next::Wrong);
        }
        for text in [
            "HTTP/1.1 400 Bad Request\r\n",
            "VALUE k 0 x\r\n",
            "VALUE k 0 99999999999999999999\r\n",
            "VALUE k 0 1\r\nabc\r\nEND\r\n",
            &"x".repeat(600),
        ] {
            assert_eq!(memcached(text.as_bytes(), &waiting), Next::Wrong, "{text}");
        }
    }
}
