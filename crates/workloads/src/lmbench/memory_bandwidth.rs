//! Rows `memory-read`, `memory-write`, `memory-read-write`, `memory-copy`, `bcopy`: whole passes over
//! memory, by single loads and stores of 64 bits, or by the C library's `memcpy`.
//!
//! The bytes of the memory count once in a pass, however often they are touched: a copy counts
//! those that were copied, not those read and those written.

use super::harness::{Bench, Body, Place};
use super::native::memory::{self as native, Memory};
use crate::Error;
use crate::copies::Remarks;
use crate::workload::int;

/// Memory whose words all differ, and their sum.
fn filled(kib: u32) -> (Memory, u64) {
    let mut memory = Memory::new(kib);
    let mut sum = 0_u64;
    for (index, word) in memory.words_mut().iter_mut().enumerate() {
        *word = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum = sum.wrapping_add(*word);
    }
    (memory, sum)
}

fn bench(place: &Place, body: impl Body + 'static) -> Bench {
    Bench::of(body).worth(f64::from(int(&place.params, "size_kib")) * 1024.0)
}

struct Read {
    memory: Memory,
    sum: u64,
    wrong: u64,
}

impl Body for Read {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        for _ in 0..count {
            self.wrong += u64::from(native::read(self.memory.words()) != self.sum);
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check("every_word_read", self.wrong == 0);
    }
}

pub(super) fn memory_read(place: &Place) -> Result<Bench, Error> {
    let (memory, sum) = filled(int(&place.params, "size_kib"));
    Ok(bench(place, Read { memory, sum, wrong: 0 }))
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

    fn remark(&mut self, to: &mut Remarks) {
        let written = self.memory.words().iter().all(|word| *word == self.passes);
        to.check("every_word_written", written);
        if self.reads {
            to.check("every_word_read", self.wrong == 0);
        }
    }
}

pub(super) fn write(place: &Place, reads: bool) -> Result<Bench, Error> {
    let memory = Memory::new(int(&place.params, "size_kib"));
    Ok(bench(place, Write { memory, passes: 0, reads, wrong: 0 }))
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

    fn remark(&mut self, to: &mut Remarks) {
        let equal = self.from.words() == self.to.words();
        to.check("every_word_copied", self.wrong == 0 && equal);
    }
}

fn ends(words: &mut [u64]) -> impl Iterator<Item = &mut u64> {
    let last = words.len() - 1;
    words.iter_mut().step_by(last.max(1))
}

pub(super) fn copy(place: &Place, copy: fn(&[u64], &mut [u64])) -> Result<Bench, Error> {
    let kib = int(&place.params, "size_kib");
    let ((from, _), to) = (filled(kib), Memory::new(kib));
    Ok(bench(place, Copy { from, to, copy, passes: 0, wrong: 0 }))
}
