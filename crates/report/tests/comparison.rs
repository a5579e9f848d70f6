//! Two studies compared, as people read it. `UPDATE_EXPECT=1 cargo test` writes the files anew.

mod support;

use coretwin_base::study::comparison::StudyComparison;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_report::COMPARISON_FORMATS;
use coretwin_stats::comparison::{StudyRecords, compare};
use expect_test::expect_file;
use support::{HOSTILE, Records};

fn records<'a>(records: &'a Records, folder: &'a str) -> StudyRecords<'a> {
    StudyRecords {
        folder,
        plan: &records.plan,
        readings: &records.readings,
        environment: &records.environment,
        stopped_because: records.summary.stopped_because,
    }
}

fn compared(first: &Records, second: &Records) -> StudyComparison {
    compare([&records(first, "old"), &records(second, "new")], None).expect("comparable")
}

fn render(format: &str, comparison: &StudyComparison) -> String {
    let format = COMPARISON_FORMATS.iter().find(|known| known.name == format).expect("a format");
    (format.render)(std::slice::from_ref(comparison))
}

/// The same study on a newer kernel, with every value times a factor of row and arm.
fn newer(mut study: Records, factor: impl Fn(usize, usize) -> f64) -> Records {
    study.plan.seed += 1;
    for reading in &mut study.readings {
        let row = study.plan.rows.iter().position(|row| row.id == *reading.row);
        let arm = study.plan.arms.iter().position(|arm| arm.label == *reading.arm);
        let factor = row.zip(arm).map_or(1.0, |(row, arm)| factor(row, arm));
        reading.value = reading.value.map(|value| (value * factor * 10.0).round() / 10.0);
    }
    for facts in study.environment.facts.values_mut() {
        facts.insert("kernel.release".to_owned(), "6.12.5+deb13-amd64".to_owned());
        facts.insert("cpu.microcode".to_owned(), "0x2c".to_owned());
        facts.insert("clock.source".to_owned(), "tsc".to_owned());
    }
    if let Some(session) = study.environment.sessions.first_mut() {
        session.boot_id = "77aa".to_owned();
        session.started_utc = "2026-11-21T09:00:00Z".to_owned();
    }
    study.analysed(StoppedBecause::Target)
}

/// The article's chat rows on its two kernels: Table 4, and Table 7 with its misprint mended.
fn chat() -> StudyComparison {
    let factors = [
        [137_792.0 / 164_071.0, 207_788.0 / 202_809.0],
        [138_832.0 / 151_530.0, 195_765.0 / 184_803.0],
        [144_454.0 / 140_301.0, 213_509.0 / 171_187.0],
        [137_745.0 / 123_842.0, 191_834.0 / 158_543.0],
    ];
    let mut second = newer(support::chat(), |row, arm| factors[row][arm]);
    second.plan.rows.retain(|row| row.id != "chat:rooms=50");
    second.plan.rows.push(support::chat_row(60));
    for reading in second.readings.iter_mut().filter(|reading| reading.row == "chat:rooms=50") {
        reading.row = "chat:rooms=60".into();
    }
    compared(&support::chat(), &second)
}

#[test]
fn two_kernels_in_a_terminal() {
    expect_file!["snapshots/compare.txt"].assert_eq(&render("text", &chat()));
}

#[test]
fn two_kernels_as_markdown() {
    expect_file!["snapshots/compare.md"].assert_eq(&render("md", &chat()));
}

#[test]
fn two_kernels_as_csv() {
    let csv = render("csv", &chat());
    expect_file!["snapshots/compare.csv"].assert_eq(&csv);
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.iter().all(|count| *count == columns[0]), "{columns:?}");
}

#[test]
fn the_page_holds_table_7_and_the_same_numbers() {
    let comparison = chat();
    let page = render("html", &comparison);
    let suite = &comparison.suites[0];
    let percent = |ratio: Option<f64>| format!("+{:.1}", (ratio.expect("a ratio") - 1.0) * 100.0);
    for part in [
        "Table 7. Effects of Hyper-Threading on 6.1.0 and 6.12.5: chat",
        "6.12.5 on",
        &percent(suite.effects[1].ratio),
        &percent(suite.interaction.ratio),
        "Rows only in 6.12.5: chat:rooms=60.",
        "one boot&#39;s luck",
        "Coretwin comparison",
    ] {
        let plain = part.replace("&#39;", "'");
        assert!(page.contains(part) || page.contains(&plain), "{part}");
    }
    assert_eq!(page.matches("<figure").count(), 1);
    let json: StudyComparison =
        serde_json::from_str(&render("json", &comparison)).expect("the record");
    assert_eq!(json, comparison);
}

#[test]
fn regressions_come_first_the_largest_first() {
    let slower = newer(support::chat(), |row, arm| [[1.0, 0.9], [1.0, 1.0]][row.min(1)][arm]);
    let comparison = compared(&support::chat(), &slower);
    let text = render("text", &comparison);
    let section = text.split("REGRESSIONS").nth(1).expect("a section");
    let section = section.split("EFFECTS AND").next().expect("it ends");
    let rows: Vec<&str> = section.lines().filter(|line| line.contains('%')).collect();
    assert!(
        rows.iter().any(|line| line.contains("chat:rooms=20") && line.contains("effect of on"))
    );
    assert!(rows.iter().any(|line| line.contains("chat:rooms=20") && line.contains("value in on")));
    assert!(rows.iter().all(|line| !line.contains("rooms=30")), "{section}");
}

#[test]
fn every_pair_fits_a_terminal_and_keeps_markup_out() {
    type Make = fn() -> Records;
    let studies: [(&str, Make); 7] = [
        ("chat", support::chat),
        ("chat-2003", support::chat_2003),
        ("stand-in", support::stand_in),
        ("no-siblings", support::no_siblings),
        ("command", support::command),
        ("many", support::many),
        ("hostile", support::hostile),
    ];
    for (name, make) in studies {
        let comparison =
            compared(&make(), &newer(make(), |row, arm| 1.0 + 0.01 * (row + arm) as f64));
        assert!(!comparison.effects.is_empty(), "{name}");
        for line in render("text", &comparison).lines() {
            let breakable = !line.contains(HOSTILE.split(' ').next().expect("a word"));
            assert!(!breakable || line.chars().count() <= 100, "{name}: {line}");
        }
        for format in COMPARISON_FORMATS.iter().filter(|format| format.name != "csv") {
            let out = (format.render)(std::slice::from_ref(&comparison));
            assert!(!out.contains('\u{1b}'), "{name}: {}: an escape sequence", format.name);
            assert!(!out.contains("NaN") && !out.contains("inf "), "{name}: {}", format.name);
        }
        assert!(!render("html", &comparison).contains("<script"), "{name}");
        assert!(!render("md", &comparison).contains("<script"), "{name}");
        // A stand-in and plain CPU sets are never called Hyper-Threading.
        let is_smt = ["chat", "chat-2003"].contains(&name);
        assert_eq!(render("text", &comparison).contains("Hyper-Threading"), is_smt, "{name}");
    }
}
