//! The simulated kernel: a deterministic simulation of tasks on the CPUs of a machine, under any
//! scheduling policy.
//!
//! Data flow: a [`machine::Machine`], the [`work::Work`] it has to do, and [`program::Options`] with
//! a policy of [`crate::policies`] go in.
//!
//! Invariants: time is an integer in nanoseconds; events happen in order of time and of being
//! scheduled; random numbers depend on the seed and the task alone; everything is bounded.

pub mod co_run;
pub mod costs;
mod facts;
pub mod layout;
pub mod machine;
pub mod mask;
pub mod program;
pub mod view;
pub mod work;

pub use layout::{Distance, Layout};
pub use machine::Machine;
pub use program::{Options, Program, Step};
pub use view::{TaskId, View};
pub use work::{Start, Work};
