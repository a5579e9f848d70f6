//! What can go wrong.

use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Host(#[from] coretwin_host::Error),
    #[error(transparent)]
    Account(#[from] coretwin_account::Error),
    #[error(
        "{what}; coretwin top --json prints a line for every window instead, and --openmetrics \
         FILE or ADDRESS feeds a monitor"
    )]
    NoTerminal { what: String },
    #[error("the terminal fails")]
    Terminal(#[source] std::io::Error),
    #[error("cannot write to standard output")]
    Write(#[source] std::io::Error),
    #[error("CPUs came or went, and then: {0}")]
    Again(String),
    #[error(
        "--openmetrics '{text}' is neither a file nor an address: write an address with its port, \
         like 127.0.0.1:9741, or a path with a / in it, like ./coretwin.prom"
    )]
    Target { text: String },
    #[error(
        "{address} can be reached from other machines, and what it serves names the programs that \
         run here; write 127.0.0.1:{} or add --allow-remote", address.port()
    )]
    NotLoopback { address: SocketAddr },
    #[error(
        "cannot listen on {address}: {cause}; if another program has the port, name a free one (ss -ltnp \
         shows who has it); ports below 1024 are root's, and an address must be one of this machine"
    )]
    Listen { address: SocketAddr, cause: std::io::Error },
    #[error(
        "cannot write {}: {cause}; its folder must be there, have room, and let this user make files in \
         it, for the file is replaced whole", path.display()
    )]
    Textfile { path: PathBuf, cause: std::io::Error },
}
