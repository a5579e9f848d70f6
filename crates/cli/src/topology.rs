//! `coretwin topology`.

use crate::{host, out};
use anyhow::Result;
use coretwin_host::root::Root;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of the verb.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin topology
  coretwin topology --json | jq '.cpus[] | select(.siblings != [])'
  coretwin topology --root /mnt/image    read the /sys and /proc below a folder")]
pub(crate) struct Args {
    /// Print the facts as JSON
    #[arg(long)]
    json: bool,
    /// Read sys/ and proc/ below this folder instead of /
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root = args.root.as_ref().map_or_else(Root::system, Root::at);
    let topology = host::topology(&root)?;
    if args.json {
        out::json(&topology)?;
    } else {
        out::text(&coretwin_report::topology::draw(&topology))?;
    }
    Ok(ExitCode::SUCCESS)
}
