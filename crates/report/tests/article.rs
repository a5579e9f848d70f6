//! The article's tables of a study: word for word, and with every footnote in its place.

mod support;

use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_report::{article_csv, article_json, html, markdown, text};
use expect_test::expect_file;
use serde_json::Value;

/// The section alone.
fn section<'a>(report: &'a str, head: &str, next: &str) -> &'a str {
    let begin = report.find(head).expect("the section");
    let end = report[begin..].find(next).map_or(report.len(), |at| begin + at);
    &report[begin..end]
}

fn in_terminal(records: &support::Records) -> String {
    let report = text(&records.study());
    section(&report, "THE 2003 ARTICLE'S TABLES", "\nWHAT DIFFERED").to_owned()
}

#[test]
fn in_a_terminal() {
    expect_file!["snapshots/article.txt"].assert_eq(&in_terminal(&support::article()));
}

#[test]
fn by_the_protocol_of_2003() {
    expect_file!["snapshots/article-2003.txt"].assert_eq(&in_terminal(&support::article_2003()));
}

#[test]
fn as_markdown() {
    let report = markdown(&support::article().study());
    let tables = section(&report, "## The 2003 article's tables", "## What differed");
    expect_file!["snapshots/article.md"].assert_eq(tables);
}

#[test]
fn as_csv() {
    expect_file!["snapshots/article.csv"].assert_eq(&article_csv(&support::article().study()));
}

#[test]
fn json_says_the_same_as_csv() {
    let records = support::article();
    let json: Value = serde_json::from_str(&article_json(&records.study())).expect("json");
    let tables = json["tables"].as_array().expect("tables");
    let numbers: Vec<u64> = tables.iter().flat_map(|table| table["table"].as_u64()).collect();
    assert_eq!(numbers, [1, 2, 4, 5, 6]);
    let rows: usize = tables.iter().map(|table| table["rows"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(rows, records.plan.rows.len());
    assert_eq!(article_csv(&records.study()).lines().count(), rows + 1);
    assert_eq!(json["chat_sizes"].as_array().map(Vec::len), Some(4));
    // All that the article printed is there, whatever rows the study has.
    let printed = |table: usize| tables[table]["printed"].as_array().map_or(0, Vec::len);
    assert_eq!([0, 1, 2, 3, 4].map(printed), [14, 59, 5 + 5, 6 + 6, 6 + 6]);
}

#[test]
fn the_table_says_which_way_its_rows_went() {
    let told = |records: &support::Records| {
        in_terminal(records).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for mut records in [support::article(), support::article_2003()] {
        assert!(!told(&records).contains("Rows ran with"), "a study of before the parameters");
        let rows = records.plan.rows.iter_mut().filter(|row| row.family == "lmbench");
        for row in rows {
            row.params = WorkloadSpec::parse("x:call=library,samples=3").expect("spec").params;
        }
        let told = told(&records);
        assert_eq!(told.matches("Rows ran with call=library.").count(), 1, "{told}");
    }
}

#[test]
fn footnotes_stand_beside_their_rows_and_nowhere_else() {
    for records in [support::article(), support::article_quick(), support::article_2003()] {
        let report = in_terminal(&records);
        let of_table = |head: &str| section(&report, head, "\n\n").to_owned();
        let marked = |table: &str| -> Vec<String> {
            // Of notes below, a line may end in a mark too.
            let is_marked =
                |line: &&str| line.contains('%') && line.ends_with(['¹', '²', '³', '⁴']);
            let first = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
            of_table(table).lines().filter(is_marked).map(first).collect()
        };
        assert_eq!(marked("Table 2."), ["add_long", "sync_disk_cp", "sieve"]);
        assert!(marked("Table 1.").is_empty() && marked("Table 6.").is_empty());
        assert_eq!(marked("Table 4."), ["40"], "the misprint is in Table 7, of chat");
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (notes, report) = (flat(&of_table("Table 2.")), flat(&report));
        let words = ["had 32 bits", "One call each", "put the pages"];
        assert!(words.iter().all(|word| notes.contains(word)), "{notes}");
        assert_eq!(report.matches("Misprint: Table 7 prints 231,509").count(), 1);
        assert_eq!(report.matches("put the pages").count(), 1);
    }
}

#[test]
fn a_screening_has_all_tables_and_no_verdict() {
    let report = in_terminal(&support::article_quick());
    for table in 1..=6 {
        assert!(report.contains(&format!("Table {table}. ")), "{report}");
    }
    for word in ["HELPS", "HURTS", "INCONCLUSIVE", "NO MATERIAL"] {
        assert!(!report.contains(word), "{report}");
    }
    let page = html(&support::article_quick().study());
    for figure in 1..=3 {
        assert_eq!(page.matches(&format!("<b>Figure {figure}. ")).count(), 1);
    }
}

#[test]
fn a_placement_that_an_arm_does_not_have_is_said() {
    let report = in_terminal(&support::article());
    for part in [" 4.350 ", "not in"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    // The article's figure stands beside the pipe that ran where it liked, as there.
    let csv = article_csv(&support::article().study());
    let printed = |row: &str| {
        let line = csv.lines().find(|line| line.contains(row)).expect("row").to_owned();
        line.contains(",11.16,11.31,-1,")
    };
    assert!(printed(",lmbench/pipe-latency,") && !printed(",lmbench/pipe-latency@cores,"));
}

#[test]
fn sizes_of_the_articles_own_stand_beside_it_and_others_above_it() {
    let report = in_terminal(&support::article());
    assert!(report.contains("Table 5 as the article printed it"));
    assert!(!report.contains("Table 6 as the article printed it"));
    let dbench = coretwin_article::printed::rows_of("dbench");
    assert!(report.contains(&dbench[0].noht) && report.contains("65.77"), "{report}");
}

#[test]
fn each_scheduler_has_its_tables_and_the_newer_kernels_is_table_7() {
    let one = support::article();
    assert!(
        !in_terminal(&one).contains("Under each scheduler"),
        "one scheduler has its tables already"
    );

    // The same under the article's older kernel's, and under its newer one's with half of the gain.
    let mut two = support::article();
    let (arms, readings) = (two.plan.arms.clone(), two.readings.clone());
    two.plan.arms.clear();
    two.readings.clear();
    for (place, scheduler) in ["linux-2.4.19", "linux-2.5.32"].into_iter().enumerate() {
        for mut arm in arms.clone() {
            arm.label = format!("{}@{scheduler}", arm.label);
            arm.scheduler = scheduler.to_owned();
            two.plan.arms.push(arm);
        }
        for mut reading in readings.clone() {
            if place == 1 && &*reading.arm == "on" {
                reading.value = reading.value.map(|value| value / 2.0);
            }
            reading.arm = format!("{}@{scheduler}", reading.arm).into();
            two.readings.push(reading);
        }
    }
    two.plan.reference_arm = two.plan.arms[0].label.clone();
    for order in &mut two.plan.orders {
        order.extend([2, 3]);
    }
    let report = in_terminal(&two.analysed(StoppedBecause::Target));
    let flat = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("by itself (linux-2.4.19, linux-2.5.32)"), "{report}");
    let of = |head: &str| section(&report, head, "\n\n").to_owned();
    // Chat of 20 rooms.
    let line = |table: &str| {
        let lines = of(table);
        let found = lines.lines().find(|line| line.trim_start().starts_with("20 "));
        found.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let older = line("Table 4. Chat: messages per second by rooms, under linux-2.4.19");
    let newer = line("Table 7. Chat: messages per second by rooms, under linux-2.5.32");
    assert!(older.contains("161,614 201,089 +24.4 %"), "{older}");
    assert!(newer.contains("161,614 100,544 −37.8 %"), "{newer}");
    // And the article's own of that kernel.
    assert!(report.contains("137,792") && report.contains("207,788"), "{report}");
    assert!(report.contains("Table 7. File service, network alone"), "{report}");
}
