//! The C library's string functions, which the row `string_rtns` measures: numbers to text and
//! back, classes of characters, appending and comparing, searching.

use std::ffi::{CStr, c_char, c_int};
use std::hint::black_box;

unsafe extern "C" {
    fn ctime(time: *const libc::time_t) -> *mut c_char;
    safe fn isalnum(c: c_int) -> c_int;
    safe fn isalpha(c: c_int) -> c_int;
    safe fn iscntrl(c: c_int) -> c_int;
    safe fn isdigit(c: c_int) -> c_int;
    safe fn isgraph(c: c_int) -> c_int;
    safe fn islower(c: c_int) -> c_int;
    safe fn isprint(c: c_int) -> c_int;
    safe fn ispunct(c: c_int) -> c_int;
    safe fn isspace(c: c_int) -> c_int;
    safe fn isupper(c: c_int) -> c_int;
    safe fn isxdigit(c: c_int) -> c_int;
    safe fn toupper(c: c_int) -> c_int;
    safe fn tolower(c: c_int) -> c_int;
}

/// Size of the buffers, in bytes.
const SIZE: usize = 1024;
/// The phrase that is appended: 18 characters.
const PHRASE: &CStr = c"hyper-threads run ";

/// The buffers of the row.
#[derive(Debug)]
pub(in crate::aim9) struct Strings {
    text: [c_char; SIZE],
    other: [c_char; SIZE],
}

impl Strings {
    /// Empty ones.
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

    /// Numbers to text and back.
    fn numbers(&mut self, number: u32) -> bool {
        let (fraction, whole) = (f64::from(number) + 0.5, libc::c_long::from(number as i32));
        let text = self.text.as_mut_ptr();
        let mut end = std::ptr::null_mut();
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
            let classes = [
                isalnum(c),
                isalpha(c),
                iscntrl(c),
                isdigit(c),
                isgraph(c),
                islower(c),
                isprint(c),
                ispunct(c),
                isspace(c),
                isupper(c),
                isxdigit(c),
            ];
            for (count, class) in counts.iter_mut().zip(classes) {
                *count += u32::from(class != 0);
            }
            if classes[5] != 0 {
                *byte = toupper(c) as c_char;
            } else if classes[9] != 0 {
                *byte = tolower(c) as c_char;
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

    /// Dates, copies and searches.
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
