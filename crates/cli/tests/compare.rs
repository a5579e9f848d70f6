//! Two small real studies, compared through the real programs.

mod common;

use common::{Ran, coretwin, host};
use serde_json::Value;
use std::fs;
use std::path::Path;

const ARMS: [&str; 4] = ["--arm", "half=cpus:0", "--arm", "all=cpus:0"];

fn study(folder: &Path, name: &str, args: &[&str]) {
    let limits = ["--others-limit", "100%", "--steal-limit", "100%", "--blocks", "4"];
    let words = [&["study"][..], &limits, &ARMS, &["--out", name], args].concat();
    let ran = coretwin(folder, &words);
    assert_eq!(ran.status, 0, "{}", ran.err);
}

/// A command that tells a rate of its own, 100 in the one arm and this in the other.
fn rated(rate: u32) -> [String; 5] {
    let script = format!(
        "[ {{arm}} = half ] && echo 'rate: 100 per second' || echo 'rate: {rate} per second'"
    );
    let metric = "--metric=rate:per second:higher=rate: ([0-9]+)".to_owned();
    [metric, "--".to_owned(), "sh".to_owned(), "-c".to_owned(), script]
}

/// The rate is read from a file, so that both studies run the same command.
fn from_file(folder: &Path, name: &str, rate: u32) {
    // Fine enough for the margin: a value that never varies is believed to five of its last digit.
    fs::write(folder.join("rate"), (100 * rate).to_string()).expect("write");
    let script = "[ {arm} = half ] && echo 'rate: 10000' || echo rate: $(cat rate)";
    let metric = "--metric=rate:1/s:higher=rate: ([0-9]+)";
    study(folder, name, &[metric, "--", "sh", "-c", script]);
}

fn compare(folder: &Path, args: &[&str]) -> Ran {
    coretwin(folder, &[&["compare"], args].concat())
}

fn json(folder: &Path, args: &[&str]) -> Value {
    let ran = compare(folder, &[args, &["--format", "json"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).expect("json")
}

#[test]
fn a_planted_interaction_is_found_told_and_fails_a_build() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    from_file(folder, "old", 125);
    from_file(folder, "new", 110);
    let comparison = json(folder, &["old", "new"]);
    let line = &comparison["effects"][0];
    assert!((line["effects"][0]["ratio"].as_f64().expect("ratio") - 1.25).abs() < 1e-9);
    assert!((line["interaction"]["ratio"].as_f64().expect("ratio") - 0.88).abs() < 1e-9);
    assert_eq!(line["interaction"]["change"], "worse");
    assert_eq!(comparison["values"][0]["contrast"]["change"], "no-material-change");
    assert_eq!(comparison["studies"][0]["head"], "old", "nothing but the folder tells them apart");

    let ran = compare(folder, &["old", "new", "--full"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.starts_with("Plain CPU sets are compared here"), "{}", ran.out);
    for part in
        ["all does less for the command in new than in old (WORSE)", "Table 7.", "REGRESSIONS"]
    {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    for (condition, status) in
        [("worse", 1), ("effect-worse", 1), ("value-worse", 1), ("inconclusive,unmatched", 0)]
    {
        let ran = compare(
            folder,
            &["old", "new", "--fail-on", condition, "--out", "page.html", "--format", "html"],
        );
        assert_eq!((ran.status, ran.out.as_str()), (status, ""), "{condition}: {}", ran.err);
    }
    assert!(fs::read_to_string(folder.join("page.html")).expect("page").contains("Table 7."));
    let back = compare(folder, &["new", "old", "--fail-on", "worse"]);
    assert_eq!(back.status, 0, "the other way round nothing is worse: {}", back.out);
}

#[test]
fn other_commands_and_the_same_folder_get_no_verdict() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    for (name, rate) in [("old", 125), ("new", 110)] {
        let args = rated(rate);
        study(folder, name, &args.each_ref().map(String::as_str));
    }
    let kinds = |comparison: &Value| -> Vec<String> {
        let warnings = comparison["warnings"].as_array().expect("warnings");
        warnings.iter().map(|warning| warning["kind"].as_str().expect("kind").to_owned()).collect()
    };
    let other = json(folder, &["old", "new"]);
    assert!(kinds(&other).contains(&"work-differs".to_owned()), "{other}");
    assert_eq!(other["effects"][0]["interaction"]["change"], Value::Null);
    let same = json(folder, &["old", "./old/"]);
    assert_eq!(kinds(&same)[0], "same-study");
    assert_eq!(same["effects"][0]["interaction"]["change"], Value::Null);
}

#[test]
fn folders_that_hold_no_good_study_are_named() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    study(folder, "good", &["--", "true"]);
    let copy = |name: &str| {
        let to = folder.join(name);
        fs::create_dir(&to).expect("folder");
        for file in fs::read_dir(folder.join("good")).expect("list") {
            let file = file.expect("file");
            fs::copy(file.path(), to.join(file.file_name())).expect("copy");
        }
        to
    };
    let unread = copy("unread");
    fs::remove_file(unread.join("journal.jsonl")).expect("remove");
    let cut = copy("cut");
    let journal = fs::read_to_string(cut.join("journal.jsonl")).expect("journal");
    let lines: Vec<&str> = journal.lines().collect();
    fs::write(cut.join("journal.jsonl"), lines[..5].join("\n") + "\n").expect("write");
    fs::remove_file(cut.join("summary.json")).expect("remove");
    let damaged = copy("damaged");
    let broken = journal.replacen("\"block\":", "\"block\":\"x\",\"was\":", 3);
    fs::write(damaged.join("journal.jsonl"), broken).expect("write");
    let planless = copy("planless");
    fs::write(planless.join("plan.json"), "{\"schema\": 1,\n\"arms\": 7}").expect("write");
    study(folder, "rows", &["chat:rooms=1,messages=10"]);
    for (args, parts) in [
        (&["good", "nothing-here"][..], &["nothing-here", "holds no study"][..]),
        (&["unread", "good"], &["unread", "no readings", "--resume"]),
        (&["good", "damaged"], &["damaged/journal.jsonl: line 1", "field checksum"]),
        (&["good", "planless"], &["planless/plan.json: line 2", "field arms"]),
        (&["good", "rows"], &["no row", "chat:messages=10,rooms=1", "command (s)"]),
        (&["good"], &["at least 2"]),
        (&["good", "good", "--format", "htlm"], &["html"]),
        (&["good", "good", "--fail-on", "wors"], &["did you mean 'worse'"]),
        (&["good", "good", "--margin", "200%"], &["share"]),
    ] {
        let ran = compare(folder, args);
        assert_eq!(ran.status, 2, "{args:?}: {}{}", ran.out, ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "{args:?}: {part}: {}", ran.err);
        }
    }
    // A survey's folder has its study in `study`.
    fs::create_dir(folder.join("survey")).expect("folder");
    fs::rename(copy("of-survey"), folder.join("survey/study")).expect("moved");
    let of_survey = compare(folder, &["good", "survey"]);
    assert!(of_survey.status == 0 && of_survey.out.contains("same study"), "{}", of_survey.err);
    let unfinished = compare(folder, &["good", "cut", "--full"]);
    assert_eq!(unfinished.status, 0, "{}", unfinished.err);
    assert!(unfinished.out.contains("has not ended, or was killed"), "{}", unfinished.out);
}

/// What hyperfine would have written: ten runs of two commands.
fn hyperfine(folder: &Path, name: &str, seconds: [f64; 2]) {
    let result = |(command, seconds): (&str, f64)| {
        let times: Vec<f64> =
            (0..10).map(|run| seconds * (1.0 + 0.002 * f64::from(run % 4))).collect();
        serde_json::json!({"command": command, "mean": seconds, "times": times})
    };
    let results: Vec<Value> = ["make", "grep"].into_iter().zip(seconds).map(result).collect();
    fs::write(folder.join(name), serde_json::json!({"results": results}).to_string())
        .expect("file");
}

#[test]
fn result_files_of_other_benchmarks_are_compared() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    hyperfine(folder, "old.json", [2.0, 0.5]);
    hyperfine(folder, "new.json", [2.5, 0.5]);
    let comparison = json(folder, &["old.json", "new.json"]);
    let change = |name: &str| {
        let values = comparison["values"].as_array().expect("values");
        let line = values.iter().find(|line| line["name"] == name).expect("that row");
        (line["contrast"]["change"].clone(), line["contrast"]["ratio"].as_f64().expect("ratio"))
    };
    let (make, ratio) = change("make");
    assert!(make == "worse" && (ratio - 0.8).abs() < 1e-9, "{make} {ratio}");
    assert_eq!(change("grep").0, "no-material-change");
    assert_eq!(compare(folder, &["old.json", "new.json", "--fail-on", "worse"]).status, 1);
    assert_eq!(compare(folder, &["new.json", "old.json", "--fail-on", "worse"]).status, 0);
    fs::write(folder.join("odd.json"), "[]").expect("file");
    let ran = compare(folder, &["old.json", "odd.json"]);
    assert!(ran.status == 2 && ran.err.contains("odd.json"), "{}", ran.err);
}

/// Bundles of one study for several machines: each is told its name as Slurm tells it.
fn bundled(folder: &Path, study: &str, fleet: &str, machines: &[&str]) {
    fs::write(folder.join("hosts.txt"), "a\nb\nc\nd\n").expect("hosts");
    let head = ["fleet", "plan", fleet, "--engine=ssh", "--hosts=hosts.txt", "--", "study"];
    let ran = coretwin(folder, &[&head[..], &ARMS, &["--", "true"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    for (task, machine) in machines.iter().enumerate() {
        let ran = std::process::Command::new(common::CORETWIN)
            .args(["fleet", "bundle", study, "--fleet", fleet, "--task", &task.to_string()])
            .env("SLURMD_NODENAME", machine)
            .current_dir(folder)
            .output()
            .expect("starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn fleets_are_compared_machine_by_machine_and_a_study_is_a_fleet_of_one() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    from_file(folder, "old", 125);
    from_file(folder, "new", 110);
    bundled(folder, "old", "before", &["n1", "n2", "n3", "n4"]);
    bundled(folder, "new", "after", &["n2", "n3", "n4", "n5"]);
    let comparison = json(folder, &["before", "after"]);
    let [line] = comparison["effects"].as_array().expect("effects").as_slice() else {
        panic!("{comparison}")
    };
    assert!((line["change"]["ratio"].as_f64().expect("ratio") - 0.88).abs() < 1e-6, "{line}");
    assert_eq!((&line["change"]["change"], &line["machines_paired"]), (&"worse".into(), &3.into()));
    assert_eq!(line["machines_independent"], serde_json::json!([1, 1]));
    assert_eq!(comparison["fleets"][0]["machines_only"], serde_json::json!(["n1"]));
    for (args, status) in [
        (&["before", "after", "--fail-on", "worse"][..], 1),
        (&["before", "after", "--fail-on", "effect-worse,inconclusive"], 1),
        (&["before", "after", "--fail-on", "value-worse,inconclusive"], 0),
        (&["before", "after", "--fail-on", "unmatched"], 1),
        (&["after", "before", "--fail-on", "worse"], 0),
        (&["before", "after", "--baseline", "after", "--fail-on", "worse"], 0),
        (&["before", "before", "--fail-on", "worse,unmatched"], 0),
    ] {
        let ran = compare(folder, args);
        assert_eq!(ran.status, status, "{args:?}: {}{}", ran.out, ran.err);
    }
    let ran = compare(folder, &["before", "after", "--full"]);
    for part in ["WORSE", "REGRESSIONS", "3 in both", "Machines only in before: n1"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(compare(folder, &["before", "before", "--full"]).out.contains("the same bundles"));
    // A study beside fleets, and several at once.
    let all = json(folder, &["before", "new", "after"]);
    let all = all.as_array().expect("a list of two");
    assert_eq!((all.len(), &all[0]["fleets"][1]["machines"]), (2, &1.into()));
    let studies = json(folder, &["old", "new", "old"]);
    let ratio = |place: usize| {
        let ratio = &studies[place]["effects"][0]["interaction"]["ratio"];
        ratio.as_f64().expect("ratio")
    };
    assert!((ratio(0) - 0.88).abs() < 1e-9 && (ratio(1) - 1.0).abs() < 1e-9, "{studies}");
    let ran = compare(folder, &["old", "new", "old", "--fail-on", "effect-worse"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    // Nothing was written into the fleets.
    assert!(!folder.join("before/merged").exists());
    fs::remove_dir_all(folder.join("after/bundles")).expect("remove");
    let ran = compare(folder, &["before", "after"]);
    assert!(ran.status == 2 && ran.err.contains("fleet status after"), "{}", ran.err);
}

/// A condition of a study holds nothing where every value is one that has no ratio: that is a failure, not a pass.
#[test]
fn a_study_whose_values_have_no_ratio_fails() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let limits =
        ["--others-limit", "100%", "--steal-limit", "100%", "--blocks", "1", "--no-warmup"];
    let metric = ["--metric", "r:x:higher=n=([0-9]+)", "--fail-on", "hurts", "--out", "zero"];
    let words = [&["study"][..], &limits, &metric, &["--", "echo", "n=0"]].concat();
    let ran = coretwin(folder.path(), &words);
    assert_eq!(ran.status, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("mend what failed"), "{}", ran.out);
}
