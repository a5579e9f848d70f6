//! Builds a load call by call: small numbers for paths and handles, totals, and what the files
//! hold at most.

use super::{
    Call, Expect, HANDLES_MAX, Handle, Load, OFFSET_MAX, OPERATIONS_MAX, Operation, PATHS_MAX,
    PathId, SIZE_MAX,
};
use std::collections::BTreeMap;

/// A load that is not whole yet. Every method that refuses says why, for the middle of a sentence.
#[derive(Debug, Default)]
pub(super) struct Builder {
    load: Load,
    /// Line of the next call, counted from 1; 0: the load is not read from lines.
    pub(super) line: u32,
    ids: BTreeMap<String, PathId>,
    /// Open handles by the load's own numbers, with the path behind each.
    open: BTreeMap<u64, (Handle, PathId)>,
    free: Vec<Handle>,
    /// Sizes of the files that there are, in bytes.
    files: BTreeMap<PathId, u64>,
    live_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Opening {
    pub(super) directory: bool,
    pub(super) create: bool,
    pub(super) truncate: bool,
}

impl Builder {
    pub(super) fn new(name: &str, resolves_names: bool) -> Self {
        let load = Load { name: name.to_owned(), resolves_names, ..Load::default() };
        Self { load, ..Self::default() }
    }

    pub(super) fn finish(self) -> Load {
        self.load
    }

    /// The path with that text: slashes either way, `.` and `..` refused, so that nothing outside
    /// the client's folder can be meant.
    pub(super) fn path(&mut self, text: &str) -> Result<PathId, String> {
        if !text.starts_with(['\\', '/']) {
            return Err("is not a path: it does not begin with a slash".to_owned());
        }
        let mut whole = String::with_capacity(text.len());
        for part in text.split(['\\', '/']).filter(|part| !part.is_empty()) {
            if part == "." || part == ".." {
                return Err(format!("holds '{part}', which could lead out of the client's folder"));
            }
            if part.len() > 200 || part.contains('\0') {
                return Err("holds a name that is no file name".to_owned());
            }
            if !whole.is_empty() {
                whole.push('/');
            }
            whole.push_str(part);
        }
        if whole.len() > 1000 {
            return Err("is longer than 1000 bytes".to_owned());
        }
        if let Some(id) = self.ids.get(&whole) {
            return Ok(*id);
        }
        if self.load.paths.len() >= PATHS_MAX {
            return Err(format!("is one path too many; {PATHS_MAX} is the most"));
        }
        let id = PathId(u32::try_from(self.load.paths.len()).unwrap_or(u32::MAX));
        self.load.paths.push(whole.clone());
        self.ids.insert(whole, id);
        Ok(id)
    }

    pub(super) fn handle(&self, number: u64) -> Result<Handle, String> {
        self.open.get(&number).map(|(handle, _)| *handle).ok_or_else(|| {
            "is a handle that is used before it was opened, or after it was closed".to_owned()
        })
    }

    fn new_handle(&mut self, number: u64, path: PathId) -> Result<Handle, String> {
        if self.open.contains_key(&number) {
            return Err("is a handle that is open already".to_owned());
        }
        let handle = match self.free.pop() {
            Some(handle) => handle,
            None if self.load.handles_max < HANDLES_MAX => {
                self.load.handles_max += 1;
                Handle(self.load.handles_max - 1)
            }
            None => return Err(format!("is one open handle too many; {HANDLES_MAX} is the most")),
        };
        self.open.insert(number, (handle, path));
        Ok(handle)
    }

    /// Opens; if failure is expected, the number stays free.
    pub(super) fn open(
        &mut self,
        path: PathId,
        number: u64,
        opening: Opening,
        expect: Expect,
    ) -> Result<(), String> {
        let handle = match expect {
            Expect::Success => self.new_handle(number, path)?,
            // Nobody will use it.
            Expect::Failure | Expect::Anything => Handle(HANDLES_MAX),
        };
        let Opening { directory, create, truncate } = opening;
        if expect == Expect::Success && !directory {
            if truncate {
                self.resize(path, 0);
            } else if create && !self.files.contains_key(&path) {
                self.files.insert(path, 0);
            }
        }
        self.push(Call::Open { path, handle, directory, create, truncate }, expect)
    }

    pub(super) fn find_open(&mut self, path: PathId, number: u64) -> Result<(), String> {
        let handle = self.new_handle(number, path)?;
        self.push(Call::FindOpen { path, handle }, Expect::Success)
    }

    /// Frees the number of a handle and gives the handle, for the call that closes it.
    pub(super) fn release(&mut self, number: u64) -> Result<Handle, String> {
        let handle = self.handle(number)?;
        self.open.remove(&number);
        self.free.push(handle);
        Ok(handle)
    }

    pub(super) fn transfer(
        &mut self,
        writes: bool,
        number: u64,
        (offset, size, expected): (u64, u32, u32),
        expect: Expect,
    ) -> Result<(), String> {
        let handle = self.handle(number)?;
        if expect == Expect::Success && !writes {
            self.load.read_bytes += u64::from(expected);
        } else if expect == Expect::Success {
            self.load.written_bytes += u64::from(size);
            if let Some((_, path)) = self.open.get(&number).copied() {
                let before = self.files.get(&path).copied().unwrap_or(0);
                self.resize(path, before.max(offset.saturating_add(u64::from(size))));
            }
        }
        self.load.size_max = self.load.size_max.max(size);
        let call = match writes {
            true => Call::Write { handle, offset, size, expected },
            false => Call::Read { handle, offset, size, expected },
        };
        self.push(call, expect)
    }

    pub(super) fn push(&mut self, call: Call, expect: Expect) -> Result<(), String> {
        if self.load.operations.len() >= OPERATIONS_MAX {
            return Err(format!("is one call too many; {OPERATIONS_MAX} is the most"));
        }
        if expect == Expect::Success {
            match call {
                Call::Unlink(path) => self.remove(path),
                Call::Rename { from, to } => {
                    let size = self.files.get(&from).copied().unwrap_or(0);
                    self.remove(from);
                    self.resize(to, size);
                }
                Call::Deltree(path) => self.remove_below(path),
                _ => {}
            }
        }
        self.load.operations.push(Operation { call, expect });
        if self.line > 0 {
            self.load.lines.push(self.line);
        }
        Ok(())
    }

    fn resize(&mut self, path: PathId, size: u64) {
        let before = self.files.insert(path, size).unwrap_or(0);
        self.live_bytes = (self.live_bytes - before).saturating_add(size);
        self.load.live_bytes_max = self.load.live_bytes_max.max(self.live_bytes);
    }

    fn remove(&mut self, path: PathId) {
        self.live_bytes -= self.files.remove(&path).unwrap_or(0);
    }

    fn remove_below(&mut self, folder: PathId) {
        let folder = format!("{}/", self.load.paths[folder.0 as usize]);
        let paths = &self.load.paths;
        let below = |path: &PathId| folder == "/" || paths[path.0 as usize].starts_with(&folder);
        let gone: Vec<PathId> = self.files.keys().copied().filter(below).collect();
        gone.into_iter().for_each(|path| self.remove(path));
    }
}

pub(super) fn size(number: u64) -> Result<u32, String> {
    u32::try_from(number)
        .ok()
        .filter(|size| *size <= SIZE_MAX)
        .ok_or_else(|| format!("is too large a size; {SIZE_MAX} bytes is the most"))
}

pub(super) fn offset(number: u64) -> Result<u64, String> {
    Some(number)
        .filter(|offset| *offset <= OFFSET_MAX)
        .ok_or_else(|| format!("is too large an offset; {OFFSET_MAX} bytes is the most"))
}
