//! The parts of LMbench that cannot be written in safe Rust: a real `fork`, loads and stores that must
//! be exactly these, and calls that other libraries do not offer as they are. What it hands out is
//! safe to use.

#![expect(
    unsafe_code,
    reason = "fork, assembly, a map of a file and the C library; every block says why it is sound"
)]

pub(super) mod memory;
pub(super) mod system;
