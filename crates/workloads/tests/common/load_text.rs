//! A load as text that dbench 4 reads: for tests and benchmarks that let both make the same calls.

use coretwin_workloads::dbench::load::{Call, Expect, Handle, Load, PathId};
use std::fmt::Write;

/// The text; `None` if the load has calls that dbench 4 does not know.
pub(crate) fn text_of(load: &Load) -> Option<String> {
    let mut text = String::new();
    for operation in &load.operations {
        let call = line(load, &operation.call)?;
        let status = match operation.expect {
            Expect::Success => "NT_STATUS_OK",
            Expect::Failure => "NT_STATUS_OBJECT_NAME_NOT_FOUND",
            Expect::Anything => "*",
        };
        writeln!(text, "{call} {status}").ok()?;
    }
    Some(text)
}

fn line(load: &Load, call: &Call) -> Option<String> {
    let path = |id: PathId| format!("\"\\{}\"", load.paths[id.0 as usize].replace('/', "\\"));
    let handle = |handle: Handle| u32::from(handle.0) + 10_000;
    Some(match *call {
        Call::Open { path: file, handle: new, directory, create, truncate } => {
            let options = if directory { 0x1 } else { 0x40 };
            let disposition = match (truncate, create) {
                (true, _) => 0x5,
                (false, true) => 0x2,
                (false, false) => 0x1,
            };
            format!("NTCreateX {} {options:#x} {disposition:#x} {}", path(file), handle(new))
        }
        Call::Close(file) => format!("Close {}", handle(file)),
        Call::Read { handle: file, offset, size, expected } => {
            format!("ReadX {} {offset} {size} {expected}", handle(file))
        }
        Call::Write { handle: file, offset, size, expected } => {
            format!("WriteX {} {offset} {size} {expected}", handle(file))
        }
        Call::Unlink(file) => format!("Unlink {} 0x6", path(file)),
        Call::Rename { from, to } => format!("Rename {} {}", path(from), path(to)),
        Call::MakeDirectory(folder) => format!("Mkdir {}", path(folder)),
        Call::RemoveDirectory(folder) => format!("Rmdir {}", path(folder)),
        Call::QueryPath(file) => format!("QUERY_PATH_INFORMATION {} 1004", path(file)),
        Call::QueryFile(file) => format!("QUERY_FILE_INFORMATION {} 258", handle(file)),
        Call::QueryFileSystem => "QUERY_FS_INFORMATION 1".to_owned(),
        Call::SetTimes(file) => format!("SET_FILE_INFORMATION {} 1004", handle(file)),
        Call::Find { path: pattern, maximum, count } => {
            format!("FIND_FIRST {} 260 {maximum} {count}", path(pattern))
        }
        Call::Flush(file) => format!("Flush {}", handle(file)),
        Call::Lock { handle: file, offset, size, lock } => {
            let verb = if lock { "LockX" } else { "UnlockX" };
            format!("{verb} {} {offset} {size}", handle(file))
        }
        Call::Deltree(folder) => format!("Deltree {}", path(folder)),
        Call::Sleep(pause) => format!("Sleep {pause}"),
        Call::SetMode(_) | Call::FindOpen { .. } | Call::FindNext(_) | Call::FindClose(_) => {
            return None;
        }
    })
}
