//! tbench: the calls of dbench as requests and replies over loopback TCP, without files. The
//! article's Table 6.
//!
//! `protocol` is the form of messages and the server's loop, `connection` a client's side of it.

pub(crate) mod connection;
pub mod protocol;
