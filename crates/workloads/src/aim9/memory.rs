//! Rows `mem_rtns_1`, `mem_rtns_2`, `ram_copy`: the C library's allocator and its block functions.

use super::native::memory as c;
use super::native::system::c_library;
use super::{Call, Place};
use crate::Error;

/// Rounds of a call of `mem_rtns_1` and of `mem_rtns_2`.
const ROUNDS: usize = 100;
/// Size of the buffers, in bytes; offsets up to 7 come on top.
const BUFFER: usize = 8192;
const OFFSETS: usize = 8;

/// Sizes of blocks, in bytes.
#[rustfmt::skip]
const SIZES: [usize; 40] = [
    1, 3, 5, 7, 9, 11, 33, 65, 129, 1024, 1025, 1023, 8192, 4096, 4095, 11, 33, 65, 129, 1024,
    1, 3, 5, 7, 9, 11, 33, 65, 129, 1024, 1025, 1023, 8192, 4096, 4095, 11, 33, 65, 129, 1024,
];

/// 44 characters, 45 with their end.
const TEXT: &[u8] = b"forty-four letters and a zero make forty-fiv";

/// Source and target of block functions, with the offsets of the next use.
struct Buffers {
    from: Vec<u8>,
    to: Vec<u8>,
    uses: usize,
}

impl Buffers {
    fn new() -> Self {
        Self { from: vec![0; BUFFER + OFFSETS], to: vec![0; BUFFER + OFFSETS], uses: 0 }
    }

    /// The offset in the source goes round fast, that in the target slowly.
    fn offsets(&mut self) -> (usize, usize) {
        let n = self.uses;
        self.uses += 1;
        (n % OFFSETS, n / OFFSETS % OFFSETS)
    }
}

/// Blocks got and given back.
struct Allocate(bool);

impl Call for Allocate {
    fn call(&mut self) -> Result<(), Error> {
        for _ in 0..ROUNDS {
            self.0 &= c::allocate_and_free(TEXT, &SIZES);
        }
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        vec![("blocks_given", self.0)]
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("c_library", c_library())]
    }
}

pub(super) fn mem_rtns_1(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Allocate(true)))
}

/// Blocks filled, searched, compared, copied and moved.
struct Blocks {
    buffers: Buffers,
    right: bool,
}

impl Call for Blocks {
    fn call(&mut self) -> Result<(), Error> {
        for round in 0..ROUNDS {
            let size = SIZES[round % SIZES.len()];
            let (from, to) = self.buffers.offsets();
            let Buffers { from: source, to: target, .. } = &mut self.buffers;
            self.right &= c::fill_search_copy((source, from), (target, to), size);
        }
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        vec![("bytes_found", self.right)]
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("c_library", c_library())]
    }
}

pub(super) fn mem_rtns_2(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Blocks { buffers: Buffers::new(), right: true }))
}

/// Sizes of the 64 copies of a call of `ram_copy`, in bytes: 25,020 together.
#[rustfmt::skip]
const COPIES: [usize; 64] = [
    1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 8, 9, 11, 17, 33, 63, 7, 7, 7, 7, 7, 7, 1, 2, 3, 4, 5, 6,
    7, 7, 7, 7, 7, 7, 127, 256, 1001, 1200, 1492, 1500, 1024, 2048, 3172, 4096, 8192, 512,
    7, 7, 7, 7, 7, 7, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7,
];

struct Copies {
    buffers: Buffers,
}

impl Call for Copies {
    fn call(&mut self) -> Result<(), Error> {
        for size in COPIES {
            let (from, to) = self.buffers.offsets();
            c::copy(&self.buffers.from[from..], &mut self.buffers.to[to..], size);
        }
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        // The largest copy covers all but the last offsets, and later ones its beginning.
        let copied = &self.buffers.to[OFFSETS..BUFFER];
        let of_source = |byte: &u8| self.buffers.from.contains(byte) && *byte != 0;
        vec![("bytes_copied", copied.iter().all(of_source))]
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("c_library", c_library())]
    }
}

pub(super) fn ram_copy(_: &Place) -> Result<Box<dyn Call>, Error> {
    let mut buffers = Buffers::new();
    buffers.from.fill(b'r');
    Ok(Box::new(Copies { buffers }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_copies_what_it_is_credited_for() {
        assert_eq!(COPIES.iter().sum::<usize>(), 25_020);
        assert_eq!(TEXT.len(), 44);
    }
}
