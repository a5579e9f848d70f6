//! Rows `memory-read`, `memory-write`, `memory-read-write`, `memory-copy`, `bcopy`: whole passes over
//! memory, by single loads and stores of 64 bits, or by the C library's `memcpy`; `file-reread` and
//! `mmap-reread`: the same of a file that is in the page cache, which the kernel copies in blocks, or which is
//! mapped once. The bytes of the memory count once in a pass, however often they are touched: a copy counts
//! those that were copied, not those read and those written.
//!
//! Rows `memory-latency` and `memory-latency-random`: loads that each wait for the one before, because it holds
//! the address. Every `stride` bytes of the memory lies a word that leads to the next, round and round. In
//! ascending order the processor may guess and fetch ahead, as it does for a program that goes through a
//! table. In random order it cannot; the row then shows what the level of memory takes that holds so much, and
//! finding the page beyond what the processor keeps of the page table.

use super::harness::{Bench, Body, Place, Row, checked};
use super::native::memory::{self as native, Chain, LOADS, Mapping, Memory};
use crate::workload::{Outcome, Params, Telling, int, wrong};
use crate::{Context, Error};
use coretwin_base::random::Stream;
use rustix::io::pread;
use std::fs::File;
use std::io::Write as _;

/// Read in one call, in bytes; LMbench's unit of all bandwidths.
const BLOCK: usize = 64 << 10;

/// The word at that place, counted in words: all differ.
fn word(place: u64) -> u64 {
    (place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn sum(words: u64) -> u64 {
    (0..words).fold(0, |sum, place| sum.wrapping_add(word(place)))
}

fn filled(kib: u32) -> Memory {
    let mut memory = Memory::new(kib);
    (0..).zip(memory.words_mut()).for_each(|(place, at)| *at = word(place));
    memory
}

/// A pass over so many KiB as the row's parameter says.
fn passes(place: &Place, body: impl Body + 'static) -> Bench {
    Bench::of(body).worth(f64::from(size_kib(place)) * 1024.0)
}

fn size_kib(place: &Place) -> u32 {
    int(&place.params, "size_kib")
}

pub(super) fn read(place: &Place) -> Result<Bench, Error> {
    let memory = filled(size_kib(place));
    let sum = sum(memory.words().len() as u64);
    Ok(passes(place, checked("every_word_read", move || Ok(native::read(memory.words()) == sum))))
}

/// Each pass writes its own number.
struct Write {
    memory: Memory,
    passes: u64,
    reads: bool,
    wrong: u64,
}

impl Body for Write {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        let words = self.memory.words_mut();
        for _ in 0..count {
            let before = self.passes;
            self.passes += 1;
            match self.reads {
                false => native::write(words, self.passes),
                true => {
                    let sum = native::read_write(words, self.passes);
                    self.wrong += u64::from(sum != before.wrapping_mul(words.len() as u64));
                }
            }
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Outcome) {
        let written = self.memory.words().iter().all(|word| *word == self.passes);
        to.check("every_word_written", written);
        if self.reads {
            to.check("every_word_read", self.wrong == 0);
        }
    }
}

pub(super) fn write(place: &Place, reads: bool) -> Result<Bench, Error> {
    let memory = Memory::new(size_kib(place));
    Ok(passes(place, Write { memory, passes: 0, reads, wrong: 0 }))
}

/// Each pass copies a first and a last word of its own, so that one left out is noticed.
struct Copy {
    from: Memory,
    to: Memory,
    copy: fn(&[u64], &mut [u64]),
    passes: u64,
    wrong: u64,
}

impl Body for Copy {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        for _ in 0..count {
            self.passes += 1;
            for end in ends(self.from.words_mut()) {
                *end = self.passes;
            }
            (self.copy)(self.from.words(), self.to.words_mut());
            let right = ends(self.to.words_mut()).all(|end| *end == self.passes);
            self.wrong += u64::from(!right);
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Outcome) {
        let equal = self.from.words() == self.to.words();
        to.check("every_word_copied", self.wrong == 0 && equal);
    }
}

fn ends(words: &mut [u64]) -> impl Iterator<Item = &mut u64> {
    let last = words.len() - 1;
    words.iter_mut().step_by(last.max(1))
}

pub(super) fn copy(place: &Place, copy: fn(&[u64], &mut [u64])) -> Result<Bench, Error> {
    let kib = size_kib(place);
    let (from, to) = (filled(kib), Memory::new(kib));
    Ok(passes(place, Copy { from, to, copy, passes: 0, wrong: 0 }))
}

fn file_of(place: &Place, words: u64) -> Result<File, Error> {
    let path = place.folder()?.join("reread");
    let made = || -> std::io::Result<File> {
        let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
        for begin in (0..words).step_by(BLOCK / 8) {
            let block = begin..words.min(begin + (BLOCK / 8) as u64);
            file.write_all(&block.flat_map(|at| word(at).to_ne_bytes()).collect::<Vec<_>>())?;
        }
        Ok(file)
    };
    made().with_context(|| format!("cannot write {}", path.display()))
}

fn ends_of(block: &[u8]) -> Option<[u64; 2]> {
    let (first, last) = (block.first_chunk()?, block.last_chunk()?);
    Some([u64::from_ne_bytes(*first), u64::from_ne_bytes(*last)])
}

pub(super) fn file_reread(place: &Place) -> Result<Bench, Error> {
    let bytes = u64::from(size_kib(place)) * 1024;
    let (file, mut buffer) = (file_of(place, bytes / 8)?, vec![0; BLOCK]);
    let pass = move || {
        let (mut offset, mut all_right) = (0, true);
        while offset < bytes {
            let wanted = (bytes - offset).min(BLOCK as u64);
            let read = pread(&file, &mut buffer, offset).context("cannot read the file")?;
            let end = offset + wanted;
            let right = Some([word(offset / 8), word(end / 8 - 1)]);
            all_right &= read as u64 == wanted && ends_of(&buffer[..read]) == right;
            offset = end;
        }
        Ok(all_right)
    };
    Ok(passes(place, checked("every_block_read", pass)))
}

pub(super) fn mmap_reread(place: &Place) -> Result<Bench, Error> {
    let bytes = size_kib(place) as usize * 1024;
    let (file, sum) = (file_of(place, bytes as u64 / 8)?, sum(bytes as u64 / 8));
    let map = Mapping::new(&file, bytes).context("cannot map the file")?;
    Ok(passes(place, checked("every_word_read", move || Ok(native::read(map.words()) == sum))))
}

/// Seed of the random order, which is the same in every run.
const SEED: u64 = 1;
const WORD: u32 = 8;
/// Loads that fill any cache: the lines of 256 MiB.
const WARM_UP: u64 = 4 << 20;

struct Chase {
    chain: Chain,
    words: u64,
    /// Where it is, and where it began.
    at: u32,
    start: u32,
    loads: u64,
}

/// Where the words are, by their numbers, in ascending order.
fn places(params: &Params) -> impl Iterator<Item = u32> {
    let (kib, stride) = (int(params, "size_kib"), int(params, "stride"));
    (0..kib * 1024 / WORD).step_by((stride / WORD).max(1) as usize)
}

pub(super) fn latency(place: &Place) -> Result<Bench, Error> {
    chase(place, &places(&place.params).collect::<Vec<_>>())
}

pub(super) fn latency_random(place: &Place) -> Result<Bench, Error> {
    let mut visits: Vec<u32> = places(&place.params).collect();
    Stream::new(SEED, "lmbench-more/memory-latency-random", 0).shuffle(&mut visits);
    chase(place, &visits)
}

fn chase(place: &Place, visits: &[u32]) -> Result<Bench, Error> {
    let joined = || Chain::new(int(&place.params, "size_kib"), visits);
    let start = visits.first().copied();
    let (start, chain) = start
        .zip(joined())
        .ok_or_else(|| Error::failed("the words of the chase do not lie in its memory"))?;
    let mut chase = Chase { chain, words: visits.len() as u64, at: start, start, loads: 0 };
    // All of it once, so that it is in the caches as far as those can hold it.
    chase.repeat(chase.words.min(WARM_UP).div_ceil(LOADS))?;
    Ok(Bench::of(chase).worth(LOADS as f64))
}

/// An operation is [`LOADS`] loads.
impl Body for Chase {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        self.at = self.chain.chase(self.at, count);
        self.loads += count * LOADS;
        Ok(())
    }

    fn remark(&mut self, to: &mut Outcome) {
        let mut word = self.start;
        let mut visited = 0;
        let mut right_end = false;
        // Once round by other means.
        while visited < self.words {
            right_end |= visited == self.loads % self.words && word == self.at;
            word = self.chain.next(word);
            visited += 1;
            if word == self.start {
                break;
            }
        }
        let whole = visited == self.words && word == self.start;
        to.check("every_line_visited", whole);
        to.check("loads_counted", right_end);
        to.lower("chain_words", self.words as f64, "words");
    }
}

/// The stride is whole words, and the memory has at least two of them.
pub(super) fn check(row: &Row, params: &Params) -> Result<(), Error> {
    let (kib, stride) = (int(params, "size_kib"), int(params, "stride"));
    let why = match stride {
        stride if stride % WORD != 0 => "it is a multiple of 8, the bytes of an address",
        stride if u64::from(stride) * 2 > u64::from(kib) << 10 => {
            "it is at most half of size_kib, so that there is a second place to go to"
        }
        _ => return Ok(()),
    };
    Err(wrong(row.name, params, "stride", why))
}

#[cfg(test)]
mod tests {
    use super::*;
    fn chase_of(visits: &[u32]) -> Chase {
        let chain = Chain::new(1, visits).expect("chain");
        Chase { chain, words: visits.len() as u64, at: visits[0], start: visits[0], loads: 0 }
    }

    fn held(chase: &mut Chase) -> [bool; 2] {
        let mut remarks = crate::workload::outcome(0.0, "", crate::workload::Better::Lower);
        chase.remark(&mut remarks);
        ["every_line_visited", "loads_counted"].map(|name| remarks.checks[name])
    }

    #[test]
    fn the_check_notices_a_short_chase_and_a_line_left_out() {
        let mut chase = chase_of(&[0, 8, 16, 24, 32]);
        assert_eq!(held(&mut chase), [true, true]);
        chase.repeat(7).expect("chased");
        assert_eq!(chase.loads, 7 * LOADS);
        assert_eq!(held(&mut chase), [true, true]);
        chase.loads += 1;
        assert_eq!(held(&mut chase), [true, false], "a load was not made");
        chase.loads -= 1;
        chase.words = 6;
        assert!(!held(&mut chase)[0], "a line is not visited");
    }
}
