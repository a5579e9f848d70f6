//! `coretwin compare A B …`: what became of the effects, and of the values, from one study or fleet to
//! others.

#[cfg(feature = "fleet")]
mod bundles;
#[cfg(feature = "fleet")]
mod fleets;
mod source;

use crate::exit::{CELLS_FAILED, DONE, usage};
use crate::{options, out};
use anyhow::Result;
use coretwin_base::study::comparison::{Change, Contrast, StudyComparison};
use coretwin_report::{Brief, COMPARISON_FORMATS, Format, comparison_brief};
use coretwin_stats::comparison::{compare, compare_as, folder_heads};
use coretwin_stats::confidence;
use source::{Source, Stored};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = format!("\
For studies of the same rows with arms of the same labels: on two kernels, two machines, before and \
after a change. Effects are compared (does \"on\" do more here than there? the interaction), and values, \
arm by arm. For fleets (folders of coretwin fleet) effects by processor and row, over machines: those \
that are in both are compared with themselves. A study beside a fleet is a fleet of one machine.

Each is compared with the first, or with --baseline; what got worse comes first.

--fail-on takes, separated by commas:
  worse          an effect or a value is worse than in the baseline
  effect-worse   an arm's effect is worse
  value-worse    a value is worse in an arm; boot-to-boot luck counts too; of fleets there are none
  inconclusive   a suite's effect (of a fleet without suites, a row's) could not be decided
  unmatched      a row, an arm or a machine of a fleet is in one of them only
Worse means: the {} excludes no change, the {} reaches over the margin, and \
the p-value, Holm-adjusted over all lines of its table, is below {}.

Examples:
  coretwin compare on-6.1 on-6.12
  coretwin compare release-1 release-2 release-3
  coretwin compare last-month this-month --fail-on worse         two fleets
  coretwin compare today --baseline fleet-of-all
  coretwin compare before after --format md >> $GITHUB_STEP_SUMMARY
  coretwin compare before after --fail-on worse,unmatched
  coretwin compare before.json after.json       what hyperfine --export-json wrote
  coretwin compare before/composite.xml after/composite.xml      Phoronix Test Suite",
    confidence::interval(), confidence::equivalence_interval(), confidence::level()))]
pub(crate) struct Args {
    /// Folders of studies, surveys or fleets, or result files of hyperfine (.json) or the Phoronix
    /// Test Suite (.xml); the others are compared with the first
    #[arg(value_name = "DIR", num_args = 1.., required = true)]
    folders: Vec<PathBuf>,
    /// Compare all of them with this one
    #[arg(long, value_name = "DIR")]
    baseline: Option<PathBuf>,
    /// Form of the comparison (default: the answer in seven lines; text, where --out is given)
    #[arg(long, value_parser = options::formats(COMPARISON_FORMATS))]
    format: Option<String>,
    /// Print all of it: short for --format text
    #[arg(long, conflicts_with = "format")]
    full: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Changes smaller than this are not material (default: the larger margin of the two)
    #[arg(long, value_name = "SHARE", value_parser = options::share)]
    margin: Option<f64>,
    /// Exit with status 1 if one of these holds (see below)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = fail_on)]
    fail_on: Vec<FailOn>,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let sources =
        folders(args)?.iter().map(|folder| Source::read(folder)).collect::<Result<Vec<_>>>()?;
    let studies: Vec<&Stored> = sources.iter().filter_map(Source::study).collect();
    let failed = match studies.len() == sources.len() {
        #[cfg(feature = "fleet")]
        false => fleets::compared(args, sources)?,
        _ => of_studies(args, &studies)?,
    };
    Ok(if failed { CELLS_FAILED } else { DONE })
}

fn folders(args: &Args) -> Result<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> = args.baseline.iter().cloned().collect();
    // The baseline may be one of a list that a shell filled in.
    let others = args.folders.iter().filter(|folder| Some(*folder) != args.baseline.as_ref());
    folders.extend(others.cloned());
    if folders.len() < 2 {
        let why = "give at least 2 studies or fleets: the baseline, and what is compared with it";
        return Err(usage(why));
    }
    Ok(folders)
}

impl Args {
    /// The form that is asked for; `None` for the answer alone.
    fn format(&self) -> Option<&str> {
        let is_brief = !self.full && self.out.is_none();
        self.format.as_deref().or(if is_brief { None } else { Some("text") })
    }

    fn show<T, Render: Fn(&[T]) -> String>(
        &self,
        formats: &[Format<Render>],
        brief: fn(&[T]) -> Brief,
        comparisons: &[T],
    ) -> Result<()> {
        let Some(name) = self.format() else {
            return out::brief_of(brief(comparisons), "every line and both machines");
        };
        let format = formats.iter().find(|format| format.name == name);
        let text = format.map(|format| (format.render)(comparisons)).unwrap_or_default();
        out::to(self.out.as_deref(), &text)
    }
}

fn of_studies(args: &Args, studies: &[&Stored]) -> Result<bool> {
    let comparisons = match studies {
        [first, second] => {
            vec![compare([&first.records(), &second.records()], args.margin).map_err(usage)?]
        }
        _ => {
            let heads = folder_heads(
                &studies.iter().map(|study| study.folder.as_str()).collect::<Vec<_>>(),
            );
            let one = |place: usize| {
                let pair = [&studies[0].records(), &studies[place].records()];
                compare_as([heads[0].clone(), heads[place].clone()], pair, args.margin)
                    .map_err(usage)
            };
            (1..studies.len()).map(one).collect::<Result<Vec<_>, _>>()?
        }
    };
    args.show(COMPARISON_FORMATS, comparison_brief, &comparisons)?;
    let mut conditions = args.fail_on.iter();
    Ok(conditions.any(|condition| comparisons.iter().any(|one| condition.holds(one))))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailOn {
    Worse,
    EffectWorse,
    ValueWorse,
    Inconclusive,
    Unmatched,
}

const FAIL_ON: [(&str, FailOn); 5] = [
    ("worse", FailOn::Worse),
    ("effect-worse", FailOn::EffectWorse),
    ("value-worse", FailOn::ValueWorse),
    ("inconclusive", FailOn::Inconclusive),
    ("unmatched", FailOn::Unmatched),
];

fn fail_on(word: &str) -> Result<FailOn, String> {
    options::named("condition", word, FAIL_ON, |(name, _)| name).map(|(_, condition)| condition)
}

/// Whether data that could have decided did not.
fn is_open(contrast: &Contrast) -> bool {
    matches!(contrast.change, None | Some(Change::Inconclusive))
}

impl FailOn {
    fn holds(self, comparison: &StudyComparison) -> bool {
        let is_worse = |contrast: &Contrast| contrast.is_regression(comparison.confidence);
        let mut suites = comparison.suites.iter().map(|line| &line.interaction);
        match self {
            Self::Worse => {
                Self::EffectWorse.holds(comparison) || Self::ValueWorse.holds(comparison)
            }
            Self::EffectWorse => {
                suites.any(is_worse)
                    || comparison.effects.iter().any(|line| is_worse(&line.interaction))
            }
            Self::ValueWorse => {
                let mut lines = comparison.value_suites.iter().chain(&comparison.values);
                lines.any(|line| is_worse(&line.contrast))
            }
            Self::Inconclusive => suites.any(is_open),
            Self::Unmatched => comparison
                .studies
                .iter()
                .any(|study| !study.rows_only.is_empty() || !study.arms_only.is_empty()),
        }
    }
}
