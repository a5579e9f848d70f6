//! Loads and stores that must be exactly these, and a file in memory.
//!
//! On x86-64 the loops are assembly, so that no compiler makes them wider, shorter or slower;
//! elsewhere they are volatile accesses, which may not be left out or put together.

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::fd::AsRawFd;

/// Loads of a turn of [`Chain::chase`].
pub(in crate::lmbench) const LOADS: u64 = 64;
/// Words of a turn of the other loops; they go over whole turns.
#[cfg(any(test, target_arch = "x86_64"))]
pub(in crate::lmbench) const TURN: usize = 32;

/// A line of most caches; memory that is measured begins with one.
#[derive(Clone)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Memory of whole lines, every page of it written once.
pub(in crate::lmbench) struct Memory(Vec<Line>);

impl Memory {
    pub(in crate::lmbench) fn new(kib: u32) -> Self {
        Self(vec![Line([0; 8]); kib as usize * (1024 / size_of::<Line>())])
    }

    pub(in crate::lmbench) fn words(&self) -> &[u64] {
        // SAFETY: a line is eight words without anything between, and they live as long.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * 8) }
    }

    pub(in crate::lmbench) fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above, and no other reference exists.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * 8) }
    }
}

/// Memory in which a word holds the address of the next, round and round.
pub(in crate::lmbench) struct Chain(Memory);

impl Chain {
    /// Joins the words of these numbers, in this order, the last to the first, in `kib` KiB;
    /// `None` if a number lies outside.
    pub(in crate::lmbench) fn new(kib: u32, visits: &[u32]) -> Option<Self> {
        let mut memory = Memory::new(kib);
        let words = memory.words_mut();
        let base = words.as_mut_ptr().expose_provenance() as u64;
        let address = |word: u32| base + 8 * u64::from(word);
        for (from, to) in visits.iter().zip(visits.iter().cycle().skip(1)) {
            words.get(*to as usize)?;
            *words.get_mut(*from as usize)? = address(*to);
        }
        // Every word that a visited one leads to is visited too.
        (!visits.is_empty()).then_some(Self(memory))
    }

    /// The number of the word that this one leads to.
    pub(in crate::lmbench) fn next(&self, word: u32) -> u32 {
        let words = self.0.words();
        let base = words.as_ptr().addr() as u64;
        words.get(word as usize).map_or(0, |address| (address.wrapping_sub(base) / 8) as u32)
    }

    /// Goes [`LOADS`] words on from a visited one, `turns` times; returns the word reached.
    pub(in crate::lmbench) fn chase(&self, word: u32, turns: u64) -> u32 {
        let words = self.0.words();
        let base = words.as_ptr().addr();
        let at = base + 8 * (word as usize).min(words.len() - 1);
        // A word that is no visited one holds 0, and must not be followed.
        if turns == 0 || words[(at - base) / 8] == 0 {
            return word;
        }
        // SAFETY: every address in a visited word is that of another of this memory, which is
        // exposed and lives on.
        let end = unsafe { chase(at, turns) };
        ((end - base) / 8) as u32
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn chase(mut at: usize, turns: u64) -> usize {
    // SAFETY: the caller says that every word from here on holds the address of another.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64",
            "mov {at}, [{at}]",
            ".endr",
            "dec {turns}",
            "jnz 2b",
            at = inout(reg) at,
            turns = inout(reg) turns => _,
            options(nostack, readonly),
        );
    }
    at
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn chase(mut at: usize, turns: u64) -> usize {
    for _ in 0..turns * LOADS {
        // SAFETY: the caller says that every word from here on holds the address of another.
        at = unsafe { std::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
    }
    at
}

/// Reads every word, one load each, and adds them up (in four sums, so that the additions do not
/// wait for each other).
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(in crate::lmbench) fn read(words: &[u64]) -> u64 {
    let (turns, rest) = words.as_chunks::<TURN>();
    let mut sum: u64 = 0;
    if !turns.is_empty() {
        // SAFETY: a turn reads 32 words, and there are as many turns as the slice has.
        unsafe {
            std::arch::asm!(
                "2:",
                ".irp offset, 0, 32, 64, 96, 128, 160, 192, 224",
                "add {a}, [{at} + \\offset]",
                "add {b}, [{at} + \\offset + 8]",
                "add {c}, [{at} + \\offset + 16]",
                "add {d}, [{at} + \\offset + 24]",
                ".endr",
                "add {at}, 256",
                "dec {turns}",
                "jnz 2b",
                "add {a}, {b}",
                "add {c}, {d}",
                "add {a}, {c}",
                at = inout(reg) words.as_ptr() => _,
                turns = inout(reg) turns.len() => _,
                a = inout(reg) sum,
                b = inout(reg) 0_u64 => _,
                c = inout(reg) 0_u64 => _,
                d = inout(reg) 0_u64 => _,
                options(nostack, readonly),
            );
        }
    }
    rest.iter().fold(sum, |sum, word| sum.wrapping_add(*word))
}

/// Writes every word, one store each.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(in crate::lmbench) fn write(words: &mut [u64], value: u64) {
    let (turns, rest) = words.as_chunks_mut::<TURN>();
    rest.fill(value);
    if turns.is_empty() {
        return;
    }
    // SAFETY: a turn writes 32 words, and there are as many turns as the slice has.
    unsafe {
        std::arch::asm!(
            "2:",
            ".irp offset, 0, 32, 64, 96, 128, 160, 192, 224",
            "mov [{at} + \\offset], {value}",
            "mov [{at} + \\offset + 8], {value}",
            "mov [{at} + \\offset + 16], {value}",
            "mov [{at} + \\offset + 24], {value}",
            ".endr",
            "add {at}, 256",
            "dec {turns}",
            "jnz 2b",
            at = inout(reg) turns.as_mut_ptr() => _,
            turns = inout(reg) turns.len() => _,
            value = in(reg) value,
            options(nostack),
        );
    }
}

/// Reads every word, adds it to a sum, and writes the value in its place: a load and a store each.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(crate) fn read_write(words: &mut [u64], value: u64) -> u64 {
    let (turns, rest) = words.as_chunks_mut::<TURN>();
    let mut sum = rest.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
    rest.fill(value);
    if turns.is_empty() {
        return sum;
    }
    // SAFETY: a turn reads and writes 32 words, and there are as many turns as the slice has.
    unsafe {
        std::arch::asm!(
            "2:",
            ".irp offset, 0, 32, 64, 96, 128, 160, 192, 224",
            "add {a}, [{at} + \\offset]",
            "mov [{at} + \\offset], {value}",
            "add {b}, [{at} + \\offset + 8]",
            "mov [{at} + \\offset + 8], {value}",
            "add {a}, [{at} + \\offset + 16]",
            "mov [{at} + \\offset + 16], {value}",
            "add {b}, [{at} + \\offset + 24]",
            "mov [{at} + \\offset + 24], {value}",
            ".endr",
            "add {at}, 256",
            "dec {turns}",
            "jnz 2b",
            "add {a}, {b}",
            at = inout(reg) turns.as_mut_ptr() => _,
            turns = inout(reg) turns.len() => _,
            value = in(reg) value,
            a = inout(reg) sum,
            b = inout(reg) 0_u64 => _,
            options(nostack),
        );
    }
    sum
}

/// Copies every word, a load and a store each, as far as both go.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(in crate::lmbench) fn copy(from: &[u64], to: &mut [u64]) {
    let length = from.len().min(to.len());
    let (turns, rest) = to[..length].as_chunks_mut::<TURN>();
    rest.copy_from_slice(&from[turns.len() * TURN..length]);
    if turns.is_empty() {
        return;
    }
    // SAFETY: a turn reads and writes 32 words, and both slices have as many turns.
    unsafe {
        std::arch::asm!(
            "2:",
            ".irp offset, 0, 32, 64, 96, 128, 160, 192, 224",
            "mov {a}, [{from} + \\offset]",
            "mov {b}, [{from} + \\offset + 8]",
            "mov [{to} + \\offset], {a}",
            "mov [{to} + \\offset + 8], {b}",
            "mov {a}, [{from} + \\offset + 16]",
            "mov {b}, [{from} + \\offset + 24]",
            "mov [{to} + \\offset + 16], {a}",
            "mov [{to} + \\offset + 24], {b}",
            ".endr",
            "add {from}, 256",
            "add {to}, 256",
            "dec {turns}",
            "jnz 2b",
            from = inout(reg) from.as_ptr() => _,
            to = inout(reg) turns.as_mut_ptr() => _,
            turns = inout(reg) turns.len() => _,
            a = out(reg) _,
            b = out(reg) _,
            options(nostack),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use volatile::read_write;
#[cfg(not(target_arch = "x86_64"))]
pub(in crate::lmbench) use volatile::{copy, read, write};

/// The same loops for other processors; in tests held against those in assembly.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod volatile {
    use std::ptr::{from_mut, from_ref};

    fn load(word: &u64) -> u64 {
        // SAFETY: a reference is valid to be read.
        unsafe { from_ref(word).read_volatile() }
    }

    fn store(word: &mut u64, value: u64) {
        // SAFETY: a reference that is alone is valid to be written.
        unsafe { from_mut(word).write_volatile(value) };
    }

    pub(in crate::lmbench) fn read(words: &[u64]) -> u64 {
        words.iter().fold(0, |sum, word| sum.wrapping_add(load(word)))
    }

    pub(in crate::lmbench) fn write(words: &mut [u64], value: u64) {
        words.iter_mut().for_each(|word| store(word, value));
    }

    pub(crate) fn read_write(words: &mut [u64], value: u64) -> u64 {
        words.iter_mut().fold(0, |sum, word| {
            let sum = sum.wrapping_add(load(word));
            store(word, value);
            sum
        })
    }

    pub(in crate::lmbench) fn copy(from: &[u64], to: &mut [u64]) {
        to.iter_mut().zip(from).for_each(|(to, from)| store(to, load(from)));
    }
}

/// Copies by the C library's `memcpy`, as far as both go.
pub(in crate::lmbench) fn memcpy(from: &[u64], to: &mut [u64]) {
    let bytes = size_of::<u64>() * from.len().min(to.len());
    // SAFETY: both slices have so many bytes, and one is borrowed alone.
    unsafe {
        libc::memcpy(black_box(to.as_mut_ptr()).cast(), from.as_ptr().cast(), black_box(bytes));
    }
}

pub(in crate::lmbench) struct Mapping {
    address: *mut libc::c_void,
    bytes: usize,
}

impl Mapping {
    /// Maps `bytes` bytes of a file, which must not be shortened or written from now on.
    pub(in crate::lmbench) fn new(file: &File, bytes: usize) -> io::Result<Self> {
        if (file.metadata()?.len() as usize) < bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (null, fd) = (std::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: the kernel chooses a place where nothing is.
        let address = unsafe { libc::mmap(null, bytes, libc::PROT_READ, libc::MAP_SHARED, fd, 0) };
        match address {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            address => Ok(Self { address, bytes }),
        }
    }

    pub(in crate::lmbench) fn words(&self) -> &[u64] {
        // SAFETY: the map begins with a page, is readable and lives as long; the file is one of the
        // run's own folder, and does not change.
        unsafe { std::slice::from_raw_parts(self.address.cast(), self.bytes / size_of::<u64>()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nothing borrows the map any more.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(kib: u32) -> Memory {
        let mut memory = Memory::new(kib);
        for (index, word) in memory.words_mut().iter_mut().enumerate() {
            *word = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        memory
    }

    #[test]
    fn every_word_is_read_and_written() {
        for words in [0, 1, TURN - 1, TURN, TURN + 1, 5 * TURN + 7] {
            let memory = filled(4);
            let from = &memory.words()[..words];
            let sum = from.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
            assert_eq!((read(from), volatile::read(from)), (sum, sum), "{words} words");
            for copier in [copy, memcpy, volatile::copy] {
                let mut to = vec![0; words + 1];
                copier(from, &mut to);
                assert!(to[..words] == *from && to[words] == 0, "{words} words");
            }
            for changer in [read_write, volatile::read_write] {
                let mut to = from.to_vec();
                to.push(3);
                assert_eq!(changer(&mut to[..words], 9), sum, "{words} words");
                assert!(to[..words].iter().all(|word| *word == 9) && to[words] == 3);
            }
            for writer in [write, volatile::write] {
                let mut to = vec![0; words + 1];
                writer(&mut to[..words], 7);
                assert!(to[..words].iter().all(|word| *word == 7) && to[words] == 0);
            }
        }
    }

    #[test]
    fn a_chase_follows_every_link() {
        let visits = [5, 40, 8, 0, 120];
        let chain = Chain::new(1, &visits).expect("chain");
        for turns in 0..4 {
            let loads = (turns * LOADS) as usize;
            assert_eq!(chain.chase(5, turns), visits[loads % visits.len()]);
        }
        assert_eq!((chain.next(5), chain.next(120)), (40, 5));
        assert_eq!(chain.chase(6, 1), 6, "a word that is none of the chain");
        assert!(Chain::new(1, &[0, 128]).is_none(), "there are 128 words");
        assert!(Chain::new(1, &[]).is_none());
    }
}
