//! The limit of open files, of which servers and clients of many connections need more than the usual.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process open as many files as it may.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    // If it fails, opening the files fails, with a sentence of its own.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
