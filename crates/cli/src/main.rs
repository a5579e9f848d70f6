//! `coretwin`: the command line. `verb/` has a file for each verb, the others help them.

#![forbid(unsafe_code)]

mod basis;
mod consent;
mod dataset;
mod exit;
mod findings;
mod host;
mod metric;
mod options;
mod out;
mod progress;
mod quiet;
mod resuming;
mod session;
mod signals;
mod slip;
mod switching;
mod verb;

use clap::Parser;
use rustix::fs::Mode;
use std::process::ExitCode;
use verb::Verb;

/// A laboratory for simultaneous multithreading (SMT, Hyper-Threading) on Linux.
///
/// Tells, with intervals, whether SMT should be on for your workload on your machine.
#[derive(Parser)]
#[command(version, max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = exit::with_statuses("\
Start here:
  coretwin topology                    what this machine looks like, and how far to trust it
  coretwin study -- ./mycmd {threads}  should SMT be on for this command?
  coretwin study chat                  the same for the chat suite"))]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// What is made is not writable by everybody, whatever the umask: some containers have none.
fn nothing_for_everybody() {
    let given = rustix::process::umask(Mode::WOTH);
    rustix::process::umask(given | Mode::WOTH);
}

fn main() -> ExitCode {
    nothing_for_everybody();
    let line = Cli::try_parse().unwrap_or_else(|error| slip::exit(slip::in_words(error)));
    line.verb.run().unwrap_or_else(|error| exit::failure(&error)).into()
}
