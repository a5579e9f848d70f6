//! Servers of workloads alone, for clients elsewhere on this machine: `coretwin serve`. What each does
//! is beside its workload; here is what they tell.

use std::net::SocketAddr;

/// What happens while serving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServeEvent {
    /// The server can be reached at this address.
    Listening(SocketAddr),
    /// A client asked for a run.
    Started {
        /// Rooms.
        rooms: u32,
        /// Messages per user.
        messages: u32,
    },
    /// A run is complete.
    Served {
        /// Messages received.
        received: u64,
        /// Messages sent.
        sent: u64,
        /// Whether these are as many as the client's wishes make.
        right: bool,
    },
    /// A connection of tbench is over.
    Exchanged {
        /// Requests answered.
        exchanges: u64,
        /// Bytes of requests.
        received_bytes: u64,
        /// Bytes of replies.
        sent_bytes: u64,
    },
    /// A run failed; the next client is waited for.
    Failed(String),
}
