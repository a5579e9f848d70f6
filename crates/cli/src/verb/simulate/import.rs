//! `coretwin simulate import`: a profile from what `perf stat` counted.

use crate::exit::{DONE, usage};
use crate::out;
use crate::verb::simulate::text_of;
use anyhow::Result;
use coretwin_sim::core::profile::import;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  perf stat -j -o counts.json -e instructions,cycles,branches,branch-misses,L1-dcache-loads,\\
      L1-dcache-load-misses,LLC-load-misses,dTLB-load-misses ./mycmd
  coretwin simulate import counts.json --name mycmd > mycmd.toml
  coretwin simulate core --preset skylake-sp --thread ./mycmd.toml --thread perl-loop

Reads the text that perf stat prints, its CSV (-x,) and its JSON (-j). What was not counted is taken \
from a typical program, and the profile says so.")]
pub(crate) struct Args {
    /// What perf stat wrote
    file: PathBuf,
    /// Name of the profile
    #[arg(long, default_value = "imported", value_parser = import::name)]
    name: String,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let file = args.file.display().to_string();
    let text = text_of(&file)?;
    let imported = import::from_perf_stat(&file, &args.name, &text).map_err(usage)?;
    for line in imported.assumed {
        out::news(&format!("assumed: {line}"));
    }
    out::text(&imported.text)?;
    Ok(DONE)
}
