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
mod slurm;
mod ssh;
pub mod status;
pub mod task;
mod yaml;

use coretwin_base::fleet::plan::{EngineOptions, FleetPlan};
use engine::Engine;

pub use kubernetes::as_log;
pub use slurm::requeue;

/// The engines, with what each is. Lists and help are made from this.
pub const ENGINES: [(&str, &str); 3] = [
    ("ssh", "hosts of a list, several side by side"),
    ("slurm", "a job array, a node to each task alone"),
    ("kubernetes", "an indexed Job, a node to each pod alone"),
];

/// The engine of a plan.
#[must_use]
pub fn engine_of(plan: &FleetPlan) -> Box<dyn Engine> {
    match &plan.engine {
        EngineOptions::Ssh(options) => Box::new(ssh::Ssh(options.clone())),
        EngineOptions::Slurm(options) => Box::new(slurm::Slurm(options.clone())),
        EngineOptions::Kubernetes(options) => Box::new(kubernetes::Kubernetes(options.clone())),
    }
}
