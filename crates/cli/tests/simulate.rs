//! `coretwin simulate` through the real program: what it prints adds up, equal seeds give equal
//! bytes, and bad files are refused by name, line and key.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Short runs: what is tested here are the records, not the model.
const SHORT: [&str; 2] = ["--uops", "20000"];

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coretwin"))
        .arg("simulate")
        .args(arguments)
        .output()
        .expect("coretwin starts")
}

fn core(arguments: &[&str]) -> Output {
    simulate(&[&["core"], arguments].concat())
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(&core(&[arguments, &SHORT, &["--json"]].concat()))).expect("JSON")
}

/// The message of a refusal, which must be one of usage.
fn refusal(arguments: &[&str]) -> String {
    let output = core(arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    message
}

#[test]
fn stacks_add_up_to_the_cycles_and_every_component_has_a_place() {
    let run = json(&["--preset", "westmere", "--thread", "gzip", "--thread", "perl-loop"]);
    let known: BTreeSet<&str> = coretwin_report::core_components().collect();
    let of_the_model: BTreeSet<&str> = coretwin_sim::core::outcome::Component::ALL
        .iter()
        .map(|component| component.name())
        .collect();
    assert_eq!(known, of_the_model);
    for thread in run["threads"].as_array().expect("threads") {
        for side in [thread, &thread["alone"]] {
            let stack = side["cpi"].as_object().expect("stack");
            let sum: f64 = stack.values().filter_map(Value::as_f64).sum();
            let cycles = side["cycles"].as_f64().expect("cycles");
            assert!((sum - cycles).abs() < 1e-6 * cycles, "{sum} of {cycles}");
        }
        let [together, alone] = [thread, &thread["alone"]].map(|side| side["uops"].as_u64());
        assert_eq!(
            together.expect("uops") / 100,
            alone.expect("uops") / 100,
            "alone it does the same stretch of work, to within a cycle's retirement"
        );
        let slowdown = thread["slowdown"].as_f64().expect("slowdown");
        let [beside, alone] =
            [thread, &thread["alone"]].map(|side| side["ipc"].as_f64().expect("speed"));
        assert!((slowdown - alone / beside).abs() < 1e-12);
    }
}

#[test]
fn equal_seeds_give_equal_bytes_and_other_seeds_other_ones() {
    let run = |seed: &str| {
        let arguments =
            ["--preset", "zen4", "--thread", "gzip", "--thread", "chat", "--seed", seed, "--json"];
        text(&core(&[&arguments[..], &SHORT].concat()))
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn a_matrix_agrees_with_itself_when_it_comes_from_the_cache() {
    let folder = tempfile::tempdir().expect("folder");
    let cache = folder.path().to_string_lossy().into_owned();
    let arguments =
        ["--preset", "zen3", "--matrix", "--thread", "spin", "--thread", "fadd-chain", "--cache"];
    let matrix = || json(&[&arguments[..], &[&cache]].concat());
    let (mut first, mut second) = (matrix(), matrix());
    assert_eq!(first["cached"], 0);
    assert_eq!(second["cached"], 3);
    for matrix in [&mut first, &mut second] {
        matrix.as_object_mut().expect("object").remove("cached");
    }
    assert_eq!(first, second);
    let slowdown = |a: usize, b: usize| first["slowdown"][a][b].as_f64().expect("number");
    assert!(slowdown(0, 0) > 1.5, "two loops that fill the width halve each other");
    assert!(slowdown(1, 0) < 1.05, "a chain of additions needs one slot in many");
}

#[test]
fn the_figure_is_a_file_of_its_own() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("stack.svg");
    let path = file.to_string_lossy().into_owned();
    let arguments = ["--preset", "zen1", "--thread", "spin", "--thread", "sieve", "--svg", &path];
    text(&core(&[&arguments[..], &SHORT].concat()));
    let svg = std::fs::read_to_string(&file).expect("figure");
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
    for part in ["slowdown ", "sieve", "sibling slots: ", "<style>"] {
        assert!(svg.contains(part), "{part}");
    }
}

/// A built-in preset or profile with one thing changed, as a file.
fn changed(folder: &Path, text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    let file = folder.join("mine.toml");
    std::fs::write(&file, text.replacen(from, to, 1)).expect("write");
    file.to_string_lossy().into_owned()
}

#[test]
fn bad_files_are_refused_by_name_line_and_key() {
    let folder = tempfile::tempdir().expect("folder");
    let preset = coretwin_sim::core::preset::table::ALL
        .iter()
        .find(|entry| entry.name == "westmere")
        .expect("built in")
        .text;
    for (from, to, part) in [
        ("reorder_buffer = { entries = 128", "reorder_buffer = { entries = 999999", "entries"),
        ("reorder_buffer =", "reorder_bufer =", "reorder_buffer"),
        ("mispredict = { cycles = 17", "mispredict = { cycles = \"x\"", "cycles"),
    ] {
        let file = changed(folder.path(), preset, from, to);
        let message = refusal(&["--preset", &file, "--thread", "spin"]);
        assert!(message.contains("mine.toml:") && message.contains(part), "{message}");
    }
    let profile = coretwin_sim::core::profile::table::ALL
        .iter()
        .find(|entry| entry.name == "syscall")
        .expect("built in")
        .text;
    let file = changed(folder.path(), profile, "int_alu = 0.", "int_alu = 0.9");
    let message = refusal(&["--preset", "zen4", "--thread", &file]);
    assert!(message.contains("mine.toml:") && message.contains("mix"), "{message}");
    std::fs::write(&file, [0xff, 0xfe]).expect("write");
    assert!(refusal(&["--preset", &file, "--thread", "spin"]).contains("UTF-8"));
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    for (arguments, part) in [
        (&["--preset", "zen44", "--thread", "spin"][..], "did you mean"),
        (&["--preset", "zen4", "--thread", "gzipp"], "did you mean 'gzip'"),
        (&["--preset", "zen4"], "--thread"),
        (&["--preset", "zen4", "--thread", "spin", "--thread", "spin", "--thread", "spin"], "2 "),
        (&["--preset", "/no/such.toml", "--thread", "spin"], "/no/such.toml"),
        (&["--experiment", "sieve"], "did you mean 'sieve-pages'"),
        (&["--experiment", "idle", "--seeds", "3"], "cannot be used with"),
        (&["--experiment", "idle", "--cache", "there"], "cannot be used with"),
    ] {
        let message = refusal(arguments);
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
    let arguments = [
        "--preset",
        "zen4",
        "--thread",
        "pointer-chase",
        "--uops",
        "1000000",
        "--cycles-max",
        "9999",
    ];
    let output = core(&arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("9999 cycles") && message.contains("thread 0"), "{message}");
}

#[test]
fn counts_become_a_profile_that_runs() {
    let folder = tempfile::tempdir().expect("folder");
    let counts = folder.path().join("counts.csv");
    std::fs::write(
        &counts,
        "1000000,,instructions,1,100.00,,\n800000,,cycles,1,100.00,,\n\
         200000,,branches,1,100.00,,\n4000,,branch-misses,1,100.00,,\n",
    )
    .expect("write");
    let counts = counts.to_string_lossy().into_owned();
    let output = simulate(&["import", &counts, "--name", "mine"]);
    let news = String::from_utf8_lossy(&output.stderr).into_owned();
    let profile = text(&output);
    assert!(news.contains("assumed"), "{news}");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, profile).expect("write");
    let run = json(&["--preset", "skylake-sp", "--thread", &file.to_string_lossy()]);
    assert_eq!(run["threads"][0]["profile"], "mine");
    let output = simulate(&["import", "/no/such/file"]);
    assert_eq!(output.status.code(), Some(2));
}
