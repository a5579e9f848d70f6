//! Servers of workloads alone, for clients elsewhere on this machine: `coretwin serve`. What each does
//! is beside its workload; here is what they tell.

use std::net::SocketAddr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServeEvent {
    Listening(SocketAddr),
    Started {
        rooms: u32,
        messages: u32,
    },
    Served {
        received: u64,
        sent: u64,
        /// Whether these are as many as the client's wishes make.
        right: bool,
    },
    Exchanged {
        exchanges: u64,
        received_bytes: u64,
        sent_bytes: u64,
    },
    /// A run failed; the next client is waited for.
    Failed(String),
}
