//! Runs of the simulated kernel: speeds from runs of the simulated core, several runs side by side,
//! sweeps that can be broken off.
//!
//! Every run is deterministic: neither the number of worker threads nor where a sweep was broken off
//! can change a result.

mod run;
mod sweep;

pub use run::{Request, Speeds, check, run};
pub use sweep::{Sweep, sweep};
