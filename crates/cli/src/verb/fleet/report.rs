//! `coretwin fleet report`: what the fleet says.

use super::merge::{given, merged_already};
use crate::dataset::{self, As, finish, put, put_readings};
use crate::exit::{DONE, usage};
use crate::options;
use crate::out;
use anyhow::Result;
use coretwin_base::fleet::plan::FleetPlan;
use coretwin_base::fleet::summary::FleetSummary;
use coretwin_base::fleet::{Fleet, Member};
use coretwin_base::warning::Warning;
use coretwin_lab::fleet::merge::{Merged, StudyParts, each_study, merge};
use coretwin_lab::fleet::status::Bundles;
use coretwin_lab::fleet::survey;
use coretwin_report::dataset as rows;
use coretwin_report::{FLEET_FORMATS, FleetFormat};
use coretwin_stats::fleet::Weights;
use coretwin_store::dataset::Dataset;
use coretwin_store::fleet_folder::{FLEET, FleetFolder, bundles_in};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin fleet report hosts
  coretwin fleet report hosts --format html --out fleet.html
  coretwin fleet report hosts --format parquet --out tables     for DuckDB, pandas, Spark
  coretwin fleet report *.tar.gz                                bundles of coretwin survey

Merges first if a bundle came, went or changed since, so that every one that is there counts.")]
pub(crate) struct Args {
    /// The fleet's folder; or bundles of surveys, and folders of them
    #[arg(value_name = "DIR|BUNDLE", required = true)]
    from: Vec<PathBuf>,
    /// Form of the report (default: the answer in seven lines; text, where --out is given)
    #[arg(long, value_parser = As::parser(FLEET_FORMATS))]
    format: Option<As<FleetFormat>>,
    /// Print all of it: short for --format text
    #[arg(long, conflicts_with = "format")]
    full: bool,
    /// Differences smaller than this are not material [default: that of the studies]
    #[arg(long, value_name = "SHARE", value_parser = options::share)]
    margin: Option<f64>,
    /// Write to this file instead of standard output; the folder of parquet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const NAMED: usize = 10;

fn missing(fleet: &FleetFolder, plan: &FleetPlan) -> Result<Option<Warning>> {
    let without = Bundles::of(fleet, plan)?.without(plan);
    let names = without.iter().take(NAMED).map(|task| plan.tasks[*task as usize].name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    let more = if without.len() > NAMED { ", …" } else { "" };
    Ok((!without.is_empty()).then(|| {
        Warning::new(
            "missing",
            format!(
                "{} of {} tasks have no bundle that counts: {names}{more}",
                without.len(),
                plan.count()
            ),
            "what is here stands for the machines that are here; coretwin fleet status says how to \
             finish",
        )
    }))
}

type Found = (Vec<PathBuf>, Merged, Option<Warning>);

fn of_fleet(folder: &Path) -> Result<Found> {
    let (fleet, plan) = FleetFolder::open(folder)?;
    super::refuse_recordings(&plan, folder)?;
    let bundles = fleet.bundles()?;
    let found = merged_already(&fleet, &plan, &bundles)?;
    if found.sweep.is_none() && found.fleet.members.is_empty() {
        let finish = out::command("fleet status", folder);
        let why = format!(
            "{} has no bundle that counts; what is missing, and how to finish: {finish}",
            folder.display()
        );
        return Err(coretwin_lab::Error::NotPossible(why).into());
    }
    let missing = missing(&fleet, &plan)?;
    Ok((bundles, found, missing))
}

/// Bundles of surveys, which need no plan beside them.
fn of_surveys(from: &[PathBuf]) -> Result<Found> {
    let bundles = given(from)?;
    let found = merge(&survey::plan(), &bundles, Path::new(""), |_| ());
    for refused in &found.fleet.refused {
        out::news(&format!("does not count: {}: {}", refused.file, refused.reason));
    }
    if found.fleet.members.is_empty() {
        let why = "no bundle of a survey with a study is there; make one: coretwin survey";
        return Err(coretwin_lab::Error::NotPossible(why.to_owned()).into());
    }
    Ok((bundles, found, None))
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let (bundles, found, missing) = match &args.from[..] {
        [folder] if folder.join(FLEET).exists() => of_fleet(folder)?,
        [folder] if folder.is_dir() && bundles_in(folder)?.is_empty() => of_fleet(folder)?,
        from => of_surveys(from)?,
    };
    let summary = || {
        let mut summary = coretwin_stats::fleet::analyse(&found.fleet, args.margin);
        summary.warnings.extend(missing.clone());
        summary
    };
    let whole = (args.full || args.out.is_some()).then(|| As::Text(&FLEET_FORMATS[0]));
    let text = match (&found.sweep, args.format.or(whole)) {
        (Some(_), Some(As::Tables)) => {
            let why = "a sweep has no tables; its cells are in merged/cells.csv";
            return Err(usage(why));
        }
        (Some((grid, cells)), _) => coretwin_report::sched_sweep_text(grid, cells),
        (None, None) => {
            let brief = coretwin_report::fleet_brief(&summary());
            out::brief_of(brief, "every row, model and machine")?;
            return Ok(DONE);
        }
        (None, Some(As::Text(format))) => (format.render)(&summary()),
        (None, Some(As::Tables)) => {
            let folder = dataset::folder(args.out.as_deref())?;
            tables(&found.fleet, &summary(), &bundles, folder)?;
            return Ok(DONE);
        }
    };
    out::to(args.out.as_deref(), &text)?;
    Ok(DONE)
}

/// Writes the dataset of a fleet: what the machines came to, and every run from their bundles.
fn tables(fleet: &Fleet, summary: &FleetSummary, bundles: &[PathBuf], folder: &Path) -> Result<()> {
    let made = Dataset::create(folder)?;
    let names: BTreeMap<&str, String> = fleet
        .members
        .iter()
        .zip(rows::machine_names(fleet))
        .map(|(member, name)| (&*member.bundle, name))
        .collect();
    let weights = Weights::new(fleet);
    each_study(fleet, bundles, |member: &Member, study: &StudyParts| {
        let machine = names[&*member.bundle].as_str();
        let StudyParts { plan, environment, readings } = study;
        put_readings(&made, machine, &rows::readings(plan, readings, environment))?;
        let effects = rows::machine_effects(member, &weights);
        put(&made, "effects", machine, &rows::effect_columns(), &effects)
    })?;
    let columns = rows::fleet_effect_columns();
    for (workload, effects) in rows::fleet_effects(summary) {
        made.part("fleet_effects", &[("workload", workload)], &columns, &effects)?;
    }
    finish(made, folder)
}
