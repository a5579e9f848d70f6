//! The simulated kernel: a deterministic simulation of tasks on the CPUs of a machine, under any
//! scheduling policy.
//!
//! Data flow: a [`machine::Machine`], the [`work::Work`] it has to do, and [`program::Options`] with
//! a policy of [`crate::policies`] go in; an [`Outcome`] or a [`Failure`] comes out of [`run()`].
//!
//! Invariants: time is an integer in nanoseconds; events happen in order of time and of being
//! scheduled; random numbers depend on the seed and the task alone; everything is bounded.

pub mod accounting;
pub mod co_run;
pub mod costs;
mod disk;
mod engine;
mod events;
pub mod failure;
pub mod histogram;
pub mod layout;
pub mod machine;
pub mod mask;
pub mod outcome;
mod page_cache;
pub mod program;
pub mod scenario;
mod socket;
mod synchronisation;
mod task;
mod trace;
mod validate;
pub mod view;
pub mod work;

pub use coretwin_base::machine::cpu_set::{CoreId, CpuId, CpuSet};
use disk::*;
pub use engine::run;
use events::*;
use page_cache::*;
use socket::*;
use synchronisation::*;
use task::*;
pub use {
    accounting::*, co_run::*, costs::*, failure::*, histogram::*, layout::*, machine::*, mask::*,
    outcome::*, program::*, trace::*, view::*, work::*,
};
