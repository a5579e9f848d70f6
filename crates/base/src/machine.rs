//! The machine: its CPUs and their siblings, where tasks may run on them, and what is known of it.

pub mod cpu_set;
pub mod environment;
pub mod limits;
pub mod placement;
pub mod scheduler;
pub mod topology;
pub mod ways;
