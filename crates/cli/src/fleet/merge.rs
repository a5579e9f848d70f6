//! `coretwin fleet merge`: all bundles to one fleet.

use crate::exit::{CELLS_FAILED, DONE, Usage};
use crate::out;
use anyhow::{Context, Result};
use coretwin_base::fleet_plan::FleetPlan;
use coretwin_lab::fleet::merge::{Merged, merge};
use coretwin_store::fleet_folder::{FleetFolder, MERGED, bundles_in};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of the verb.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin fleet merge hosts
  coretwin fleet merge hosts ~/from-elsewhere/     bundles that were copied here some other way too

Writes merged/members.jsonl, a machine a line, and merged/refused.jsonl with what does not count and
why. Made anew each time, from the bundles alone. Exit status 1 if something does not count.")]
pub(crate) struct Args {
    /// The fleet's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// More bundles, or folders of bundles
    #[arg(value_name = "BUNDLE|DIR")]
    more: Vec<PathBuf>,
    /// Print the members as JSON, one a line
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (fleet, plan) = FleetFolder::open(&args.folder)?;
    let mut files = fleet.bundles()?;
    for more in &args.more {
        if more.is_dir() {
            files.extend(bundles_in(more)?);
        } else if more.exists() {
            files.push(more.clone());
        } else {
            return Err(Usage(format!("{} is not there", more.display())).into());
        }
    }
    if files.is_empty() {
        let why = format!(
            "{} has no bundle yet; run it: coretwin fleet run {}",
            args.folder.display(),
            args.folder.display()
        );
        return Err(coretwin_lab::Error::NotPossible(why).into());
    }
    let merged = merged(&fleet, &plan, &files)?;
    let found = &merged.fleet;
    if args.json {
        for member in &found.members {
            out::text(&(serde_json::to_string(member)? + "\n"))?;
        }
    }
    for refused in &found.refused {
        out::news(&format!("does not count: {}: {}", refused.file, refused.reason));
    }
    let partial = found.members.iter().filter(|member| !member.is_complete()).count();
    let more = if partial > 0 { format!(" ({partial} not done)") } else { String::new() };
    let cells = merged.sweep.as_ref().map(|(_, cells)| format!(", cells: {}", cells.len()));
    out::news(&format!(
        "bundles: {}, machines: {}{more}{}, refused: {}; in {}",
        files.len(),
        found.members.len(),
        cells.unwrap_or_default(),
        found.refused.len(),
        fleet.path(MERGED).display()
    ));
    Ok(ExitCode::from(if found.refused.is_empty() { DONE } else { CELLS_FAILED }))
}

/// Merges and stores.
pub(super) fn merged(fleet: &FleetFolder, plan: &FleetPlan, files: &[PathBuf]) -> Result<Merged> {
    let merged = merge(plan, files, fleet.folder(), |_| ());
    fleet.write_merged(&merged.fleet)?;
    if let Some((grid, cells)) = &merged.sweep {
        let folder = fleet.path(MERGED);
        fleet.write(&format!("{MERGED}/sweep.json"), &serde_json::to_vec_pretty(grid)?)?;
        let mut lines = String::new();
        for cell in cells {
            lines += &(serde_json::to_string(cell)? + "\n");
        }
        fleet.write(&format!("{MERGED}/cells.jsonl"), lines.as_bytes())?;
        crate::simulate::sweep::write(grid, cells, &folder)
            .with_context(|| format!("cannot write into {}", folder.display()))?;
    }
    Ok(merged)
}
