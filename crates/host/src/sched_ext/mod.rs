//! sched_ext, the kernel's class of schedulers that are loaded as BPF programs
//! (Documentation/scheduler/sched-ext.rst): what is loaded, whether ours could be, and what is known
//! of the process that holds it. Loading itself is the business of another crate; here the kernel and
//! the machine are read, under a root folder.
//!
//! A loaded scheduler lives as long as the process that loaded it: however that ends, the kernel's own
//! scheduler is in charge again. So the [`keeper`] is a process of its own, which a study holds by a
//! life line, and the [`record`] it leaves in `/run` tells everybody else about it.

pub mod btf;
pub mod config;
pub mod cookies;
pub mod doctor;
pub mod keeper;
pub mod record;
mod state;

pub use state::State;
