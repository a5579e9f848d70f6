//! What touches the machine: sysfs, procfs, cgroups, affinity, processes, locks.
//!
//! The only crate that knows where Linux keeps its facts. Whatever reads files takes a
//! [`root::Root`], a folder that stands for `/`: [`root::Root::system`] on a real machine, a
//! temporary folder written by `fake` in a test (feature `fake`). Only [`smt`] changes the machine, through
//! [`smt::kernel::Kernel`], and so that it can be undone.
//!
//! Data flow: files under a root → [`topology::read`] (who shares a core with whom, and how far to
//! believe it), [`environment`] (what the machine was like), [`observe`] (who used the CPUs),
//! [`limits`] (what would stop a workload) → records of `coretwin-base`.
//!
//! Invariants:
//! * no text from outside makes this crate panic;
//! * a file that is missing is a fact that is absent, never an invented value;
//! * every error names the path it is about.

#![deny(unsafe_code)]

pub mod affinity;
pub mod cgroup;
pub mod cpuinfo;
pub mod energy;
pub mod environment;
mod error;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
pub mod heap;
pub mod limits;
pub mod lock;
pub mod observe;
pub mod placement;
pub mod pressure;
pub mod process;
pub mod root;
pub mod sched_ext;
pub mod smt;
mod stat_line;
pub mod tasks;
pub mod topology;
pub mod user;
pub mod waits;

pub use error::Error;
