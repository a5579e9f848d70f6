//! A study that compares boots, through the real program. The reboots are played: the record of the
//! boot is given another id, as if the machine had been booted since.

mod common;

use common::{Ran, coretwin, host, journal};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn json(ran: &Ran) -> Value {
    assert_eq!(ran.status, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).expect("json")
}

/// The command that the study says to go on with, without the program's name.
fn resume(next: &Value) -> Vec<String> {
    let words = next["resume"].as_array().expect("resume");
    words[1..].iter().map(|word| word.as_str().expect("word").to_owned()).collect()
}

fn go_on(folder: &Path, words: &[String], more: &[&str]) -> Ran {
    let words = words.iter().map(String::as_str).chain(more.iter().copied());
    coretwin(folder, &words.collect::<Vec<_>>())
}

/// Makes every boot so far one of earlier.
fn reboot(folder: &Path) {
    let path = folder.join("s/environment.json");
    let mut environment: Value =
        serde_json::from_str(&fs::read_to_string(&path).expect("environment")).expect("json");
    for (index, boot) in environment["boots"].as_array_mut().expect("boots").iter_mut().enumerate()
    {
        boot["boot_id"] = format!("earlier-{index}").into();
    }
    fs::write(&path, environment.to_string()).expect("write");
}

#[test]
fn a_study_waits_for_reboots_checks_them_and_goes_on() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = ["--arm", "boot:old-disk", "--arm", "boot:new-disk", "--blocks", "1", "--out", "s"];
    let quick = ["--settle", "0", "--others-limit", "100%", "--steal-limit", "100%"];
    let ran = coretwin(
        folder.path(),
        &[&["study", "--json"][..], &args, &quick, &["--", "true"]].concat(),
    );
    assert!(ran.err.lines().next().expect("line").contains("a boot of its own"), "{}", ran.err);
    let summary = json(&ran);
    assert_eq!(summary["stopped_because"], "reboot");
    let first = &summary["next_boot"];
    assert_eq!((&first["boots_left"], &first["block"]), (&2.into(), &0.into()));
    assert!(ran.err.contains("2 boots to come") && ran.err.contains("--boot"), "{}", ran.err);

    // This boot is what the user says it is.
    let ran = go_on(folder.path(), &resume(first), &["--json"]);
    let summary = json(&ran);
    let second = &summary["next_boot"];
    assert_eq!(second["boots_left"], 1);
    assert_ne!(second["arm"], first["arm"]);
    assert!(ran.err.contains("the last boot"), "{}", ran.err);
    let readings = journal(&folder.path().join("s"));
    assert_eq!(readings.len(), 1 + 3, "one discarded run, three that count");
    let shown = coretwin(folder.path(), &["report", "s", "--format", "json"]);
    assert_eq!(json(&shown), summary, "the report knows what it waits for");

    // The same boot again is refused, and says what to do.
    let ran = go_on(folder.path(), &resume(second), &[]);
    assert_eq!(ran.status, 3, "{}", ran.err);
    assert!(ran.err.contains("has served already") && ran.err.contains("--resume"), "{}", ran.err);

    reboot(folder.path());
    let wrong = first["arm"].as_str().expect("arm");
    let mut words = resume(second);
    *words.last_mut().expect("name") = wrong.to_owned();
    let ran = go_on(folder.path(), &words, &[]);
    assert!(ran.status == 3 && ran.err.contains("is due in block 1, not"), "{}", ran.err);

    let ran = go_on(folder.path(), &resume(second), &["--json"]);
    let summary = json(&ran);
    assert_eq!((&summary["stopped_because"], &summary["blocks"]), (&"blocks".into(), &1.into()));
    assert!(summary["next_boot"].is_null() && summary["suites"][0]["low"].is_null());
    let sentence = summary["sentences"][0].as_str().expect("sentence");
    assert!(sentence.starts_with("Too few blocks for a verdict"), "{sentence}");
    let switches: Vec<&Value> =
        summary["arms"].as_array().expect("arms").iter().map(|arm| &arm["threads"]).collect();
    assert!(switches.iter().all(|threads| threads.as_u64() > Some(0)), "{switches:?}");

    // Nothing is left to be measured, in whatever boot.
    let ran = coretwin(folder.path(), &["study", "--resume", "s"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
}

#[test]
fn a_boot_that_does_not_keep_its_promise_is_refused_with_the_fact() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    // Nobody has booted this machine with either.
    let args = ["--arm", "boot:1.2.3", "--arm", "boot:coretwin_test=1", "--out", "s"];
    let ran = coretwin(folder.path(), &[&["study"][..], &args, &["--", "true"]].concat());
    assert_eq!(ran.status, 0, "a new study may wait for its first boot: {}", ran.err);
    assert!(ran.err.contains("6 boots to come"), "{}", ran.err);
    assert!(ran.out.is_empty(), "there is nothing to report yet: {}", ran.out);
    let ran = coretwin(folder.path(), &["study", "--resume", "s"]);
    assert_eq!(ran.status, 3, "{}", ran.err);
    let facts = ["its kernel is ", "is not on its kernel command line"];
    assert!(facts.iter().any(|fact| ran.err.contains(fact)), "{}", ran.err);
    assert!(ran.err.contains("go on with: coretwin study --resume /"), "{}", ran.err);
    let environment = fs::read_to_string(folder.path().join("s/environment.json")).expect("there");
    assert!(!environment.contains("\"boots\""), "a refused boot leaves no trace");
}
