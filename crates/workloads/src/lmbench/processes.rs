//! Rows `fork-exit`, `fork-execve`, `fork-sh`: a child made by a real fork of the measuring process,
//! and waited for.

use super::harness::{Bench, Body, Place, repeated};
use super::native::processes;
use super::program::Program;
use crate::Error;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::CString;
use std::io;

/// What the measuring process may grow by while it is measured: a fork copies what it has.
const GROWTH_MAX_KIB: f64 = 64.0;

/// Children, one at a time.
struct Children<B> {
    one_by_one: B,
    /// Memory that is the process's own when the first is made, in KiB.
    own_kib: f64,
}

/// A row whose children end with this status.
fn children(
    status: i32,
    mut start: impl FnMut() -> io::Result<Pid> + 'static,
) -> Result<Bench, Error> {
    let one = move || {
        let pid = start()?;
        let ended = waitpid(Some(pid), WaitOptions::empty())?;
        Ok(ended.is_some_and(|(_, ended)| ended.exit_status() == Some(status)))
    };
    let one_by_one = repeated("start a process and wait for it", one);
    Ok(Bench::of(Children { one_by_one, own_kib: memory_kib("RssAnon")? }))
}

impl<B: Body> Body for Children<B> {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        self.one_by_one.repeat(count)
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        let grown = memory_kib("RssAnon").map(|now| now - self.own_kib);
        let constant = grown.is_ok_and(|grown| grown.abs() <= GROWTH_MAX_KIB);
        let mut checks = self.one_by_one.checks();
        checks.push(("memory_constant", constant));
        checks
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64, &'static str)> {
        let resident = memory_kib("VmRSS").ok().map(|kib| ("resident_kib", kib, "KiB"));
        resident.into_iter().chain([("own_memory_kib", self.own_kib, "KiB")]).collect()
    }
}

/// A line of `/proc/self/status` (proc(5)).
fn memory_kib(name: &str) -> Result<f64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|error| Error::system("cannot read /proc/self/status", error))?;
    let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    let lines = status.lines().map(|line| line.trim_end_matches(" kB"));
    let missing = || Error::failed(format!("/proc/self/status has no {name}"));
    lines.into_iter().find_map(of_line).ok_or_else(missing)
}

/// The child ends at once, with the status that LMbench's has.
pub(super) fn fork_exit(_: &Place) -> Result<Bench, Error> {
    children(1, || processes::fork(|| 1))
}

pub(super) fn fork_execve(place: &Place) -> Result<Bench, Error> {
    let program = Program::write(place)?;
    let path = program.path()?;
    let bench = children(0, move || processes::fork_and_execve(&path))?;
    Ok(bench.note("program", program.about()))
}

pub(super) fn fork_sh(place: &Place) -> Result<Bench, Error> {
    let program = Program::write(place)?;
    let quoted = program.path()?.to_string_lossy().replace('\'', "'\\''");
    let line = CString::new(format!("'{quoted}'"))
        .map_err(|bad| Error::failed(format!("the program's path has a zero in it: {bad}")))?;
    let bench = children(0, move || processes::fork_and_shell(&line))?;
    Ok(bench.note("program", program.about()).note("shell", super::shell::about()))
}
