//! From an embedded object to programs in the kernel, and what went wrong on the way.

use crate::Error;
use coretwin_base::simulation::live::Policy;
use libbpf_rs::{ErrorKind, Object, ObjectBuilder, OpenObject, PrintLevel, set_print};
use std::path::Path;
use std::sync::Mutex;

/// Where a kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// The first kernel for which the programs are made. Some with an older number have what is needed, too;
/// so the number is asked only when one refuses.
const OLDEST: (u32, u32) = (5, 15);
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

/// The least rights short of root's that an object needs (capabilities(7)), and what for.
fn rights(object: &str) -> &'static str {
    match object {
        // Their loader works for root alone.
        name if Policy::of_ops(&format!("coretwin_{name}")).is_some() => "",
        _ => {
            ", or with CAP_BPF (to load programs and maps) and CAP_PERFMON (they trace the kernel and \
             read its memory)"
        }
    }
}

/// What a refusal means.
pub(crate) fn refused(object: &'static str, error: &libbpf_rs::Error) -> Error {
    let log = LOG.lock().map_or_else(|_| String::new(), |log| log.clone());
    // The verifier says EACCES, too, and has much to say about it.
    let verified = log.contains("BEGIN PROG LOAD LOG");
    if error.kind() == ErrorKind::PermissionDenied && !verified {
        return Error::NotPermitted { or: rights(object) };
    }
    let (release, reason) = (release(), error.to_string());
    match version(&release) {
        Some(version) if version < OLDEST => Error::TooOld { object, release, reason },
        _ => Error::Refused { object, reason, log },
    }
}

/// As `uname -r` tells it.
fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The first two numbers of a release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_ordered_by_their_numbers() {
        assert!(version("5.10.0-46-cloud-amd64") < Some(OLDEST));
        assert!(version("5.15.0") >= Some(OLDEST) && version("6.1-rc1") >= Some(OLDEST));
        assert_eq!(version("none"), None);
        assert!(version(&release()).is_some());
    }
}
