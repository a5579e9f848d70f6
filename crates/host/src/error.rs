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

/// A failure to read the machine, or to start something on it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that must be there cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file, with the root folder in front.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file, with the root folder in front.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A file holds something that is not understood.
    #[error("{}: {why}", path.display())]
    Content {
        /// The file, with the root folder in front.
        path: PathBuf,
        /// What is wrong with its text.
        why: String,
    },
    /// No file tells which CPUs there are.
    #[error(
        "no CPU is described under {}: neither sys/devices/system/cpu nor proc/cpuinfo can be \
         read; mount /sys or /proc",
        root.display()
    )]
    NoCpus {
        /// The root folder.
        root: PathBuf,
    },
    /// We are root on behalf of somebody who cannot be found.
    #[error(
        "{name}={value:?} says on whose behalf this runs as root, but {why}; to run as root on \
         purpose unset {name}{}, otherwise let sudo, doas or pkexec set it",
        if *name == "SUDO_UID" { " and SUDO_GID" } else { "" }
    )]
    InvokingUser {
        /// The variable of the environment.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A program could not be started.
    #[error("cannot start {program}: {cause}")]
    Start {
        /// The program as named.
        program: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A started process cannot be waited for or signalled.
    #[error("process {process}: {cause}")]
    Process {
        /// Its id.
        process: u32,
        /// What the system said.
        cause: std::io::Error,
    },
}
