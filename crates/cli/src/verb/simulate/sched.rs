//! `coretwin simulate sched`: scheduling policies on a simulated machine.

use crate::exit::{CELLS_FAILED, DONE, usage};
use crate::options::named;
use crate::out;
use crate::verb::simulate::core::{preset_of, with_bar};
use crate::verb::simulate::text_of;
use anyhow::{Context, Result};
use coretwin_base::simulation::kernel_run::SchedRun;
use coretwin_lab::simulated_core::Cache;
use coretwin_lab::simulated_kernel::{self, Request, Speeds};
use coretwin_sim::kernel::scenario::{Scenario, rt_app, table};
use coretwin_sim::kernel::{Layout, scenario::expect::MEASURES};
use coretwin_sim::policies::{POLICIES, Settings};
use std::path::PathBuf;

/// Decisions that --log shows where no number is given.
const LOG: &str = "100";

/// Decisions that are compared by --diff, and that a Perfetto file holds of each run.
const DECISIONS: usize = 100_000;

/// Spans that a figure draws, and that a Perfetto file holds, of each run.
const SPANS_DRAWN: usize = 5_000;
const SPANS: usize = 200_000;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin simulate sched --scenario two-on-siblings
  coretwin simulate sched --scenario make-j2 --topology 2x2 --seeds 10
  coretwin simulate sched --policy 'linux-2.5.32-a9[active=off]' --scenario two-on-siblings --log 40
  coretwin simulate sched --diff linux-2.5.32 linux-2.5.32-a9 --scenario wakeup-beside-idle
  coretwin simulate sched --scenario two-on-siblings --timeline t.svg --perfetto t.json
  coretwin simulate sched --policy fair --scenario ./rt-app.json --topology 4x2 --slowdown 1.6
  coretwin simulate sched --scenario priority-in-core --check
  coretwin simulate sched --list

A scenario is a name of --list, a TOML file like those, or a JSON file of rt-app. Speeds beside a busy \
sibling come from runs of the simulated core (--preset; kept between runs) or are the same for \
everything (--slowdown). Equal seeds give equal results everywhere.")]
pub(crate) struct Args {
    /// A policy of --list, with parameters as NAME[parameter=value,…]; once for each [default: all]
    #[arg(long = "policy", value_name = "POLICY")]
    policies: Vec<String>,
    /// The machine: CORESxTHREADS or PACKAGESxCORESxTHREADS [default: the scenario's]
    #[arg(long, value_name = "TOPOLOGY")]
    topology: Option<String>,
    /// The work: a name of --list, or a file
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "list")]
    scenario: Option<String>,
    /// Seed of every random stream
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run so many seeds, and show the spread of the results
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Longest simulated time, in ms [default: the scenario's]
    #[arg(long = "for", value_name = "MS", value_parser = milliseconds)]
    until: Option<f64>,
    /// The processor whose core gives the speeds: a preset of `simulate core --list`, or a file
    #[arg(long, value_name = "PRESET|FILE", default_value = "xeon-mp-foster")]
    preset: String,
    /// Everything takes so many times its time alone beside a busy sibling, instead of --preset
    #[arg(long, value_name = "FACTOR", value_parser = slowdown, conflicts_with = "preset")]
    slowdown: Option<f64>,
    /// What the tasks of an rt-app file compute: a profile of `simulate core --list` [default: gzip]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Show the first N decisions of each policy, with reasons
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = LOG)]
    log: Option<usize>,
    /// Write which task ran where and when, as a figure
    #[arg(long, value_name = "FILE.svg")]
    timeline: Option<PathBuf>,
    /// Write the timeline with the decisions for Perfetto (ui.perfetto.dev) or chrome://tracing
    #[arg(long, value_name = "FILE.json")]
    perfetto: Option<PathBuf>,
    /// Show the first decisions in which two policies differ
    #[arg(long, num_args = 2, value_names = ["POLICY", "POLICY"],
          conflicts_with_all = ["policies", "seeds", "check"])]
    diff: Vec<String>,
    /// Hold the policies to what the scenario expects of them, on its own machine
    #[arg(long, conflicts_with_all = ["topology", "slowdown", "seeds", "timeline", "perfetto", "log"])]
    check: bool,
    /// Print the result as JSON: one object, or a list of them
    #[arg(long, conflicts_with_all = ["diff", "check"])]
    json: bool,
    /// List policies with their parameters, scenarios and measures
    #[arg(long, exclusive = true)]
    list: bool,
}

fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ms) if (0.001..=3.6e6).contains(&ms) => Ok(ms),
        _ => Err("must be a number of ms from 0.001 to 3,600,000".to_owned()),
    }
}

fn slowdown(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (1.0..=8.0).contains(&factor) => Ok(factor),
        _ => Err("must be a number from 1 to 8".to_owned()),
    }
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    if args.list {
        out::text(&list())?;
        return Ok(DONE);
    }
    let request = request(args)?;
    if args.check {
        return check(&request);
    }
    let runs = with_bar(|done| simulated_kernel::run(&request, done))?;
    write_timelines(args, &runs)?;
    if let [first, second] = &runs[..]
        && !args.diff.is_empty()
    {
        out::text(&coretwin_report::sched_diff_text(first, second))?;
    } else if args.json {
        json(args, runs)?;
    } else {
        out::text(&coretwin_report::sched_runs_text(&runs, out::page(usize::MAX)))?;
        if let Some(lines) = args.log {
            for mut run in runs {
                run.decisions.truncate(lines);
                out::text(&("\n".to_owned() + &coretwin_report::sched_log_text(&run)))?;
            }
        }
    }
    Ok(DONE)
}

fn request(args: &Args) -> Result<Request> {
    let name = args.scenario.as_deref().unwrap_or_default();
    let mut scenario = scenario_of(name, args.profile.as_deref())?;
    if let Some(until_ms) = args.until {
        scenario.until_ns = (until_ms * 1e6).round() as u64;
        scenario.warmup_ns = scenario.warmup_ns.min(scenario.until_ns / 2);
    }
    let topology = args.topology.clone().unwrap_or_else(|| scenario.topology.clone());
    let layout = Layout::parse(&topology).map_err(usage)?;
    let named = if args.diff.is_empty() { &args.policies } else { &args.diff };
    let policies = named.iter().map(|text| Settings::parse(text).map_err(usage));
    let mut policies: Vec<Settings> = policies.collect::<Result<_>>()?;
    // Each with seeds of its own would pass for more seeds of one.
    let twice =
        |(at, one): (usize, &Settings)| policies[..at].iter().any(|it| it.text() == one.text());
    if let Some(at) = policies.iter().enumerate().position(twice)
        && args.diff.is_empty()
    {
        return Err(usage(format!("--policy: '{}' is there twice", policies[at].text())));
    }
    if args.timeline.is_some() && args.timeline == args.perfetto {
        return Err(usage(
            "--timeline and --perfetto: both would be written to one file".to_owned(),
        ));
    }
    if policies.is_empty() {
        policies = POLICIES.iter().map(Settings::of).collect();
    }
    // A check has the scenario's own speeds, and needs no runs of the core.
    let speeds = match (args.slowdown, args.check) {
        (Some(factor), _) => Speeds::uniform(&scenario, (factor * 1000.0).round() as u32)?,
        (None, true) => Speeds::uniform(&scenario, scenario.slowdown)?,
        (None, false) => speeds_of(&scenario, &args.preset)?,
    };
    let compared = !args.diff.is_empty() || args.perfetto.is_some();
    Ok(Request {
        scenario,
        layout,
        topology,
        speeds,
        policies,
        seed: args.seed,
        seeds: args.seeds,
        decisions_max: args.log.unwrap_or(0).max(if compared { DECISIONS } else { 0 }),
        spans_max: match (&args.perfetto, &args.timeline) {
            (Some(_), _) => SPANS,
            (None, Some(_)) => SPANS_DRAWN,
            (None, None) => 0,
        },
    })
}

/// The scenario's own question: does every policy do what it must?
fn check(request: &Request) -> Result<u8> {
    let mut request = request.clone();
    for text in request.scenario.policies() {
        if let Ok(settings) = Settings::parse(text)
            && request.policies.iter().all(|known| known.text() != settings.text())
        {
            request.policies.push(settings);
        }
    }
    let checked = simulated_kernel::check(&request)?;
    let mut failed = false;
    for (policy, broken) in &checked {
        failed |= !broken.is_empty();
        let says = if broken.is_empty() { "as expected" } else { "not as expected" };
        out::text(&format!("{policy}: {says}\n"))?;
        for line in broken {
            out::text(&format!("  {line}\n"))?;
        }
    }
    Ok(if failed { CELLS_FAILED } else { DONE })
}

fn write_timelines(args: &Args, runs: &[SchedRun]) -> Result<()> {
    // One seed a policy: a figure of ten seeds shows nothing.
    let first: Vec<SchedRun> = runs.iter().filter(|run| run.seed == args.seed).cloned().collect();
    if let Some(file) = &args.timeline {
        out::file(file, coretwin_report::sched_timeline(&first))?;
    }
    if let Some(file) = &args.perfetto {
        out::file(file, coretwin_report::sched_perfetto(&first))?;
    }
    Ok(())
}

/// Decisions and spans are part of it where they were asked for.
fn json(args: &Args, mut runs: Vec<SchedRun>) -> Result<()> {
    for run in &mut runs {
        run.decisions.truncate(args.log.unwrap_or(0));
        run.spans.clear();
    }
    match &runs[..] {
        [only] => out::json(only),
        all => out::json(&all),
    }
}

pub(crate) fn list() -> String {
    let mut text = "policies\n".to_owned();
    for entry in POLICIES {
        text += &format!("  {:<18} {}\n", entry.name, entry.title);
        for parameter in entry.parameters {
            let text_of = format!("{}={}", parameter.name, parameter.word(parameter.default));
            text += &format!("    {text_of:<24} {}\n", parameter.about);
        }
    }
    text += "\nscenarios\n";
    for (entry, scenario) in table::ALL.iter().zip(Scenario::all()) {
        text += &format!("  {:<20} {:<4} {}\n", entry.name, scenario.topology, scenario.title);
    }
    text += "\nmeasures (of scenarios' expectations and of sweeps)\n";
    for measure in MEASURES {
        text += &format!("  {:<26} {}\n", measure.key, measure.about);
    }
    text
}

pub(crate) fn scenario_of(name: &str, profile: Option<&str>) -> Result<Scenario> {
    if name.ends_with(".json") {
        return rt_app::read(name, &text_of(name)?, profile.unwrap_or("gzip")).map_err(usage);
    }
    if profile.is_some() {
        return Err(usage(format!("--profile: for files of rt-app; '{name}' names its own")));
    }
    if name.contains('/') || name.ends_with(".toml") {
        return Scenario::read(name, &text_of(name)?).map_err(usage);
    }
    named("scenario", name, table::ALL, |entry| entry.name).map_err(usage)?;
    Scenario::named(name).context("a scenario of the table")
}

pub(super) fn speeds_of(scenario: &Scenario, preset: &str) -> Result<Speeds> {
    let preset = preset_of(preset)?;
    let cache = Cache::of_user();
    Ok(with_bar(|done| Speeds::of_preset(scenario, &preset, cache.as_ref(), done))?)
}
