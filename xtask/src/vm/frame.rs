//! What crosses the second serial port: frames of a kind, a length, a payload and a checksum, so that
//! a torn or garbled message is told from a good one.
//!
//! `CTW1`, kind (one byte), length (4 bytes, little endian), payload, FNV-1a of kind and payload (4
//! bytes, little endian).

use anyhow::{Result, bail, ensure};
use std::io::{self, Write};

const MAGIC: &[u8; 4] = b"CTW1";
/// Magic, kind, length.
const HEADER_BYTES: usize = 9;
const CHECKSUM_BYTES: usize = 4;
/// More is a garbled length: a guest has not much more memory.
const PAYLOAD_BYTES_MAX: usize = 256 << 20;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The guest has begun.
    Start,
    /// A check's result, a JSON object.
    Result,
    /// A folder, as a cpio archive that the next boot can take in as it is.
    Folder,
    /// The guest has done everything; nothing follows.
    End,
}

impl Kind {
    const ALL: [(Self, u8); 4] =
        [(Self::Start, b'S'), (Self::Result, b'R'), (Self::Folder, b'F'), (Self::End, b'E')];

    fn byte(self) -> u8 {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, byte)| *byte)
    }

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == byte).map(|(kind, _)| *kind)
    }
}

/// A message of the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) payload: Vec<u8>,
}

/// Writes one frame.
pub(crate) fn write(out: &mut impl Write, kind: Kind, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).ok();
    let length = length.filter(|_| payload.len() <= PAYLOAD_BYTES_MAX).ok_or_else(|| {
        io::Error::other(format!("{} bytes are too many for a frame", payload.len()))
    })?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len() + CHECKSUM_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.push(kind.byte());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&checksum(kind.byte(), payload).to_le_bytes());
    out.write_all(&bytes)?;
    out.flush()
}

/// Frames out of bytes that arrive in pieces.
#[derive(Default)]
pub(crate) struct Parser {
    pending: Vec<u8>,
    /// Bytes of whole frames so far; where an error is.
    offset: usize,
}

impl Parser {
    /// Takes a piece; the frames that it completed. Garbled bytes are an error that names the offset.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>> {
        self.pending.extend_from_slice(bytes);
        let mut frames = Vec::new();
        while let Some((frame, length)) = first(&self.pending)
            .map_err(|error| error.context(format!("at byte {} of the results", self.offset)))?
        {
            frames.push(frame);
            self.pending.drain(..length);
            self.offset += length;
        }
        Ok(frames)
    }

    /// Bytes of a frame that was begun and not ended.
    pub(crate) fn unfinished_bytes(&self) -> usize {
        self.pending.len()
    }
}

/// The first frame and its length; `None` if it is not complete yet.
fn first(bytes: &[u8]) -> Result<Option<(Frame, usize)>> {
    let magic = bytes.len().min(MAGIC.len());
    ensure!(bytes[..magic] == MAGIC[..magic], "no frame begins here");
    let Some((header, rest)) = bytes.split_at_checked(HEADER_BYTES) else { return Ok(None) };
    let Some(kind) = Kind::of(header[4]) else { bail!("there is no kind {:#04x}", header[4]) };
    let length = u32::from_le_bytes([header[5], header[6], header[7], header[8]]) as usize;
    ensure!(length <= PAYLOAD_BYTES_MAX, "a frame of {length} bytes cannot be");
    let Some((payload, rest)) = rest.split_at_checked(length) else { return Ok(None) };
    let Some(sum) = rest.first_chunk::<CHECKSUM_BYTES>() else { return Ok(None) };
    ensure!(u32::from_le_bytes(*sum) == checksum(header[4], payload), "the checksum is wrong");
    let frame = Frame { kind, payload: payload.to_vec() };
    Ok(Some((frame, HEADER_BYTES + length + CHECKSUM_BYTES)))
}

/// FNV-1a, 32 bits.
fn checksum(kind: u8, payload: &[u8]) -> u32 {
    let bytes = std::iter::once(&kind).chain(payload);
    bytes.fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> (Vec<u8>, Vec<Frame>) {
        let frames = vec![
            Frame { kind: Kind::Result, payload: b"{\"check\":\"x\"}".to_vec() },
            Frame { kind: Kind::Folder, payload: b"CTW1\0\r\n\x11\x13\xff".to_vec() },
            Frame { kind: Kind::End, payload: Vec::new() },
        ];
        let mut bytes = Vec::new();
        for frame in &frames {
            write(&mut bytes, frame.kind, &frame.payload).expect("write");
        }
        (bytes, frames)
    }

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let (bytes, frames) = three();
        for piece in 1..=bytes.len() {
            let mut parser = Parser::default();
            let found: Vec<Frame> =
                bytes.chunks(piece).flat_map(|piece| parser.push(piece).expect("frames")).collect();
            assert_eq!(found, frames, "pieces of {piece}");
            assert_eq!(parser.unfinished_bytes(), 0);
        }
    }

    #[test]
    fn a_truncated_stream_is_not_taken_for_whole() {
        let (bytes, frames) = three();
        for length in 0..bytes.len() {
            let mut parser = Parser::default();
            let found = parser.push(&bytes[..length]).expect("frames");
            assert!(found.len() < frames.len() && frames.starts_with(&found), "{length}");
            let whole = found.iter().map(|frame| frame.payload.len() + 13).sum::<usize>();
            assert_eq!(parser.unfinished_bytes(), length - whole, "{length}");
        }
    }

    #[test]
    fn no_changed_byte_goes_unnoticed() {
        let (bytes, frames) = three();
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut garbled = bytes.clone();
                garbled[at] ^= flip;
                let mut parser = Parser::default();
                // A length that grew makes the stream end early, everything else is an error.
                if let Ok(found) = parser.push(&garbled) {
                    assert!(found.len() < frames.len(), "byte {at}");
                    assert!(parser.unfinished_bytes() > 0, "byte {at}");
                }
            }
        }
    }

    #[test]
    fn an_error_says_where() {
        let (mut bytes, _) = three();
        let second = 13 + b"{\"check\":\"x\"}".len();
        bytes[second] = b'X';
        let error = Parser::default().push(&bytes).expect_err("garbled");
        assert_eq!(format!("{error:#}"), "at byte 26 of the results: no frame begins here");
        assert_eq!(second, 26);
    }
}
