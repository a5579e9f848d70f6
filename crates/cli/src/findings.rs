//! What is derived from plan and journal, again at will: the summary and the reports of a study, and
//! those of an experiment of `cputime`.

use crate::exit::Usage;
use anyhow::{Context, Result};
use coretwin_base::account::cputime::result::CputimeSummary;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_report::{CPUTIME_FORMATS, Cputime, Study};
use coretwin_store::{Bundle, CPUTIME, SUMMARY};

/// The summary of a study, with what happened to the machine.
pub(crate) fn of_study(
    plan: &Plan,
    readings: &[Reading],
    environment: &Environment,
    stopped: StoppedBecause,
) -> Summary {
    let mut summary = coretwin_article::analyse(plan, readings, stopped);
    summary.warnings.extend(environment.warnings.iter().cloned());
    summary
}

/// Writes everything that is derived from a study's journal.
pub(crate) fn save_study(bundle: &Bundle, study: &Study<'_>) -> Result<()> {
    bundle.write_json(SUMMARY, study.summary)?;
    bundle.write("report.html", coretwin_report::html(study).as_bytes())?;
    bundle.write("report.md", coretwin_report::markdown(study).as_bytes())?;
    Ok(())
}

/// The result of an experiment of `cputime`.
pub(crate) fn of_cputime(
    plan: &Plan,
    readings: &[Reading],
    stopped: StoppedBecause,
) -> Result<CputimeSummary> {
    coretwin_stats::cputime::summarise(plan, readings, stopped)
        .context("this is no plan of cputime")
}

/// Writes everything that is derived from an experiment's journal.
pub(crate) fn save_cputime(bundle: &Bundle, summary: &CputimeSummary) -> Result<()> {
    bundle.write_json(CPUTIME, summary)?;
    for (file, format) in [("report.html", "html"), ("report.md", "md")] {
        bundle.write(file, cputime_report(bundle, summary, format)?.as_bytes())?;
    }
    Ok(())
}

/// The report of an experiment in a format of that name.
pub(crate) fn cputime_report(
    bundle: &Bundle,
    summary: &CputimeSummary,
    format: &str,
) -> Result<String> {
    let names: Vec<&str> = CPUTIME_FORMATS.iter().map(|format| format.name).collect();
    let format = CPUTIME_FORMATS.iter().find(|known| known.name == format).ok_or_else(|| {
        Usage(coretwin_base::suggest::unknown("format of cputime", format, &names))
    })?;
    let environment = bundle.environment()?;
    Ok((format.render)(&Cputime { summary, environment: &environment }))
}
