//! `coretwin fleet run`: starts what is missing; `--here` is what a job of the fleet does.

use super::{here, status, with_engine};
use crate::exit::{CELLS_FAILED, DONE, INTERRUPTED};
use crate::out;
use anyhow::Result;
use coretwin_lab::fleet::engine::Known;
use coretwin_lab::fleet::engine_of;
use coretwin_lab::fleet::status::Bundles;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin fleet run hosts                   start what is missing; again: go on with it
  coretwin fleet run hosts --here            every missing task on this machine, one by one
  coretwin fleet run hosts --here --task 3   what a job of the fleet does

With ssh it waits for the hosts; Ctrl-C tells them to stop, and keeps what they measured. Slurm and \
Kubernetes are given the jobs; look with coretwin fleet status.")]
pub(crate) struct Args {
    /// The fleet's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Run on this machine
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    tasks: here::Tasks,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    if args.here {
        return here::run(&args.folder, &args.tasks);
    }
    with_engine(&args.folder, |fleet, plan, call| {
        let engine = engine_of(plan)?;
        let open = Bundles::of(fleet, plan)?.open(plan);
        if open.is_empty() {
            out::news("every task is done already");
        }
        let mut known = engine.run(call, &open)?;
        known.retain(|_, what| matches!(what, Known::Failed(_) | Known::Waiting(_)));
        let failed = known.values().any(|what| matches!(what, Known::Failed(_)));
        status::tell(fleet, plan, &known)?;
        Ok(match failed {
            _ if call.stop.raised() => INTERRUPTED,
            true => CELLS_FAILED,
            false => DONE,
        })
    })
}
