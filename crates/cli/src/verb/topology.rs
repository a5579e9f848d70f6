//! `coretwin topology`.

use crate::exit::DONE;
use crate::{host, out};
use anyhow::Result;
use coretwin_base::machine::topology::Topology;
use coretwin_base::machine::ways::WithoutSmt;
use coretwin_host::root::Root;
use coretwin_lab::probe;
use coretwin_report::topology as drawing;
use serde::Serialize;
use std::path::PathBuf;

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

pub(crate) fn run(args: &Args) -> Result<u8> {
    let root = args.root.as_ref().map_or_else(Root::system, Root::at);
    let topology = probe::judged(host::topology(&root)?, host::probed(&root).as_ref());
    let without = host::without_smt(&root, &topology);
    if args.json {
        out::json(&Shown { topology, without })?;
    } else {
        let columns = out::page(drawing::COLUMNS);
        let drawn = drawing::draw(&topology, columns);
        out::text(&(drawn + &drawing::without_smt(&without, columns)))?;
    }
    Ok(DONE)
}

/// The topology, and the ways to go without SMT.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    topology: Topology,
    #[serde(flatten)]
    without: WithoutSmt,
}
