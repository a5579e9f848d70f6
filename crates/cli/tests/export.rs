//! What is exported is read by others: a parser of Prometheus takes the metrics, DuckDB and pandas the
//! datasets, which a build without the feature says how to get.

mod common;
#[cfg(feature = "parquet")]
#[path = "export/parquet.rs"]
mod parquet;

use common::coretwin;
use std::path::Path;

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
