//! `coretwin report DIR`: everything shown again, from the plan and the journal alone.

use crate::dataset::{self, As, PARQUET};
use crate::exit::{DONE, usage};
use crate::{findings, host, options, out};
use anyhow::{Result, ensure};
use coretwin_base::study::decision::Licence;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_host::root::Root;
use coretwin_report::{FORMATS, Study, StudyFormat};
use coretwin_store::{Bundle, Extent, JOURNAL, PLAN};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin report chat-study
  coretwin report chat-study --format md >> $GITHUB_STEP_SUMMARY
  coretwin report chat-study --format html --out report.html
  coretwin report chat-study --licence per-core
  coretwin report chat-study --format parquet --out chat-tables     for DuckDB, pandas, Spark
  coretwin report chat-study --save       write summary.json, report.html and report.md anew")]
pub(crate) struct Args {
    /// Folder of the study
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Form of the report (default: the answer in seven lines; text, where --out or --licence is given)
    #[arg(long, value_parser = As::parser(FORMATS))]
    format: Option<As<StudyFormat>>,
    /// Print all of it: short for --format text
    #[arg(long, conflicts_with = "format")]
    full: bool,
    /// Write to this file instead of standard output; the folder of parquet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What licences are counted by, for the decision help: per-core, per-thread, per-package or
    /// per-machine
    #[arg(long, value_name = "RULE", value_parser = licence)]
    licence: Option<Licence>,
    /// Write the derived files of the folder anew
    #[arg(long, conflicts_with = "out")]
    save: bool,
}

fn licence(name: &str) -> Result<Licence, String> {
    options::named("rule", name, Licence::ALL, |(known, ..)| known).map(|(_, rule, _)| rule)
}

/// What can be reported of a survey's folder; empty if it is none.
fn parts_of_survey(folder: &Path) -> String {
    let has_plan = |part: &PathBuf| part.join(PLAN).exists();
    let parts = ["study", "cputime"].map(|part| folder.join(part)).into_iter().filter(has_plan);
    let lines = parts.map(|part| out::command("report", &part)).collect::<Vec<_>>().join("; ");
    match lines.is_empty() {
        true => lines,
        false => format!("{} is a survey's; its parts have reports: {lines}", folder.display()),
    }
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let owner = host::owner(&Root::system())?;
    let (bundle, plan) = Bundle::open(&args.folder, owner).map_err(|error| {
        let parts = parts_of_survey(&args.folder);
        if parts.is_empty() { error.into() } else { usage(parts) }
    })?;
    let is_brief = !args.full && args.out.is_none() && args.licence.is_none();
    let whole = (!is_brief).then(|| As::Text(&FORMATS[0]));
    let format = args.format.or(whole);
    let in_full = match format {
        Some(As::Text(format)) => format.in_full,
        Some(As::Tables) => true,
        None => false,
    };
    // What cputime says rests on metrics of every run.
    let is_whole = plan.cputime.is_some() || (in_full && !args.save);
    let extent = if is_whole { Extent::Whole } else { Extent::Report };
    let journal = bundle.readings(&plan, extent)?;
    if journal.torn_bytes > 0 {
        out::news("the journal's last line is torn; it is left out");
    }
    // Only the summary knows why the study ended; without one it was killed, or still runs.
    let (blocks, stopped, next_boot) =
        bundle.summary().map_or((0, StoppedBecause::Running, None), |old| {
            (old.blocks, old.stopped_because, old.next_boot)
        });
    let blocks = blocks.max(bundle.cputime().map_or(0, |old| old.blocks));
    ensure!(
        blocks == 0 || !journal.readings.is_empty(),
        "{} has no reading, and the study had {blocks} blocks when it ended: what was measured is lost, \
         or was not copied with the rest",
        args.folder.join(JOURNAL).display()
    );
    if plan.cputime.is_some() {
        return cputime_again(args, format, &bundle, &plan, &journal.readings);
    }
    let mut environment = bundle.environment()?;
    journal.note(&mut environment);
    let summary = findings::of_study(&plan, &journal.readings, &environment, stopped);
    let summary = Summary { next_boot, ..summary };
    let study = Study {
        plan: &plan,
        readings: &journal.readings,
        environment: &environment,
        summary: &summary,
        licence: args.licence,
    };
    if args.save {
        findings::save_study(&bundle, &Study { licence: None, ..study })?;
        return Ok(DONE);
    }
    match format {
        None => out::brief(&findings::answer(&study, &args.folder))?,
        Some(As::Text(format)) => out::to(args.out.as_deref(), &(format.render)(&study))?,
        Some(As::Tables) => dataset::of_study(&study, dataset::folder(args.out.as_deref())?)?,
    }
    Ok(DONE)
}

fn cputime_again(
    args: &Args,
    format: Option<As<StudyFormat>>,
    bundle: &Bundle,
    plan: &Plan,
    readings: &[Reading],
) -> Result<u8> {
    let stopped = bundle.cputime().map_or(StoppedBecause::Running, |old| old.stopped_because);
    let summary = findings::of_cputime(plan, readings, stopped)?;
    if args.save {
        findings::save_cputime(bundle, &summary)?;
        return Ok(DONE);
    }
    let name = match format {
        None => {
            out::brief(&findings::cputime_answer(bundle, plan, &summary)?)?;
            return Ok(DONE);
        }
        Some(As::Text(format)) => format.name,
        Some(As::Tables) => PARQUET,
    };
    out::to(args.out.as_deref(), &findings::cputime_report(bundle, &summary, name)?)?;
    Ok(DONE)
}
