//! `coretwin fleet bundle`: a bundle of a study that was run by hand.

use super::here;
use crate::exit::{DONE, usage};
use crate::{host, out};
use anyhow::Result;
use coretwin_base::fleet::plan::BundleHolds;
use coretwin_host::root::Root;
use coretwin_lab::fleet::task::{TaskHere, pack};
use coretwin_store::fleet_folder::FleetFolder;
use coretwin_store::{Bundle, ENVIRONMENT, JOURNAL, PLAN};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  coretwin fleet bundle ./study-20260102-030405 --fleet hosts --task 3

Whether the study is what the fleet's plan asks for is your word. Run it on the machine that was \
studied: the bundle names the machine it is made on.")]
pub(crate) struct Args {
    /// Folder of the study
    #[arg(value_name = "STUDY")]
    study: PathBuf,
    /// Folder of the fleet it belongs to
    #[arg(long, value_name = "DIR")]
    fleet: PathBuf,
    /// The task it was made for
    #[arg(long, value_name = "N")]
    task: u32,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let (fleet, plan) = FleetFolder::open(&args.fleet)?;
    let (bundle, study) = Bundle::open(&args.study, host::owner(&Root::system())?)?;
    let task = here::task(&plan, args.task)?;
    if let Some(why) = coretwin_lab::fleet::merge::why_not(&study) {
        return Err(usage(why));
    }
    let simulated = study.simulation.as_ref().map(|_| (study.machine.as_str(), study.seed));
    let (machine, node) = here::identity(simulated);
    let here = TaskHere { fleet: &fleet, plan: &plan, task, machine, node };
    let names = [PLAN, JOURNAL, ENVIRONMENT];
    let state = here::state(&bundle);
    let path = pack(&here, bundle.folder(), &names, BundleHolds::Study, state)?;
    out::text(&format!("{}\n", path.display()))?;
    Ok(DONE)
}
