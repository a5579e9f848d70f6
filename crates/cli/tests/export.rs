//! What is exported is read by others: a parser of Prometheus takes the metrics, DuckDB and pandas the
//! datasets, which a build without the feature says how to get.

mod common;
#[cfg(feature = "parquet")]
#[path = "export/parquet.rs"]
mod parquet;

use common::coretwin;
use coretwin_host::fake;
use std::path::Path;
use std::process::Command;

/// A small study on a simulated machine.
fn study(folder: &Path, name: &str) {
    let args = ["study", "chat:rooms=2,messages=20", "--machine=xeon-mp-foster", "--blocks=2"];
    let ran = coretwin(folder, &[&args[..], &["--out", name]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
#[cfg(not(feature = "parquet"))]
fn without_the_feature_the_way_to_it_is_told() {
    let scratch = tempfile::tempdir().expect("folder");
    study(scratch.path(), "s");
    let ran = coretwin(scratch.path(), &["report", "s", "--format=parquet", "--out=t"]);
    assert!(ran.status == 3 && ran.err.contains("--features parquet"), "{ran:?}");
    assert!(!scratch.path().join("t").exists());
}

#[test]
fn a_run_says_where_its_figures_come_from() {
    let ran = coretwin(Path::new("/"), &["run", "--json", "--", "true"]);
    let reading: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(
        (reading["origin"].as_str(), reading["status"].as_str()),
        (Some("measured"), Some("ok"))
    );
}

#[test]
fn a_studys_metrics_are_read_by_a_parser() {
    let scratch = tempfile::tempdir().expect("folder");
    study(scratch.path(), "s");
    let text = coretwin(scratch.path(), &["report", "s", "--format=openmetrics"]).out;
    openmetrics_parser::openmetrics::parse_openmetrics(&text).expect("OpenMetrics");
    openmetrics_parser::prometheus::parse_prometheus(&text).expect("Prometheus text");
    let json = coretwin(scratch.path(), &["report", "s", "--format=json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let line = "coretwin_study_effect_ratio{origin=\"simulated\",machine=\"xeon-mp-foster\",";
    let found = text.lines().find(|known| known.starts_with(line)).expect("the effect");
    let value: f64 = found.rsplit(' ').next().and_then(|text| text.parse().ok()).expect("value");
    assert_eq!(Some(value), json["rows"][0]["ratio"].as_f64(), "{found}");
}

/// What `action.yml` runs, as a runner runs it.
#[test]
fn the_action_posts_the_report_and_fails_on_the_verdict() {
    let _host = common::host();
    let folder = tempfile::tempdir().expect("folder");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/action.sh");
    let programs = Path::new(common::CORETWIN).parent().expect("a folder").display().to_string();
    // In place of GitHub's own program: what it was asked to post.
    let gh = folder.path().join("gh");
    fake::program(&gh, "#!/bin/sh\necho \"$@\" >>posted\n").expect("gh");
    let own = std::env::var("PATH").expect("PATH");
    let path = format!("{}:{programs}:{own}", folder.path().display());
    let run = |new: &str, name: &str| {
        let mut command = Command::new("sh");
        command.arg(script).current_dir(folder.path()).env("PATH", &path);
        command
            .env("OLD", "echo rate: 100")
            .env("NEW", new)
            .env("FOLDER", name)
            .env("FAIL_ON", "slower");
        let metric = "--metric=rate:per second:higher=rate: ([0-9]+)";
        command.env("OPTIONS", format!("--blocks=4\n--others-limit=100%\n{metric}\n"));
        command.env("GITHUB_STEP_SUMMARY", "summary.md").env("GITHUB_OUTPUT", "output");
        command.env("COMMENT", (name == "b").to_string()).env("PULL_REQUEST", "7");
        common::patiently(&mut command)
    };
    let slower = run("echo rate: 50", "a");
    assert_eq!(slower.status.code(), Some(1), "{}", String::from_utf8_lossy(&slower.stderr));
    assert_eq!(run("echo rate: 200", "b").status.code(), Some(0));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    let output = read("output");
    assert!(output.contains("verdict=SLOWER: stay with old"), "{output}");
    assert!(
        output.contains("verdict=FASTER: choose new") && output.contains("folder=b"),
        "{output}"
    );
    assert_eq!(read("summary.md").matches("How to reproduce").count(), 2);
    assert_eq!(read("posted"), "pr comment 7 --body-file b/report.md\n");
    let action = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../action.yml"));
    let action = action.expect("action.yml");
    for name in ["OLD", "NEW", "OPTIONS", "FAIL_ON", "COMMENT", "PULL_REQUEST"] {
        assert!(action.contains(&format!("\n        {name}: ${{{{ ")), "{name}");
    }
}

#[test]
fn a_study_is_written_as_hyperfine_writes_it_and_read_back() {
    let _host = common::host();
    let folder = tempfile::tempdir().expect("folder");
    let words =
        ["study", "--variant", "a=sleep 0.01", "--variant", "b=sleep 0.02", "--blocks", "3"];
    let rest = ["--others-limit", "100%", "--steal-limit", "100%", "--out", "s"];
    let ran = coretwin(folder.path(), &[&words[..], &rest].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    let text = coretwin(folder.path(), &["report", "s", "--format", "hyperfine"]).out;
    let export: serde_json::Value = serde_json::from_str(&text).expect("json");
    let results = export["results"].as_array().expect("results");
    let of = |name: &str| results.iter().find(|one| one["command"] == name).expect(name);
    let times = |name: &str| -> Vec<f64> {
        let times = of(name)["times"].as_array().expect("times");
        times.iter().map(|time| time.as_f64().expect("a number")).collect()
    };
    let values: Vec<f64> = common::journal(&folder.path().join("s"))
        .iter()
        .filter(|reading| reading["phase"] == "study" && reading["arm"] == "b")
        .map(|reading| reading["value"].as_f64().expect("a value"))
        .collect();
    assert_eq!((results.len(), times("b")), (2, values));
    for field in ["mean", "stddev", "median", "user", "system", "min", "max"] {
        assert!(of("a")[field].as_f64().is_some(), "{field}: {text}");
    }
    assert_eq!(of("a")["exit_codes"], serde_json::json!([0, 0, 0]));
    std::fs::write(folder.path().join("a.json"), &text).expect("a file");
    let again = coretwin(folder.path(), &["compare", "a.json", "a.json"]);
    assert_eq!(again.status, 0, "{}", again.err);
}
