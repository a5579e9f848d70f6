//! `coretwin smt`: the kernel's SMT switch, with an undo that survives a crash.

mod change;
mod status;
mod undo;

use crate::exit::{DONE, usage};
use anyhow::{Context, Result};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::{SmtControl, Topology};
use coretwin_host::root::Root;
use coretwin_host::smt::guard::{self, Identity, Start};
use coretwin_host::smt::kernel::SystemKernel;
use coretwin_host::smt::restore::Difference;
use coretwin_host::smt::saved::Slot;
use coretwin_host::smt::target::Target;
use serde::Serialize;
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(clap::Args)]
#[command(after_help = crate::exit::with_statuses("\
Examples:
  coretwin smt status              the switch, what is saved, what SMT costs in security
  sudo coretwin smt off --dry-run  every write that would be done, and who would notice
  sudo coretwin smt off            SMT off, after a preflight and your yes
  sudo coretwin smt restore        the machine as it was before the first change

What is now is saved in /run/coretwin before anything is written. A guard process puts it back if \
the change is killed half way; a change that is done stays until `coretwin smt restore`, or until \
the next boot, which undoes it by itself. A study with --switch puts the machine back when it ends."))]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// The switch, CPUs online and offline, saved states, security, ways to go without SMT
    Status {
        /// Print the facts as JSON
        #[arg(long)]
        json: bool,
    },
    /// One thread per core
    Off(How),
    /// All threads; CPUs that were offline by hand stay so
    On(How),
    /// A number of threads per core, where the kernel takes numbers (POWER, since 6.6)
    Level {
        /// Threads per core
        #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
        threads: u32,
        #[command(flatten)]
        how: How,
    },
    /// Put the machine back as it was saved: after a study that was killed, or a change by hand
    Restore {
        /// Print every write in order, and do none
        #[arg(long)]
        dry_run: bool,
        /// Throw saved states away instead, such as those of an earlier boot
        #[arg(long, conflicts_with = "dry_run")]
        forget: bool,
        /// Print what was done as JSON
        #[arg(long)]
        json: bool,
    },
    /// What puts the machine back when its holder dies; started by the others
    #[command(hide = true)]
    Guard {
        #[arg(long, value_parser = slot)]
        slot: Slot,
        #[arg(long)]
        holder: Identity,
        #[arg(long, group = "start")]
        detach: bool,
        #[arg(long, group = "start")]
        unit: bool,
        #[arg(long, group = "start")]
        understudy: bool,
    },
}

#[derive(clap::Args)]
struct How {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print every write in order, its time and what would be noticed, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let root = Root::system();
    match &args.what {
        What::Status { json } => status::run(&root, *json),
        What::Off(how) => change::run(&root, Target::Off, how),
        What::On(how) => change::run(&root, Target::On, how),
        What::Level { threads, how } => change::run(&root, Target::Level(*threads), how),
        What::Restore { forget: true, json, .. } => undo::forget(&root, *json),
        What::Restore { dry_run, json, .. } => undo::run(&root, *dry_run, *json),
        What::Guard { slot, holder, detach, unit, understudy } => {
            let start = match (detach, unit, understudy) {
                (true, ..) => Start::Detach,
                (_, true, _) => Start::Unit,
                (_, _, true) => Start::Understudy,
                _ => Start::Plain,
            };
            be_guard(&root, *slot, *holder, start)
        }
    }
}

fn slot(word: &str) -> Result<Slot, String> {
    Slot::named(word).ok_or_else(|| format!("'{word}' is no slot; write study or hand"))
}

/// Is a guard until it is not needed any more. Whoever asks it to end politely must wait.
fn be_guard(root: &Root, slot: Slot, holder: Identity, start: Start) -> Result<u8> {
    let deaf = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGXCPU]
    {
        signal_hook::flag::register(signal, Arc::clone(&deaf)).context("cannot catch signals")?;
    }
    guard::run(root, &SystemKernel(root.clone()), slot, holder, start)?;
    Ok(DONE)
}

fn difference(difference: &Difference, colon: &str) -> String {
    let Difference { what, saved, now, managed } = difference;
    let managed = if *managed { " (the kernel places it)" } else { "" };
    format!("{what}{colon} was {saved}, is {now}{managed}")
}

/// What was done.
#[derive(Serialize)]
struct Done {
    schema: u32,
    action: String,
    control_before: Option<SmtControl>,
    control_after: Option<SmtControl>,
    online_before: CpuSet,
    online_after: CpuSet,
    /// How long it took.
    seconds: f64,
    /// What is not as it was saved.
    differences: Vec<Difference>,
    /// What must be done by hand, a sentence each.
    left_to_do: Vec<String>,
    warnings: Vec<String>,
}

/// A number of CPUs per core that no core has.
fn check_level(topology: &Topology, target: Target) -> Result<()> {
    match (target, topology.threads_per_core_max) {
        (Target::Level(threads), Some(most)) if threads > most => {
            let what = format!("no core here has {threads} threads; the most is {most}");
            Err(usage(what))
        }
        _ => Ok(()),
    }
}
