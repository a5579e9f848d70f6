//! Rows of one call into the kernel after another, by one process: `simple-syscall`, `simple-read`,
//! `simple-write`, `simple-stat`, `simple-fstat`, `simple-open-close`; `select-10-fds` and
//! `select-10-tcp-fds`, which ask whether ten descriptors can be written to, as all of them always
//! can; `signal-install` and `signal-overhead`; `clock` and `clock-system-call`.
//!
//! The calls go through the C library, as the original's do; those of the `simple-*` rows, with
//! `call=direct`, by their own numbers (rustix on Linux). That shows what the library adds: glibc 2.33 to
//! 2.38, for one, turn `fstat` into another, longer call. `clock` asks where the kernel has put the
//! way to do so into the program's own memory (vdso(7)).

use super::harness::{Bench, Body, Peer, Place, each, repeated};
use super::native::system::{self as native, Descriptors, caught, close, install};
use crate::workload::{Outcome, ParamSpec, Telling, int, text};
use crate::{Context, Error, socket, sys};
use rustix::fs::{Mode, OFlags, fstat, open, stat};
use rustix::io::{dup, read, write};
use rustix::process::{Pid, Signal, getpid, getppid};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// Whether a call goes through the C library.
pub(super) const CALL_BY: ParamSpec = ParamSpec::text(
    "call",
    "library",
    "through the C library, as LMbench, or direct, by the call's own number",
);
pub(super) const DIRECT: &str = "direct";
pub(super) const LOOKED_AT: ParamSpec =
    ParamSpec::int("looked_at", [10, 1, 10], "descriptors that select looks at (LMbench 3: 2)");

/// Measures a call as `call=` says, through the C library or by its own number.
fn called<S: 'static>(
    place: &Place,
    what: &'static str,
    of: S,
    library: impl Fn(&S) -> io::Result<bool> + 'static,
    direct: impl Fn(&S) -> io::Result<bool> + 'static,
) -> Bench {
    if text(&place.params, CALL_BY.name) == DIRECT {
        return each(what, move || direct(&of));
    }
    each(what, move || library(&of)).note("c_library", sys::c_library())
}

pub(super) fn simple_syscall(place: &Place) -> Result<Bench, Error> {
    let parent = getppid();
    let raw = parent.map_or(0, |parent| parent.as_raw_nonzero().get());
    let library = move |&(): &()| Ok(native::getppid() == raw);
    Ok(called(place, "ask for the parent", (), library, move |&()| Ok(getppid() == parent)))
}

pub(super) fn simple_read(place: &Place) -> Result<Bench, Error> {
    let zeroes = opened(c"/dev/zero", OFlags::RDONLY)?;
    let library = |from: &OwnedFd| Ok(native::read(from, &mut [1])? == 1);
    let direct = |from: &OwnedFd| Ok(read(from, &mut [1_u8])? == 1);
    Ok(called(place, "read /dev/zero", zeroes, library, direct))
}

pub(super) fn simple_write(place: &Place) -> Result<Bench, Error> {
    let nowhere = opened(c"/dev/null", OFlags::WRONLY)?;
    let library = |to: &OwnedFd| Ok(native::write(to, b"w")? == 1);
    let direct = |to: &OwnedFd| Ok(write(to, b"w")? == 1);
    Ok(called(place, "write to /dev/null", nowhere, library, direct))
}

pub(super) fn simple_stat(place: &Place) -> Result<Bench, Error> {
    let library = |path: &CString| Ok(native::stat(path)? == 0);
    let direct = |path: &CString| Ok(stat(&**path)?.st_size == 0);
    let bench = called(place, "ask for a file by name", empty_file(place)?, library, direct);
    Ok(bench.note("path", names_of(place)?))
}

pub(super) fn simple_fstat(place: &Place) -> Result<Bench, Error> {
    let file = opened(&empty_file(place)?, OFlags::RDONLY)?;
    let library = |file: &OwnedFd| Ok(native::fstat(file)? == 0);
    let direct = |file: &OwnedFd| Ok(fstat(file)?.st_size == 0);
    Ok(called(place, "ask for an open file", file, library, direct))
}

pub(super) fn simple_open_close(place: &Place) -> Result<Bench, Error> {
    let library = |path: &CString| close(native::open(path)?).map(|()| true);
    let direct = |path: &CString| {
        close(open(&**path, OFlags::RDONLY, Mode::empty())?)?;
        Ok(true)
    };
    let bench = called(place, "open and close a file", empty_file(place)?, library, direct);
    Ok(bench.note("path", names_of(place)?))
}

/// Makes the file that is asked for, two levels below the scratch folder: each level takes time.
fn empty_file(place: &Place) -> Result<CString, Error> {
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

fn opened(path: &std::ffi::CStr, flags: OFlags) -> Result<OwnedFd, Error> {
    open(path, flags, Mode::empty())
        .with_context(|| format!("cannot open {}", path.to_string_lossy()))
}

/// Names of one file or connection that are asked about together.
const DESCRIPTORS: i32 = 10;

/// Asks about ten names of the descriptor, and expects all that are looked at in the answer.
fn ten_of(place: &Place, one: OwnedFd, keeps: Option<Peer>) -> Result<Bench, Error> {
    let looked_at = int(&place.params, LOOKED_AT.name);
    let trouble = "cannot open ten descriptors";
    let ten = (0..DESCRIPTORS).map(|_| dup(one.as_fd())).collect::<Result<Vec<_>, _>>();
    drop(one);
    let ten = Descriptors::new(ten.context(trouble)?, looked_at as usize).context(trouble)?;
    let ask = move || {
        let _lives = &keeps;
        Ok(ten.writable()?.cast_unsigned() == looked_at)
    };
    Ok(each("ask for ten descriptors", ask).note("looked_at", format!("{looked_at} descriptors")))
}

pub(super) fn select_10_fds(place: &Place) -> Result<Bench, Error> {
    ten_of(place, opened(&empty_file(place)?, OFlags::RDONLY)?, None)
}

/// The other end of the connection is another process's, which does nothing with it.
pub(super) fn select_10_tcp_fds(place: &Place) -> Result<Bench, Error> {
    let trouble = "cannot connect over loopback";
    let (stream, other) = socket::tcp_pair().context(trouble)?;
    let server = Peer::start(place, SERVER, || {
        // Until this process is ended.
        io::copy(&mut &other, &mut io::sink()).map(drop).context(trouble)
    })?;
    drop(other);
    ten_of(place, stream.into(), Some(server))
}

/// No role of the row: it sleeps.
const SERVER: usize = usize::MAX;

pub(super) fn signal_install(_: &Place) -> Result<Bench, Error> {
    installed()?;
    Ok(each("install a signal handler", install))
}

fn installed() -> Result<(), Error> {
    install().map(drop).context("cannot install a signal handler")
}

/// Signals sent by the process to itself, and caught before the call that sends returns.
struct Caught {
    own: Pid,
    sent: u64,
    before: u64,
}

/// A signal sent and caught, less a call that only asks whether one could be sent: what is left is
/// its delivery, the handler, and the way back. Where the machine is noisy a sample can be below 0,
/// and stays so: cut off at 0, the noise would be taken for time.
pub(super) fn signal_overhead(_: &Place) -> Result<Bench, Error> {
    installed()?;
    let own = getpid();
    let ask = move || native::kill(own, 0).map(|()| true);
    let caught = Caught { own, sent: 0, before: caught() };
    Ok(Bench::of(caught).minus(repeated("send no signal", ask)))
}

impl Body for Caught {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        for _ in 0..count {
            native::kill(self.own, Signal::USR1.as_raw()).context("cannot send a signal")?;
        }
        self.sent += count;
        Ok(())
    }

    fn remark(&mut self, to: &mut Outcome) {
        to.check("signals_caught", caught() - self.before == self.sent);
    }
}

/// The answer is right if the clock does not go back.
pub(super) fn reads(read: fn() -> io::Result<i64>) -> Result<Bench, Error> {
    let mut last = i64::MIN;
    Ok(each("read the clock", move || {
        let now = read()?;
        let right = now >= last;
        last = now;
        Ok(right)
    }))
}
