//! The program that children become: built with this one, see `hello/hello.rs`, and written into
//! the row's folder.

use super::harness::Place;
use crate::Error;
use crate::workload::text;
use std::ffi::CString;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The kinds of `program=`, and the program itself; empty where it could not be built.
pub(super) const KINDS: [(&str, &[u8]); 2] = [
    ("dynamic", include_bytes!(concat!(env!("OUT_DIR"), "/hello-dynamic"))),
    ("static", include_bytes!(concat!(env!("OUT_DIR"), "/hello-static"))),
];
/// What it writes.
const GREETING: &[u8] = b"Hello world\n";

/// The program, ready to be run.
#[derive(Debug)]
pub(super) struct Program {
    kind: &'static str,
    bytes: usize,
    path: PathBuf,
}

impl Program {
    /// Writes the one that is asked for, and runs it once.
    pub(super) fn write(place: &Place) -> Result<Self, Error> {
        let asked = text(&place.params, super::rows::PROGRAM.name);
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
            .map_err(|error| Error::system(format!("cannot write {}", path.display()), error))?;
        let program = Self { kind, bytes: bytes.len(), path };
        program.try_it()?;
        Ok(program)
    }

    fn try_it(&self) -> Result<(), Error> {
        let mut command = Command::new(&self.path);
        let output = command.stdin(Stdio::null()).output().map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => {
                    ": this machine has not the C library that it was built for; program=static \
                     needs none"
                }
                ErrorKind::PermissionDenied => {
                    ": programs may not be run from there (mount option noexec); name another \
                     folder with dir="
                }
                _ => "",
            };
            Error::system(format!("cannot run {}{why}", self.path.display()), error)
        })?;
        if output.status.success() && output.stdout == GREETING {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(&output.stderr);
        Err(Error::failed(format!(
            "{} does not do what it should, but ends with {}: {}",
            self.path.display(),
            output.status,
            shown.trim()
        )))
    }

    /// Where it is.
    pub(super) fn path(&self) -> Result<CString, Error> {
        CString::new(self.path.as_os_str().as_bytes())
            .map_err(|bad| Error::failed(format!("the program's path has a zero in it: {bad}")))
    }

    /// What it is, for a reader.
    pub(super) fn about(&self) -> String {
        format!("{}, {} bytes", self.kind, self.bytes)
    }
}
