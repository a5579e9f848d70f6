//! Rows `clock` and `clock-system-call`: one read of the monotonic clock, as programs do it, where the
//! kernel has put the way to do so into the program's own memory (vdso(7)), and by a system call.

use super::native;
use crate::Error;
use crate::lmbench::harness::{Bench, Place, each};
use std::io;

pub(super) fn clock(_: &Place) -> Result<Bench, Error> {
    Ok(reads(native::clock_by_library))
}

pub(super) fn clock_system_call(_: &Place) -> Result<Bench, Error> {
    Ok(reads(native::clock_by_system_call))
}

/// The answer is right if the clock does not go back.
fn reads(read: fn() -> io::Result<i64>) -> Bench {
    let mut last = i64::MIN;
    each("read the clock", move || {
        let now = read()?;
        let right = now >= last;
        last = now;
        Ok(right)
    })
}
