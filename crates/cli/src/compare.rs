//! `coretwin compare DIR DIR`: what became of the effects and of the values from one study to the
//! next.

use crate::exit::{CELLS_FAILED, DONE, Usage};
use crate::{out, study_args};
use anyhow::{Context, Result};
use coretwin_base::comparison::{Change, Contrast, StudyComparison};
use coretwin_base::environment::Environment;
use coretwin_base::plan::Plan;
use coretwin_base::reading::{Phase, Reading};
use coretwin_base::summary::StoppedBecause;
use coretwin_report::{COMPARISON_FORMATS, ComparisonFormat};
use coretwin_stats::compare::{StudyRecords, compare};
use coretwin_store::import::{Imported, import};
use coretwin_store::{Bundle, Extent};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of the verb.
#[derive(clap::Args)]
#[command(after_help = "\
For two studies of the same rows with arms of the same labels: on two kernels, two machines, before
and after a change. Effects are compared (does \"on\" do more here than there? the interaction), and
values, arm by arm.

--fail-on takes, separated by commas:
  worse          an effect or a value is worse in the second study
  effect-worse   an arm's effect is worse
  value-worse    a value is worse in an arm; boot-to-boot luck counts too
  inconclusive   a suite's effect could not be decided
  unmatched      a row or an arm is in one study only
Worse means: the 95 % interval excludes no change, the 90 % interval reaches over the margin, and
the p-value, Holm-adjusted over all lines of its table, is below 0.05.

Examples:
  coretwin compare on-6.1 on-6.12
  coretwin compare before after --format md >> $GITHUB_STEP_SUMMARY
  coretwin compare before after --fail-on worse,unmatched
  coretwin compare before.json after.json       what hyperfine --export-json wrote
  coretwin compare before/composite.xml after/composite.xml      Phoronix Test Suite")]
pub(crate) struct Args {
    /// Folders of the two studies, or result files of hyperfine (.json) or the Phoronix Test Suite
    /// (.xml); the second is compared with the first
    #[arg(value_name = "DIR", num_args = 2, required = true)]
    folders: Vec<PathBuf>,
    /// text, html, md, csv or json
    #[arg(long, default_value = "text", value_parser = format)]
    format: &'static ComparisonFormat,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Changes smaller than this are not material (default: the larger margin of the two studies)
    #[arg(long, value_name = "SHARE", value_parser = study_args::share)]
    margin: Option<f64>,
    /// Exit with status 1 if one of these holds (see below)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = fail_on)]
    fail_on: Vec<FailOn>,
}

/// What makes a comparison fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailOn {
    Worse,
    EffectWorse,
    ValueWorse,
    Inconclusive,
    Unmatched,
}

/// Every condition, by the word people type.
const FAIL_ON: [(&str, FailOn); 5] = [
    ("worse", FailOn::Worse),
    ("effect-worse", FailOn::EffectWorse),
    ("value-worse", FailOn::ValueWorse),
    ("inconclusive", FailOn::Inconclusive),
    ("unmatched", FailOn::Unmatched),
];

fn fail_on(word: &str) -> Result<FailOn, String> {
    let names = FAIL_ON.map(|(name, _)| name);
    let found = FAIL_ON.iter().find(|(name, _)| *name == word).map(|(_, condition)| *condition);
    found.ok_or_else(|| coretwin_base::suggest::unknown("condition", word, &names))
}

fn format(name: &str) -> Result<&'static ComparisonFormat, String> {
    let names: Vec<&str> = COMPARISON_FORMATS.iter().map(|format| format.name).collect();
    COMPARISON_FORMATS
        .iter()
        .find(|format| format.name == name)
        .ok_or_else(|| coretwin_base::suggest::unknown("format", name, &names))
}

/// What is read of a study.
struct Stored {
    folder: String,
    plan: Plan,
    readings: Vec<Reading>,
    environment: Environment,
    stopped_because: StoppedBecause,
}

impl Stored {
    fn read(folder: &Path) -> Result<Self> {
        if folder.is_file() {
            let Imported { plan, readings, environment } = import(folder)?;
            let folder = folder.display().to_string();
            return Ok(Self {
                folder,
                plan,
                readings,
                environment,
                stopped_because: StoppedBecause::Blocks,
            });
        }
        let (bundle, plan) = Bundle::open(folder, None)?;
        let journal = bundle.readings(Extent::Report)?;
        let folder = folder.display().to_string();
        if journal.torn_bytes > 0 {
            out::news(&format!("{folder}: the journal's last line is torn; it is left out"));
        }
        if !journal.readings.iter().any(|reading| reading.phase == Phase::Study) {
            return Err(Usage(format!(
                "{folder} has a plan but no readings to compare; go on with it first: coretwin study \
                 --resume {folder}"
            ))
            .into());
        }
        // Only the summary knows why the study ended; without one it was killed, or still runs.
        let stopped_because =
            bundle.summary().map_or(StoppedBecause::Running, |summary| summary.stopped_because);
        let environment = bundle.environment()?;
        Ok(Self { folder, plan, readings: journal.readings, environment, stopped_because })
    }

    fn records(&self) -> StudyRecords<'_> {
        StudyRecords {
            folder: &self.folder,
            plan: &self.plan,
            readings: &self.readings,
            environment: &self.environment,
            stopped_because: self.stopped_because,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let [first, second] = args.folders.as_slice() else {
        return Err(Usage("give the folders of two studies".to_owned()).into());
    };
    let (first, second) = (Stored::read(first)?, Stored::read(second)?);
    let comparison = compare([&first.records(), &second.records()], args.margin)
        .map_err(|error| Usage(error.to_string()))?;
    let text = (args.format.render)(&comparison);
    match &args.out {
        None => out::text(&text)?,
        Some(file) => std::fs::write(file, text)
            .with_context(|| format!("cannot write {}", file.display()))?,
    }
    let failed = args.fail_on.iter().any(|condition| holds(*condition, &comparison));
    Ok(ExitCode::from(if failed { CELLS_FAILED } else { DONE }))
}

fn holds(condition: FailOn, comparison: &StudyComparison) -> bool {
    let is_worse = |contrast: &Contrast| contrast.is_regression(comparison.confidence);
    let mut suites = comparison.suites.iter().map(|line| &line.interaction);
    match condition {
        FailOn::Worse => {
            holds(FailOn::EffectWorse, comparison) || holds(FailOn::ValueWorse, comparison)
        }
        FailOn::EffectWorse => {
            suites.any(is_worse)
                || comparison.effects.iter().any(|line| is_worse(&line.interaction))
        }
        FailOn::ValueWorse => {
            let mut lines = comparison.value_suites.iter().chain(&comparison.values);
            lines.any(|line| is_worse(&line.contrast))
        }
        FailOn::Inconclusive => {
            suites.any(|contrast| matches!(contrast.change, None | Some(Change::Inconclusive)))
        }
        FailOn::Unmatched => comparison
            .studies
            .iter()
            .any(|study| !study.rows_only.is_empty() || !study.arms_only.is_empty()),
    }
}
