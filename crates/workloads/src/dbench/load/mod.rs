//! A load: what one client does to a file server, call by call.
//!
//! `parser` reads the text that dbench 4 reads, `generator` makes the two loads of our own from a
//! seed, and both build the same compact form here, before any clock starts: a fixed-size record
//! for each call, paths and handles replaced by small numbers. `find` reads files, also compressed ones;
//! everything else here is pure.

pub(crate) mod builder;
pub(crate) mod generator;
pub mod parser;
mod recipes;

use crate::{Context, Error};
use coretwin_base::caps;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use parser::parse;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Largest read or write, in bytes.
pub const SIZE_MAX: u32 = 16 << 20;
/// Largest offset of a read or write, in bytes.
pub(crate) const OFFSET_MAX: u64 = 1 << 40;
/// Most handles open at once; the original's table has as many.
pub const HANDLES_MAX: u16 = 200;
pub(crate) const OPERATIONS_MAX: usize = 4_000_000;
pub(crate) const PATHS_MAX: usize = 200_000;
/// Longest pause of a load, in microseconds.
pub(crate) const SLEEP_MAX_US: u64 = 60_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathId(pub u32);

/// Names an open file; below [`HANDLES_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(pub u16);

/// What a call does. Offsets and sizes are in bytes, pauses in microseconds; `expected` is how much a
/// read or write moved when the load was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Opens, a directory or a file. The directory is made if it is not there, whatever `create` says.
    Open {
        path: PathId,
        handle: Handle,
        directory: bool,
        create: bool,
        truncate: bool,
    },
    Close(Handle),
    Read {
        handle: Handle,
        offset: u64,
        size: u32,
        expected: u32,
    },
    Write {
        handle: Handle,
        offset: u64,
        size: u32,
        expected: u32,
    },
    Unlink(PathId),
    Rename {
        from: PathId,
        to: PathId,
    },
    /// Whether it succeeds does not matter.
    MakeDirectory(PathId),
    RemoveDirectory(PathId),
    QueryPath(PathId),
    QueryFile(Handle),
    QueryFileSystem,
    SetTimes(Handle),
    SetMode(Handle),
    /// Looks for names in a directory by a pattern: open, read, close. `maximum` are asked for, `count`
    /// there are.
    Find {
        path: PathId,
        maximum: u32,
        count: u32,
    },
    FindOpen {
        path: PathId,
        handle: Handle,
    },
    FindNext(Handle),
    FindClose(Handle),
    Flush(Handle),
    /// Locks a range for writing, or unlocks it.
    Lock {
        handle: Handle,
        offset: u64,
        size: u32,
        lock: bool,
    },
    /// Removes every file below a directory; directories stay.
    Deltree(PathId),
    Sleep(u32),
}

/// Kinds of calls, as latency tables name them, in the order of [`Call::kind`].
pub(crate) const KINDS: &[&str] = &[
    "open",
    "create",
    "close",
    "read",
    "write",
    "unlink",
    "rename",
    "make_directory",
    "remove_directory",
    "query_path",
    "query_file",
    "query_file_system",
    "set_times",
    "set_mode",
    "find",
    "find_open",
    "find_next",
    "find_close",
    "flush",
    "lock",
    "unlock",
    "deltree",
    "sleep",
];

impl Call {
    pub(crate) fn kind(&self) -> usize {
        match self {
            Self::Open { create: false, directory: false, .. } => 0,
            Self::Open { .. } => 1,
            Self::Close(_) => 2,
            Self::Read { .. } => 3,
            Self::Write { .. } => 4,
            Self::Unlink(_) => 5,
            Self::Rename { .. } => 6,
            Self::MakeDirectory(_) => 7,
            Self::RemoveDirectory(_) => 8,
            Self::QueryPath(_) => 9,
            Self::QueryFile(_) => 10,
            Self::QueryFileSystem => 11,
            Self::SetTimes(_) => 12,
            Self::SetMode(_) => 13,
            Self::Find { .. } => 14,
            Self::FindOpen { .. } => 15,
            Self::FindNext(_) => 16,
            Self::FindClose(_) => 17,
            Self::Flush(_) => 18,
            Self::Lock { lock: true, .. } => 19,
            Self::Lock { .. } => 20,
            Self::Deltree(_) => 21,
            Self::Sleep(_) => 22,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Success,
    Failure,
    Anything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    pub call: Call,
    pub expect: Expect,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    /// What it is called: a file, or the name of a load of our own.
    pub(crate) name: String,
    pub operations: Vec<Operation>,
    /// The line of each call, counted from 1; empty if there are no lines.
    lines: Vec<u32>,
    /// Paths by [`PathId`], without a leading slash; `client1` in them stands for the client.
    pub paths: Vec<String>,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// The most that the files hold at any moment, in bytes.
    pub live_bytes_max: u64,
    pub handles_max: u16,
    /// Largest read or write, in bytes.
    pub size_max: u32,
    /// Whether names are looked up as a server for another system does: without case.
    pub(crate) resolves_names: bool,
}

impl Load {
    pub(crate) fn place(&self, index: usize) -> String {
        match self.lines.get(index) {
            Some(line) => format!("{}:{line}", self.name),
            None => format!("{}, call {}", self.name, index + 1),
        }
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes
    }

    /// A path as the client of that number (from 0) uses it.
    pub(crate) fn path_of(&self, path: PathId, client: u32) -> String {
        let text = self.paths.get(path.0 as usize).map_or("", String::as_str);
        let text = if text.is_empty() { "." } else { text };
        text.replace("client1", &format!("client{client}"))
    }
}

/// The load of that name: `netbench-2002`, `netbench`, or the path of a file (plain, gzip or
/// zlib). The seed is for those of our own.
pub fn find(name: &str, seed: u64) -> Result<Load, Error> {
    if let Some(recipe) = recipes::ALL.iter().find(|recipe| recipe.name == name) {
        return Ok(generator::generate(recipe, seed));
    }
    parse(name, &text(Path::new(name))?)
}

#[must_use]
pub fn is_own(name: &str) -> bool {
    recipes::ALL.iter().any(|recipe| recipe.name == name)
}

fn text(path: &Path) -> Result<Vec<u8>, Error> {
    let read = || {
        let mut file = BufReader::new(File::open(path)?);
        match *file.fill_buf()? {
            [0x1f, 0x8b, ..] => caps::LOAD.read(MultiGzDecoder::new(file)),
            // No text begins so: 0x78 is 'x', and the two bytes are a multiple of 31 (RFC 1950).
            [0x78, second, ..] if (0x7800 + u16::from(second)) % 31 == 0 => {
                caps::LOAD.read(ZlibDecoder::new(file))
            }
            _ => caps::LOAD.read(file),
        }
    };
    read().with_context(|| format!("cannot read the load file {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write;

    #[test]
    fn compressed_files_are_read_as_plain_ones() {
        let folder = tempfile::tempdir().expect("folder");
        let text = b"Sleep 1 NT_STATUS_OK\nSleep 2 NT_STATUS_OK\n";
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text).expect("gzip");
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(text).expect("zlib");
        let stored = [text.to_vec(), gzip.finish().expect("gzip"), zlib.finish().expect("zlib")];
        for (index, bytes) in stored.iter().enumerate() {
            let path = folder.path().join(index.to_string());
            std::fs::write(&path, bytes).expect("written");
            let load = find(&path.to_string_lossy(), 0).expect("read");
            assert_eq!(load.operations.len(), 2);
        }
        // A compressed file that is cut short is refused, not half read.
        let path = folder.path().join("short");
        std::fs::write(&path, &stored[1][..stored[1].len() - 9]).expect("written");
        let error = find(&path.to_string_lossy(), 0).expect_err("short").to_string();
        assert!(error.contains("cannot read the load file"), "{error}");
        let error = find("/none/such", 0).expect_err("none").to_string();
        assert!(error.contains("/none/such"), "{error}");
    }
}
