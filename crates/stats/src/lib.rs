//! The statistics of a study.
//!
//! Pure: numbers in, numbers out. Transcendental functions come from `libm`, never from `std`, so
//! that equal readings give an equal summary, bit for bit, on every host.
//!
//! METHOD.md and docs/method/statistics.md say why each formula is as it is, and what simulations measured.
//!
//! Invariants:
//! * the unit of analysis is the block, never the run;
//! * no reading is left out for its value;
//! * every formula names its source.

#![forbid(unsafe_code)]

pub mod comparison;
pub mod confidence;
pub mod cputime;
pub mod decision;
pub mod fleet;
pub mod geometric;
pub mod holm;
pub mod load;
pub mod orders;
pub mod paired;
pub mod placement;
pub mod screening;
pub mod sequence;
pub mod stopping;
pub mod student;
pub mod study;
pub mod verdict;
pub mod welch;
