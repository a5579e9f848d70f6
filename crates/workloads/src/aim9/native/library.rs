//! The C library, which the library rows measure: its mathematics, strings, sort and search, the twenty-one
//! questions to it and to the kernel that the row `misc_rtns_1` asks, its allocator and block functions. Sizes
//! and addresses come through `black_box`, so that no compiler replaces a call.

use std::cmp::Ordering;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::hint::black_box;
use std::ptr;

// SAFETY: these are the C library's functions with their C types; those marked safe take and give
// numbers only.
unsafe extern "C" {
    pub(in crate::aim9) safe fn exp(x: f64) -> f64;
    pub(in crate::aim9) safe fn log(x: f64) -> f64;
    pub(in crate::aim9) safe fn log10(x: f64) -> f64;
    pub(in crate::aim9) safe fn floor(x: f64) -> f64;
    pub(in crate::aim9) safe fn ceil(x: f64) -> f64;
    pub(in crate::aim9) safe fn fmod(x: f64, y: f64) -> f64;
    pub(in crate::aim9) safe fn fabs(x: f64) -> f64;
    pub(in crate::aim9) safe fn pow(x: f64, y: f64) -> f64;
    pub(in crate::aim9) safe fn sqrt(x: f64) -> f64;
    pub(in crate::aim9) safe fn ldexp(x: f64, exponent: c_int) -> f64;
    pub(in crate::aim9) safe fn sin(x: f64) -> f64;
    pub(in crate::aim9) safe fn cos(x: f64) -> f64;
    pub(in crate::aim9) safe fn tan(x: f64) -> f64;
    pub(in crate::aim9) safe fn asin(x: f64) -> f64;
    pub(in crate::aim9) safe fn acos(x: f64) -> f64;
    pub(in crate::aim9) safe fn atan(x: f64) -> f64;
    pub(in crate::aim9) safe fn atan2(y: f64, x: f64) -> f64;
    pub(in crate::aim9) safe fn sinh(x: f64) -> f64;
    pub(in crate::aim9) safe fn cosh(x: f64) -> f64;
    pub(in crate::aim9) safe fn tanh(x: f64) -> f64;
    pub(in crate::aim9) safe fn abs(x: c_int) -> c_int;
    pub(in crate::aim9) safe fn labs(x: libc::c_long) -> libc::c_long;
    pub(in crate::aim9) safe fn srand(seed: libc::c_uint);
    pub(in crate::aim9) safe fn rand() -> c_int;
    #[link_name = "modf"]
    fn c_modf(x: f64, whole: *mut f64) -> f64;
    #[link_name = "frexp"]
    fn c_frexp(x: f64, exponent: *mut c_int) -> f64;
}

pub(in crate::aim9) fn modf(x: f64) -> (f64, f64) {
    let mut whole = 0.0;
    // SAFETY: it writes one double to the address.
    let fraction = unsafe { c_modf(x, &raw mut whole) };
    (fraction, whole)
}

pub(in crate::aim9) fn frexp(x: f64) -> (f64, c_int) {
    let mut exponent = 0;
    // SAFETY: it writes one int to the address.
    let fraction = unsafe { c_frexp(x, &raw mut exponent) };
    (fraction, exponent)
}

unsafe extern "C" {
    fn ctime(time: *const libc::time_t) -> *mut c_char;
}

/// Size of the buffers, in bytes.
const SIZE: usize = 1024;
/// The phrase that is appended: 18 characters.
const PHRASE: &CStr = c"hyper-threads run ";

pub(in crate::aim9) struct Strings {
    text: [c_char; SIZE],
    other: [c_char; SIZE],
}

impl Strings {
    pub(in crate::aim9) fn new() -> Self {
        Self { text: [0; SIZE], other: [0; SIZE] }
    }

    /// One of the hundred rounds of a call, with a number; whether the answers are right.
    pub(in crate::aim9) fn round(&mut self, number: u32) -> bool {
        let numbers = self.numbers(number);
        let classes = self.classes();
        let appended = self.append();
        numbers && classes && appended && self.search()
    }

    fn numbers(&mut self, number: u32) -> bool {
        let (fraction, whole) = (f64::from(number) + 0.5, libc::c_long::from(number as i32));
        let text = self.text.as_mut_ptr();
        let mut end = ptr::null_mut();
        // SAFETY: every text fits into the buffer whose size is told, and ends in 0.
        unsafe {
            libc::snprintf(text, SIZE, c"%g".as_ptr(), fraction);
            let read = [libc::atof(text), libc::strtod(text, &raw mut end)];
            libc::snprintf(text, SIZE, c"%ld".as_ptr(), whole);
            let longs = [libc::atol(text), libc::strtol(text, &raw mut end, 10)];
            let int = libc::atoi(text);
            read == [fraction; 2] && longs == [whole; 2] && int == number as c_int
        }
    }

    /// A mixed text of about a hundred characters in a buffer of zeroes, each byte but the last
    /// asked for its classes; letters change their case.
    fn classes(&mut self) -> bool {
        self.text.fill(0);
        for (index, byte) in self.text.iter_mut().take(100).enumerate() {
            // Every printable character is among them, and a few that are not.
            *byte = (28 + index) as c_char;
        }
        let mut counts = [0; 11];
        for byte in &mut self.text[..SIZE - 1] {
            let c = c_int::from(black_box(*byte));
            // SAFETY: they take any byte, in the C locale, and give a number.
            unsafe {
                let classes = [
                    libc::isalnum(c),
                    libc::isalpha(c),
                    libc::iscntrl(c),
                    libc::isdigit(c),
                    libc::isgraph(c),
                    libc::islower(c),
                    libc::isprint(c),
                    libc::ispunct(c),
                    libc::isspace(c),
                    libc::isupper(c),
                    libc::isxdigit(c),
                ];
                for (count, class) in counts.iter_mut().zip(classes) {
                    *count += u32::from(class != 0);
                }
                if classes[5] != 0 {
                    *byte = libc::toupper(c) as c_char;
                } else if classes[9] != 0 {
                    *byte = libc::tolower(c) as c_char;
                }
            }
        }
        // Of ASCII in the C locale: 62 letters and digits, 52 letters, 10 digits, and so on. All
        // bytes but the 95 printable ones are control characters.
        counts == [62, 52, 1023 - 95, 10, 94, 26, 95, 32, 1, 26, 22]
    }

    /// The buffer filled with the phrase, searched for its end each time, and compared; then again
    /// ten characters at a time.
    fn append(&mut self) -> bool {
        let (text, other) = (self.text.as_mut_ptr(), self.other.as_mut_ptr());
        let length = PHRASE.count_bytes();
        // SAFETY: both texts end in 0 and stay shorter than the buffers: a phrase is appended
        // only while it and the 0 have room.
        unsafe {
            text.write(0);
            other.write(0);
            let mut equal = true;
            while libc::strlen(text) + length < SIZE {
                libc::strcat(text, PHRASE.as_ptr());
                equal &= libc::strcmp(text, other) > 0;
                libc::strcpy(other, text);
            }
            let whole = libc::strlen(text);
            text.write(0);
            while libc::strlen(text) + 10 < SIZE {
                libc::strncat(text, PHRASE.as_ptr(), 10);
            }
            equal && whole == length * ((SIZE - 1) / length) && libc::strlen(text) == 1020
        }
    }

    fn search(&mut self) -> bool {
        let (text, other) = (self.text.as_mut_ptr(), self.other.as_mut_ptr());
        let long_ago: libc::time_t = 1_000_000_000;
        // SAFETY: ctime gives a text of 26 bytes in a buffer of its own; the copy ends in 0
        // because that is within what is copied; all others are C strings.
        unsafe {
            let date = ctime(&raw const long_ago);
            if date.is_null() {
                return false;
            }
            libc::strncpy(text, date, 26);
            let equal = libc::strcoll(text, date) == 0;
            let to_year = libc::strcspn(text, c"2".as_ptr());
            let colon = libc::strpbrk(text, c":;".as_ptr());
            let last = libc::strrchr(other, c_int::from(b'u'));
            let letters = libc::strspn(other, c"-adehprsty".as_ptr());
            let year = libc::strstr(text, c"2001".as_ptr());
            equal
                && to_year > 0
                && !colon.is_null()
                && !last.is_null()
                && letters == 13
                && !year.is_null()
        }
    }
}

pub(in crate::aim9) type Compare = fn(&i32, &i32) -> Ordering;

unsafe extern "C" fn upwards(a: *const c_void, b: *const c_void) -> c_int {
    // SAFETY: qsort and bsearch hand over addresses of elements, which are of this type.
    unsafe { (*a.cast::<i32>()).cmp(&*b.cast::<i32>()) as c_int }
}

unsafe extern "C" fn downwards(a: *const c_void, b: *const c_void) -> c_int {
    // SAFETY: as for the other.
    unsafe { upwards(b, a) }
}

/// `qsort`, in the direction of `compare`.
pub(in crate::aim9) fn sort(numbers: &mut [i32], compare: Compare) {
    let compare = if compare(&0, &1) == Ordering::Less { upwards } else { downwards };
    // SAFETY: the array has so many elements of this size, and the function is for that type.
    unsafe {
        libc::qsort(numbers.as_mut_ptr().cast(), numbers.len(), size_of::<i32>(), Some(compare));
    }
}

/// `bsearch` in numbers sorted upwards.
pub(in crate::aim9) fn search(numbers: &[i32], wanted: i32) -> bool {
    let (key, base) = ((&raw const wanted).cast(), numbers.as_ptr().cast());
    // SAFETY: the array has so many elements of this size, and key and function are for that type.
    let found = unsafe { libc::bsearch(key, base, numbers.len(), size_of::<i32>(), Some(upwards)) };
    !found.is_null()
}

unsafe extern "C" {
    // The crate libc binds these two to a version of the shared library, which a static one lacks.
    fn cfgetispeed(terminal: *const libc::termios) -> libc::speed_t;
    fn cfgetospeed(terminal: *const libc::termios) -> libc::speed_t;
    fn ctermid(name: *mut c_char) -> *mut c_char;
    safe fn clock() -> libc::clock_t;
}

/// Asks them all once. Whether the answers that must be given were: the folder, the user root,
/// the name of the system.
pub(in crate::aim9) fn ask_everything() -> bool {
    let mut name = [0 as c_char; 4096];
    let mut groups = [0 as libc::gid_t; 256];
    // SAFETY: every call gets buffers of the size that it is told, structures that all zeroes are
    // a valid value of, or C strings; what they point to afterwards is only compared with null.
    unsafe {
        let terminal: libc::termios = std::mem::zeroed();
        black_box(cfgetispeed(&raw const terminal));
        black_box(cfgetospeed(&raw const terminal));
        black_box(clock());
        black_box(ctermid(name.as_mut_ptr()));
        let folder = libc::getcwd(name.as_mut_ptr(), name.len());
        let user = libc::getuid();
        black_box(libc::geteuid());
        let group = libc::getgid();
        black_box(libc::getegid());
        black_box(libc::getenv(c"PATH".as_ptr()));
        black_box(libc::getgroups(256, groups.as_mut_ptr()));
        black_box((libc::getpid(), libc::getpgrp(), libc::getppid()));
        let root = libc::getpwnam(c"root".as_ptr());
        black_box(libc::getpwuid(user));
        black_box(libc::getgrgid(group));
        let mut times: libc::tms = std::mem::zeroed();
        black_box(libc::times(&raw mut times));
        black_box(libc::isatty(0));
        black_box(libc::ttyname(0).is_null());
        let mut system: libc::utsname = std::mem::zeroed();
        let named = libc::uname(&raw mut system);
        !folder.is_null() && !root.is_null() && named == 0
    }
}

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

pub(in crate::aim9) fn copy(from: &[u8], to: &mut [u8], size: usize) {
    let size = black_box(size.min(from.len()).min(to.len()));
    // SAFETY: both slices have at least `size` bytes, and one is borrowed alone.
    unsafe { libc::memcpy(black_box(to.as_mut_ptr()).cast(), from.as_ptr().cast(), size) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_answer_is_right() {
        let mut strings = super::Strings::new();
        assert!(strings.numbers(77), "numbers");
        assert!(strings.classes(), "classes");
        assert!(strings.append(), "appending");
        assert!(strings.search(), "searching");
        assert!((0..100).all(|number| strings.round(number)));
    }
}
