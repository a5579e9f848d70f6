//! A study, or a sweep, on many machines.
//!
//! Data flow: [`plan`] makes a `fleet.json`; an [`engine`] (`ssh`, `slurm`, `kubernetes`) starts
//! tasks; a [`task`] runs on its machine and leaves a bundle; [`merge`] makes of all bundles one
//! fleet. [`status`] says what is missing.
//!
//! Invariants:
//! * files are the contract: a bundle counts wherever it comes from, if it names the fleet's plan;
//! * a merge follows from the set of bundles alone: not from their order, nor from earlier merges;
//! * what goes wrong with one machine is told of that machine, and the others go on.

mod child;
pub mod engine;
mod hosts;
pub mod identity;
mod kubernetes;
pub mod merge;
pub mod plan;
mod quote;
mod slurm;
mod ssh;
pub mod status;
pub mod task;
mod yaml;

pub use kubernetes::as_log;
pub use slurm::requeue;
