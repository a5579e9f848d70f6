//! LMbench: the fourteen rows of the article's Table 1, what the kernel takes for one call, one
//! message, one process.
//!
//! `harness` measures: it repeats an operation for a fixed time, many times over, takes off what
//! clock and loop cost, and keeps every sample. `rows` is the table; each group of rows has a file
//! of its own. `native` is what safe Rust cannot say. The rows of `lmbench_more` are measured by
//! the same harness.
//!
//! How it differs from the original, and why:
//! * a sample's length is fixed instead of guessed from the clock, so that all arms measure alike;
//! * `select` is told of all ten descriptors; LMbench 3 names their count instead of the highest
//!   one, so that it looks at two of them;
//! * the calls of the signal row that are subtracted are made between those they are subtracted
//!   from, so that a machine that changes its speed changes both;
//! * files are in a folder that is made for the run and removed.

pub(crate) mod harness;
mod native;
mod pipe;
mod processes;
mod program;
pub mod rows;
mod select;
mod shell;
mod signals;
mod system_calls;

pub use harness::Row;

/// The family, and the suite of all its rows.
pub const FAMILY: &str = "lmbench";
