//! `coretwin`: the command line. One file per verb; this one is the table of contents.

#![forbid(unsafe_code)]

mod account;
mod audit;
mod basis;
mod compare;
mod cputime;
mod dataset;
mod describe;
mod exit;
mod fleet;
mod formats;
mod generate;
mod host;
mod keeper;
mod list;
mod metric;
mod out;
mod probe;
mod progress;
mod quiet;
mod rebooting;
mod report;
mod run;
mod sched;
mod serve;
mod signals;
mod simulate;
mod slip;
mod smt;
mod study;
mod study_args;
mod switching;
mod top;
mod topology;

use clap::{Parser, Subcommand};
use rustix::fs::Mode;
use std::process::ExitCode;

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

#[derive(Subcommand)]
enum Verb {
    /// Cores, siblings, caches, SMT control, and how far it can be trusted
    Topology(topology::Args),
    /// The SMT switch: look, switch, undo
    Smt(smt::Args),
    /// Every workload, suite, arm, placement, machine and scheduler policy
    List(list::Args),
    /// One workload or command, once; its reading
    Run(run::Args),
    /// Which CPUs really share a core, by measurement
    Probe(probe::Args),
    /// A workload's server alone, for a client elsewhere on this machine
    Serve(serve::Args),
    /// Compare arms, interleaved: tables, figures, verdict
    Study(Box<study_args::Args>),
    /// Tables and figures of a study, made anew from its journal
    Report(report::Args),
    /// Two studies: what became of effects and values; the article's Table 7 with intervals
    Compare(compare::Args),
    /// What a CPU second is worth beside a busy sibling: work alone and beside spinners
    Cputime(Box<cputime::Args>),
    /// What CPU time is worth beside busy siblings: of a command, process, cgroup or all
    Account(Box<account::Args>),
    /// Live: cores, sibling overlap, capacity left, corrected time of tasks; JSON, OpenMetrics
    Top(Box<top::Args>),
    /// A study on many machines, through Slurm, Kubernetes or ssh
    Fleet(fleet::Args),
    /// Recompute a published table: ratios, geometric means, misprints
    Audit(audit::Args),
    /// The scheduler with one queue per core, on a live kernel (sched_ext)
    Sched(sched::Args),
    /// The simulated core: threads that share it, where their cycles go
    Simulate(simulate::Args),
    /// Completions, man pages and the reference, from this program's own definition
    Generate(generate::Args),
}

/// What is made is not writable by everybody, whatever the umask: some containers have none.
fn nothing_for_everybody() {
    let given = rustix::process::umask(Mode::WOTH);
    rustix::process::umask(given | Mode::WOTH);
}

fn main() -> ExitCode {
    nothing_for_everybody();
    let result =
        match Cli::try_parse().unwrap_or_else(|error| slip::exit(slip::in_words(error))).verb {
            Verb::Topology(args) => topology::run(&args),
            Verb::Smt(args) => smt::run(args),
            Verb::List(args) => list::run(&args),
            Verb::Run(args) => run::run(args),
            Verb::Probe(args) => probe::run(&args),
            Verb::Serve(args) => serve::run(&args),
            Verb::Study(args) => study::run(*args),
            Verb::Report(args) => report::run(&args),
            Verb::Compare(args) => compare::run(&args),
            Verb::Cputime(args) => cputime::run(&args),
            Verb::Account(args) => account::run(&args),
            Verb::Top(args) => top::run(*args),
            Verb::Fleet(args) => fleet::run(args),
            Verb::Audit(args) => audit::run(args),
            Verb::Sched(args) => sched::run(args),
            Verb::Generate(args) => generate::run(&args),
            Verb::Simulate(args) => simulate::run(args),
        };
    result.unwrap_or_else(|error| exit::failure(&error))
}
