//! `coretwin fleet merge`: all bundles to one fleet.

use super::sweeps;
use crate::exit::{CELLS_FAILED, DONE, usage};
use crate::out;
use anyhow::{Context, Result};
use coretwin_base::fleet::plan::{FleetPlan, FleetSubject};
use coretwin_lab::fleet::merge::{Merged, merge};
use coretwin_lab::fleet::status::Bundles;
use coretwin_store::fleet_folder::{FleetFolder, MERGED, bundles_in, stamp};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin fleet merge hosts
  coretwin fleet merge hosts ~/from-elsewhere/     bundles that were copied here some other way too

Writes merged/members.jsonl, a machine a line, and merged/refused.jsonl with what does not count and \
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

pub(crate) fn run(args: &Args) -> Result<u8> {
    let (fleet, plan) = FleetFolder::open(&args.folder)?;
    super::refuse_recordings(&plan, &args.folder)?;
    let mut files = fleet.bundles()?;
    files.extend(given(&args.more)?);
    if files.is_empty() {
        let run = out::command("fleet run", &args.folder);
        let why = format!("{} has no bundle yet; run it: {run}", args.folder.display());
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
    // Bundles from elsewhere may be of any task.
    let missing = match args.more[..] {
        [] => Bundles::of(&fleet, &plan)?.without(&plan).len(),
        _ => 0,
    };
    if missing > 0 || !found.refused.is_empty() {
        let missing = match missing {
            0 => "what is missing without them".to_owned(),
            _ => format!("{missing} of {} tasks have no bundle that counts; which", plan.count()),
        };
        let finish = out::command("fleet status", &args.folder);
        out::news(&format!("{missing}, and how to finish: {finish}"));
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
    Ok(if found.refused.is_empty() { DONE } else { CELLS_FAILED })
}

/// Bundles that are named, by themselves or by their folder.
pub(super) fn given(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for one in named {
        if one.is_dir() {
            files.extend(bundles_in(one)?);
        } else if one.exists() {
            files.push(one.clone());
        } else {
            return Err(usage(format!("{} is not there", one.display())));
        }
    }
    Ok(files)
}

/// What the last merge stored, if it was of these bundles as they are now; else merges.
pub(super) fn merged_already(
    fleet: &FleetFolder,
    plan: &FleetPlan,
    files: &[PathBuf],
) -> Result<Merged> {
    if matches!(plan.subject, FleetSubject::Study(_))
        && let Some(fleet) = fleet.merged(&stamp(plan, files))?
    {
        return Ok(Merged { fleet, sweep: None });
    }
    merged(fleet, plan, files)
}

pub(super) fn merged(fleet: &FleetFolder, plan: &FleetPlan, files: &[PathBuf]) -> Result<Merged> {
    // Before they are read: what is changed meanwhile counts as changed.
    let stamp = stamp(plan, files);
    let merged = merge(plan, files, fleet.folder(), |_| ());
    fleet.write_merged(&merged.fleet, &stamp).context(
        "the merge is not stored, and every bundle is as it was; mend what follows, then merge again",
    )?;
    if let Some((grid, cells)) = &merged.sweep {
        let folder = fleet.path(MERGED);
        fleet.write(&format!("{MERGED}/sweep.json"), &serde_json::to_vec_pretty(grid)?)?;
        let mut lines = String::new();
        for cell in cells {
            lines += &(serde_json::to_string(cell)? + "\n");
        }
        fleet.write(&format!("{MERGED}/cells.jsonl"), lines.as_bytes())?;
        sweeps::write(grid, cells, &folder)
            .with_context(|| format!("cannot write into {}", folder.display()))?;
    }
    Ok(merged)
}
