//! What CPU time is worth.
//!
//! [`probe`] finds out by contention which CPUs share a core. It burns no CPU time itself: a
//! [`probe::meter::Meter`] does.

#![forbid(unsafe_code)]

pub mod probe;
