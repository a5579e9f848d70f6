//! A survey by the real programs: one bundle, without names, that `fleet report` reads; and that a
//! guest's is marked and not counted.

#![cfg(feature = "fleet")]

mod common;

use common::{CORETWIN, coretwin, host, patiently};
use coretwin_store::Extent;
use coretwin_store::fleet_bundle::FleetBundle;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The bundle that a survey left in a folder.
fn bundle_in(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path());
    let mut bundles = entries.filter(|path| path.to_string_lossy().ends_with(".tar.gz"));
    bundles.next().expect("a bundle")
}

#[test]
fn a_survey_is_one_bundle_without_names_that_a_fleet_report_reads() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let home = folder.path().join("zebrahome");
    fs::create_dir(&home).expect("home");
    // A try beside another study has left its folder.
    let again = "rm -rf kit && exec \"$0\" survey --yes --budget 25s --out kit";
    let output = patiently(
        Command::new("sh")
            .args(["-c", again, CORETWIN])
            .current_dir(&home)
            .env("HOME", &home)
            .env("USER", "zebrauser"),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    // A busy machine has its own status, which is no failure of the survey.
    assert!([Some(0), Some(1)].contains(&output.status.code()), "{said}");
    let shown = String::from_utf8_lossy(&output.stdout);
    for part in ["In the bundle:", "left out", "journal.jsonl", "bundle: kit/"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    assert!(said.contains("step 3 of 3") && said.contains("its shortest"), "{said}");
    // Two seconds of tbench in eight blocks of two arms do not fit.
    assert!(said.contains("three blocks of chat:rooms=10 instead"), "{said}");
    let bundle = bundle_in(&home.join("kit"));
    let read = FleetBundle::read(&bundle, Extent::Whole).expect("whole");
    let plain = Command::new("tar").args(["-xzOf"]).arg(&bundle).output().expect("tar");
    let text = String::from_utf8_lossy(&plain.stdout);
    let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    for private in ["zebra", "kernel.command_line", "/tmp/"] {
        assert!(!text.contains(private), "'{private}' is in the bundle");
    }
    // A short name is part of other words (vm of vmscape).
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    assert!(words.all(|word| word != name.trim()), "the host's name is in the bundle");
    assert!(read.manifest.files.contains_key("survey.json"), "{:?}", read.manifest);
    let report = coretwin(&home, &["fleet", "report", &bundle.display().to_string()]);
    assert_eq!(report.status, 0, "{}", report.err);
    // What was put together can be packed later, and is the same then.
    fs::remove_file(&bundle).expect("a bundle");
    let packed = coretwin(&home, &["survey", "--pack", "kit", "--yes"]);
    assert_eq!(packed.status, 0, "{}", packed.err);
    assert!(bundle.exists() && packed.out.contains("machine"), "{}", packed.out);
    for (words, status, part) in [
        (&["survey", "--yes", "--out", "kit"][..], 2, "coretwin survey --pack kit"),
        (&["survey", "--yes", "--pack", "kit/study"], 2, "no survey that came to its end"),
        (&["report", "kit"], 2, "coretwin report kit/study"),
    ] {
        let refused = coretwin(&home, words);
        assert_eq!(refused.status, status, "{}", refused.err);
        assert!(refused.err.contains(part), "{}", refused.err);
    }
    let table = coretwin(&home, &["generate", "machines", "kit"]);
    assert!(table.out.contains("SMT processors measured"), "{}", table.out);
}

#[test]
fn nothing_is_measured_where_nobody_can_be_asked() {
    let folder = tempfile::tempdir().expect("folder");
    let refused = coretwin(folder.path(), &["survey"]);
    assert_eq!(refused.status, 2, "{}", refused.err);
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 0);
}
