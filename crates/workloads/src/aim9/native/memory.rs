//! Memory: the C library's allocator and block functions, and segments of shared memory. Sizes
//! and addresses come through `black_box`, so that no compiler replaces a call.

use std::ffi::c_void;
use std::hint::black_box;
use std::io;
use std::ptr;

/// Blocks of one round of the allocator row: three at a time.
const BLOCKS: usize = 300;

/// One round of the allocator row: a hundred times a block of `text` and its end, a block of a
/// size, and a zeroed block of the next size; then the first byte of all is touched; then all are
/// freed, the last three first, and of three the last before the middle. Whether all was given and
/// the zeroed blocks began with zero.
pub(in crate::aim9) fn allocate_and_free(text: &[u8], sizes: &[usize]) -> bool {
    let mut blocks = [ptr::null_mut::<u8>(); BLOCKS];
    let mut well = !sizes.is_empty();
    // SAFETY: every block is used within its size, only if it was given, and freed once; free
    // takes null too. All sizes are at least 1.
    unsafe {
        for (index, three) in blocks.chunks_exact_mut(3).enumerate() {
            let size = |at: usize| black_box(sizes[at % sizes.len()].max(1));
            three[0] = libc::malloc(black_box(text.len() + 1)).cast();
            if !three[0].is_null() {
                ptr::copy_nonoverlapping(text.as_ptr(), three[0], text.len());
                three[0].add(text.len()).write(0);
            }
            three[1] = libc::malloc(size(index)).cast();
            three[2] = libc::calloc(size(index + 1), 1).cast();
            well &= !three[2].is_null() && *three[2] == 0;
        }
        for block in &mut blocks {
            let block = black_box(*block);
            well &= !block.is_null();
            if !block.is_null() {
                block.write_volatile(1);
            }
        }
        for three in blocks.chunks_exact(3).rev() {
            for block in [three[0], three[2], three[1]] {
                libc::free(block.cast());
            }
        }
    }
    well
}

/// One round of the block row on the first `size` bytes behind the offsets: both filled, one byte
/// made different, searched, compared, the byte made equal again, copied, moved. Whether the byte
/// was found and the blocks were different.
pub(in crate::aim9) fn fill_search_copy(
    (from, from_offset): (&mut [u8], usize),
    (to, to_offset): (&mut [u8], usize),
    size: usize,
) -> bool {
    let (Some(from), Some(to)) =
        (from.get_mut(from_offset..from_offset + size), to.get_mut(to_offset..to_offset + size))
    else {
        return false;
    };
    let (source, target) = (black_box(from.as_mut_ptr()), black_box(to.as_mut_ptr()));
    let size = black_box(size);
    let last = size - 1;
    // SAFETY: both slices have `size` bytes, at least 1, and do not overlap; they are reached
    // through these two pointers only until the end of the block.
    unsafe {
        libc::memset(source.cast(), i32::from(b'a'), size);
        libc::memset(target.cast(), i32::from(b'a'), size);
        source.add(last).write(b'b');
        let found = libc::memchr(source.cast::<c_void>(), i32::from(b'b'), size);
        let different = libc::memcmp(source.cast(), target.cast(), size);
        target.add(last).write(b'b');
        libc::memcpy(target.cast(), source.cast(), size);
        libc::memmove(source.cast(), target.cast(), size);
        found == source.add(last).cast() && different > 0
    }
}

/// Copies `size` bytes with the C library's `memcpy`.
pub(in crate::aim9) fn copy(from: &[u8], to: &mut [u8], size: usize) {
    let size = black_box(size.min(from.len()).min(to.len()));
    // SAFETY: both slices have at least `size` bytes, and one is borrowed alone.
    unsafe { libc::memcpy(black_box(to.as_mut_ptr()).cast(), from.as_ptr().cast(), size) };
}

/// An attached segment. Dropping it detaches it.
#[derive(Debug)]
pub(in crate::aim9) struct Segment {
    address: *mut u8,
    bytes: usize,
}

impl Segment {
    /// Attaches a segment of at least `bytes` bytes, for this process alone.
    pub(in crate::aim9) fn attach(id: i32, bytes: usize) -> io::Result<Self> {
        // SAFETY: the kernel chooses the address, so it overlaps nothing.
        let address = unsafe { libc::shmat(id, ptr::null(), 0) };
        if address.addr() == usize::MAX {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { address: address.cast(), bytes })
    }

    pub(in crate::aim9) fn put(&mut self, from: &[u8]) {
        let size = from.len().min(self.bytes);
        // SAFETY: the segment has `bytes` bytes that nobody else writes; `from` is not in it.
        unsafe { libc::memcpy(self.address.cast(), from.as_ptr().cast(), size) };
    }

    pub(in crate::aim9) fn take(&self, to: &mut [u8]) {
        let size = to.len().min(self.bytes);
        // SAFETY: the segment has `bytes` bytes that nobody else writes; `to` is not in it.
        unsafe { libc::memcpy(to.as_mut_ptr().cast(), self.address.cast(), size) };
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: it was attached there, and this is its last use.
        unsafe { libc::shmdt(self.address.cast()) };
    }
}
