//! The simulated machine: pure, seeded, deterministic.
//!
//! Pure: no I/O, no threads, no wall clock, no environment, no hash maps. Time is an integer, random
//! numbers come from [`coretwin_base::random::Stream`] or from a keyed hash, so equal seeds give
//! equal results on every host and in every build.

#![forbid(unsafe_code)]

pub mod built_in;
pub mod calibrate;
pub mod core;
mod document;
pub mod error;
pub mod kernel;
pub mod machine;
pub mod models;
mod numbers;
pub mod policies;

pub use error::{Error, Result};
