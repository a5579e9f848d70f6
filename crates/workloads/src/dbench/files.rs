//! The calls as a file server makes them of files below the current folder.
//!
//! | call of the load | in the article | system calls |
//! |---|---|---|
//! | open, create | open file, create new file | resolve; `openat` (`O_RDWR`, 0600), `fstat`; a directory: `mkdirat` (0700), `openat`, `fstat` |
//! | close | close | `close` |
//! | read | read | `pread64` |
//! | write | write | `pwrite64`, with `fsync=yes` then `fsync` |
//! | lock, unlock | lock, unlock | `fcntl` (`F_SETLKW`) |
//! | query_path | get file attribute | resolve; at least `fstatat` |
//! | set_mode | set file attribute | `fchmod` |
//! | query_file_system | get disk free space | `statfs` |
//! | query_file | get file time | `fstat` |
//! | set_times | set file time | `fstat`, `utimensat` |
//! | find_open, find_next, find_close | find open, find next, find close | `openat`, `getdents64`, `close` |
//! | find | these three in one | resolve; with a pattern `openat`, `getdents64` to the end, `close` |
//! | rename | rename file | resolve both; `renameat` |
//! | unlink | delete file | resolve; `unlinkat` |
//! | flush | flush file buffer | `fsync` |
//! | make_directory, remove_directory | – | resolve; `mkdirat` (0777), `unlinkat` |
//! | deltree | – | directory by directory, every file: `fstatat`, `unlinkat`; directories stay |
//!
//! *Resolve*, of loads in dbench 4's form: `fstatat`; if there is no such name, `openat`,
//! `getdents64` until it is found in another case, and `close` on its folder.
//!
//! Against dbench 4 that is: no memory is taken and cleared for each read and write, no `fstat`
//! follows the opening of a directory to be read, and the parent is not asked for after each call
//! (a client dies with it).

use super::load::{Call, Expect, HANDLES_MAX, Handle, Load, Operation, PathId};
use super::replay::{Backend, Moved, as_expected};
use crate::Error;
use crate::sys;
use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, RawDir, Timespec, Timestamps, fchmod, fstat, fsync, mkdirat,
    openat, renameat, stat, statfs, unlinkat, utimensat,
};
use rustix::io::{Errno, pread, pwrite};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manner {
    /// Files are opened with `O_SYNC`.
    pub(crate) synchronous: bool,
    pub(crate) fsync_writes: bool,
    pub(crate) resolve: bool,
}

/// Room for the names of a directory, as much as the C library takes.
const NAMES_BYTES: usize = 32 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opened {
    /// A file; or a directory, if it turns out to be one.
    File,
    Directory,
    /// A directory that is made, if it is not there.
    NewDirectory,
}

pub(crate) struct Files {
    paths: Vec<CString>,
    open: Vec<Option<(OwnedFd, PathId)>>,
    manner: Manner,
    buffer: Vec<u8>,
    names: Vec<MaybeUninit<u8>>,
}

impl Files {
    pub(crate) fn new(load: &Load, client: u32, manner: Manner) -> Result<Self, Error> {
        let ids = 0..u32::try_from(load.paths.len()).unwrap_or(u32::MAX);
        let paths = ids.map(|id| CString::new(load.path_of(PathId(id), client)));
        let paths = paths.collect::<Result<Vec<CString>, _>>();
        Ok(Self {
            paths: paths.map_err(|bad| Error::failed(format!("{}: {bad}", load.name)))?,
            open: (0..load.handles_max).map(|_| None).collect(),
            manner,
            // Every page of it is there before the clock starts.
            buffer: vec![1; load.size_max as usize],
            names: vec![MaybeUninit::uninit(); NAMES_BYTES],
        })
    }

    fn text(&self, path: PathId) -> String {
        self.paths[path.0 as usize].to_string_lossy().into_owned()
    }

    fn file(&self, handle: Handle) -> Result<&OwnedFd, Errno> {
        match self.open.get(usize::from(handle.0)) {
            Some(Some((file, _))) => Ok(file),
            _ => Err(Errno::BADF),
        }
    }

    fn name(&self, handle: Handle) -> String {
        match self.open.get(usize::from(handle.0)) {
            Some(Some((_, path))) => self.text(*path),
            _ => format!("handle {}", handle.0),
        }
    }

    /// The name under which the path is there, if it is.
    fn resolve(&mut self, path: PathId) -> (Cow<'_, CStr>, bool) {
        let path = &self.paths[path.0 as usize];
        if !self.manner.resolve {
            return (Cow::Borrowed(path), true);
        }
        if stat(path.as_c_str()).is_ok() {
            return (Cow::Borrowed(path), true);
        }
        match other_case(path, &mut self.names) {
            Some(found) => (Cow::Owned(found), true),
            None => (Cow::Borrowed(path), false),
        }
    }

    fn open_path(&mut self, path: PathId, flags: OFlags, kind: Opened) -> Result<OwnedFd, Errno> {
        let (name, _) = self.resolve(path);
        let as_directory = || {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            openat(CWD, &*name, flags, Mode::empty())
        };
        let file = match kind {
            Opened::File => match openat(CWD, &*name, flags, Mode::RUSR | Mode::WUSR) {
                Err(Errno::ISDIR) => as_directory()?,
                other => other?,
            },
            Opened::Directory => as_directory()?,
            Opened::NewDirectory => {
                // If it is there already, opening it tells.
                let _ = mkdirat(CWD, &*name, Mode::RWXU);
                as_directory()?
            }
        };
        fstat(&file)?;
        Ok(file)
    }

    #[inline(never)]
    fn open_call(&mut self, operation: &Operation) -> Result<Moved, String> {
        let (path, handle, flags, kind) = match operation.call {
            Call::Open { path, handle, directory, create, truncate } => {
                let mut flags = OFlags::RDWR;
                flags.set(OFlags::CREATE, create);
                flags.set(OFlags::TRUNC, truncate);
                flags.set(OFlags::SYNC, self.manner.synchronous);
                let kind = match (directory, operation.expect) {
                    (false, _) => Opened::File,
                    // As the original, which makes a directory whatever the load says of creating; but
                    // there a success where failure is expected is only complained of.
                    (true, Expect::Success | Expect::Anything) => Opened::NewDirectory,
                    (true, Expect::Failure) => Opened::Directory,
                };
                (path, handle, flags, kind)
            }
            Call::FindOpen { path, handle } => (path, handle, OFlags::RDONLY, Opened::Directory),
            _ => return Ok(Moved::Nothing),
        };
        let opened = self.open_path(path, flags, kind);
        let opened =
            as_expected(operation.expect, opened, || format!("opening {}", self.text(path)))?;
        // One that succeeded where it did not matter is closed at once: no later call has its
        // number.
        if let (Some(file), true) = (opened, handle.0 < HANDLES_MAX) {
            self.open[usize::from(handle.0)] = Some((file, path));
        }
        Ok(Moved::Nothing)
    }

    fn transfer(&mut self, operation: &Operation) -> Result<Moved, String> {
        let (handle, offset, size, expected, writes) = match operation.call {
            Call::Read { handle, offset, size, expected } => {
                (handle, offset, size, expected, false)
            }
            Call::Write { handle, offset, size, expected } => {
                (handle, offset, size, expected, true)
            }
            _ => return Ok(Moved::Nothing),
        };
        let buffer = &mut self.buffer[..size as usize];
        let done = match self.open.get(usize::from(handle.0)) {
            Some(Some((file, _))) if writes => match pwrite(file, buffer, offset) {
                Ok(put) if self.manner.fsync_writes => fsync(file).map(|()| put),
                put => put,
            },
            Some(Some((file, _))) => pread(file, buffer, offset),
            _ => Err(Errno::BADF),
        };
        let (verb, gives, moved) = match writes {
            true => ("writing", "writes", Moved::Written(size)),
            false => ("reading", "gives", Moved::Read(expected)),
        };
        let what = || format!("{verb} {size} bytes at {offset} of {}", self.name(handle));
        match (operation.expect, done) {
            (Expect::Success, Ok(done)) if done == expected as usize => Ok(moved),
            (Expect::Success, Ok(done)) => {
                Err(format!("{} {gives} {done}, where the load expects {expected}", what()))
            }
            (expect, done) => as_expected(expect, done, what).map(|_| Moved::Nothing),
        }
    }

    fn lock(&self, handle: Handle, lock: bool, offset: u64, size: u32) -> Result<(), Errno> {
        let file = self.file(handle)?.as_fd();
        sys::lock_range(file, lock, offset.cast_signed(), size.into())
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// A little into the past, as the original does.
    fn set_times(&self, handle: Handle) -> Result<(), Errno> {
        let Some(Some((file, path))) = self.open.get(usize::from(handle.0)) else {
            return Err(Errno::BADF);
        };
        let status = fstat(file)?;
        let time = |seconds: i64| Timespec { tv_sec: seconds, tv_nsec: 0 };
        let times = Timestamps {
            last_access: time(status.st_atime - 10),
            last_modification: time(status.st_mtime - 12),
        };
        utimensat(CWD, self.paths[path.0 as usize].as_c_str(), &times, AtFlags::empty())
    }

    /// The next names, of which there may be none.
    fn find_next(&mut self, handle: Handle) -> Result<(), Errno> {
        let Some(Some((file, _))) = self.open.get(usize::from(handle.0)) else {
            return Err(Errno::BADF);
        };
        let mut names = RawDir::new(file, &mut self.names);
        loop {
            match names.next() {
                Some(name) => {
                    name?;
                }
                None => return Ok(()),
            }
            if names.is_buffer_empty() {
                return Ok(());
            }
        }
    }

    fn find(&mut self, path: PathId, maximum: u32) {
        self.resolve(path);
        let pattern = self.paths[path.0 as usize].to_bytes();
        if !pattern.iter().any(|byte| b"<>*?\"".contains(byte)) {
            return;
        }
        let folder = folder_of(pattern);
        let Ok(folder) = open_folder(&folder) else { return };
        let mut names = RawDir::new(folder, &mut self.names);
        let mut count = 0;
        while count < maximum && matches!(names.next(), Some(Ok(_))) {
            count += 1;
        }
    }

    fn perform_anyhow(&mut self, call: Call) -> Moved {
        match call {
            Call::MakeDirectory(path) => {
                // Whether it is there already does not matter.
                let mode = Mode::from_raw_mode(0o777);
                let _ = mkdirat(CWD, &*self.resolve(path).0, mode);
            }
            Call::Find { path, maximum, .. } => self.find(path, maximum),
            Call::Deltree(path) => deltree(&self.paths[path.0 as usize]),
            Call::Sleep(pause) => {
                std::thread::sleep(std::time::Duration::from_micros(pause.into()));
            }
            _ => {}
        }
        Moved::Nothing
    }

    fn close(&mut self, handle: Handle) -> Result<Moved, String> {
        match self.open.get_mut(usize::from(handle.0)).and_then(Option::take) {
            Some(_) => Ok(Moved::Nothing),
            None => Err(format!("handle {} is not open", handle.0)),
        }
    }
}

enum Of {
    Path(PathId),
    Handle(Handle),
    All,
}

impl Backend for Files {
    fn perform(&mut self, operation: &Operation) -> Result<Moved, String> {
        let mut expect = operation.expect;
        let (done, verb, of) = match operation.call {
            Call::Read { .. } | Call::Write { .. } => return self.transfer(operation),
            Call::Open { .. } | Call::FindOpen { .. } => return self.open_call(operation),
            Call::Close(handle) | Call::FindClose(handle) => return self.close(handle),
            Call::Unlink(path) => {
                let done = unlinkat(CWD, &*self.resolve(path).0, AtFlags::empty());
                (done, "removing", Of::Path(path))
            }
            Call::RemoveDirectory(path) => {
                let done = unlinkat(CWD, &*self.resolve(path).0, AtFlags::REMOVEDIR);
                (done, "removing", Of::Path(path))
            }
            Call::Rename { from, to } => {
                let to = self.resolve(to).0.into_owned();
                let done = renameat(CWD, &*self.resolve(from).0, CWD, &*to);
                (done, "renaming", Of::Path(from))
            }
            Call::QueryPath(path) => {
                // A deltree leaves directories, so that in a second pass more is there than was
                // recorded.
                if expect == Expect::Failure {
                    expect = Expect::Anything;
                }
                let done = match self.manner.resolve {
                    true => self.resolve(path).1.then_some(()).ok_or(Errno::NOENT),
                    false => stat(self.paths[path.0 as usize].as_c_str()).map(drop),
                };
                (done, "asking for", Of::Path(path))
            }
            Call::QueryFile(handle) => {
                let done = self.file(handle).and_then(|file| fstat(file).map(drop));
                (done, "asking for", Of::Handle(handle))
            }
            Call::SetTimes(handle) => {
                (self.set_times(handle), "setting the times of", Of::Handle(handle))
            }
            Call::SetMode(handle) => {
                let mode = Mode::RUSR | Mode::WUSR;
                let done = self.file(handle).and_then(|file| fchmod(file, mode));
                (done, "setting the mode of", Of::Handle(handle))
            }
            Call::Flush(handle) => {
                (self.file(handle).and_then(fsync), "flushing", Of::Handle(handle))
            }
            Call::Lock { handle, offset, size, lock } => {
                let verb = if lock { "locking a range of" } else { "unlocking a range of" };
                (self.lock(handle, lock, offset, size), verb, Of::Handle(handle))
            }
            Call::FindNext(handle) => (self.find_next(handle), "reading", Of::Handle(handle)),
            Call::QueryFileSystem => (statfs(c".").map(drop), "asking for free space", Of::All),
            indifferent => return Ok(self.perform_anyhow(indifferent)),
        };
        let what = || match of {
            Of::Path(path) => format!("{verb} {}", self.text(path)),
            Of::Handle(handle) => format!("{verb} {}", self.name(handle)),
            Of::All => verb.to_owned(),
        };
        as_expected(expect, done, what).map(|_| Moved::Nothing)
    }

    fn end_of_pass(&mut self) {
        self.open.iter_mut().for_each(|open| *open = None);
    }
}

fn folder_of(path: &[u8]) -> CString {
    let folder = path.iter().rposition(|byte| *byte == b'/').map_or(&b"."[..], |at| &path[..at]);
    // It is part of a C string, so there is no zero in it.
    CString::new(folder).unwrap_or_default()
}

fn open_folder(folder: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::DIRECTORY;
    openat(CWD, folder, flags, Mode::empty())
}

/// The path with the case of its last name as it is in the folder, if it is there.
#[inline(never)]
fn other_case(path: &CStr, names: &mut [MaybeUninit<u8>]) -> Option<CString> {
    let bytes = path.to_bytes();
    let folder = folder_of(bytes);
    let name = bytes.rsplit(|byte| *byte == b'/').next()?;
    let opened = open_folder(&folder).ok()?;
    let mut entries = RawDir::new(opened, names);
    while let Some(Ok(entry)) = entries.next() {
        if entry.file_name().to_bytes().eq_ignore_ascii_case(name) {
            let whole = [folder.to_bytes(), b"/", entry.file_name().to_bytes()].concat();
            return CString::new(whole).ok();
        }
    }
    None
}

/// Removes every file below a folder. Directories stay; links are not followed.
fn deltree(folder: &CStr) {
    let Ok(opened) = open_folder(folder) else { return };
    let Ok(entries) = Dir::new(opened) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let Ok(path) = CString::new([folder.to_bytes(), b"/", name].concat()) else { continue };
        match rustix::fs::lstat(&*path) {
            Ok(status) if status.st_mode & libc::S_IFMT == libc::S_IFDIR => deltree(&path),
            // One that cannot be removed shows when the next pass meets it.
            Ok(_) => drop(unlinkat(CWD, &*path, AtFlags::empty())),
            Err(_) => {}
        }
    }
}
