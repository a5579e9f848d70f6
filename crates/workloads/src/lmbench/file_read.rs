//! Rows `file-reread` and `mmap-reread`: a file that is in the page cache, read again.
//!
//! `file-reread` has the kernel copy it, in blocks of 64 KiB; `mmap-reread` maps it once and loads
//! every word of it where it lies. A pass goes over the whole file, and its bytes count.

use super::harness::{Bench, Body, Place};
use super::native::memory::{self as native, Mapping};
use crate::copies::Remarks;
use crate::workload::int;
use crate::{Context, Error};
use rustix::io::pread;
use std::fs::File;
use std::io::Write;

/// Read in one call, in bytes; LMbench's unit of all bandwidths.
const BLOCK: usize = 64 << 10;

/// The word at that place of the file, counted in words.
fn word(place: u64) -> u64 {
    (place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Makes the file; it, and the sum of its words.
fn made(place: &Place) -> Result<(File, u64), Error> {
    let path = place.folder()?.join("reread");
    let mut file = File::options().read(true).write(true).create_new(true).open(&path);
    let mut sum = 0_u64;
    let words = u64::from(int(&place.params, "size_kib")) * 1024 / 8;
    let mut next = 0;
    while next < words {
        let block = next..words.min(next + (BLOCK / 8) as u64);
        next = block.end;
        let bytes: Vec<u8> = block.flat_map(|place| word(place).to_ne_bytes()).collect();
        file = file.and_then(|mut file| file.write_all(&bytes).map(|()| file));
    }
    for place in 0..words {
        sum = sum.wrapping_add(word(place));
    }
    file.map(|file| (file, sum)).with_context(|| format!("cannot write {}", path.display()))
}

fn bench(place: &Place, body: impl Body + 'static) -> Bench {
    Bench::of(body).worth(f64::from(int(&place.params, "size_kib")) * 1024.0)
}

struct Reread {
    file: File,
    bytes: u64,
    buffer: Vec<u8>,
    /// Blocks that were short, or began or ended with another word.
    wrong: u64,
}

/// The first and the last word of a block.
fn ends(block: &[u8]) -> Option<[u64; 2]> {
    let (first, last) = (block.first_chunk()?, block.last_chunk()?);
    Some([u64::from_ne_bytes(*first), u64::from_ne_bytes(*last)])
}

impl Body for Reread {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        for _ in 0..count {
            let mut offset = 0;
            while offset < self.bytes {
                let wanted = (self.bytes - offset).min(BLOCK as u64);
                let read =
                    pread(&self.file, &mut self.buffer, offset).context("cannot read the file")?;
                let end = offset + wanted;
                let right = Some([word(offset / 8), word(end / 8 - 1)]);
                let whole = read as u64 == wanted && ends(&self.buffer[..read]) == right;
                self.wrong += u64::from(!whole);
                offset = end;
            }
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check("every_block_read", self.wrong == 0);
    }
}

pub(super) fn file_reread(place: &Place) -> Result<Bench, Error> {
    let (file, _) = made(place)?;
    let bytes = u64::from(int(&place.params, "size_kib")) * 1024;
    Ok(bench(place, Reread { file, bytes, buffer: vec![0; BLOCK], wrong: 0 }))
}

struct Mapped {
    map: Mapping,
    sum: u64,
    wrong: u64,
}

impl Body for Mapped {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        for _ in 0..count {
            self.wrong += u64::from(native::read(self.map.words()) != self.sum);
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check("every_word_read", self.wrong == 0);
    }
}

pub(super) fn mmap_reread(place: &Place) -> Result<Bench, Error> {
    let (file, sum) = made(place)?;
    let bytes = int(&place.params, "size_kib") as usize * 1024;
    let map = Mapping::new(&file, bytes).context("cannot map the file")?;
    Ok(bench(place, Mapped { map, sum, wrong: 0 }))
}
