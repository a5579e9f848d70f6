//! Where pages lie: virtual to physical, and the keys of the arrays that are looked up by either.
//!
//! The map is a keyed hash, not a table: a page's place depends on the seed, its space and its
//! number alone, never on which thread touched it first. Of n pages, about n²/2^26 pairs share a
//! place, which does no harm.

use super::MAX_THREADS;
use crate::core::{KERNEL_CODE, KERNEL_DATA, Placement};
use crate::numbers::mix;
use coretwin_base::random::Stream;

/// Bits of a physical page number (of 4 KiB).
const FRAME_BITS: u32 = 25;
const SMALL_PAGE_BITS: u32 = 12;
/// Spaces that a thread can name.
pub(super) const SPACES: u32 = 1 << 24;
/// The space of kernel pages, beyond those.
const KERNEL_SPACE: u64 = SPACES as u64;
/// Set for code pages, which lie apart from data pages.
const CODE: u64 = 2 * KERNEL_SPACE;
/// Page numbers are below 2^35: the space is kept above them.
const OWNER_SHIFT: u32 = 36;

#[derive(Debug, Clone, Copy)]
pub(super) struct PageMap {
    key: u64,
}

/// What a thread's addresses mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    pub(super) data: u64,
    pub(super) code: u64,
    pub(super) page_bits: u32,
    pub(super) placement: Placement,
}

/// A number for each thread's address space where lines carry it, else one for all.
pub(super) fn contexts(carried: bool, spaces: &[Space; MAX_THREADS]) -> [u32; MAX_THREADS] {
    let first = |space: &Space| spaces.iter().position(|other| other.data == space.data);
    spaces.each_ref().map(|space| if carried { first(space).unwrap_or(0) as u32 } else { 0 })
}

impl PageMap {
    pub(super) fn new(seed: u64) -> Self {
        Self { key: Stream::new(seed, "page-map", 0).next_u64() }
    }

    #[inline(always)]
    fn mix(self, value: u64) -> u64 {
        mix(value ^ self.key)
    }

    #[inline(always)]
    pub(super) fn data(self, space: &Space, address: u64) -> u64 {
        let owner = if address & KERNEL_DATA == 0 { space.data } else { KERNEL_SPACE };
        if space.placement == Placement::Random && space.page_bits == SMALL_PAGE_BITS {
            let page = address >> SMALL_PAGE_BITS;
            return Self::place(self.mix(owner << OWNER_SHIFT | page), address);
        }
        // Large pages and ideal colouring keep their order; each space begins somewhere else.
        let first = self.mix(owner << OWNER_SHIFT)
            >> (64 - FRAME_BITS + space.page_bits - SMALL_PAGE_BITS)
            << (space.page_bits - SMALL_PAGE_BITS);
        Self::place(first + (address >> SMALL_PAGE_BITS), address)
    }

    /// The physical address of code; small pages at random places.
    #[inline(always)]
    pub(super) fn code(self, space: &Space, code: u32) -> u64 {
        let page = u64::from(code) >> SMALL_PAGE_BITS;
        let owner = if code & KERNEL_CODE == 0 { space.code } else { KERNEL_SPACE };
        Self::place(self.mix((owner | CODE) << OWNER_SHIFT | page), u64::from(code))
    }

    #[inline(always)]
    fn place(frame: u64, address: u64) -> u64 {
        // The last frame is left out: its last line is the arrays' word for "empty".
        let frame = (frame & ((1 << FRAME_BITS) - 1)).min((1 << FRAME_BITS) - 2);
        frame << SMALL_PAGE_BITS | address & ((1 << SMALL_PAGE_BITS) - 1)
    }
}

impl Space {
    /// The key of a data page in a translation buffer.
    #[inline(always)]
    pub(super) fn data_page_key(&self, address: u64) -> u32 {
        let owner = if address & KERNEL_DATA == 0 { self.data } else { KERNEL_SPACE };
        let page = (address & !KERNEL_DATA) >> self.page_bits;
        Self::fold(page, owner)
    }

    /// The key of a code page in a translation buffer.
    #[inline(always)]
    pub(super) fn code_page_key(&self, code: u32) -> u32 {
        Self::fold(u64::from(code >> SMALL_PAGE_BITS), self.code_owner(code))
    }

    /// The key of a stretch of code, given by its number, in a uop cache.
    #[inline(always)]
    pub(super) fn code_line_key(&self, line: u32, code: u32) -> u32 {
        Self::fold(u64::from(line), self.code_owner(code))
    }

    #[inline(always)]
    fn code_owner(&self, code: u32) -> u64 {
        CODE | if code & KERNEL_CODE == 0 { self.code } else { KERNEL_SPACE }
    }

    /// A key below 2^31 - 1 whose low bits are the number's, so that sets are chosen as the
    /// hardware chooses them.
    #[inline(always)]
    fn fold(number: u64, owner: u64) -> u32 {
        let key = number ^ number >> 30 ^ owner.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48 << 14;
        (key & 0x3fff_ffff) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Space = Space { data: 1, code: 1, page_bits: 12, placement: Placement::Random };

    #[test]
    fn places_follow_the_seed_and_keep_offsets() {
        let (first, second) = (PageMap::new(1), PageMap::new(2));
        assert_ne!(first.data(&SPACE, 0x1000), second.data(&SPACE, 0x1000));
        assert_eq!(first.data(&SPACE, 0x1234) - first.data(&SPACE, 0x1000), 0x234);
        let other = Space { data: 2, ..SPACE };
        assert_ne!(first.data(&SPACE, 0x1000), first.data(&other, 0x1000));
        let kernel = KERNEL_DATA | 0x1000;
        assert_eq!(first.data(&SPACE, kernel), first.data(&other, kernel), "one kernel for all");
    }

    #[test]
    fn contiguous_pages_keep_their_order() {
        let map = PageMap::new(3);
        let space = Space { placement: Placement::Contiguous, ..SPACE };
        let base = map.data(&space, 0);
        assert_eq!(map.data(&space, 0x5678), base + 0x5678);
    }
}
