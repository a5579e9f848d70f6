//! The report of the article's study on the simulated Xeon: Tables 1 to 7 and Figures 1 to 3 with the
//! article's figures beside them, errors, scores and what is left out, word for word.

mod support;

use coretwin_base::column::{Column, Values};
use coretwin_base::simulation::prediction::{PredictedRow, Prediction};
use coretwin_report::dataset::{
    ByWorkload, effect_columns, metric_columns, metrics, reading_columns, readings, study_effects,
};
use coretwin_report::{FORMATS, html, text};
use expect_test::expect_file;

fn section<'a>(report: &'a str, head: &str, next: &str) -> &'a str {
    let begin = report.find(head).expect(head);
    let end = report[begin..].find(next).map_or(report.len(), |at| begin + at);
    &report[begin..end]
}

#[test]
fn in_a_terminal() {
    let report = text(&support::simulated::simulated().study());
    let tables = section(&report, "THE 2003 ARTICLE'S TABLES", "\nWHAT DIFFERED");
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

/// The word stands in every record that leaves, and on the card.
#[test]
fn every_export_says_that_nothing_was_measured() {
    let records = support::simulated::simulated();
    let study = records.study();
    for format in FORMATS {
        let out = (format.render)(&study);
        match format.name {
            "csv" | "article-csv" => {
                let mut lines = out.lines();
                let at = lines.next().expect("heads").split(',').position(|name| name == "origin");
                let at_end =
                    |line: &str| line.ends_with(",simulated") || line.contains(",simulated,");
                assert!(at.is_some() && lines.all(at_end), "{}", format.name);
            }
            "openmetrics" => {
                let records = || out.lines().filter(|line| !line.starts_with('#'));
                let labelled = |line: &str| line.contains("{origin=\"simulated\",");
                assert!(records().count() > 0 && records().all(labelled), "{out}");
            }
            "json" | "article-json" | "hyperfine" => {
                let record: serde_json::Value = serde_json::from_str(&out).expect("JSON");
                assert_eq!(record["origin"], "simulated", "{}", format.name);
            }
            _ => {
                let cards = records.plan.arms.len() - 1;
                assert!(out.matches("PREDICTED").count() > cards, "{}", format.name);
            }
        }
    }
    let read = readings(&records.plan, &records.readings, &records.environment);
    says_simulated(&reading_columns(), &read);
    says_simulated(&metric_columns(), &metrics(&read));
    says_simulated(&effect_columns(), &study_effects(&study));
}

fn says_simulated<Row>(columns: &[Column<Row>], rows: &ByWorkload<'_, Row>) {
    let column = columns.iter().find(|column| column.name == "origin").expect("the column");
    let Values::Text(value) = column.values else { panic!("a column of texts") };
    assert!(!rows.is_empty());
    for row in rows.values().flatten() {
        assert_eq!(value(row).as_deref(), Some("simulated"));
    }
}

/// The page on what to believe is held to the study it speaks of.
#[test]
fn figures_of_the_page_on_the_simulated_xeon_are_those_of_the_study() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulated-xeon.md");
    let page = std::fs::read_to_string(page).expect("the page");
    // Lines are broken anywhere.
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let records = support::simulated::simulated();
    let rows = format!("{} rows of five benchmark families", records.plan.rows.len());
    let prediction = records.summary.prediction.as_deref().expect("a prediction");
    let tables = figures_of_the_tables(prediction);
    let mut sentences = [vec![rows], tables, figures_of_single_rows(prediction)].concat();
    sentences.retain(|sentence| !page.contains(sentence));
    assert!(sentences.is_empty(), "the page does not say: {sentences:#?}");
}

/// In whole percent.
fn whole(share: f64) -> String {
    format!("{:.0}", 100.0 * share).replace('-', "−")
}

fn of<'a>(prediction: &'a Prediction, scheduler: &str, family: &str) -> Vec<&'a PredictedRow> {
    let is_of = |row: &&PredictedRow| row.scheduler == scheduler && row.family == family;
    prediction.rows.iter().filter(is_of).collect()
}

/// What the page says of Tables 4 to 7.
fn figures_of_the_tables(prediction: &Prediction) -> Vec<String> {
    let of = |scheduler: &str, family: &str| of(prediction, scheduler, family);
    let mut said = Vec::new();
    for kernel in ["linux-2.4.19", "linux-2.5.32"] {
        let mut line = format!("| {} |", kernel.trim_start_matches("linux-"));
        for family in ["chat", "dbench", "tbench"] {
            let rows = of(kernel, family);
            let own = rows.iter().map(|row| {
                let sign = if row.speed_up > 0.0 { "+" } else { "" };
                format!("{sign}{}", whole(row.speed_up))
            });
            let article = rows.iter().map(|row| whole(row.article_speed_up));
            let [own, article] =
                [own.collect::<Vec<_>>(), article.collect()].map(|all| all.join(" "));
            line += &format!(" {own} ({article}) |");
        }
        said.push(line);
    }
    let score = |over: &str| {
        let found = prediction.scores.iter().find(|score| score.over.starts_with(over));
        found.map(|score| score.mean_error_points).expect(over)
    };
    let [all, older, newer] = ["Tables 4 to 7", "Tables 4 to 6", "Table 7, L"].map(score);
    said.push(format!(
        "the 28 speed-ups of Tables 4 to 7 is {all:.1} points ({older:.1} on 2.4.19, {newer:.1} on 2.5.32)"
    ));
    let first = &prediction.scores[0];
    let (constant, trivial) = (whole(first.constant), first.constant_error_points);
    said.push(format!("\"+{constant} %\" every time is off by {trivial:.1} and does better"));
    let chat = of("linux-2.4.19", "chat");
    let rest: Vec<&PredictedRow> = ["chat", "dbench", "tbench"]
        .iter()
        .flat_map(|family| [of("linux-2.4.19", family), of("linux-2.5.32", family)].concat())
        .filter(|row| !chat.contains(row))
        .collect();
    let mean = |error: &dyn Fn(&PredictedRow) -> f64| {
        rest.iter().map(|row| error(row).abs()).sum::<f64>() / rest.len() as f64
    };
    said.push(format!(
        "Without its four rows the model is off by {:.1} points, the constant by {:.1}.",
        mean(&|row| row.error_points),
        mean(&|row| 100.0 * (first.constant - row.article_speed_up))
    ));
    said
}

/// What it says of chat's decline and level, of the pipe, and of spreads.
fn figures_of_single_rows(prediction: &Prediction) -> Vec<String> {
    let chat = of(prediction, "linux-2.4.19", "chat");
    let mut said = Vec::new();
    let decline = |value: fn(&PredictedRow) -> f64| whole(value(chat[3]) / value(chat[0]) - 1.0);
    said.push(format!(
        "{} % from 20 to 50 rooms ({} % printed)",
        decline(|row| row.value_off),
        decline(|row| row.article_off)
    ));
    let level = of(prediction, "linux-2.5.32", "chat")
        .iter()
        .map(|row| row.value_off / 1000.0)
        .sum::<f64>()
        / 4.0;
    said.push(format!("without Hyper-Threading is {level:.0} thousand messages a second"));
    let less = |label: &str, share: fn(&PredictedRow) -> f64| {
        let row = prediction.rows.iter().find(|row| row.label == label).expect(label);
        format!("{:.1}", -100.0 * share(row))
    };
    let pipe = |share| less("Pipe latency", share);
    said.push(format!(
        "does {} % less with it ({} % printed)",
        pipe(|row| row.speed_up),
        pipe(|row| row.article_speed_up)
    ));
    let spread = |family: &str| {
        let sample = prediction.samples.iter().find(|sample| sample.family == family);
        format!("{family} {:.1} %", 100.0 * sample.expect(family).spread)
    };
    let [chat, dbench, tbench] = ["chat", "dbench", "tbench"].map(spread);
    said.push(format!("(seed spread of a value: {chat}, {dbench}, {tbench} at most)"));
    said
}
