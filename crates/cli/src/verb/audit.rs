//! `coretwin audit`.

use crate::exit::{CELLS_FAILED, DONE, usage};
use crate::out;
use anyhow::Result;
use coretwin_article::audit::claims::{CheckedClaim, ClaimsReport, Verdict, claims, spelled};
use coretwin_article::audit::note::{NoteReport, note};
use coretwin_article::audit::{AuditReport, Finding, audit, builtin};
use coretwin_base::caps;
use coretwin_report::Brief;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

const NAME_WIDTH: usize = 54;

#[derive(clap::Args)]
#[command(after_help = "\
Every printed figure is taken as the range of values that round, or truncate, to it. What cannot \
follow from the other figures is listed, with the smallest misprint that explains it: one digit \
wrong, two digits swapped, or a wrong sign.

A table of yours is CSV with a header line. Recognised by their headers:
  speedup_pct, gain_pct   gain of the second of the two numeric columns to the left over the first
  change_pct, delta_pct   the plain change between them
  ratio                   their quotient
  X_total                 sum of the other X_ columns
  real_s, user_s, system_s   user + system is at most real
A first column that says geomean makes its row the geometric means of the rows above. \
Headers with a unit of time (us_off, wall_s) and without \"per\" mean: lower is better.

Examples:
  coretwin audit                            the article's tables, the note's times, their claims
  coretwin audit results.csv                a table of yours; - reads standard input
  coretwin audit results.csv --json | jq '.findings[]'
  coretwin audit results.csv --fail-on-findings    exit status 1 if anything does not follow")]
pub(crate) struct Args {
    /// The table; without it, the built-in ones
    #[arg(value_name = "TABLE.csv")]
    file: Option<PathBuf>,
    /// Print the findings as JSON: one object for a table, a list for the built-in ones
    #[arg(long)]
    json: bool,
    /// Print every finding, and the note's slowdowns
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Exit with status 1 if anything does not follow
    #[arg(long)]
    fail_on_findings: bool,
}

/// An entry of `audit --json`: one table's report for a file; for the built-in tables a list of
/// these, then the claims of the texts, then the note's slowdowns.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Table(AuditReport),
    Claims(ClaimsReport),
    Note(NoteReport),
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let findings = match &args.file {
        Some(file) => one_table(file, args)?,
        None => built_in_tables(args)?,
    };
    let failed = args.fail_on_findings && findings > 0;
    Ok(if failed { CELLS_FAILED } else { DONE })
}

fn brief(name: &str, reports: &[&AuditReport]) -> Brief {
    let figures: usize = reports.iter().map(|report| report.checked.figures).sum();
    let broken: usize = reports.iter().map(|report| report.checked.broken).sum();
    let word = if broken == 0 { "ALL FOLLOW" } else { "DOES NOT FOLLOW" };
    let findings = || reports.iter().flat_map(|report| &report.findings);
    let misprints = findings().filter_map(|finding| match finding.candidates.as_slice() {
        [only] => Some(format!(
            "{}, {}: {}, meant {}",
            finding.row, finding.column, finding.printed, only.meant
        )),
        _ => None,
    });
    let others = findings().filter(|finding| finding.candidates.len() != 1);
    let others = others.map(|one| format!("{}, {}: {}", one.row, one.column, one.printed));
    Brief::new(word, format!("{word}: {broken} of {figures} figures of {name}."))
        .line("misprints", misprints)
        .line("others", others)
}

fn one_table(file: &Path, args: &Args) -> Result<usize> {
    let name = file.display().to_string();
    let text = read(file, &name)?;
    let report = audit(&name, &text).map_err(usage)?;
    if args.json {
        out::json(&report)?;
    } else if !args.full {
        let brief = brief(&name, &[&report]).line("read as", report.recognised.clone());
        out::brief_of(brief, "every finding and what it breaks")?;
    } else {
        let mut page = overview(&name, &report);
        for sentence in &report.recognised {
            let _ = writeln!(page, "  read as: {sentence}");
        }
        page.push_str(&findings_text(&report.findings));
        out::text(&page)?;
    }
    Ok(report.findings.len())
}

fn built_in_tables(args: &Args) -> Result<usize> {
    let mut page = String::new();
    let mut entries = Vec::new();
    for table in builtin() {
        let report = audit(table.name, table.csv)?;
        page.push_str(&overview(table.title, &report));
        page.push_str(&findings_text(&report.findings));
        entries.push(Entry::Table(report));
    }
    let claims = claims()?;
    let fall = claims.claims.iter().filter(|claim| claim.verdict != Verdict::Follows).count();
    let claimed = format!("{fall} of {} do not follow as printed", claims.rows);
    page.push_str(&claims_text(&claims));
    entries.push(Entry::Claims(claims));
    let slowdowns = note()?;
    page.push_str(&note_text(&slowdowns));
    entries.push(Entry::Note(slowdowns));
    if args.json {
        out::json(&entries)?;
    } else if args.full {
        out::text(&page)?;
    } else {
        let reports: Vec<&AuditReport> = entries
            .iter()
            .filter_map(|entry| if let Entry::Table(report) = entry { Some(report) } else { None })
            .collect();
        let brief = brief("the printed tables", &reports).line("claims", [claimed]);
        out::brief_of(brief, "every finding, claim and slowdown")?;
    }
    let findings = entries.iter().map(|entry| match entry {
        Entry::Table(report) => report.findings.len(),
        Entry::Claims(report) => report.findings.len(),
        Entry::Note(_) => 0,
    });
    Ok(findings.sum())
}

fn read(file: &Path, name: &str) -> Result<String> {
    let usage = |why: String| usage(format!("audit {name}: {why}"));
    let unreadable = |error: std::io::Error| usage(format!("it cannot be read: {error}"));
    let source: Box<dyn Read> = if name == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(file).map_err(unreadable)?)
    };
    let bytes = caps::TABLE.read(source).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|&&byte| byte == b'\n').count() + 1;
        usage(format!("line {line}: it is not UTF-8 text; save the table as UTF-8 CSV"))
    })
}

fn overview(name: &str, report: &AuditReport) -> String {
    let checked = &report.checked;
    let outcome = match (checked.broken, checked.by_truncation) {
        (0, 0) => "all follow".to_owned(),
        (0, cut) => format!("all follow, {cut} only by truncation"),
        (1, _) => "1 does not follow".to_owned(),
        (broken, _) => format!("{broken} do not follow"),
    };
    format!("{name:<NAME_WIDTH$} {:>4} figures   {outcome}\n", checked.figures)
}

fn findings_text(findings: &[Finding]) -> String {
    let mut page = String::new();
    for finding in findings {
        page.push('\n');
        let place = format!("line {}: {}, {}", finding.line, finding.row, finding.column);
        let printed = &finding.printed;
        match finding.candidates.as_slice() {
            [only] => {
                let (meant, edit) = (&only.meant, &only.edit);
                let _ = writeln!(page, "  MISPRINT {place}: {printed}, meant {meant} ({edit})");
            }
            _ => {
                let _ = writeln!(page, "  DOES NOT FOLLOW {place}: {printed}");
            }
        }
        for broken in &finding.broken {
            let _ = write!(
                page,
                "    {}, {}: printed {}, but the other figures give {}",
                broken.row, broken.column, broken.printed, broken.recomputed
            );
            if let (Some(mended), Some(by)) = (&broken.mended, broken.explained_by) {
                let _ = write!(page, "; mended they give {mended}, right by {by}");
            }
            page.push('\n');
        }
        if let (Some(suggestion), false) = (&finding.suggestion, finding.candidates.len() == 1) {
            let _ = writeln!(page, "    {suggestion}");
        }
    }
    if !findings.is_empty() {
        page.push('\n');
    }
    page
}

fn claims_text(report: &ClaimsReport) -> String {
    let follow = |claim: &&CheckedClaim| claim.verdict == Verdict::Follows;
    let following = report.claims.iter().filter(follow).count();
    let name = "Claims of the texts";
    let mut page = format!(
        "{name:<NAME_WIDTH$} {:>4} claims    {following} follow, the others:\n\n",
        report.rows
    );
    for claim in report.claims.iter().filter(|claim| !follow(claim)) {
        let verdict = match claim.verdict {
            Verdict::Follows => "follows",
            Verdict::FollowsByTruncation => "follows by truncation only",
            Verdict::FollowsOnceMended => "follows once the misprint is mended",
            Verdict::FallsWithMisprint => "FALLS WITH THE MISPRINT",
            Verdict::DoesNotFollow => "DOES NOT FOLLOW",
        };
        let stated = spelled(claim.stated, claim.unit);
        let _ = writeln!(page, "  {verdict}: {} ({})", claim.text, claim.source);
        let _ =
            writeln!(page, "    states {}; tables: {}", stated.replace(".00 ", " "), claim.detail);
    }
    page
}

fn note_text(report: &NoteReport) -> String {
    let mut page =
        "\nSlowdowns of the note: gzip -9 beside spinners, over the same alone\n\n".to_owned();
    let mut machine = "";
    for condition in &report.conditions {
        if condition.machine != machine {
            machine = &condition.machine;
            let _ = writeln!(page, "  {machine}, {}", condition.os);
            continue; // The first condition is alone.
        }
        let _ = write!(
            page,
            "    {:<26} user time {:.2}, real time {:.2}",
            condition.condition, condition.user_slowdown, condition.slowdown
        );
        for user_s in &condition.differing_user_s {
            let _ = write!(
                page,
                "; {:.2} as mean, since one run of {} ({user_s} s) differs",
                condition.user_slowdown_of_means, condition.runs
            );
        }
        page.push('\n');
    }
    page.push_str("\n  Medians over the runs of each condition, three as a rule.\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Usage;

    #[test]
    fn the_page_names_the_misprint_and_what_falls_with_it() {
        let table = builtin().iter().find(|table| table.name.starts_with("table7")).expect("table");
        let report = audit(table.name, table.csv).expect("report");
        let page = overview(table.title, &report) + &findings_text(&report.findings);
        for part in [
            "23 figures   2 do not follow",
            "MISPRINT line 4: chat 40, rate_2532s_ht: 231509, meant 213509",
            "printed 47, but the other figures give 60.3; mended they give 47.8, right by truncation",
        ] {
            assert!(page.contains(part), "{part} not in:\n{page}");
        }
        let page = note_text(&note().expect("note"));
        for part in [
            "1 spinner                  user time 1.49, real time 1.50",
            "user time 1.41, real time 1.39; 1.39 as mean, since one run of 3 (13.69 s) differs",
            "1 spinner on the sibling   user time 1.40, real time 1.40",
        ] {
            assert!(page.contains(part), "{part} not in:\n{page}");
        }
        let page = claims_text(&claims().expect("claims"));
        assert!(page.contains("FALLS WITH THE MISPRINT: chat: as much as a 60 %"), "{page}");
        assert!(
            page.contains("states +60 %; tables: chat 40 +60.26 %; chat 40 +47.80 %"),
            "{page}"
        );
    }

    #[test]
    fn files_that_cannot_be_tables_are_usage_errors_with_a_place() {
        let plain = Args { file: None, json: false, full: false, fail_on_findings: false };
        let folder = tempfile::tempdir().expect("folder");
        let at = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("write");
            path
        };
        for (path, part) in [
            (at("bad.csv", b"a,b,ratio\n1,2,\xff\n"), "line 2: it is not UTF-8"),
            (at("cell.csv", b"t,a,b,ratio\nx,1,2,2x\ny,1,2,2\n"), "line 2, column ratio: '2x'"),
            (folder.path().join("none.csv"), "it cannot be read"),
            (folder.path().to_owned(), "it cannot be read"),
        ] {
            let error = one_table(&path, &plain).expect_err(part);
            assert!(error.is::<Usage>(), "{error}");
            let text = error.to_string();
            assert!(text.starts_with("audit ") && text.contains(part), "{text}");
        }
    }
}
