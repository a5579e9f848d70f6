//! The words every part of Coretwin shares.
//!
//! Pure: no I/O, no threads, no wall clock, no environment, no hash maps. The doc
//! comments of records are their documentation: `cargo xtask docs` makes tables of them.
//!
//! Invariants:
//! * every record on disk carries `schema` and tolerates unknown fields when read;
//! * field names carry their unit, last;
//! * randomness comes only from [`random::Stream`], by seed, purpose and index.

#![forbid(unsafe_code)]

pub mod account;
pub mod caps;
pub mod column;
pub mod distinct;
pub mod fleet;
pub mod json_schema;
pub mod machine;
pub mod openmetrics;
pub mod origin;
pub mod parameters;
pub mod printable;
pub mod random;
pub mod schema;
pub mod shared_text;
pub mod simulation;
pub mod study;
pub mod suggest;
pub mod units;
pub mod warning;
