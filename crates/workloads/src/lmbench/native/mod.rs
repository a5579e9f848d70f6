//! The parts of LMbench that cannot be written in safe Rust: a real `fork`, and calls that other
//! libraries do not offer as they are. What it hands out is safe to use.

#![expect(unsafe_code, reason = "fork and the C library; every block says why it is sound")]

pub(super) mod descriptors;
pub(super) mod processes;
pub(super) mod signals;
