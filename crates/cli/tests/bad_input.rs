//! What is wrong with what was typed or found is said clearly, with the right exit status, and
//! nothing is lost or left behind.

mod common;

use common::{coretwin, host, unsealed};
use std::fs;

#[test]
fn wrong_words_are_named_with_the_nearest_right_one() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    for (args, status, part) in [
        (&["study", "chta"][..], 2, "did you mean 'chat'"),
        (&["study", "chat:room=20"], 2, "did you mean 'rooms'"),
        (&["study", "/bin/true"], 2, "follows --: -- /bin/true"),
        (&["cputime", "/bin/true"], 2, "follows --, like -- /bin/true"),
        (&["study", "chat:rooms=0"], 2, "from 1 to"),
        (&["study", "dbench:loadfile=/none"], 2, "cannot read the load file: No such file"),
        (&["study", "dbench:loadfile=/etc/passwd"], 2, "the load file cannot be used: "),
        (&["study", "--budget", "5m", "--blocks", "3", "--", "true"], 2, "cannot be used with"),
        (&["study", "--budget", "5m", "--quick", "--", "true"], 2, "cannot be used with"),
        (&["study", "chat:rooms=20", "chat:rooms=20"], 2, "asked for twice"),
        (&["study", "--arm", "onn", "--", "true"], 2, "did you mean 'on'"),
        (&["study", "--arm", "on", "--arm", "on", "--", "true"], 2, "two arms are called 'on'"),
        (&["study", "--arm", "cpus:x", "--", "true"], 2, "not a CPU list"),
        (
            &["study", "--arm", "a=cpus:0", "--arm", "b=cpus:9999", "--", "true"],
            3,
            "does not exist",
        ),
        (&["study", "--arm", "a=cpus:0", "--", "true"], 3, "one arm only"),
        (&["study", "--arm", "off", "--arm", "on", "--", "true"], 3, "SMT cannot be switched here"),
        (&["study", "--switch", "--", "true"], 3, "SMT cannot be switched here"),
        (&["study", "--switch", "--dry-run", "--", "true"], 3, "SMT cannot be switched here"),
        (&["study", "--switch", "--arm", "on", "--", "true"], 2, "--switch"),
        (&["run", "--arm", "off", "--", "true"], 3, "SMT cannot be switched here"),
        (&["run", "--arm", "boot:smt", "--", "true"], 2, "for a study"),
        (&["study", "--arm", "boot:smt", "--arm", "on", "--", "true"], 2, "make all of them boots"),
        (&["study", "--arm", "boot:", "--", "true"], 2, "names no boot"),
        (&["study", "--boot", "smt", "--", "true"], 2, "--boot is for a study"),
        (
            &["study", "--arm", "boot:a", "--arm", "boot:b", "--budget", "5m", "--", "true"],
            2,
            "--budget cannot be kept",
        ),
        (&["study", "--repeats", "0", "--", "true"], 2, "--repeats"),
        (&["study", "--settle", "2d", "--", "true"], 2, "duration"),
        (&["study", "--machine", "xeon", "--", "true"], 2, "machine 'xeon'"),
        (&["study", "--", "/no/such/program"], 2, "/no/such/program"),
        (&["study", "--metric", "x", "--", "true"], 2, "no '='"),
        (&["study", "--metric", "x=(", "--", "true"], 2, "x"),
        (&["study", "--metric", "x=1", "--primary", "y", "--", "true"], 2, "metric 'y'"),
        (&["study", "--margin", "200%", "--", "true"], 2, "share"),
        (&["study", "--budget", "soon", "--", "true"], 2, "duration"),
        (&["study", "chat", "--", "true"], 2, "not of both"),
        (&["study", "--placement", "siblings", "--", "true"], 2, "--placement"),
        (&["study", "--resume", "nothing-here"], 2, "holds no study"),
        (&["run", "chta"], 2, "did you mean 'chat'"),
        (&["report", "nothing-here"], 2, "holds no study"),
        (&["report", "x", "--format", "htlm"], 2, "html"),
        (&["list", "chta"], 2, "did you mean 'chat'"),
        (&["serve", "tbench", "--size", "100"], 2, "an option of chat"),
        (&["serve", "tbench", "--users", "10"], 2, "an option of chat"),
        (&["topology", "--root", "nothing-here"], 3, "topology"),
        (&["audit", "nothing.csv"], 2, "nothing.csv"),
    ] {
        let ran = coretwin(folder.path(), args);
        assert_eq!(ran.status, status, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
    let left = fs::read_dir(folder.path()).expect("list").count();
    assert_eq!(left, 0, "no folder is made for a study that cannot be");
}

#[test]
fn a_journal_that_is_deleted_in_mid_study_ends_it_with_an_error() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    // Under somebody else's name: the first run removes the journal that it is written to.
    let line = "rm -f s/journal.jsonl";
    let args = ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", "s", "--"];
    let ran = coretwin(folder.path(), &[&args[..], &["sh", "-c", line]].concat());
    assert_eq!(ran.status, 3, "{}", ran.err);
    assert!(ran.err.contains("removed or replaced while it was written"), "{}", ran.err);
    assert!(ran.err.contains("no reading is kept; begin again"), "{}", ran.err);
    assert!(!folder.path().join("s/report.html").exists(), "there is nothing to report");
}

#[test]
fn slips_of_the_keyboard_are_told_in_words() {
    let folder = tempfile::tempdir().expect("folder");
    for (args, part) in [
        (&["study", "--budget", "-8m", "--", "true"][..], "no number here is below 0"),
        (&["study", "--seed", "-1", "--", "true"], "no number here is below 0"),
        (&["study", "--blocks", "99999999999999999999", "--", "true"], "it is too large"),
        (&["account", "--pid", "abc"], "it is not a whole number"),
        (&["study", "--budget", "8mm", "--", "true"], "a bare number is seconds"),
        (&["study", "nothing-like-it"], "aim9/…"),
        (&["fleet", "plan", "f", "--engine=slurm", "--", "study", "chat"], "--nodes"),
    ] {
        let ran = coretwin(folder.path(), args);
        assert!(ran.status == 2 && ran.err.contains(part), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_misspelt_placeholder_is_pointed_out_and_left_alone() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--"];
    let ran = coretwin(folder.path(), &[&args[..], &["echo", "{thread}", "{print}"]].concat());
    assert!(ran.err.contains("{thread} is passed on as it is; did you mean {threads}?"), "{ran:?}");
    assert!(ran.status == 0 && !ran.err.contains("{print}"), "{ran:?}");
}

#[test]
fn studies_that_begin_in_one_second_have_folders_of_their_own() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    for _ in 0..3 {
        let args = ["study", "chat:rooms=1,messages=1", "--machine=vm-1", "--blocks=1", "--seed=1"];
        assert_eq!(coretwin(folder.path(), &args).status, 0);
    }
    assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 3);
}

#[test]
fn another_plan_in_the_folder_is_left_alone() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", "s", "--"];
    assert_eq!(coretwin(folder.path(), &[&args[..], &["true"]].concat()).status, 0);
    let before = fs::read(folder.path().join("s/journal.jsonl")).expect("journal");
    let ran = coretwin(folder.path(), &[&args[..], &["false"]].concat());
    assert_eq!(ran.status, 2, "{}", ran.err);
    assert!(
        ran.err.contains("already holds a study") && ran.err.contains("--resume"),
        "{}",
        ran.err
    );
    assert_eq!(fs::read(folder.path().join("s/journal.jsonl")).expect("journal"), before);
}

#[test]
fn a_newer_journal_is_refused_and_kept() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args =
        ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", "s", "--", "true"];
    assert_eq!(coretwin(folder.path(), &args).status, 0);
    let path = folder.path().join("s/journal.jsonl");
    let newer = fs::read_to_string(&path).expect("journal").replace("\"schema\":1", "\"schema\":9");
    fs::write(&path, &newer).expect("write");
    for args in [&["report", "s"][..], &["study", "--resume", "s"]] {
        let ran = coretwin(folder.path(), args);
        assert_eq!(ran.status, 3, "{}", ran.err);
        assert!(ran.err.contains("schema 9") && ran.err.contains("newer coretwin"), "{}", ran.err);
    }
    assert_eq!(fs::read_to_string(&path).expect("journal"), newer);
}

#[test]
fn a_budget_that_is_too_small_is_said_before_it_is_spent() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = ["study", "--budget", "1s", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", "s"];
    let ran = coretwin(folder.path(), &[&args[..], &["--", "sleep", "0.4"]].concat());
    assert_eq!(ran.status, 2, "{}", ran.err);
    assert!(ran.err.contains("--budget") && ran.err.contains("--blocks 3"), "{}", ran.err);
    assert_eq!(common::journal(&folder.path().join("s")).len(), 1, "the warm-up is kept");
}

#[test]
fn a_metric_that_matches_nothing_fails_the_cell_and_shows_the_output() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args =
        ["study", "--quick", "--no-warmup", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", "s"];
    for (metric, command, part) in [
        ("rate=speed ([0-9]+)", "echo no such thing", "rate"),
        ("rate=speed (.*)", "echo speed fast", "number"),
        ("rate=/a/b", "echo not json", "rate"),
    ] {
        let ran = coretwin(
            folder.path(),
            &[&args[..], &["--metric", metric, "--", "sh", "-c", command]].concat(),
        );
        assert_eq!(ran.status, 1, "{metric}: {}", ran.err);
        let reading = &common::journal(&folder.path().join("s"))[0];
        assert!(reading["cause"].as_str().expect("cause").contains(part), "{reading}");
        assert!(reading["output"].as_str().is_some(), "{reading}");
        fs::remove_dir_all(folder.path().join("s")).expect("clean");
    }
}

#[test]
fn what_a_resumed_study_would_ignore_is_refused() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    for more in [
        &["--margin", "5%"][..],
        &["--dry-run"],
        &["--threads", "2"],
        &["--seed", "3"],
        &["--switch"],
        &["--repeats", "2"],
        &["--settle", "1s"],
    ] {
        let ran = coretwin(folder.path(), &[&["study", "--resume", "s"], more].concat());
        assert_eq!(ran.status, 2, "{more:?}: {}", ran.err);
        assert!(ran.err.contains("cannot be used with"), "{more:?}: {}", ran.err);
    }
    let ran = coretwin(folder.path(), &["study", "--threads", "1,2", "--", "true"]);
    assert!(ran.status == 2 && ran.err.contains("{threads}"), "{}", ran.err);
}

#[test]
fn a_damaged_plan_is_an_error_that_names_the_field() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", "s", "--"];
    assert_eq!(coretwin(folder.path(), &[&args[..], &["true"]].concat()).status, 0);
    let path = folder.path().join("s/plan.json");
    let good = fs::read_to_string(&path).expect("plan");
    let mut plan: serde_json::Value = serde_json::from_str(&good).expect("json");
    for (field, value) in [
        ("arms", serde_json::json!([])),
        ("reference_arm", serde_json::json!("z")),
        ("orders", serde_json::json!([[0, 9]])),
        ("rules/margin", serde_json::json!(-2.0)),
        ("rules/target", serde_json::json!(-0.01)),
        ("rules/repeats", serde_json::json!(4_000_000_000_u32)),
        ("arms/1/label", serde_json::json!("a")),
    ] {
        let place = plan.pointer_mut(&format!("/{field}")).expect("a field");
        let kept = std::mem::replace(place, value);
        let name = field.split('/').next().unwrap_or_default();
        fs::write(&path, plan.to_string()).expect("write");
        for args in [&["report", "s"][..], &["study", "--resume", "s"]] {
            let ran = coretwin(folder.path(), args);
            assert_eq!(ran.status, 2, "{field}: {}", ran.err);
            assert!(ran.err.contains("plan.json: field") && ran.err.contains(name), "{}", ran.err);
        }
        *plan.pointer_mut(&format!("/{field}")).expect("a field") = kept;
    }
}

#[test]
fn a_journal_of_another_plan_is_an_error_that_names_line_and_field() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", "s", "--"];
    assert_eq!(coretwin(folder.path(), &[&args[..], &["true"]].concat()).status, 0);
    let path = folder.path().join("s/journal.jsonl");
    let good = unsealed(&fs::read_to_string(&path).expect("journal"));
    fs::write(&path, good.replace(r#""arm":"b""#, r#""arm":"c""#)).expect("write");
    let line = good.lines().position(|line| line.contains(r#""arm":"b""#)).expect("a line") + 1;
    for args in [&["report", "s"][..], &["compare", "s", "s"], &["study", "--resume", "s"]] {
        let ran = coretwin(folder.path(), args);
        assert_eq!(ran.status, 2, "{}", ran.err);
        let part = format!("journal.jsonl: line {line}: field arm is 'c'");
        assert!(ran.err.contains(&part), "{}", ran.err);
    }
}

#[test]
fn a_changed_digit_of_a_journal_is_refused_and_an_older_journal_is_said_to_be_unchecked() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let args = ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0", "--out", "s", "--"];
    assert_eq!(coretwin(folder.path(), &[&args[..], &["true"]].concat()).status, 0);
    let path = folder.path().join("s/journal.jsonl");
    let good = fs::read_to_string(&path).expect("journal");
    let old = unsealed(&good);
    let digit = good.find("\"value\":0.").expect("a value") + 10;
    let other = if &good[digit..=digit] == "9" { "8" } else { "9" };
    fs::write(&path, [&good[..digit], other, &good[digit + 1..]].concat()).expect("write");
    for args in [&["report", "s"][..], &["compare", "s", "s"], &["study", "--resume", "s"]] {
        let ran = coretwin(folder.path(), args);
        assert!(ran.status == 2, "{}", ran.err);
        assert!(ran.err.contains("journal.jsonl: line 1: field checksum"), "{}", ran.err);
    }
    fs::write(&path, old).expect("write");
    let ran = coretwin(folder.path(), &["report", "s", "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(ran.out.matches("journal-unchecked").count(), 1, "{}", ran.out);
    fs::write(&path, good).expect("write");
    let ran = coretwin(folder.path(), &["report", "s", "--format", "json"]);
    assert!(ran.status == 0 && !ran.out.contains("journal-unchecked"), "{}", ran.out);
    // None at all says more than a changed digit.
    let lost = || {
        let ran = coretwin(folder.path(), &["report", "s"]);
        assert!(ran.status != 0 && ran.err.contains("journal.jsonl has no reading"), "{ran:?}");
    };
    fs::write(&path, "").expect("write");
    lost();
    fs::remove_file(&path).expect("gone");
    lost();
}
