//! The whole lab against the real machine: studies of which the answer is known.
//!
//! Not part of the ordinary tests: they take half an hour and want a quiet machine. Run by
//! `make check-all`, or: `cargo test --release -p coretwin --test real -- --ignored --nocapture`.
//! `CORETWIN_STUDIES` sets how many studies each makes.

#![expect(clippy::print_stdout, reason = "the figures are to be quoted")]

mod common;

use common::{coretwin, host};
use serde_json::Value;

/// A fixed amount of work for the shell; arm b gets `extra` rounds more.
fn work(extra: u32) -> String {
    format!(
        "n=400000; [ {{arm}} = b ] && n=$((n + {extra})); i=0; while [ $i -lt $n ]; do i=$((i+1)); done"
    )
}

fn studies() -> u32 {
    std::env::var("CORETWIN_STUDIES").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Studies the same CPU against itself, with `extra` work in arm b; counts what `good` accepts.
fn repeat(name: &str, extra: u32, good: impl Fn(&Value) -> bool) {
    let _host = host();
    let mut right = 0;
    for round in 0..studies() {
        let folder = tempfile::tempdir().expect("folder");
        let script = work(extra);
        let args = ["study", "--json", "--budget", "3m", "--arm", "a=cpus:0", "--arm", "b=cpus:0"];
        let args = [&args[..], &["--out", "s", "--", "sh", "-c", &script]].concat();
        let ran = coretwin(folder.path(), &args);
        let summary: Value = serde_json::from_str(&ran.out).expect(&ran.err);
        let suite = &summary["suites"][0];
        let fine = good(suite);
        right += u32::from(fine);
        println!(
            "{name} {round}: {} ratio {:.4} [{:.4}, {:.4}] after {} blocks ({}){}",
            suite["verdict"],
            suite["ratio"].as_f64().unwrap_or(f64::NAN),
            suite["low"].as_f64().unwrap_or(f64::NAN),
            suite["high"].as_f64().unwrap_or(f64::NAN),
            suite["blocks"],
            summary["stopped_because"],
            if fine { "" } else { "  WRONG" }
        );
    }
    println!("{name}: right in {right} of {}", studies());
    println!("did: {} studies of a known answer", studies());
    assert!(f64::from(right) >= 0.9 * f64::from(studies()), "right in {right} only");
}

#[test]
#[ignore = "takes a quarter of an hour on a quiet machine; make check-all runs it"]
fn the_same_against_the_same_is_no_difference() {
    repeat("A/A", 0, |suite| suite["verdict"] != "helps" && suite["verdict"] != "hurts");
}

#[test]
#[ignore = "takes a quarter of an hour on a quiet machine; make check-all runs it"]
fn five_percent_more_work_is_found() {
    // 5 % more work is a ratio of 1/1.05; the loop is all there is to the run, but for its start.
    repeat("5 % slower", 20_000, |suite| {
        let (low, high) = (suite["low"].as_f64(), suite["high"].as_f64());
        let holds =
            low.zip(high).is_some_and(|(low, high)| low <= 1.0 / 1.05 && 1.0 / 1.05 <= high);
        suite["verdict"] == "hurts" && holds
    });
}
