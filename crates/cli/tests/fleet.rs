//! `coretwin fleet` without a cluster: what is refused, tasks on this machine, partial bundles, bad
//! bundles beside good ones, a sweep that is shared out.

mod common;

use common::{CORETWIN, Ran, coretwin};
use coretwin_base::fleet::plan::Manifest;
use coretwin_store::fleet_bundle::FleetBundle;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A study of a second, on simulated machines.
const SIMULATED: [&str; 4] = ["study", "chat:rooms=2,messages=20", "--blocks=2", "--machine"];

fn plan(folder: &Path, name: &str, study: &[&str]) -> Ran {
    fs::write(folder.join("hosts.txt"), "a\nb\n").expect("hosts");
    let head = ["fleet", "plan", name, "--engine=ssh", "--hosts=hosts.txt", "--seed=1", "--"];
    coretwin(folder, &[&head[..], study].concat())
}

fn bundles(folder: &Path) -> Vec<std::path::PathBuf> {
    let all = fs::read_dir(folder.join("bundles")).expect("bundles");
    let mut all: Vec<_> = all.map(|entry| entry.expect("entry").path()).collect();
    all.sort();
    all
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    for (study, part) in [
        (&["study", "chat", "--out=x"][..], "--out"),
        (&["study", "chat", "--seed=3"], "--seed"),
        (&["study", "chat", "--switch"], "--yes"),
        (&["study", "chat", "--protocol=2003"], "intervals"),
        (&["study", "--arm=boot:a", "--arm=boot:b", "--", "true"], "boot"),
        (&["study", "--variant=true", "--aa"], "ask machine by machine"),
        (&["study", "chat", "--aa"], "--aa"),
        (&["study", "--file=x.toml"], "holds the options itself"),
        (&["study", "--nonsense"], "--nonsense"),
        (&["nonsense"], "simulate sweep"),
        (&["simulate", "sweep", "nowhere.toml"], "nowhere.toml"),
        (&["study", "chta"], "did you mean 'chat'"),
        (&["study", "chat:rooms=-1"], "rooms=-1"),
        (&["study", "chat", "--machine=vm-9"], "did you mean 'vm-1'"),
    ] {
        let ran = plan(folder, "f", study);
        assert_eq!(ran.status, 2, "{study:?}: {ran:?}");
        assert!(ran.err.contains(part), "{study:?}: {ran:?}");
        assert!(!folder.join("f").exists(), "nothing is written: {study:?}");
    }
    for (time, part) in [("2", "--warn"), ("soon", "2:00:00")] {
        let time = format!("--time={time}");
        let head = ["fleet", "plan", "f", "--engine=slurm", "--tasks=1", &time, "--", "study"];
        let ran = coretwin(folder, &head);
        assert!(ran.status == 2 && ran.err.contains(part), "{time}: {ran:?}");
    }
    for option in ["--sbatch-option=-p\ntouch x", "--sbatch-option=long", "--time=1:00:00\nx"] {
        let head = ["fleet", "plan", "f", "--engine=slurm", "--tasks=1", option, "--", "study"];
        let ran = coretwin(folder, &[&head[..], &["chat"]].concat());
        assert!(ran.status == 2 && !folder.join("f").exists(), "{option}: {ran:?}");
    }
    for (options, part) in [
        (&["--image=i", "--namespace=My Space"][..], "--namespace: 'My Space'"),
        (&["--image=i", "--namespace=-a"], "no name of a namespace"),
        (&["--image="], "no name of an image"),
        (&["--image=a b"], "no name of an image"),
        (&["--image=i", "--claim=../x"], "no name of a claim"),
    ] {
        let head = ["fleet", "plan", "f", "--engine=kubernetes", "--tasks=1"];
        let ran = coretwin(folder, &[&head[..], options, &["--", "study", "chat"]].concat());
        assert!(ran.status == 2 && ran.err.contains(part), "{options:?}: {ran:?}");
        assert!(!folder.join("f").exists(), "nothing is written: {options:?}");
    }
    fs::write(folder.join("bad.txt"), "a\nh1 word\n").expect("hosts");
    let head = ["fleet", "plan", "f", "--engine=ssh", "--hosts=bad.txt", "--", "study", "chat"];
    let ran = coretwin(folder, &head);
    assert!(ran.status == 2 && ran.err.contains("line 2: 'word' is no option"), "{ran:?}");
    let pods = ["fleet", "plan", "f", "--engine=kubernetes", "--image=i", "--tasks=1", "--"];
    let ran = coretwin(folder, &[&pods[..], &["study", "--switch", "--yes"]].concat());
    assert!(ran.status == 2 && ran.err.contains("--allow-switch"), "{ran:?}");
    for (args, part) in [
        (["fleet", "status", "f"], "holds no fleet"),
        (["fleet", "merge", "f"], "fleet plan"),
        (["fleet", "run", "f"], "fleet plan"),
    ] {
        let ran = coretwin(folder, &args);
        assert!(ran.status == 2 && ran.err.contains(part), "{args:?}: {ran:?}");
    }
}

#[test]
fn tasks_run_here_and_what_is_bad_among_bundles_is_named() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let machines = [&SIMULATED[..], &["xeon-mp-foster,xeon-mp-2-socket"]].concat();
    assert_eq!(plan(folder, "f", &machines).status, 0);
    let ran = coretwin(folder, &["fleet", "run", "f", "--here", "--task=0"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let ran = coretwin(folder, &["fleet", "status", "f", "--offline"]);
    assert!(ran.status == 1 && ran.out.contains("1 done, 1 missing"), "{ran:?}");
    let ran = coretwin(folder, &["fleet", "run", "f", "--here"]);
    assert!(ran.status == 0 && ran.err.contains("task 0: it is done already"), "{ran:?}");
    assert_eq!(coretwin(folder, &["fleet", "status", "f"]).status, 0, "nobody is asked");
    let one = bundles(&folder.join("f")).pop().expect("two bundles");
    fs::rename(&one, folder.join("kept")).expect("rename");
    let ran = coretwin(folder, &["fleet", "report", "f", "--full"]);
    assert!(ran.out.contains("1 of 2 tasks have no bundle that counts: "), "{ran:?}");
    fs::rename(folder.join("kept"), &one).expect("rename");
    assert_eq!(coretwin(folder, &["fleet", "merge", "f"]).status, 0);
    let members = || fs::read(folder.join("f/merged/members.jsonl")).expect("members");
    let good = members();
    assert_eq!(good.iter().filter(|byte| **byte == b'\n').count(), 2);

    // Of another fleet, cut off, altered, no bundle at all: each is named, and nothing else changes.
    assert_eq!(plan(folder, "other", &[&machines[..], &["--margin=3%"]].concat()).status, 0);
    assert_eq!(coretwin(folder, &["fleet", "run", "other", "--here", "--task=1"]).status, 0);
    let foreign = &bundles(&folder.join("other"))[0];
    let home = folder.join("f/bundles");
    fs::copy(foreign, home.join("foreign.tar.gz")).expect("copy");
    let bytes = fs::read(&bundles(&folder.join("f"))[0]).expect("bytes");
    fs::write(home.join("cut.tar.gz"), &bytes[..bytes.len() / 2]).expect("write");
    fs::write(home.join("text.tar.gz"), "hello").expect("write");
    std::os::unix::fs::symlink("nowhere", home.join("link.tar.gz")).expect("link");
    let ran = coretwin(folder, &["fleet", "merge", "f"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    for part in [
        "foreign.tar.gz: it is of another fleet",
        "cut.tar.gz: it is cut off",
        "text.tar.gz: ",
        "link.tar.gz: ",
    ] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(members(), good);
    let refused = fs::read_to_string(folder.join("f/merged/refused.jsonl")).expect("refused");
    assert_eq!(refused.lines().count(), 4);

    // Damaged behind its manifest, and the only one of its task: a merge finds it, and then it is missing.
    for file in bundles(&folder.join("f")) {
        fs::remove_file(file).expect("remove");
    }
    fs::write(home.join("cut.tar.gz"), &bytes[..bytes.len() - 40]).expect("write");
    let ran = coretwin(folder, &["fleet", "merge", "f"]);
    assert!(
        ran.status == 1 && ran.err.contains("how to finish: coretwin fleet status f"),
        "{ran:?}"
    );
    let ran = coretwin(folder, &["fleet", "status", "f", "--offline"]);
    assert!(ran.status == 1 && ran.out.contains("2 missing"), "{ran:?}");
    assert!(ran.out.contains("cut.tar.gz") && ran.out.contains("to finish:"), "{ran:?}");
    let ran = coretwin(folder, &["fleet", "report", "f"]);
    assert!(ran.status == 3 && ran.err.contains("coretwin fleet status f"), "{ran:?}");

    fs::remove_file(home.join("cut.tar.gz")).expect("remove");
    fs::write(home.join("good.tar.gz"), &bytes).expect("write");
    only_what_was_planned_and_has_a_journal_counts(folder, &home);
    assert_eq!(members().iter().filter(|byte| **byte == b'\n').count(), 1, "the good one");
    an_altered_plan_is_another_plan(folder);
}

fn an_altered_plan_is_another_plan(folder: &Path) {
    let path = folder.join("f/fleet.json");
    let text = fs::read_to_string(&path).expect("plan").replace("--blocks=2", "--blocks=3");
    fs::write(&path, text).expect("write");
    let ran = coretwin(folder, &["fleet", "status", "f"]);
    assert!(ran.status == 2 && ran.err.contains("altered"), "{ran:?}");
}

/// Beside a good bundle, one of a task that was never planned and one without a journal: whole bundles,
/// and of this fleet.
fn only_what_was_planned_and_has_a_journal_counts(folder: &Path, home: &Path) {
    let manifest = FleetBundle::manifest_of(&home.join("good.tar.gz")).expect("a bundle");
    let plan_json = fs::read(folder.join("f/fleet.json")).expect("any file");
    fs::write(folder.join("plan.json"), plan_json).expect("write");
    let files = [("plan.json", folder.join("plan.json"))];
    let none = Manifest { files: std::collections::BTreeMap::new(), ..manifest };
    let unplanned = Manifest { task: 7, machine: "m7".into(), ..none.clone() };
    for manifest in [none, unplanned] {
        coretwin_store::fleet_bundle::write(home, manifest, &files).expect("written");
    }
    let ran = coretwin(folder, &["fleet", "merge", "f"]);
    for part in ["has no journal", "of task 7, which this fleet never planned"] {
        assert!(ran.status == 1 && ran.err.contains(part), "{part}: {ran:?}");
    }
    let ran = coretwin(folder, &["fleet", "status", "f", "--offline"]);
    assert!(ran.out.contains("never planned") && ran.out.contains("1 missing"), "{ran:?}");
}

#[test]
fn a_sweep_that_was_shared_out_is_the_sweep() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let shown = coretwin(folder, &["simulate", "sweep", "--show"]).out;
    let small: String = shown
        .lines()
        .map(|line| match line.split('=').next().map(str::trim) {
            Some("seeds") => "seeds = 1\n".to_owned(),
            Some("until_ms") => "until_ms = 20.0\n".to_owned(),
            _ => format!("{line}\n"),
        })
        .collect();
    fs::write(folder.join("small.toml"), small).expect("sweep");
    assert_eq!(plan(folder, "f", &["simulate", "sweep", "small.toml"]).status, 0);
    assert_eq!(coretwin(folder, &["fleet", "run", "f", "--here", "--task=0"]).status, 0);
    let ran = coretwin(folder, &["fleet", "report", "f", "--full"]);
    assert!(ran.out.contains(" are missing: "), "{ran:?}");
    assert_eq!(coretwin(folder, &["fleet", "run", "f", "--here"]).status, 0);
    assert_eq!(coretwin(folder, &["fleet", "merge", "f"]).status, 0);
    let whole = coretwin(folder, &["simulate", "sweep", "small.toml", "--out=whole"]);
    assert_eq!(whole.status, 0, "{whole:?}");
    let lines = |file: &str| {
        let text = fs::read_to_string(folder.join(file)).expect(file);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines("f/merged/cells.jsonl"), lines("whole/cells.jsonl"));
    let ran = coretwin(folder, &["fleet", "report", "f"]);
    assert_eq!(ran.out, whole.out, "the same tables");
}

#[test]
fn a_study_that_is_told_to_stop_leaves_a_partial_bundle_and_is_gone_on_with() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let go = folder.join("go");
    let line = format!("test -e {0} || {{ touch {0}.reached; sleep 60; }}", go.display());
    let study =
        ["study", "--no-warmup", "--blocks=2", "--others-limit=100%", "--", "sh", "-c", &line];
    fs::write(folder.join("hosts.txt"), "a\n").expect("hosts");
    let head = ["fleet", "plan", "f", "--engine=ssh", "--hosts=hosts.txt", "--"];
    assert_eq!(coretwin(folder, &[&head[..], &study].concat()).status, 0);
    let _host = common::host();
    let mut run = Command::new(CORETWIN)
        .args(["fleet", "run", "f", "--here", "--task=0"])
        .current_dir(folder)
        .spawn()
        .expect("starts");
    let reached = folder.join("go.reached");
    while !reached.exists() {
        assert!(run.try_wait().expect("wait").is_none(), "it ended before it began");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let id = run.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().expect("kill");
    assert_eq!(run.wait().expect("ends").code(), Some(130));
    let ran = coretwin(folder, &["fleet", "status", "f", "--offline"]);
    assert!(ran.out.contains("1 partial") && ran.out.contains("told to stop"), "{ran:?}");
    fs::write(&go, "").expect("go");
    let ran = coretwin(folder, &["fleet", "run", "f", "--here"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(bundles(&folder.join("f")).len(), 1, "the partial one is replaced");
    assert_eq!(coretwin(folder, &["fleet", "merge", "f"]).status, 0);
    let text = fs::read_to_string(folder.join("f/merged/members.jsonl")).expect("members");
    let member: serde_json::Value = serde_json::from_str(&text).expect("member");
    assert_eq!(
        (&member["state"], &member["effects"][0]["blocks"]),
        (&"complete".into(), &2.into())
    );
}
