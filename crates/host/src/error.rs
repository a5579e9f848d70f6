//! What can go wrong while a machine is looked at. A message is the whole sentence, with what the
//! system said, so no error names another as its source: a chain of causes says nothing twice.

use std::path::PathBuf;

impl Error {
    /// Whether it says that what was to be read is not there.
    pub(crate) fn says_gone(&self) -> bool {
        let gone = |cause: &std::io::Error| {
            cause.kind() == std::io::ErrorKind::NotFound
                || cause.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
        };
        matches!(self, Self::Read { cause, .. } if gone(cause))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}: {cause}", path.display())]
    Read { path: PathBuf, cause: std::io::Error },
    #[error("cannot write {}: {cause}", path.display())]
    Write { path: PathBuf, cause: std::io::Error },
    #[error("{}: {why}", path.display())]
    Content { path: PathBuf, why: String },
    #[error(
        "no CPU is described under {}: neither sys/devices/system/cpu nor proc/cpuinfo can be \
         read; mount /sys or /proc",
        root.display()
    )]
    NoCpus { root: PathBuf },
    #[error(
        "{name}={value:?} says on whose behalf this runs as root, but {why}; to run as root on \
         purpose unset {name}{}, otherwise let sudo, doas or pkexec set it",
        if *name == "SUDO_UID" { " and SUDO_GID" } else { "" }
    )]
    InvokingUser { name: &'static str, value: String, why: &'static str },
    #[error("cannot start {program}: {cause}")]
    Start { program: String, cause: std::io::Error },
    #[error("process {process}: {cause}")]
    Process { process: u32, cause: std::io::Error },
}
