//! What a fleet has of the simulated machine: its names, and sweeps of the simulated kernel.

use crate::exit::usage;
use crate::out;
use crate::verb::simulate::sweep;
pub(super) use crate::verb::simulate::sweep::write;
use crate::verb::simulate::text_of;
use anyhow::{Context, Result};
use coretwin_base::fleet::plan::SweepTexts;
use coretwin_base::simulation::sweep::SweepSpeeds;
use coretwin_lab::Error;
use coretwin_lab::machine::Stop;
use coretwin_lab::simulated_kernel::{self, Sweep};
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn machines() -> Vec<String> {
    coretwin_lab::simulated_machine::machines().into_iter().map(|(name, _)| name).collect()
}

/// A sweep with every file it names, for machines that have none of them.
pub(super) fn texts(name: &str) -> Result<SweepTexts> {
    let mut files = BTreeMap::new();
    let text = sweep::text(name)?;
    let plan = sweep::plan(name, &text)?;
    let is_file = |name: &&String| name.ends_with(".toml") || name.ends_with(".json");
    for scenario in plan.scenarios.iter().filter(is_file) {
        if scenario.contains('/') {
            let why = format!("{name}: put {scenario} beside it, without folders in its name");
            return Err(usage(why));
        }
        let beside = Path::new(name).with_file_name(scenario);
        files.insert(scenario.clone(), text_of(&beside.display().to_string())?);
    }
    if let SweepSpeeds::Preset(preset) = &plan.speeds
        && (preset.contains('/') || preset.ends_with(".toml"))
    {
        let why = format!("{name}: speeds of a preset of your own ({preset}) do not travel yet");
        return Err(usage(why));
    }
    Ok(SweepTexts { name: name.to_owned(), text, files })
}

/// Runs a share of a sweep's cells; whether it came to its end.
pub(super) fn share(
    texts: &SweepTexts,
    folder: &Path,
    share: (u32, u32),
    stop: &Stop,
) -> Result<bool> {
    let inputs = folder.with_file_name("inputs");
    let put = |name: &str, text: &str| out::file(&inputs.join(name), text);
    std::fs::create_dir_all(&inputs)
        .with_context(|| format!("cannot make {}", inputs.display()))?;
    for (name, text) in &texts.files {
        if name.contains('/') {
            return Err(usage(format!("fleet.json: field files: '{name}' is no file name")));
        }
        put(name, text)?;
    }
    let plan = sweep::plan(&texts.name, &texts.text)?;
    let scenarios = sweep::scenarios(&plan, &inputs.join("sweep.toml"))?;
    let sweep = Sweep { plan, scenarios, folder: folder.to_owned(), share };
    match simulated_kernel::sweep(&sweep, stop, |_, _| ()) {
        Ok(_) => Ok(true),
        Err(Error::Machine(_)) if stop.raised() => Ok(false),
        Err(other) => Err(other.into()),
    }
}
