//! The timing wheel: which slots wake at which tick.
//!
//! A bucket is a linked list through the slots' own links, so nothing is allocated. An event
//! further away than the wheel is long waits in its last bucket and is put in again from there.

/// Buckets, a power of two.
pub(super) const SPAN: u64 = 1024;

pub(super) const NONE: u16 = u16::MAX;

/// Heads of the buckets, and which of them hold something.
#[derive(Debug, Clone)]
pub(super) struct Wheel {
    heads: Box<[u16; SPAN as usize]>,
    full: [u64; SPAN as usize / 64],
    waiting: u32,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self { heads: Box::new([NONE; SPAN as usize]), full: [0; SPAN as usize / 64], waiting: 0 }
    }

    /// Puts `event` into the bucket of tick `at` (after `now`); gives the event it displaces as
    /// head, which becomes its successor.
    #[inline(always)]
    pub(super) fn push(&mut self, now: u64, at: u64, event: u16) -> u16 {
        let at = at.min(now + SPAN - 1);
        let bucket = (at % SPAN) as usize;
        self.full[bucket / 64] |= 1 << (bucket % 64);
        self.waiting += 1;
        std::mem::replace(&mut self.heads[bucket], event)
    }

    /// Takes the whole bucket of this tick: the head of its list.
    #[inline(always)]
    pub(super) fn take(&mut self, tick: u64) -> u16 {
        let bucket = (tick % SPAN) as usize;
        self.full[bucket / 64] &= !(1 << (bucket % 64));
        std::mem::replace(&mut self.heads[bucket], NONE)
    }

    /// The first event of a bucket.
    pub(super) fn head(&self, bucket: u64) -> u16 {
        self.heads[(bucket % SPAN) as usize]
    }

    /// Takes the first event of a bucket out, behind which comes `next`.
    pub(super) fn drop_head(&mut self, bucket: u64, next: u16) {
        let bucket = (bucket % SPAN) as usize;
        self.heads[bucket] = next;
        if next == NONE {
            self.full[bucket / 64] &= !(1 << (bucket % 64));
        }
        self.waiting -= 1;
    }

    /// Says that an event of a bucket that was taken has been dealt with.
    #[inline(always)]
    pub(super) fn done(&mut self) {
        self.waiting -= 1;
    }

    /// The next tick after `now` whose bucket holds something.
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        let start = now + 1;
        let words = self.full.len();
        let first = (start % SPAN) as usize;
        for step in 0..=words {
            let word = (first / 64 + step) % words;
            let mut bits = self.full[word];
            if step == 0 {
                bits &= u64::MAX << (first % 64);
            }
            if bits != 0 {
                let bucket = word as u64 * 64 + u64::from(bits.trailing_zeros());
                return Some(start + (bucket + SPAN - first as u64) % SPAN);
            }
        }
        None
    }
}
