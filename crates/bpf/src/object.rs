//! From an embedded object to programs in the kernel, and what went wrong on the way.

use crate::Error;
use libbpf_rs::{ErrorKind, Object, ObjectBuilder, OpenObject, PrintLevel, set_print};
use std::path::Path;
use std::sync::Mutex;

/// Where a kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Characters of a log that are kept; the verifier may say megabytes.
const LOG_MAX: usize = 64 << 10;

/// What libbpf said since an object was last opened. It has one printer for the whole process.
static LOG: Mutex<String> = Mutex::new(String::new());

/// The bytes of `c/NAME.bpf.c`, compiled.
macro_rules! embedded {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o"))
    };
}
pub(crate) use embedded;

fn keep(_level: PrintLevel, text: String) {
    if let Ok(mut log) = LOG.lock()
        && log.len() + text.len() <= LOG_MAX
    {
        log.push_str(&text);
    }
}

/// Reads an object; nothing is in the kernel yet.
pub(crate) fn open(object: &'static str, bytes: &[u8]) -> Result<OpenObject, Error> {
    if !Path::new(TYPES).exists() {
        return Err(Error::NoTypes { path: TYPES });
    }
    if let Ok(mut log) = LOG.lock() {
        log.clear();
    }
    set_print(Some((PrintLevel::Warn, keep)));
    ObjectBuilder::default().open_memory(bytes).map_err(|error| refused(object, &error))
}

/// Puts an object's programs and maps into the kernel.
pub(crate) fn load(object: &'static str, open: OpenObject) -> Result<Object, Error> {
    open.load().map_err(|error| refused(object, &error))
}

/// What a refusal means.
pub(crate) fn refused(object: &'static str, error: &libbpf_rs::Error) -> Error {
    let log = LOG.lock().map_or_else(|_| String::new(), |log| log.clone());
    // The verifier says EACCES, too, and has much to say about it.
    let verified = log.contains("BEGIN PROG LOAD LOG");
    if error.kind() == ErrorKind::PermissionDenied && !verified {
        return Error::NotPermitted;
    }
    Error::Refused { object, reason: error.to_string(), log }
}
