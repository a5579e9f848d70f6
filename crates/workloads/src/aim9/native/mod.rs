//! The parts of AIM9 that cannot be written in safe Rust: instructions that must be exactly these,
//! and calls into the C library that other programs make and this measures. What it hands out is safe
//! to use.

#![expect(unsafe_code, reason = "assembly and the C library; every block says why it is sound")]

pub(super) mod arithmetic;
pub(super) mod jump;
pub(super) mod kernel;
pub(super) mod library;
