//! Rows `fork-exit`, `fork-execve`, `fork-sh`: a child made by a real fork of the measuring process,
//! and waited for; the program that children become, built with this one (see `hello/hello.rs`) and
//! written into the row's folder; and which shell `/bin/sh` is.

use super::harness::{Bench, Body, Place, repeated};
use super::native::system as native;
use crate::workload::{Outcome, ParamSpec, Telling, text};
use crate::{Context, Error};
use coretwin_base::caps;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) const PROGRAM: ParamSpec = ParamSpec::text(
    "program",
    "dynamic",
    "what is run: dynamic, as LMbench's, or static, without a C library",
);

/// What the measuring process may grow by while it is measured: a fork copies what it has.
const GROWTH_MAX_KIB: f64 = 64.0;

struct Children<B> {
    one_by_one: B,
    /// Memory that is the process's own when the first is made, in KiB.
    own_kib: f64,
}

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

    fn remark(&mut self, to: &mut Outcome) {
        let grown = memory_kib("RssAnon").map(|now| now - self.own_kib);
        let constant = grown.is_ok_and(|grown| grown.abs() <= GROWTH_MAX_KIB);
        self.one_by_one.remark(to);
        to.check("memory_constant", constant);
        if let Ok(kib) = memory_kib("VmRSS") {
            to.lower("resident_kib", kib, "KiB");
        }
        to.lower("own_memory_kib", self.own_kib, "KiB");
    }
}

/// A line of `/proc/self/status` (proc(5)).
fn memory_kib(name: &str) -> Result<f64, Error> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    let lines = status.lines().map(|line| line.trim_end_matches(" kB"));
    let missing = || Error::failed(format!("/proc/self/status has no {name}"));
    lines.into_iter().find_map(of_line).ok_or_else(missing)
}

/// The child ends at once, with the status that LMbench's has.
pub(super) fn fork_exit(_: &Place) -> Result<Bench, Error> {
    children(1, || native::fork(|| 1))
}

pub(super) fn fork_execve(place: &Place) -> Result<Bench, Error> {
    let (path, about) = write_program(place)?;
    let path = c_string(path.as_os_str().as_bytes())?;
    Ok(children(0, move || native::fork_and_execve(&path))?.note("program", about))
}

pub(super) fn fork_sh(place: &Place) -> Result<Bench, Error> {
    let (path, about) = write_program(place)?;
    let quoted = path.to_string_lossy().replace('\'', "'\\''");
    let line = c_string(format!("'{quoted}'").as_bytes())?;
    let bench = children(0, move || native::fork_and_shell(&line))?;
    Ok(bench.note("program", about).note("shell", shell()))
}

fn c_string(text: &[u8]) -> Result<CString, Error> {
    CString::new(text)
        .map_err(|bad| Error::failed(format!("the program's path has a zero in it: {bad}")))
}

/// The kinds of `program=`, and the program itself; empty where it could not be built.
const KINDS: [(&str, &[u8]); 2] = [
    ("dynamic", include_bytes!(concat!(env!("OUT_DIR"), "/hello-dynamic"))),
    ("static", include_bytes!(concat!(env!("OUT_DIR"), "/hello-static"))),
];
const GREETING: &[u8] = b"Hello world\n";

/// Writes the program that is asked for, and runs it once; its path, and what it is, for a reader.
fn write_program(place: &Place) -> Result<(PathBuf, String), Error> {
    let asked = text(&place.params, PROGRAM.name);
    let (kind, bytes) = KINDS
        .into_iter()
        .find(|(kind, _)| *kind == asked)
        .ok_or_else(|| Error::failed(format!("there is no program '{asked}'")))?;
    if bytes.is_empty() {
        return Err(Error::failed(format!(
            "this coretwin-worker was built without the {kind} program; name the other with \
             program="
        )));
    }
    let path = place.folder()?.join("hello");
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o755).open(&path);
    file.and_then(|mut file| file.write_all(bytes))
        .with_context(|| format!("cannot write {}", path.display()))?;
    try_program(&path)?;
    Ok((path, format!("{kind}, {} bytes", bytes.len())))
}

fn try_program(path: &Path) -> Result<(), Error> {
    let output = Command::new(path).stdin(Stdio::null()).output().map_err(|error| {
        let why = match error.kind() {
            ErrorKind::NotFound => {
                ": this machine has not the C library that it was built for; program=static needs \
                 none"
            }
            ErrorKind::PermissionDenied => {
                ": programs may not be run from there (mount option noexec); name another folder \
                 with dir="
            }
            _ => "",
        };
        Error::system(format!("cannot run {}{why}", path.display()), error)
    })?;
    if output.status.success() && output.stdout == GREETING {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&output.stderr);
    Err(Error::failed(format!(
        "{} does not do what it should, but ends with {}: {}",
        path.display(),
        output.status,
        shown.trim()
    )))
}

/// Where Debian and its descendants list packages (dpkg(1)).
const DPKG: &str = "/var/lib/dpkg";
/// Where Alpine does (apk(5)).
const APK: &str = "/lib/apk/db/installed";

/// Path, package and version of `/bin/sh`, as far as they can be learnt without asking a program. One
/// shell runs a program in a child of its own, another becomes it, so times of different ones do not
/// compare.
fn shell() -> String {
    let Ok(path) = std::fs::canonicalize("/bin/sh") else { return "none".to_owned() };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let version = version_dpkg(Path::new(DPKG), &path, &name).or_else(|| {
        let installed = read(Path::new(APK))?;
        field(&installed, &format!("P:{name}"), "V:")
    });
    match version {
        Some(version) => format!("{} ({name} {version})", path.display()),
        None => path.display().to_string(),
    }
}

/// The version of the package of that name, if it is the one that the file belongs to.
fn read(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len().min(caps::MACHINE.bytes);
    // In one piece, which is given back whole: memory that stayed would be copied by every fork.
    let mut text = String::with_capacity(usize::try_from(size).ok()? + 1);
    file.take(size).read_to_string(&mut text).ok()?;
    Some(text)
}

fn version_dpkg(database: &Path, path: &Path, name: &str) -> Option<String> {
    let files = read(&database.join(format!("info/{name}.list")))?;
    let path = path.to_str()?;
    // Packages from before /bin became /usr/bin name it so.
    let older = path.strip_prefix("/usr").unwrap_or(path);
    files.lines().find(|line| [path, older].contains(line))?;
    let status = read(&database.join("status"))?;
    field(&status, &format!("Package: {name}"), "Version: ")
}

fn field(paragraphs: &str, line: &str, name: &str) -> Option<String> {
    let mut paragraphs = paragraphs.split("\n\n");
    let paragraph = paragraphs.find(|paragraph| paragraph.lines().any(|one| one == line))?;
    paragraph.lines().find_map(|one| one.strip_prefix(name)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_version_is_that_of_the_files_package() {
        let database = tempfile::tempdir().expect("folder");
        std::fs::create_dir(database.path().join("info")).expect("folder");
        let write = |name: &str, text: &str| {
            std::fs::write(database.path().join(name), text).expect("written");
        };
        let version = |path: &str, name: &str| version_dpkg(database.path(), Path::new(path), name);
        assert_eq!(version("/usr/bin/dash", "dash"), None, "nothing is listed");
        write("info/dash.list", "/.\n/bin\n/bin/dash\n");
        write("status", "Package: ash\nVersion: 1\n\nPackage: dash\nVersion: 0.5.12-2\n");
        assert_eq!(version("/usr/bin/dash", "dash").as_deref(), Some("0.5.12-2"));
        assert_eq!(version("/opt/bin/dash", "dash"), None, "somebody's own");
        assert!(shell().starts_with('/'), "{}", shell());
    }
}
