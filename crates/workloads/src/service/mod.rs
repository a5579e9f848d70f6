//! service: a server under load, and the load generator in front of it.
//!
//! `arrivals` says when requests are due and `mix` what they ask; `generator` sends them through its
//! `client`s and counts latencies from when they were due into a `recorder`. `server` answers with the
//! `work` of its mix, or a user's own does (`server_of_user`); `wire` is what they say to each other.
//! `rows` are the two questions: the latency at a rate, and the rate that is possible.

pub mod arrivals;
mod client;
pub mod generator;
pub mod latencies;
pub mod mix;
pub mod recorder;
mod rows;
mod run;
pub(crate) mod server;
mod server_of_user;
mod wire;
mod work;

pub use rows::{ALL, Service};
pub(crate) use run::generate;
