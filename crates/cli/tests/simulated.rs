//! `coretwin study --machine` by the real program: equal seeds, a study broken off, the report's part,
//! and what is refused.

mod common;

use common::{Ran, coretwin, journal};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Two boots under two kernels and few rooms: a study of seconds.
const SMALL: [&str; 13] = [
    "study",
    "chat:rooms=2,messages=20",
    "--machine",
    "xeon-mp-foster",
    "--arm",
    "off@linux-2.4.19",
    "--arm",
    "on@linux-2.4.19",
    "--arm",
    "off@linux-2.5.32",
    "--arm",
    "on@linux-2.5.32",
    "--blocks=2",
];

fn study(folder: &Path, more: &[&str]) -> Ran {
    coretwin(folder, &[&SMALL[..], more].concat())
}

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).expect(file)
}

#[test]
fn equal_seeds_give_equal_files_and_the_report_sets_predictions_out_as_the_article_did() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let ran = study(folder, &["--seed=7", "--dry-run", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&ran.out).expect("the plan as JSON");
    assert_eq!((&plan["seed"], &plan["machine"]), (&7.into(), &"xeon-mp-foster".into()));
    let ran = study(folder, &["--seed=7", "--out=a", "--full"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    for part in [
        "PREDICTED: every figure is a prediction of models; nothing was measured.",
        "Table 4. Chat: messages per second by rooms, under linux-2.4.19",
        "Table 7. Chat: messages per second by rooms, under linux-2.5.32",
        "What SMT brings, by policy",
        "seed spread",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    assert!(!ran.out.contains("is a process of its own"), "nothing ran on this host");
    assert_eq!(study(folder, &["--seed=7", "--out=b"]).status, 0);
    assert_eq!(study(folder, &["--seed=8", "--out=c"]).status, 0);
    for file in ["journal.jsonl", "summary.json"] {
        let [a, b, c] = ["a", "b", "c"].map(|name| text(&folder.join(name), file));
        assert_eq!(a, b, "{file}");
        assert_ne!(a, c, "{file}");
    }
    let lines = journal(&folder.join("a"));
    assert_eq!(lines.len(), 2 * 4);
    for line in &lines {
        assert!(line["value"].as_f64().is_some_and(|value| value > 1000.0), "{line}");
        assert!(line["notes"]["seed"].is_string() && line["elapsed_s"].as_f64() > Some(0.0));
    }
}

/// What every host and every build gives; the long checks ask an optimised build for the same.
/// Changes with the models and the fit, and with nothing else.
const READINGS: &str = "\
on@linux-2.4.19 134030.7943604837 49ff7b4fb996ac33
off@linux-2.5.32 163108.70703345837 4da21b9ddf59706f
off@linux-2.4.19 145586.36273816414 85094b607f8d5959
on@linux-2.5.32 208040.59543312248 4146c13ff14305fe
off@linux-2.5.32 158416.93030917706 9c07507e7c1be2a2
on@linux-2.5.32 205696.4504548207 3561a6d770ed82d9
on@linux-2.4.19 137987.34957432759 bbf962d7cf1da2bf
off@linux-2.4.19 145387.60712261134 de29de68d4b65083
";

#[test]
fn a_seed_gives_these_readings_on_every_host_and_build() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    assert_eq!(study(folder, &["--seed=7", "--out=a"]).status, 0);
    let mut found = String::new();
    for line in journal(&folder.join("a")) {
        let (arm, trace) = (line["arm"].as_str(), line["notes"]["trace"].as_str());
        let (Some(arm), Some(trace), value) = (arm, trace, &line["value"]) else {
            panic!("{line}")
        };
        found += &format!("{arm} {value} {trace}\n");
    }
    assert_eq!(found, READINGS);
}

/// The article's whole study, whose report is kept word for word by the tests of `report`. With
/// `CORETWIN_STUDY=write` its files are written anew.
#[test]
#[ignore = "minutes of two CPUs; cargo xtask check-all simulated-study"]
fn the_whole_study_is_that_whose_report_is_kept() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let ran = coretwin(
        folder,
        &["study", "article", "--machine", "xeon-mp-foster", "--seed=1", "--out=a"],
    );
    assert_eq!(ran.status, 0, "{}", ran.err);
    let mut readings =
        vec!["row,arm,block,value,sampled_fraction,runs,seed_error,core_throughput".to_owned()];
    for line in journal(&folder.join("a")) {
        let metric = |name: &str| match &line["metrics"][name]["value"] {
            serde_json::Value::Null => String::new(),
            value => value.to_string(),
        };
        let word = |name: &str| line[name].as_str().expect(name).to_owned();
        let metrics = ["sampled_fraction", "runs", "seed_error", "core_throughput"];
        let metrics = metrics.map(metric).join(",");
        let (block, value) = (&line["block"], &line["value"]);
        readings.push(format!("{},{},{block},{value},{metrics}", word("row"), word("arm")));
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/simulated");
    if std::env::var("CORETWIN_STUDY").as_deref() == Ok("write") {
        let plan: serde_json::Value =
            serde_json::from_str(&text(&folder.join("a"), "plan.json")).expect("plan.json is JSON");
        std::fs::write(kept.join("plan.json"), format!("{plan}\n")).expect("plan.json");
        std::fs::write(kept.join("readings.csv"), readings.join("\n") + "\n").expect("readings");
    }
    let before = text(&kept, "readings.csv");
    for (now, before) in readings.iter().zip(before.lines()) {
        assert_eq!(now, before);
    }
    assert_eq!(readings.len(), before.lines().count());
}

#[test]
fn a_study_broken_off_by_ctrl_c_is_carried_on_to_the_same_end() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let more = ["--seed=7", "--blocks=12"];
    let args: Vec<&str> = SMALL[..12].iter().copied().chain(more).collect();
    let mut child = Command::new(common::CORETWIN)
        .args(&args)
        .arg("--out=a")
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let begun = || {
        let text = std::fs::read_to_string(folder.join("a/journal.jsonl"));
        text.is_ok_and(|text| text.lines().count() > 2)
    };
    while !begun() && child.try_wait().expect("child").is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.expect("kill").success());
    let status = child.wait().expect("ends").code();
    assert!([Some(130), Some(0)].contains(&status), "{status:?}");
    let before = journal(&folder.join("a")).len();
    let ran = coretwin(folder, &["study", "--resume=a"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(before > 2 && journal(&folder.join("a")).len() >= 4 * 12);
    let whole: Vec<&str> = args.iter().copied().chain(["--out=b"]).collect();
    assert_eq!(coretwin(folder, &whole).status, 0);
    // Attempts are numbered, values are the same.
    let rows = |name: &str| {
        let summary: serde_json::Value =
            serde_json::from_str(&text(&folder.join(name), "summary.json")).expect("json");
        summary["rows"].clone()
    };
    assert_eq!(rows("a"), rows("b"));
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    std::fs::write(folder.join("bad.toml"), "machine = 1\n").expect("file");
    let chat = ["study", "chat:rooms=2"];
    for (more, status, part) in [
        (&["--machine=xeon-mp-fostr"][..], 2, "did you mean 'xeon-mp-foster'"),
        (&["--machine=xeon-mp-foster", "--arm=off@fare", "--arm=on"], 2, "did you mean 'fair'"),
        (&["--machine=xeon-mp-foster", "--arm=one-per-core", "--arm=on"], 3, "on@one-per-core"),
        (&["--machine=xeon-mp-foster", "--arm=cpus:0", "--arm=on"], 3, "on@POLICY or off@POLICY"),
        (&["--machine=xeon-mp-foster", "--budget=5m"], 2, "--blocks"),
        (&["--machine=xeon-mp-foster", "--placement=same-cpu"], 2, "--placement"),
        (&["--machine=xeon-mp-foster", "--fit=bad.toml"], 2, "bad.toml"),
        (&["--machine=xeon-mp-foster", "--fit=none.toml"], 2, "none.toml"),
        (&["--fit=bad.toml"], 2, "--machine"),
    ] {
        let ran = coretwin(folder, &[&chat[..], more].concat());
        assert_eq!(ran.status, status, "{more:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{more:?}: {}", ran.err);
    }
    let ran = coretwin(folder, &["study", "chat-futex", "--machine=xeon-mp-foster"]);
    assert!(ran.status == 2 && ran.err.contains("has no model"), "{}", ran.err);
    let command = ["study", "--machine=xeon-mp-foster", "--", "true"];
    let ran = coretwin(folder, &command);
    assert!(ran.status == 2 && ran.err.contains("not commands"), "{}", ran.err);
}

#[test]
fn machines_and_policies_are_listed() {
    let scratch = tempfile::tempdir().expect("folder");
    let ran = coretwin(scratch.path(), &["list"]);
    for part in ["xeon-mp-foster", "linux-2.5.32-f3", "on simulated machines"] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}
