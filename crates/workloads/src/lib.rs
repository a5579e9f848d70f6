//! The measured work: one trait, one explicit table of workloads, and the worker process that
//! runs them.
//!
//! Data flow: a [`coretwin_base::study::job::Job`] on the worker's standard input → [`worker`] binds
//! itself to the CPUs and becomes the user → a [`workload::Workload`] of [`table::ALL`], or the
//! user's own [`command`], starts processes through the [`supervisor`] → one
//! [`coretwin_base::study::job::Outcome`] on standard output.
//!
//! Invariants:
//! * nothing measured runs in the worker itself; every process it starts is its own executable
//!   again (see [`role`]), so that binding, user and death with the parent are settled by
//!   ordinary code before the work begins;
//! * however a run ends, every descendant is dead and every kernel object removed before the
//!   worker ends; what a killed worker leaves, [`leftovers::sweep`] removes;
//! * unsafe code is in `sys.rs`, `aim9/native/` and `lmbench/native/` alone.

#![deny(unsafe_code)]

pub mod aim9;
mod answer;
pub mod chat;
pub mod command;
pub mod contention;
mod copies;
pub mod counters;
pub mod dbench;
mod door;
mod error;
mod held_file;
pub mod kernel_2_4;
pub mod leftovers;
pub mod lmbench;
mod observe;
pub mod real_time;
mod role;
mod scheduler;
mod scratch;
mod semaphores;
pub mod serve;
pub mod service;
mod socket;
pub mod spinner;
pub mod suites;
pub mod supervisor;
mod sys;
pub mod table;
pub mod tbench;
mod times;
pub mod worker;
pub mod workload;

pub(crate) use error::Context;
pub use error::{Error, Stop};
pub use role::ROW;
