//! `coretwin simulate sweep`: a grid of policies, machines, scenarios and seeds.

use super::core::with_bar;
use super::sched::{scenario_of, speeds_of};
use super::text_of;
use crate::exit::{CELLS_FAILED, DONE, Kept, usage};
use crate::{out, signals};
use anyhow::{Result, anyhow};
use coretwin_base::simulation::sweep::{SweepCell, SweepPlan, SweepSpeeds};
use coretwin_lab::Error;
use coretwin_lab::simulated_kernel::{self, Speeds, Sweep};
use coretwin_sim::kernel::scenario::{Scenario, sweep};
use std::path::{Path, PathBuf};

const ABLATION: &str = "ablation";

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin simulate sweep ablation --out worth
  coretwin simulate sweep ./mine.toml --out mine
  coretwin simulate sweep --show > mine.toml

Every policy runs on every machine with every scenario and seed, on all CPUs of this machine. Each \
result is kept at once: the same command carries on a sweep that was broken off. Ctrl-C ends it when \
the runs under way are done, a second one at once. Done, DIR holds sweep.json, cells.jsonl, cells.csv, \
table.txt and a heat map for each scenario and measure.")]
pub(crate) struct Args {
    /// The sweep: `ablation`, which is built in, or a TOML file
    #[arg(value_name = "FILE", required_unless_present = "show")]
    sweep: Option<String>,
    /// Where results are kept
    #[arg(long, value_name = "DIR", required_unless_present = "show")]
    out: Option<PathBuf>,
    /// Print the tables' cells as JSON
    #[arg(long)]
    json: bool,
    /// Print the built-in sweep, a template for one's own
    #[arg(long, exclusive = true)]
    show: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let (Some(name), Some(folder)) = (&args.sweep, &args.out) else {
        out::text(sweep::ABLATION)?;
        return Ok(DONE);
    };
    let plan = plan(name, &text(name)?)?;
    let scenarios = scenarios(&plan, Path::new(name))?;
    let sweep = Sweep { plan, scenarios, folder: folder.clone(), share: (0, 1) };
    let stop = signals::stop_flag()?;
    let cells = with_bar(|done| simulated_kernel::sweep(&sweep, &stop, done));
    let cells = cells.map_err(|error| match error {
        stopped @ Error::Machine(_) => anyhow!(Kept { error: stopped, advice: go_on(args) }),
        other => anyhow!(other),
    })?;
    write(&sweep.plan, &cells, folder)?;
    out::json_or(args.json, &cells, || coretwin_report::sched_sweep_text(&sweep.plan, &cells))?;
    let failed = cells.iter().any(|cell| cell.failed.is_some());
    Ok(if failed { CELLS_FAILED } else { DONE })
}

pub(crate) fn text(name: &str) -> Result<String> {
    if name == ABLATION { Ok(sweep::ABLATION.to_owned()) } else { text_of(name) }
}

pub(crate) fn plan(name: &str, text: &str) -> Result<SweepPlan> {
    sweep::read(name, text).map_err(usage)
}

fn go_on(args: &Args) -> String {
    let file = args.sweep.as_deref().unwrap_or_default();
    let folder = args.out.as_deref().unwrap_or(Path::new("")).display().to_string();
    let words = ["coretwin", "simulate", "sweep", file, "--out", &folder].map(str::to_owned);
    let line = coretwin_report::shell_line(&words);
    format!("what was run is kept in {folder}; go on with: {line}")
}

/// The scenarios with their speeds. Files are looked for beside the sweep.
pub(crate) fn scenarios(plan: &SweepPlan, sweep: &Path) -> Result<Vec<(Scenario, Speeds)>> {
    let beside = |name: &str| match name.ends_with(".toml") || name.ends_with(".json") {
        true => sweep.parent().unwrap_or(Path::new("")).join(name).display().to_string(),
        false => name.to_owned(),
    };
    let read = |name: &String| {
        let mut scenario = scenario_of(&beside(name), None)?;
        if let Some(until_ms) = plan.until_ms {
            scenario.until_ns = (until_ms * 1e6).round() as u64;
            scenario.warmup_ns = scenario.warmup_ns.min(scenario.until_ns / 2);
        }
        let speeds = match &plan.speeds {
            SweepSpeeds::Preset(preset) => speeds_of(&scenario, preset)?,
            SweepSpeeds::Slowdown(factor) => {
                Speeds::uniform(&scenario, (factor * 1000.0).round() as u32)?
            }
        };
        Ok((scenario, speeds))
    };
    plan.scenarios.iter().map(read).collect()
}

pub(crate) fn write(plan: &SweepPlan, cells: &[SweepCell], folder: &Path) -> Result<()> {
    let put = |name: String, text: String| out::file(&folder.join(name), text);
    put("cells.csv".to_owned(), coretwin_report::sched_sweep_csv(cells))?;
    put("table.txt".to_owned(), coretwin_report::sched_sweep_text(plan, cells))?;
    for scenario in &plan.scenarios {
        let stem = scenario.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
        for measure in &plan.measures {
            let map = coretwin_report::sched_heat_map(plan, cells, scenario, measure);
            put(format!("heat-{stem}-{}.svg", measure.key), map)?;
        }
    }
    Ok(())
}
