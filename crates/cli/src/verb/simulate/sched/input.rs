//! Scenarios and speeds by what was typed: names of what is built in, or files.

use crate::exit::usage;
use crate::options::named;
use crate::verb::simulate::core::{advance, preset_of, progress};
use crate::verb::simulate::file::text_of;
use anyhow::{Context, Result};
use coretwin_lab::simulated_core::Cache;
use coretwin_lab::simulated_kernel::Speeds;
use coretwin_sim::kernel::scenario::{Scenario, rt_app, table};

pub(crate) fn scenario_of(name: &str, profile: &str) -> Result<Scenario> {
    if name.ends_with(".json") {
        return rt_app::read(name, &text_of(name)?, profile).map_err(usage);
    }
    if name.contains('/') || name.ends_with(".toml") {
        return Scenario::read(name, &text_of(name)?).map_err(usage);
    }
    named("scenario", name, table::ALL, |entry| entry.name).map_err(usage)?;
    Scenario::named(name).context("a scenario of the table")
}

pub(crate) fn speeds_of(scenario: &Scenario, preset: &str) -> Result<Speeds> {
    let preset = preset_of(preset)?;
    let bar = progress();
    let cache = Cache::of_user();
    let advance = |done, of| advance(&bar, done, of);
    let speeds = Speeds::of_preset(scenario, &preset, cache.as_ref(), advance);
    bar.finish_and_clear();
    Ok(speeds?)
}
