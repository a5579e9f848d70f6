//! `coretwin fleet`: a study on many machines, through engines that are there already.

mod bundle;
mod here;
mod merge;
mod plan;
mod report;
mod run;
mod status;
#[cfg_attr(not(feature = "sim"), path = "fleet/no_sweeps.rs")]
mod sweeps;

use crate::exit::usage;
use crate::signals;
use anyhow::Result;
use coretwin_base::fleet::plan::{FleetPlan, FleetSubject};
use coretwin_lab::fleet::engine::Call;
use coretwin_lab::machine::Stop;
use coretwin_store::fleet_folder::FleetFolder;
use std::path::Path;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin fleet plan hosts --engine ssh --hosts hosts.txt -- study chat --quick
  coretwin fleet run hosts                 runs it; the same again goes on with what is missing
  coretwin fleet status hosts              what is there, what is missing, how to finish
  coretwin fleet merge hosts               all bundles to one fleet
  coretwin fleet report hosts
  coretwin fleet plan day --engine ssh --hosts hosts.txt -- account --for 24h
                                           a day of every host; read it by account --replay day

A fleet is a folder: fleet.json is the plan, bundles/ holds a file for each machine, merged/ what was \
made of them. Bundles may be copied in from anywhere.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

verbs! {
    enum What {
        /// Draw the plan: which machines, what is measured, who runs it
        Plan(plan),
        /// Start what is missing, and bring home what is done
        Run(run),
        /// What is there, what is missing, and how to finish
        Status(status),
        /// Make a bundle of a study that was run by hand
        Bundle(bundle),
        /// Put all bundles together
        Merge(merge),
        /// What the fleet says: effects by processor and workload, with intervals
        Report(report),
    }
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    args.what.run()
}

/// A fleet that records has another reader.
fn refuse_recordings(plan: &FleetPlan, folder: &Path) -> Result<()> {
    if !matches!(plan.subject, FleetSubject::Record(_)) {
        return Ok(());
    }
    let read = crate::out::command("account --replay", folder);
    let folder = folder.display();
    Err(usage(format!("{folder} holds recordings; read them: {read} --smt off")))
}

fn with_engine<Out>(
    folder: &Path,
    call: impl FnOnce(&FleetFolder, &FleetPlan, &Call<'_>) -> Result<Out>,
) -> Result<Out> {
    let (fleet, plan) = FleetFolder::open(folder)?;
    let stop: Stop = signals::stop_flag()?;
    let program = std::env::current_exe()?;
    let say = |line: &str| crate::out::news(line);
    let with = Call { fleet: &fleet, plan: &plan, stop: &stop, say: &say, program: &program };
    call(&fleet, &plan, &with)
}
