//! AIM9's `sieve`: the sieve of Eratosthenes over a table of bytes, with its true address stream.
//!
//! One operation of the row fills a million bytes with 1, strikes out the multiples of every prime
//! up to the table's end (not its root) and counts what is left, five times (AIM9 `int_fcns.c`,
//! registered with the arguments "1000000 5"). Here the table stays where it is within a run; the
//! seed moves it between runs.

use super::{CODE_BASE, CODE_BYTES_PER_UOP, DATA_BASE, cut_sources};
use crate::core::{Class, Effect, Stream, Touched, Uop};

/// The sieve's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sieve {
    /// Bytes of the table, one per candidate; 16 to 16 million.
    pub table_bytes: u32,
}

/// One access of the sieve to its table, at an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A candidate is set to "prime".
    Fill(u32),
    /// A candidate is looked at: its multiples are struck out if it is prime.
    Look(u32),
    /// A multiple is struck out.
    Strike(u32),
    /// A candidate is looked at again, to be counted.
    Count(u32),
}

impl Access {
    /// The offset into the table.
    pub fn offset(self) -> u32 {
        match self {
            Self::Fill(at) | Self::Look(at) | Self::Strike(at) | Self::Count(at) => at,
        }
    }
}

impl Sieve {
    /// Every access of one sieve, in order.
    pub fn accesses(self) -> impl Iterator<Item = Access> {
        let mut walk = Walk::new(self.table_bytes);
        std::iter::from_fn(move || walk.step())
    }

    /// Micro-operations of a whole sieve: each access takes itself, the index and a test, and every look
    /// or count something more.
    pub(super) fn round_uops(self, fused: bool) -> u64 {
        let (size, accesses) = (u64::from(self.table_bytes), self.accesses().count() as u64);
        let test = if fused { 1 } else { 2 };
        accesses * (2 + test) + (size - 2) * test + size
    }

    /// Its table.
    pub(super) fn touched(self) -> Vec<Touched> {
        vec![Touched { code: false, start: DATA_BASE, bytes: u64::from(self.table_bytes) }]
    }

    pub(super) fn stream(self, fused: bool) -> SieveStream {
        SieveStream {
            walk: Walk::new(self.table_bytes),
            fused,
            emitted: 0,
            waiting: Vec::new(),
            handed: 0,
            since_index: 0,
        }
    }
}

struct Walk {
    size: u32,
    composite: Vec<u64>,
    next: Option<Access>,
    /// The prime whose multiples are being struck out.
    prime: u32,
}

impl Walk {
    fn new(size: u32) -> Self {
        let composite = vec![0; size as usize / 64 + 1];
        Self { size, composite, next: Some(Access::Fill(0)), prime: 0 }
    }

    /// Makes the next access; `None` after the last of a sieve.
    fn step(&mut self) -> Option<Access> {
        let access = self.next?;
        let within = |at: u32| at < self.size;
        self.next = match access {
            Access::Fill(at) => {
                self.composite[at as usize / 64] &= !(1 << (at % 64));
                Some(if within(at + 1) { Access::Fill(at + 1) } else { Access::Look(2) })
            }
            Access::Look(at) => {
                let composite = self.composite[at as usize / 64] >> (at % 64) & 1 == 1;
                if composite || !within(2 * at) {
                    Some(self.look(at + 1))
                } else {
                    self.prime = at;
                    Some(Access::Strike(2 * at))
                }
            }
            Access::Strike(at) => {
                self.composite[at as usize / 64] |= 1 << (at % 64);
                let further = at + self.prime;
                Some(if within(further) {
                    Access::Strike(further)
                } else {
                    self.look(self.prime + 1)
                })
            }
            Access::Count(at) => within(at + 1).then_some(Access::Count(at + 1)),
        };
        Some(access)
    }

    fn look(&self, at: u32) -> Access {
        if at < self.size { Access::Look(at) } else { Access::Count(0) }
    }
}

pub(super) struct SieveStream {
    walk: Walk,
    fused: bool,
    emitted: u64,
    /// Micro-operations of the current access, and how many of them were handed out.
    waiting: Vec<Uop>,
    handed: usize,
    /// Micro-operations since the index was last advanced.
    since_index: u16,
}

impl SieveStream {
    /// The inner loops as a compiler writes them: the access, the index, and the test.
    fn expand(&mut self, access: Access) {
        self.waiting.clear();
        self.handed = 0;
        let (part, class) = match access {
            Access::Fill(_) => (0, Class::Store),
            Access::Look(_) => (1, Class::Load),
            Access::Strike(_) => (2, Class::Store),
            Access::Count(_) => (3, Class::Load),
        };
        let code = |uop: u32| CODE_BASE + (part * 8 + uop) * CODE_BYTES_PER_UOP;
        let address = DATA_BASE + u64::from(access.offset());
        let from_index = self.since_index + 1;
        self.push(Uop::new(class, code(0)).after(from_index, 0).at(address));
        let next = self.walk.next;
        match access {
            // Struck out or not: a branch on what was loaded.
            Access::Look(_) => self.test(code(1), 1, !matches!(next, Some(Access::Strike(_)))),
            Access::Count(_) => self.push(Uop::new(Class::IntAlu, code(1)).after(1, 0)),
            Access::Fill(_) | Access::Strike(_) => {}
        }
        let from_index = self.since_index + 1;
        self.push(Uop::new(Class::IntAlu, code(3)).after(from_index, 0));
        self.since_index = 0;
        let same = |next| std::mem::discriminant(&next) == std::mem::discriminant(&access);
        self.test(code(4), 1, next.is_some_and(same));
    }

    fn push(&mut self, uop: Uop) {
        self.waiting.push(uop);
        self.since_index += 1;
    }

    /// A compare and the branch on it, or the two in one.
    fn test(&mut self, code: u32, source: u16, taken: bool) {
        let effect = if taken { Effect::Taken } else { Effect::None };
        if !self.fused {
            self.push(Uop::new(Class::IntAlu, code).after(source, 0));
        }
        let source = if self.fused { source } else { 1 };
        let branch = Uop::new(Class::Branch, code + CODE_BYTES_PER_UOP);
        self.push(branch.after(source, 0).with(effect));
    }
}

impl Stream for SieveStream {
    fn fill(&mut self, batch: &mut [Uop]) {
        for slot in batch.iter_mut() {
            while self.handed == self.waiting.len() {
                match self.walk.step() {
                    Some(access) => self.expand(access),
                    None => self.walk.next = Some(Access::Fill(0)),
                }
            }
            *slot = self.waiting[self.handed];
            self.handed += 1;
        }
        cut_sources(batch, self.emitted);
        self.emitted += batch.len() as u64;
    }
}
