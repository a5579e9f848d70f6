//! What CPU time is worth.
//!
//! [`probe`] finds out by contention which CPUs share a core. It burns no CPU time itself: a
//! [`probe::meter::Meter`] does. Accounting: a [`method::Method`] makes
//! [`Window`](coretwin_base::account::Window)s of who ran while how many siblings were busy, and
//! [`model`] says what that is worth.
//!
//! Invariants:
//! * raw run time is what the kernel says and is never corrected;
//! * what a method cannot know is a range, never a guess: whatever the truth, it lies in the range
//!   (`bounds`, `ebpf`), or does so at the stated rate (`sampled`).

#![forbid(unsafe_code)]

pub mod bounds;
pub mod choice;
pub mod ebpf;
pub mod method;
pub mod model;
pub mod probe;
pub mod recording;
pub mod replay;
mod roster;
pub mod sampled;
pub mod summary;
pub mod target;

use coretwin_base::account::MethodName;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Host(#[from] coretwin_host::Error),
    #[error("method {} is not possible here: {why}; {remedy}", method.name())]
    Method { method: MethodName, why: String, remedy: String },
    #[error("{0}")]
    Target(String),
    #[error("{0}")]
    Factor(String),
}
