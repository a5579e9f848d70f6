//! The checksum of a line: CRC-32 (as of gzip) of everything before it, as the last field.
//!
//! `{"schema":1,…,"env":"e0","checksum":"1a2b3c4d"}`: eight hexadecimal digits. It tells what a disk,
//! a copy or an editor changed; it keeps out nobody who makes it anew.

const FIELD: &[u8] = b",\"checksum\":\"";
const DIGITS: usize = 8;
const END: &[u8] = b"\"}";

/// Puts the checksum into the text of an object, as its last field.
pub(crate) fn seal(object: &mut Vec<u8>) {
    if object.pop_if(|byte| *byte == b'}').is_some() {
        let sum = crc32fast::hash(object);
        object.extend_from_slice(FIELD);
        object.extend_from_slice(format!("{sum:08x}").as_bytes());
        object.extend_from_slice(END);
    }
}

/// Whether the checksum of a line is right; `None` if it has none there.
pub(crate) fn is_right(line: &[u8]) -> Option<bool> {
    let (rest, digits) = line.strip_suffix(END)?.split_last_chunk::<DIGITS>()?;
    let object = rest.strip_suffix(FIELD)?;
    Some(*digits == *format!("{:08x}", crc32fast::hash(object)).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_noticed() {
        let mut line = br#"{"seq":0,"value":1.25}"#.to_vec();
        assert_eq!(is_right(&line), None);
        seal(&mut line);
        assert_eq!(line, br#"{"seq":0,"value":1.25,"checksum":"5e2af1de"}"#);
        assert_eq!(is_right(&line), Some(true));
        for bit in 0..8 * line.len() {
            let mut altered = line.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(is_right(&altered), Some(true), "bit {bit}");
        }
    }
}
