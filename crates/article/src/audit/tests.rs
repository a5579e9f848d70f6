//! The audit on the built-in tables, on planted misprints, and on anything else.

use super::claims::{Verdict, claims};
use super::figure::{Edit, Figure};
use super::*;
use proptest::prelude::*;

fn report(csv: &str) -> AuditReport {
    audit("t.csv", csv).expect(csv)
}

fn table(name: &str) -> &'static str {
    builtin().iter().find(|table| table.name.starts_with(name)).expect(name).csv
}

#[test]
fn the_article_has_one_misprint_and_nothing_else_that_does_not_follow() {
    let mut figures = Vec::new();
    for table in builtin() {
        let report = audit(table.name, table.csv).expect(table.name);
        figures.push(report.checked.figures);
        let misprints = usize::from(table.name.starts_with("table7"));
        assert_eq!(report.findings.len(), misprints, "{}: {:?}", table.name, report.findings);
    }
    // Rows with a speed-up, plus two means per group; five relations per row of Table 3.
    assert_eq!(figures, [14, 59, 20, 5 + 2, 6 + 2, 6 + 2, 17 + 6, 36]);
}

#[test]
fn table_7_has_two_digits_swapped() {
    let report = report(table("table7"));
    let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
    assert_eq!(
        (finding.kind, finding.row.as_str(), finding.column.as_str(), finding.line),
        ("misprint", "chat 40", "rate_2532s_ht", 4)
    );
    assert_eq!((finding.printed.as_str(), finding.recomputed.as_str()), ("231509", "213509"));
    let broken: Vec<_> = finding
        .broken
        .iter()
        .map(|b| (b.printed.as_str(), b.recomputed.as_str(), b.mended.as_deref(), b.explained_by))
        .collect();
    assert_eq!(
        broken,
        [
            ("47", "60.3", Some("47.8"), Some("truncation")),
            ("202034", "206163.7", Some("202033.9"), Some("rounding")),
        ]
    );
    assert_eq!(finding.candidates.len(), 1);
    assert_eq!(finding.candidates[0].edit, Edit::Neighbours.to_string());
}

#[test]
fn the_claims_that_fall_are_these() {
    let report = claims().expect("built-in tables");
    let with = |verdict| {
        let claims = report.claims.iter().filter(move |claim| claim.verdict == verdict);
        claims.map(|claim| (claim.stated, claim.computed_mended.clone())).collect::<Vec<_>>()
    };
    assert_eq!(with(Verdict::FallsWithMisprint), [(60.0, vec![47.804])]);
    assert_eq!(with(Verdict::FollowsOnceMended), [(51.0, vec![50.798]), (51.0, vec![50.798])]);
    assert_eq!(with(Verdict::FollowsByTruncation), [(30.0, vec![30.961]), (30.0, vec![30.961])]);
    assert_eq!(
        with(Verdict::DoesNotFollow),
        [(-35.0, vec![-35.146, -38.144, -38.144]), (36.0, vec![39.852]), (47.0, vec![43.008]),]
    );
    assert_eq!(report.findings.len(), 4);
    let latency = report.claims.iter().find(|claim| claim.stated == 36.0).expect("claim");
    assert!(latency.detail.contains("only user_s of run 1 (10.06 and 13.69)"), "{latency:?}");
    let stretched = report.claims.iter().flat_map(|c| c.computed.iter().chain(&c.computed_mended));
    assert!(stretched.clone().count() > 60 && stretched.clone().all(|value| value.is_finite()));
}

/// The finding of a misprint planted into a built-in table.
fn planted(name: &str, printed: &str, misprint: &str) -> Vec<Finding> {
    let csv = table(name);
    assert_eq!(csv.matches(printed).count(), 1, "{printed} is not unique in {name}");
    report(&csv.replace(printed, misprint)).findings
}

#[test]
fn planted_misprints_of_each_kind_are_found() {
    for (name, printed, misprint, column, meant) in [
        // A digit of a source, two neighbours, two apart; a mean; a speed-up; its sign.
        ("table4", "171187,22", "177187,22", "messages_per_s_ht", "171187"),
        ("table5", "169.55,29", "196.55,29", "mb_per_s_ht", "169.55"),
        ("table4", "123842,158543", "423812,158543", "messages_per_s_noht", "123842"),
        ("table6", "geomean,51.84", "geomean,15.84", "mb_per_s_noht", "51.84"),
        ("table6", "77.82,30", "77.82,80", "speedup_pct", "30"),
        ("table2", "387,387,0", "387,387,-40", "speedup_pct", "none"),
        ("table2", "239,155,-35", "239,155,35", "speedup_pct", "-35"),
        // Sums and products.
        ("table3", "800000", "880000", "messages_total", "800000"),
        ("table3", "30,600,", "30,900,", "connections", "600"),
        ("table3", "1140000", "1410000", "messages_received", "1140000"),
    ] {
        let findings = planted(name, printed, misprint);
        let [finding] = findings.as_slice() else { panic!("{misprint}: {findings:?}") };
        assert_eq!(finding.column, column, "{misprint}: {finding:?}");
        if meant == "none" {
            assert!(finding.candidates.is_empty(), "{misprint}: {finding:?}");
            assert_eq!((finding.kind, finding.recomputed.as_str()), ("speed-up", "0.0"));
        } else {
            let candidates = &finding.candidates;
            assert!(candidates.iter().any(|c| c.meant == meant), "{misprint}: {finding:?}");
        }
    }
}

#[test]
fn cpu_time_beyond_real_time_is_found_and_threads_are_not_blamed() {
    let findings = planted("cputime", "10.28,10.05,0.24", "10.28,10.50,0.24");
    assert_eq!((findings[0].kind, findings[0].recomputed.as_str()), ("cpu-time", "10.740"));
    assert!(findings[0].candidates.iter().any(|candidate| candidate.meant == "10.05"));
    let threads = report("run,real_s,user_s,system_s\n1,1.0,1.9,0.1\n2,1.1,1.8,0.2\n");
    assert!(threads.findings.is_empty() && threads.checked.figures == 0);
    assert!(threads.recognised[0].contains("several threads"));
}

#[test]
fn two_misprints_in_one_column_are_both_found() {
    let csv = table("table4").replace("202809", "220809").replace("158543", "185543");
    let findings = report(&csv).findings;
    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, ["misprint", "misprint"], "{findings:#?}");
    assert_eq!(findings.iter().map(|finding| finding.broken.len()).sum::<usize>(), 3);
    for meant in ["202809", "158543"] {
        let known = findings.iter().flat_map(|f| &f.candidates).any(|c| c.meant == meant);
        assert!(known, "{meant}: {findings:#?}");
    }
}

#[test]
fn ratios_and_headers_of_others_are_understood() {
    let ratio = "test,ms_off,ms_on,ratio\na,10.0,5.0,2.0\nb,9.0,6.0,1.5\nc,8.0,4.0,2.5\n";
    let findings = report(ratio).findings;
    assert_eq!((findings.len(), findings[0].kind, findings[0].row.as_str()), (1, "ratio", "c"));
    let saved = report("test,time_off,time_on,Speed-up %\na,10.0,5.0,50%\nb,8.00,6.00,25%\n");
    assert!(saved.findings.is_empty(), "{saved:?}");
    assert!(saved.recognised[0].contains("(1 − time_on / time_off)"), "{saved:?}");
    let change = report("test,ms_a,ms_b,change_pct\na,10.0,5.0,-50\nb,8.0,10.0,25\n");
    assert!(change.findings.is_empty(), "{change:?}");
    let quotient = report("test,ops_a,ops_b,speedup\na,\"1,000\",\"2,000\",2.0\nb,300,450,1.5\n");
    assert!(quotient.findings.is_empty(), "{quotient:?}");
    let gaps = report("test,a,b,speedup_pct\nx,10,20,100\ny,,20,7\nz,10,20,\n");
    assert_eq!((gaps.checked.figures, gaps.findings.len()), (1, 0));
}

#[test]
fn errors_name_file_line_and_column() {
    for (csv, message) in [
        ("t,a,b,speedup_pct\nx,1,2,100\ny,3,6,1o0\n", "line 3, column speedup_pct: '1o0' is not"),
        ("t,a,b,speedup_pct\nx,1,2,100\ny,0,6,100\n", "line 3, column a: '0' must be above 0"),
        ("t,a,speedup_pct\nx,1,100\n", "column speedup_pct needs two numeric columns"),
        ("t,a,b,speedup_pct\ngeomean,1,2,100\n", "line 2, column t: 'geomean' needs at least two"),
        ("t,a,b\nx,1,2\n", "nothing to recompute among its columns (t, a, b)"),
        ("t,a,b,speedup_pct\nx,1,2\n", "line 2: it has 3 cells"),
        ("", "no rows"),
    ] {
        let error = audit("f.csv", csv).expect_err(csv).to_string();
        assert!(error.starts_with("audit f.csv: ") && error.contains(message), "{error}");
    }
    let long = format!("t,a,b,ratio\n{}", "x,1,1,1\n".repeat(ROWS_MAX + 1));
    assert!(audit("f.csv", &long).expect_err("long").to_string().contains("more than 10000 rows"));
}

#[test]
fn every_small_misprint_of_a_table_is_harmless_or_found() {
    let mut planted = 0;
    let mut found = 0;
    for name in ["table3", "table4", "table6"] {
        let csv = table(name);
        let sheet = Sheet::parse(name, csv).expect(name);
        let cells = recognise::recognise(&sheet).expect(name).model.cells;
        for ((row, column), original) in cells {
            for (misprint, edit) in original.misprints() {
                if misprint.value() <= 0.0 || edit == Edit::Apart {
                    continue;
                }
                let mut copy = sheet.clone();
                copy.rows[row].cells[column] = misprint.to_string();
                let findings = report(&text_of(&copy)).findings;
                planted += 1;
                if findings.is_empty() {
                    continue;
                }
                found += 1;
                let meant = original.to_string();
                let known = findings.iter().flat_map(|f| &f.candidates).any(|c| c.meant == meant);
                assert!(known, "{name} {meant} as {misprint}: {findings:#?}");
            }
        }
    }
    // The harmless ones are last digits that every rounding hides.
    assert!(planted > 2_000 && found * 100 > planted * 90, "{found} of {planted}");
}

fn text_of(sheet: &Sheet) -> String {
    let rows = std::iter::once(sheet.headers.join(","));
    let rows = rows.chain(sheet.rows.iter().map(|row| row.cells.join(",")));
    rows.collect::<Vec<_>>().join("\n")
}

/// A number printed with so many decimals, rounded or cut off.
fn print(value: f64, decimals: usize, cut_off: bool) -> String {
    let scale = (0..decimals).fold(1.0, |scale, _| scale * 10.0);
    let scaled = if cut_off { libm::trunc(value * scale) } else { libm::round(value * scale) };
    format!("{:.decimals$}", scaled / scale)
}

proptest! {
    #[test]
    fn a_clean_table_gives_no_finding(
        rows in proptest::collection::vec((20.0..900.0_f64, 0.3..3.0_f64), 2..12),
        decimals in 0_usize..4,
        cut_off: bool,
        times: bool,
    ) {
        let mut csv = if times { "n,ms_a,ms_b,speedup_pct\n" } else { "n,a,b,speedup_pct\n" }.to_owned();
        let (mut logs_a, mut logs_b) = (0.0, 0.0);
        let mut line = |name: &str, a: f64, b: f64| {
            let gain = 100.0 * (if times { a / b } else { b / a } - 1.0);
            let [a, b] = [a, b].map(|value| print(value, decimals, cut_off));
            csv.push_str(&format!("{name},{a},{b},{}\n", print(gain, 0, cut_off)));
        };
        for (index, (a, ratio)) in rows.iter().enumerate() {
            line(&format!("r{index}"), *a, a * ratio);
            logs_a += libm::log(*a);
            logs_b += libm::log(a * ratio);
        }
        let count = rows.len() as f64;
        line("geomean", libm::exp(logs_a / count), libm::exp(logs_b / count));
        let report = report(&csv);
        prop_assert_eq!(report.checked.figures, rows.len() + 3);
        prop_assert!(report.findings.is_empty(), "{} {:?}", csv, report.findings);
    }

    #[test]
    fn anything_gives_a_report_or_an_error(text in "\\PC{0,200}") {
        let _ = audit("t.csv", &text);
    }

    #[test]
    fn a_damaged_table_gives_a_report_or_an_error(
        which in 0_usize..8,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), "[-0-9.,\"\n%a ]?"), 1..9),
    ) {
        let mut text: Vec<char> = builtin()[which].csv.chars().collect();
        for (place, with) in damage {
            let at = place.index(text.len());
            text.splice(at..=at, with.chars());
        }
        let _ = audit("t.csv", &text.into_iter().collect::<String>());
    }

    #[test]
    fn a_figure_lies_in_both_of_its_intervals(text in "-?[0-9]{1,8}(\\.[0-9]{1,4})?") {
        let figure = Figure::parse(&text).expect("a number");
        for precision in [figure::Precision::Rounded, figure::Precision::Truncated] {
            let ends = figure.interval(precision);
            prop_assert!(ends.low <= figure.value() && figure.value() <= ends.high);
        }
    }
}
