//! What can go wrong while a machine is looked at.

use std::path::PathBuf;

/// A failure to read the machine, or to start something on it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that must be there cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file, with the root folder in front.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file, with the root folder in front.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
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
    /// A program could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program as named.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A started process cannot be waited for or signalled.
    #[error("process {process}: {source}")]
    Process {
        /// Its id.
        process: u32,
        /// What the system said.
        source: std::io::Error,
    },
}
