//! The words every part of Coretwin shares.
//!
//! Pure: no I/O, no threads, no wall clock, no environment, no hash maps. What is here is either a
//! *type* that several parts agree on (CPU sets, topology, the records of a study) or a function of
//! its arguments alone (parsing, seeded randomness).
//!
//! Data flow of a study, in these types: [`plan::Plan`] → (block by block) [`job::Job`] →
//! [`job::Outcome`] → [`reading::Reading`] (a line of the journal) → [`summary::Summary`].
//!
//! Invariants:
//! * every record on disk carries `schema` and tolerates unknown fields when read;
//! * field names carry their unit, last;
//! * randomness comes only from [`random::Stream`], by seed, purpose and index.

#![forbid(unsafe_code)]

pub mod account;
pub mod arm;
pub mod boot;
pub mod caps;
pub mod column;
pub mod command;
pub mod comparison;
pub mod consistency;
pub mod core_queue;
pub mod core_run;
pub mod cpu_set;
pub mod cputime;
pub mod decision;
pub mod disturbance;
pub mod environment;
pub mod fleet;
pub mod fleet_comparison;
pub mod fleet_plan;
pub mod fleet_summary;
pub mod job;
pub mod limits;
pub mod origin;
pub mod param;
pub mod parameter;
pub mod placement;
pub mod plan;
pub mod prediction;
pub mod printable;
pub mod probe;
pub mod random;
pub mod reading;
pub mod sched_run;
pub mod sched_sweep;
pub mod scheduler;
pub mod schema;
pub mod shared_text;
pub mod simulation;
pub mod suggest;
pub mod summary;
pub mod topology;
pub mod units;
pub mod warning;
pub mod ways;
