//! LMbench: what the kernel takes for one call, one message, one process (the family `lmbench`, the
//! article's Table 1), and what it costs to switch between processes, how far away memory is and how
//! fast it moves, messages over loopback, files made and removed, and the clock (`lmbench-more`).
//!
//! `harness` measures: it repeats an operation for a fixed time, many times over, takes off what
//! clock and loop cost, and keeps every sample. `rows` lists the rows; each group of rows
//! has a file of its own. `native` is what safe Rust cannot say.
//!
//! How it differs from the original, and why:
//! * a sample's length is fixed instead of guessed from the clock, so that all arms measure alike;
//! * `select` is told of all ten descriptors; LMbench 3 names their count instead of the highest
//!   one, so that it looks at two of them;
//! * the calls of the signal row that are subtracted are made between those they are subtracted
//!   from, so that a machine that changes its speed changes both;
//! * files are in a folder that is made for the run and removed;
//! * words are of 64 bits and every one is read, where the original reads words of 32 bits and
//!   skips some: processors have become wider;
//! * a megabyte is 10^6 bytes, and each row says which bytes count;
//! * the time of a message there and back is not halved;
//! * a bandwidth row ends a sample with a word from the receiver that all has come, so that nothing
//!   counts that is still under way;
//! * everything that is moved is looked at, by a check that is named in the result.

/// Rows of a family, each by name, what it has in common with others, set-up, and what an operation is.
macro_rules! rows {
    ($family:literal: $($name:literal, $base:expr, $prepare:expr, $about:literal;)+) => {
        &[$(Row {
            name: concat!($family, $name),
            about: $about,
            prepare: $prepare,
            ..$base
        }),+]
    };
}

mod context_switch;
mod files;
pub(crate) mod harness;
mod loopback;
mod memory;
mod native;
mod processes;
pub mod rows;
mod system_calls;

pub use harness::Row;
pub(crate) use native::memory::read_write;
