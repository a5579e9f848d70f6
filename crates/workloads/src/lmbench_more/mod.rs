//! The rest of LMbench, which the article's Table 1 leaves out: what it costs to switch between
//! processes, how far away memory is and how fast it moves, messages over loopback, files made and
//! removed, and the clock. Measured by the harness of [`crate::lmbench`].
//!
//! `rows` is the table; each group of rows has a file of its own. `native` is what safe Rust cannot
//! say.
//!
//! How it differs from the original, and why:
//! * words are of 64 bits and every one is read, where the original reads words of 32 bits and
//!   skips some: processors have become wider;
//! * a megabyte is 10^6 bytes, and each row says which bytes count;
//! * the time of a message there and back is not halved;
//! * a bandwidth row ends a sample with a word from the receiver that all has come, so that nothing
//!   counts that is still under way;
//! * everything that is moved is looked at, by a check that is named in the result.

mod clock;
mod context_switch;
mod file_read;
mod files;
mod loopback;
mod memory_bandwidth;
mod memory_latency;
mod native;
pub mod rows;

/// The family, and the suite of all its rows.
pub const FAMILY: &str = "lmbench-more";
