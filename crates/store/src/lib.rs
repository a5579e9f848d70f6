//! The folder of a study: what was planned, every reading, and what was derived from them.
//!
//! Invariants:
//! * the journal is only ever appended to; a torn last line is tolerated, anything else that is
//!   wrong in it is an error that names the line;
//! * every other file is written whole, to a temporary name first and then renamed, so that a reader
//!   never sees half of it;
//! * a file from a newer version is refused, not guessed at.

#![forbid(unsafe_code)]

mod appended;
mod bundle;
pub mod dataset;
mod disk;
mod error;
pub mod factors;
pub mod fleet_bundle;
pub mod fleet_folder;
pub mod import;
mod journal;
mod line;
#[cfg(feature = "parquet")]
mod parquet_file;
pub mod recording;
mod scan;

pub use bundle::{Bundle, CPUTIME, ENVIRONMENT, JOURNAL, PLAN, SUMMARY};
pub use error::Error;
pub use journal::Journal;
pub use line::{BadLine, Extent, parse_line};
pub use scan::Read;
