//! What can go wrong.

use std::net::SocketAddr;
use std::path::PathBuf;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder of the machine.
    #[error(transparent)]
    Host(#[from] coretwin_host::Error),
    /// A method of accounting.
    #[error(transparent)]
    Account(#[from] coretwin_account::Error),
    /// There is nothing to draw on.
    #[error(
        "{what}; coretwin top --json prints a line for every window instead, and --openmetrics \
         FILE or ADDRESS feeds a monitor"
    )]
    NoTerminal {
        /// What is missing.
        what: String,
    },
    /// The terminal does not do what it is told.
    #[error("the terminal fails")]
    Terminal(#[source] std::io::Error),
    /// Text could not be written.
    #[error("cannot write to standard output")]
    Write(#[source] std::io::Error),
    /// The machine changed, and cannot be watched as it is now.
    #[error("CPUs came or went, and then: {0}")]
    Again(String),
    /// What was given to `--openmetrics` is neither file nor address.
    #[error(
        "--openmetrics '{text}' is neither a file nor an address: write an address with its port, \
         like 127.0.0.1:9741, or a path with a / in it, like ./coretwin.prom"
    )]
    Target {
        /// What was given.
        text: String,
    },
    /// An address that others can reach.
    #[error(
        "{address} can be reached from other machines, and what it serves names the programs that \
         run here; write 127.0.0.1:{} or add --allow-remote", address.port()
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// An address on which nothing can listen.
    #[error(
        "cannot listen on {address}: {cause}; if another program has the port, name a free one (ss -ltnp \
         shows who has it); ports below 1024 are root's, and an address must be one of this machine"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A file that cannot be replaced.
    #[error(
        "cannot write {}: {cause}; its folder must be there, have room, and let this user make files in \
         it, for the file is replaced whole", path.display()
    )]
    Textfile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
}
