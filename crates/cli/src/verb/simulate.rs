//! `coretwin simulate`: the simulated machine, directly.

mod calibrate;
pub(crate) mod core;
pub(crate) mod file;
mod import;
pub(crate) mod sched;
pub(crate) mod sweep;

use anyhow::Result;
use clap::Subcommand;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Threads on one SMT core: speeds alone and together, where the cycles went
    Core(Box<core::Args>),
    /// Scheduling policies on a simulated machine: the same work under each, with every decision
    Sched(Box<sched::Args>),
    /// A grid of policies, machines, scenarios and seeds
    Sweep(sweep::Args),
    /// Fits a simulated machine to published figures without SMT
    Calibrate(calibrate::Args),
    /// A profile for `simulate core` from what perf stat counted
    Import(import::Args),
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    match &args.what {
        What::Core(args) => core::run(args),
        What::Sched(args) => sched::run(args),
        What::Sweep(args) => sweep::run(args),
        What::Calibrate(args) => calibrate::run(args),
        What::Import(args) => import::run(args),
    }
}
