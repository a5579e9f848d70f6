//! The kernel's SMT switch, used so that nothing is lost: what is now is saved before anything is
//! written, and is put back whatever happens to whoever switched.
//!
//! Order of work: [`capture`] reads the machine, [`saved`] makes it durable and gives a
//! [`saved::Stored`], without which nothing is written; [`switch`] changes, [`restore`] puts back.
//! Who uses them: a study ([`session`]), `coretwin smt off` ([`hand`]), and the [`guard`], which
//! restores when a study dies. All writes to the machine go through [`kernel::Kernel`].
//!
//! Invariants:
//! * nothing is written to the machine before the state before it is on disk;
//! * one writes at a time ([`writer`]); restoring twice is restoring once;
//! * what the kernel says was done is read back, and what differs is reported.

pub mod capture;
mod error;
mod gaps;
pub mod guard;
pub mod hand;
pub mod kernel;
pub mod preflight;
mod refusal;
pub mod restore;
mod restore_order;
pub mod saved;
pub mod security;
pub mod session;
pub mod switch;
pub mod target;
pub mod ways;
pub mod writer;

pub use error::SwitchError;

pub(crate) const CONTROL: &str = "sys/devices/system/cpu/smt/control";
