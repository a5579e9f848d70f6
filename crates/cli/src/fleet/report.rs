//! `coretwin fleet report`: what the fleet says.

use super::merge::merged;
use crate::exit::DONE;
use crate::{out, study_args};
use anyhow::{Context, Result};
use coretwin_report::{FLEET_FORMATS, FleetFormat};
use coretwin_store::fleet_folder::FleetFolder;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of the verb.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin fleet report hosts
  coretwin fleet report hosts --format html --out fleet.html

Merges anew, so that every bundle that is there counts.")]
pub(crate) struct Args {
    /// The fleet's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// text, html, md, csv, json or openmetrics
    #[arg(long, default_value = "text", value_parser = format)]
    format: &'static FleetFormat,
    /// Differences smaller than this are not material [default: that of the studies]
    #[arg(long, value_name = "SHARE", value_parser = study_args::share)]
    margin: Option<f64>,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn format(name: &str) -> Result<&'static FleetFormat, String> {
    let names: Vec<&str> = FLEET_FORMATS.iter().map(|format| format.name).collect();
    FLEET_FORMATS
        .iter()
        .find(|format| format.name == name)
        .ok_or_else(|| coretwin_base::suggest::unknown("format", name, &names))
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (fleet, plan) = FleetFolder::open(&args.folder)?;
    let found = merged(&fleet, &plan, &fleet.bundles()?)?;
    let text = match &found.sweep {
        Some((grid, cells)) => coretwin_report::sched_sweep_text(grid, cells),
        None => (args.format.render)(&coretwin_stats::fleet::analyse(&found.fleet, args.margin)),
    };
    match &args.out {
        None => out::text(&text)?,
        Some(file) => std::fs::write(file, text)
            .with_context(|| format!("cannot write {}", file.display()))?,
    }
    Ok(ExitCode::from(DONE))
}
