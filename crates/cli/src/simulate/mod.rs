//! `coretwin simulate`: the simulated machine, directly.

mod core;

use anyhow::Result;
use clap::Subcommand;
use std::process::ExitCode;

/// What is simulated.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Threads on one SMT core: speeds alone and together, where the cycles went
    Core(Box<core::Args>),
}

/// Runs the verb.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.what {
        What::Core(args) => core::run(*args),
    }
}
