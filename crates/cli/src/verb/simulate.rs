//! `coretwin simulate`: the simulated machine, directly.

mod calibrate;
pub(crate) mod core;
mod import;
mod profile;
pub(crate) mod sched;
pub(crate) mod sweep;

use crate::exit::usage;
use anyhow::Result;
use coretwin_base::caps;
use coretwin_lab::simulated_machine::Modelled;
use std::fs::File;
use std::path::Path;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

verbs! {
    enum What {
        /// Threads on one SMT core: speeds alone and together, where the cycles went
        Core(core),
        /// Scheduling policies on a simulated machine: the same work under each, with every decision
        Sched(sched),
        /// A grid of policies, machines, scenarios and seeds
        Sweep(sweep),
        /// Fits a simulated machine to published figures without SMT
        Calibrate(calibrate),
        /// A profile for `simulate core` from what perf stat counted
        Import(import),
        /// A profile for `simulate core` of a program, from valgrind and timing
        Profile(profile),
    }
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    args.what.run()
}

/// Whether a name is that of a file: it has a slash, or ends in `.toml`.
pub(crate) fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|end| end == "toml")
}

/// The machine of a name or of a file, without a fit.
pub(crate) fn machine_of(name: &str) -> Result<Modelled> {
    Ok(match is_file(name) {
        true => Modelled::read(name, &text_of(name)?)?,
        false => Modelled::named(name)?,
    })
}

pub(crate) fn text_of(file: &str) -> Result<String> {
    let cap = if file.ends_with(".json") { &caps::RT_APP } else { &caps::MODEL };
    let text = File::open(file).and_then(|file| cap.text(file));
    text.map_err(|error| usage(format!("cannot read {file}: {error}")))
}
