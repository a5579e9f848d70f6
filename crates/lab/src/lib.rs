//! The engine of a study: plan, arms, blocks, events.
//!
//! Data flow: what the user asked for ([`request::Request`]) and a topology make a
//! [`coretwin_base::study::plan::Plan`] ([`planning`], [`arms`]); the [`engine`] walks the plan's
//! [`run_order`] on a [`machine::Machine`] and emits [`event::Event`]s; whoever listens (journal,
//! progress) is a [`event::Listener`]. Nothing flows back.
//!
//! Invariants:
//! * the engine is the only one that decides what runs next, and decides it from the plan and the
//!   readings alone, so that a study resumed from its journal goes on as if never broken off;
//! * a machine never sees the plan, the engine never sees `/sys`;
//! * a reading is emitted as soon as it is taken.

#![forbid(unsafe_code)]

pub mod arms;
pub mod boots;
pub mod capacity_meter;
pub mod cputime;
pub mod engine;
pub mod estimate;
pub mod event;
#[cfg(feature = "fleet")]
pub mod fleet;
mod history;
pub mod host_machine;
pub mod launcher;
#[cfg(feature = "sim")]
pub mod live_scenario;
mod load_curve;
pub mod machine;
#[cfg(any(feature = "fleet", feature = "sim"))]
mod parallel;
pub mod planning;
pub mod probe;
mod protocol;
pub mod quiet;
pub mod request;
mod rows;
pub mod run_order;
#[cfg(any(test, feature = "fake"))]
pub mod scripted;
mod set_aside;
#[cfg(feature = "sim")]
pub mod simulated_core;
#[cfg(feature = "sim")]
pub mod simulated_kernel;
#[cfg(feature = "sim")]
pub mod simulated_machine;
pub mod switching;
mod too_busy;

mod error;
pub use error::Error;
