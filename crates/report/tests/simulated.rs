//! The report of the article's study on the simulated Xeon: Tables 1 to 7 and Figures 1 to 3 with the
//! article's figures beside them, errors, scores and what is left out, word for word.

mod support;

use coretwin_report::{html, text};
use expect_test::expect_file;

fn section<'a>(report: &'a str, head: &str, next: &str) -> &'a str {
    let begin = report.find(head).expect(head);
    let end = report[begin..].find(next).map_or(report.len(), |at| begin + at);
    &report[begin..end]
}

#[test]
fn in_a_terminal() {
    let report = text(&support::simulated::simulated().study());
    let tables = section(&report, "THE ARTICLE'S TABLES", "\nWHAT DIFFERED");
    expect_file!["snapshots/simulated.txt"].assert_eq(tables);
}

#[test]
fn figures_of_the_page() {
    let page = html(&support::simulated::simulated().study());
    let figures: Vec<&str> = (1..=3)
        .map(|figure| {
            let caption = page.find(&format!("<b>Figure {figure}. ")).expect("the figure");
            let begin = page[..caption].rfind("<figure").expect("it has a beginning");
            section(&page[begin..], "<figure", "</figure>")
        })
        .collect();
    // A line for each element, so that a difference is seen.
    let lines = figures.join("\n\n").replace("><", ">\n<");
    expect_file!["snapshots/simulated-figures.html"].assert_eq(&(lines + "\n"));
}

#[test]
fn a_prediction_is_no_advice() {
    let report = text(&support::simulated::simulated().study());
    assert!(!report.contains("WHAT TO SET"), "{report}");
}

/// Sums done here by hand, from the printed tables alone.
#[test]
fn errors_are_those_of_the_printed_values() {
    let records = support::simulated::simulated();
    let prediction = records.summary.prediction.as_deref().expect("a prediction");
    let scored: Vec<f64> = prediction
        .rows
        .iter()
        .filter(|row| row.table >= 4 && ["linux-2.4.19", "linux-2.5.32"].contains(&&*row.scheduler))
        .map(|row| {
            let own = 100.0 * (row.value_on / row.value_off - 1.0);
            let article = 100.0 * (row.article_on / row.article_off - 1.0);
            assert!((row.error_points - (own - article)).abs() < 1e-9, "{}", row.row);
            (own - article).abs()
        })
        .collect();
    assert_eq!(scored.len(), 28);
    let mean = scored.iter().sum::<f64>() / 28.0;
    let first = &prediction.scores[0];
    assert_eq!(first.over, "Tables 4 to 7");
    assert!((first.mean_error_points - mean).abs() < 1e-9, "{mean}");
    assert_eq!(format!("{:.1}", first.constant_error_points), "9.3");
    let misprint = prediction.rows.iter().find(|row| row.table == 7 && row.label == "40");
    assert_eq!(misprint.map(|row| row.article_on), Some(213_509.0));
}
