//! Rows `simple-syscall`, `simple-read`, `simple-write`, `simple-stat`, `simple-fstat`,
//! `simple-open-close`: one call into the kernel after another, by one process.
//!
//! The calls go to the kernel by their own numbers (rustix on Linux): no C library answers from
//! memory, or turns `fstat` into another call, as glibc 2.33 to 2.38 do.

use super::harness::{Bench, Place, each};
use super::native::descriptors::close;
use crate::Error;
use rustix::fs::{Mode, OFlags, fstat, open, stat};
use rustix::io::{read, write};
use rustix::process::getppid;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

pub(super) fn simple_syscall(_: &Place) -> Result<Bench, Error> {
    let parent = getppid();
    Ok(each("ask for the parent", move || Ok(getppid() == parent)))
}

pub(super) fn simple_read(_: &Place) -> Result<Bench, Error> {
    let zeroes = opened(c"/dev/zero", OFlags::RDONLY)?;
    Ok(each("read /dev/zero", move || Ok(read(&zeroes, &mut [1_u8])? == 1)))
}

pub(super) fn simple_write(_: &Place) -> Result<Bench, Error> {
    let nowhere = opened(c"/dev/null", OFlags::WRONLY)?;
    Ok(each("write to /dev/null", move || Ok(write(&nowhere, b"w")? == 1)))
}

pub(super) fn simple_stat(place: &Place) -> Result<Bench, Error> {
    let path = empty_file(place)?;
    let names = names_of(place)?;
    Ok(each("ask for a file by name", move || Ok(stat(&*path)?.st_size == 0)).note("path", names))
}

pub(super) fn simple_fstat(place: &Place) -> Result<Bench, Error> {
    let file = opened(&empty_file(place)?, OFlags::RDONLY)?;
    Ok(each("ask for an open file", move || Ok(fstat(&file)?.st_size == 0)))
}

pub(super) fn simple_open_close(place: &Place) -> Result<Bench, Error> {
    let path = empty_file(place)?;
    let names = names_of(place)?;
    let open_and_close = move || {
        close(open(&*path, OFlags::RDONLY, Mode::empty())?)?;
        Ok(true)
    };
    Ok(each("open and close a file", open_and_close).note("path", names))
}

/// Makes the file that is asked for, two levels below the scratch folder: each level takes time.
pub(super) fn empty_file(place: &Place) -> Result<CString, Error> {
    let path = place.folder()?.join("lmbench");
    let trouble = |error| Error::system(format!("cannot make {}", path.display()), error);
    std::fs::File::create_new(&path).map_err(trouble)?;
    CString::new(path.as_os_str().as_bytes()).map_err(|bad| trouble(bad.into()))
}

/// How many names the kernel looks up on the way to that file.
fn names_of(place: &Place) -> Result<String, Error> {
    // Those of its folder, less the root, and its own.
    Ok(format!("{} names", place.folder()?.components().count()))
}

/// Opens a file.
pub(super) fn opened(path: &std::ffi::CStr, flags: OFlags) -> Result<OwnedFd, Error> {
    open(path, flags, Mode::empty())
        .map_err(|error| Error::system(format!("cannot open {}", path.to_string_lossy()), error))
}
