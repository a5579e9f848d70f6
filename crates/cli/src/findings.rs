//! What is derived from plan and journal, again at will: the summary and the reports of a study, and
//! those of an experiment of `cputime`.

use crate::exit::usage;
use crate::{options, resuming};
use anyhow::{Context, Result};
use coretwin_base::account::cputime::result::CputimeSummary;
use coretwin_base::machine::environment::Environment;
use coretwin_base::origin::Origin;
use coretwin_base::study::plan::{Comparison, Plan, Protocol, Rule};
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::{StoppedBecause, Summary, Verdict};
use coretwin_report::{Brief, CPUTIME_FORMATS, Cputime, Study, cputime_brief, shell_line};
use coretwin_stats::study::{Question, foremost, headlines};
use coretwin_store::{Bundle, CPUTIME, SUMMARY};
use std::path::Path;

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

pub(crate) fn answer(study: &Study<'_>, folder: &Path) -> Brief {
    let brief = coretwin_report::study_brief(study);
    located(brief.whole("next", &next(study, folder), ""), folder)
}

pub(crate) fn located(brief: Brief, folder: &Path) -> Brief {
    let words = ["coretwin", "report", &folder.display().to_string(), "--full"].map(str::to_owned);
    brief.whole("report", &shell_line(&words), "report.html there")
}

fn next(study: &Study<'_>, folder: &Path) -> String {
    let Study { plan, summary, .. } = study;
    let go_on = resuming::line(plan, folder);
    let all = headlines(plan, summary);
    let Some(first) = all.get(foremost(&all)) else { return go_on };
    let has_siblings = plan.topology.has_usable_siblings();
    match (summary.stopped_because, first.verdict) {
        (StoppedBecause::Blocks | StoppedBecause::Budget, _) if first.word == "TOO BUSY" => {
            return "the same with --wait-quiet added".to_owned();
        }
        (StoppedBecause::Blocks | StoppedBecause::Budget, _)
            if first.effect.is_none() && summary.rows.iter().any(|row| row.failed > 0) =>
        {
            return "mend what failed; why it did: the warnings of the report".to_owned();
        }
        (StoppedBecause::Busy, _) => return format!("{go_on} --wait-quiet"),
        (StoppedBecause::Error, _) => return format!("mend what failed, then: {go_on}"),
        (StoppedBecause::Interrupted | StoppedBecause::Running | StoppedBecause::Reboot, _) => {
            return go_on;
        }
        (StoppedBecause::Budget, None | Some(Verdict::Inconclusive)) => {
            let minutes = plan.rules.budget_s.unwrap_or_default() / 30.0;
            return format!("{go_on} --budget {:.0}m", minutes.ceil());
        }
        _ => {}
    }
    let is_stand_in = first.comparison == Comparison::StandIn;
    match first.verdict {
        _ if first.origin != Origin::Measured => {
            "measure it on a machine: coretwin study".to_owned()
        }
        None if first.is_withheld => "find what makes equal runs differ: see the report".to_owned(),
        None if plan.rules.is_screening() => "for a verdict, the same without --quick".to_owned(),
        None if plan.rules.protocol == Protocol::Article2003 => {
            "for a verdict, the same without --protocol".to_owned()
        }
        None if plan.rules.until == Rule::Verdict => go_on,
        None => "for a verdict, the same with more --blocks".to_owned(),
        Some(_) if !has_siblings && first.question != Question::Commands => {
            "look for hidden siblings: coretwin probe".to_owned()
        }
        Some(Verdict::Inconclusive) if plan.rules.until == Rule::Verdict => {
            "it lies near the margin; how much it is: --until width".to_owned()
        }
        Some(Verdict::Inconclusive) => "the same with more blocks: --blocks 48".to_owned(),
        Some(_) if first.question == Question::Commands => {
            match plan.arms.iter().any(|arm| arm.control) {
                true => "what each row says: see the report".to_owned(),
                false => "would it find a difference in nothing? add --aa".to_owned(),
            }
        }
        Some(Verdict::NoMaterialDifference) => {
            "decide on security or cost: coretwin topology".to_owned()
        }
        Some(_) if first.question == Question::Plain => "what to set: see the report".to_owned(),
        Some(_) if first.action().is_some_and(|action| action.starts_with("keep")) => {
            "nothing to set; what SMT costs in security: coretwin topology".to_owned()
        }
        Some(_) if is_stand_in => "confirm it, as root, with --switch added".to_owned(),
        Some(_) => "as root: coretwin smt off (undo: smt restore)".to_owned(),
    }
}

pub(crate) fn save_study(bundle: &Bundle, study: &Study<'_>) -> Result<()> {
    bundle.write_json(SUMMARY, study.summary)?;
    bundle.write("report.html", coretwin_report::html(study).as_bytes())?;
    bundle.write("report.md", coretwin_report::markdown(study).as_bytes())?;
    Ok(())
}

pub(crate) fn of_cputime(
    plan: &Plan,
    readings: &[Reading],
    stopped: StoppedBecause,
) -> Result<CputimeSummary> {
    coretwin_stats::cputime::summarise(plan, readings, stopped)
        .context("this is no plan of cputime")
}

pub(crate) fn save_cputime(bundle: &Bundle, summary: &CputimeSummary) -> Result<()> {
    bundle.write_json(CPUTIME, summary)?;
    for (file, format) in [("report.html", "html"), ("report.md", "md")] {
        bundle.write(file, cputime_report(bundle, summary, format)?.as_bytes())?;
    }
    Ok(())
}

pub(crate) fn cputime_answer(
    bundle: &Bundle,
    plan: &Plan,
    summary: &CputimeSummary,
) -> Result<Brief> {
    let environment = bundle.environment()?;
    let brief = cputime_brief(&Cputime { summary, environment: &environment });
    let go_on = resuming::line(plan, bundle.folder());
    let next = match summary.stopped_because {
        _ if summary.too_busy.is_some() => format!("{go_on} --wait-quiet"),
        StoppedBecause::Busy => format!("{go_on} --wait-quiet"),
        StoppedBecause::Interrupted | StoppedBecause::Running => go_on,
        _ if summary.factors.is_some() => "use it: coretwin account -- CMD".to_owned(),
        _ if summary.pairs.is_some() && summary.cpus.relation.is_smt() => {
            let folder = bundle.folder().display().to_string();
            let line = ["coretwin", "report", &folder, "--full"].map(str::to_owned);
            format!("taskset lines: {}", shell_line(&line))
        }
        _ => "look for hidden siblings: coretwin probe".to_owned(),
    };
    Ok(located(brief.whole("next", &next, ""), bundle.folder()))
}

pub(crate) fn cputime_report(
    bundle: &Bundle,
    summary: &CputimeSummary,
    format: &str,
) -> Result<String> {
    let format = options::named("format of cputime", format, CPUTIME_FORMATS, |one| one.name);
    let format = format.map_err(usage)?;
    let environment = bundle.environment()?;
    Ok((format.render)(&Cputime { summary, environment: &environment }))
}
