//! The simulated SMT core: what a processor core does with the micro-operations of one to four
//! threads.
//!
//! Data flow: a [`preset::Preset`] (the processor, as data) and one [`stream::Stream`] of
//! [`uop::Uop`]s per thread go in; an [`outcome::Outcome`] with speeds, a stack of cycles per thread
//! and the occupancy of every resource comes out.

pub mod alone_and_together;
pub mod engine;
pub mod experiments;
pub mod interval;
pub mod length;
pub mod outcome;
pub mod preset;
pub mod profile;
pub mod stream;
pub mod uop;

pub use alone_and_together::{Comparison, compare};
pub use engine::{Stretch, simulate, simulate_stretches};
pub use length::Length;
pub use outcome::{Component, Counts, Outcome, Stuck, ThreadOutcome};
pub use preset::Preset;
pub use stream::{Options, Placement, Stream, ThreadInput, Touched};
pub use uop::{Class, Effect, KERNEL_CODE, KERNEL_DATA, Uop};
