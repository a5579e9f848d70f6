//! Runs of the simulated core: what the pure simulator must not do itself, several runs side by side
//! and results kept on disk.
//!
//! Every run is deterministic, so neither the number of worker threads nor the cache can change a
//! result; only how long it takes.

mod cache;
mod experiments;
mod matrix;
mod run;

pub use cache::Cache;
pub use experiments::{
    NOTE, PUBLISHED, SIEVE_PAGES, enhancements, experiments, note, published, sieve_pages,
};
pub use matrix::{PROFILES, matrix};
pub use run::{Request, run};
