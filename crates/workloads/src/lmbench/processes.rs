//! Rows `fork-exit`, `fork-execve`, `fork-sh`: a child made by a real fork, and waited for. A fork copies what
//! its parent has, so the parent is a small C program as LMbench is (`hello/parent.rs`), or, with
//! `parent=worker`, the measuring process. Parent and the program that children become (`hello/hello.rs`) are
//! built with this one and written into the row's folder. And which shell `/bin/sh` is.

use super::harness::{Bench, Body, Place, repeated};
use super::native::system as native;
use crate::workload::{Outcome, ParamSpec, Telling, text};
use crate::{Context, Error};
use coretwin_base::caps;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(super) const PROGRAM: ParamSpec = ParamSpec::text(
    "program",
    "dynamic",
    "what is run: dynamic, as LMbench's, or static, without a C library",
);

pub(super) const PARENT: ParamSpec = ParamSpec::text(
    "parent",
    "small",
    "what is forked: a small C program, as LMbench's is, or the worker, which is larger",
);
pub(super) const PARENTS: &[&str] = &["small", "worker"];

/// The small parent, told by its standard input how many children to make. It ends when that does.
struct Parent {
    process: Child,
    orders: UnixStream,
    cpus: CpuSet,
    wrong: u64,
}

impl Parent {
    /// Its children are of this kind, and become that program or line.
    fn start(place: &Place, kind: &str, what: &CString) -> Result<Self, Error> {
        let path = write_program(place, "parent")?;
        let (orders, input) = UnixStream::pair().context("cannot make a socket")?;
        let what = std::ffi::OsStr::from_bytes(what.as_bytes());
        let mut command = Command::new(&path);
        command.arg(kind).arg(what).stdin(OwnedFd::from(input)).stdout(Stdio::null());
        let process = command.spawn().map_err(|error| cannot_run(&path, PARENT_INSTEAD, error))?;
        Ok(Self { process, orders, cpus: CpuSet::new(), wrong: 0 })
    }
}

impl Body for Parent {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        let mut answer = [0; 2 * size_of::<i64>()];
        let asked = self.orders.write_all(&count.to_ne_bytes());
        asked.and_then(|()| self.orders.read_exact(&mut answer)).context("the parent has ended")?;
        let [wrong, cpu] =
            [0, 8].map(|at| i64::from_ne_bytes(std::array::from_fn(|byte| answer[at + byte])));
        self.wrong += u64::try_from(wrong)
            .map_err(|_| io::Error::from_raw_os_error(wrong.unsigned_abs() as i32))
            .context("cannot start a process and wait for it")?;
        if let Ok(cpu) = u32::try_from(cpu) {
            self.cpus.insert(CpuId(cpu));
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Outcome) {
        to.check("answers", self.wrong == 0);
        to.cpus_ran = to.cpus_ran.union(&self.cpus);
        for (metric, name) in [("resident_kib", "VmRSS"), ("own_memory_kib", "RssAnon")] {
            if let Ok(kib) = memory_kib(self.process.id(), name) {
                to.lower(metric, kib, "KiB");
            }
        }
    }
}

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
    let own_kib = memory_kib(std::process::id(), "RssAnon")?;
    Ok(Bench::of(Children { one_by_one, own_kib }))
}

impl<B: Body> Body for Children<B> {
    fn repeat(&mut self, count: u64) -> Result<(), Error> {
        self.one_by_one.repeat(count)
    }

    fn remark(&mut self, to: &mut Outcome) {
        let grown = memory_kib(std::process::id(), "RssAnon").map(|now| now - self.own_kib);
        let constant = grown.is_ok_and(|grown| grown.abs() <= GROWTH_MAX_KIB);
        self.one_by_one.remark(to);
        to.check("memory_constant", constant);
        if let Ok(kib) = memory_kib(std::process::id(), "VmRSS") {
            to.lower("resident_kib", kib, "KiB");
        }
        to.lower("own_memory_kib", self.own_kib, "KiB");
    }
}

/// A line of `/proc/PID/status` (proc(5)).
fn memory_kib(pid: u32, name: &str) -> Result<f64, Error> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    let lines = status.lines().map(|line| line.trim_end_matches(" kB"));
    let missing = || Error::failed(format!("{path} has no {name}"));
    lines.into_iter().find_map(of_line).ok_or_else(missing)
}

/// Children of the parent that is asked for: the small one's are of this kind and become `what`.
fn made(
    place: &Place,
    kind: &str,
    what: CString,
    status: i32,
    own: fn(&CStr) -> io::Result<Pid>,
) -> Result<Bench, Error> {
    if text(&place.params, PARENT.name) == "worker" {
        return children(status, move || own(&what));
    }
    Ok(Bench::of(Parent::start(place, kind, &what)?))
}

/// The child ends at once, with the status that LMbench's has.
pub(super) fn fork_exit(place: &Place) -> Result<Bench, Error> {
    made(place, "x", CString::default(), 1, |_| native::fork(|| 1))
}

pub(super) fn fork_execve(place: &Place) -> Result<Bench, Error> {
    let (path, about) = asked_program(place)?;
    let path = c_string(path.as_os_str().as_bytes())?;
    Ok(made(place, "e", path, 0, native::fork_and_execve)?.note("program", about))
}

pub(super) fn fork_sh(place: &Place) -> Result<Bench, Error> {
    let (path, about) = asked_program(place)?;
    let quoted = path.to_string_lossy().replace('\'', "'\\''");
    let line = c_string(format!("'{quoted}'").as_bytes())?;
    let bench = made(place, "s", line, 0, native::fork_and_shell)?;
    Ok(bench.note("program", about).note("shell", shell()))
}

fn c_string(text: &[u8]) -> Result<CString, Error> {
    CString::new(text)
        .map_err(|bad| Error::failed(format!("the program's path has a zero in it: {bad}")))
}

/// The kinds of `program=`, and the parent; empty where one could not be built.
const KINDS: [(&str, &[u8]); 3] = [
    ("dynamic", include_bytes!(concat!(env!("OUT_DIR"), "/hello-dynamic"))),
    ("static", include_bytes!(concat!(env!("OUT_DIR"), "/hello-static"))),
    ("parent", include_bytes!(concat!(env!("OUT_DIR"), "/hello-parent"))),
];
const GREETING: &[u8] = b"Hello world\n";
/// What needs no C library instead.
const PARENT_INSTEAD: &str = "parent=worker";
const PROGRAM_INSTEAD: &str = "program=static";

/// Writes the program that children become, and runs it once; its path, and what it is, for a reader.
fn asked_program(place: &Place) -> Result<(PathBuf, String), Error> {
    let kind = text(&place.params, PROGRAM.name);
    let path = write_program(place, &kind)?;
    let bytes = try_program(&path)?;
    Ok((path, format!("{kind}, {bytes} bytes")))
}

fn write_program(place: &Place, asked: &str) -> Result<PathBuf, Error> {
    let (kind, bytes) = KINDS
        .into_iter()
        .find(|(kind, _)| *kind == asked)
        .ok_or_else(|| Error::failed(format!("there is no program '{asked}'")))?;
    if bytes.is_empty() {
        return Err(Error::failed(format!(
            "this coretwin-worker was built without the {kind} program; name the other with \
             program= or {PARENT_INSTEAD}"
        )));
    }
    let path = place.folder()?.join(if kind == "parent" { "parent" } else { "hello" });
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o755).open(&path);
    file.and_then(|mut file| file.write_all(bytes))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn cannot_run(path: &Path, instead: &str, error: io::Error) -> Error {
    let why = match error.kind() {
        ErrorKind::NotFound => format!(
            ": this machine has not the C library that it was built for; {instead} needs none"
        ),
        ErrorKind::PermissionDenied => ": programs may not be run from there (mount option \
                                        noexec); name another folder with dir="
            .to_owned(),
        _ => String::new(),
    };
    Error::system(format!("cannot run {}{why}", path.display()), error)
}

/// Its size, if it does what it should.
fn try_program(path: &Path) -> Result<u64, Error> {
    let ran = Command::new(path).stdin(Stdio::null()).output();
    let output = ran.map_err(|error| cannot_run(path, PROGRAM_INSTEAD, error))?;
    if output.status.success() && output.stdout == GREETING {
        return path.metadata().map(|file| file.len()).context("cannot read the program");
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
