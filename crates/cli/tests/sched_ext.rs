//! The verb `sched` as a real program, on machines whose kernel cannot load schedulers: it must say
//! why, and leave everything as it is.

#![expect(clippy::print_stdout, reason = "what is skipped is said")]

mod common;

use common::{coretwin, host};
use serde_json::Value;
use std::path::Path;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Whether the machine of this test has no sched_ext; else what must be refused here would be done.
fn cannot_load() -> bool {
    let cannot = !Path::new("/sys/kernel/sched_ext").exists();
    if !cannot {
        println!("skipped: this kernel can load schedulers, and none shall be loaded here");
    }
    cannot
}

#[test]
fn parameters_are_checked_before_anything_else() {
    for (set, part) in [
        ("slice=1", "did you mean 'slice_us'"),
        ("slice_us=1", "slice_us is 100 to 1000000, not '1'"),
        ("active=maybe", "active is on or off"),
        ("active", "write it like slice_us=3000"),
    ] {
        let ran = coretwin(Path::new("/"), &["sched", "start", "--set", set]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains(part), "{ran:?}");
    }
    let help = coretwin(Path::new("/"), &["sched", "start", "--help"]);
    assert!(
        help.out.contains("slice_us") && help.out.contains("[3000; 100 to 1000000]"),
        "{help:?}"
    );
}

#[test]
fn where_it_cannot_be_loaded_the_reason_and_the_remedy_are_said() {
    if !cannot_load() {
        return;
    }
    let doctor = coretwin(Path::new("/"), &["sched", "doctor", "--json"]);
    assert_eq!(doctor.status, 3, "{doctor:?}");
    let findings = json(&doctor.out);
    assert_eq!((&findings["schema"], &findings["can_load"]), (&1.into(), &false.into()));
    let checks = findings["checks"].as_array().expect("checks");
    let kernel = checks.iter().find(|check| check["name"] == "kernel").expect("kernel");
    assert_eq!(kernel["level"], "blocks");
    let remedy = kernel["remedy"].as_str().expect("remedy");
    for arguments in [&["sched", "start"][..], &["sched", "start", "--detach"]] {
        let ran = coretwin(Path::new("/"), arguments);
        assert_eq!(ran.status, 3, "{ran:?}");
        assert!(
            ran.err.contains("core-queue is not loaded") && ran.err.contains(remedy),
            "{ran:?}"
        );
    }
    let text = coretwin(Path::new("/"), &["sched", "doctor"]);
    assert!(text.out.contains("BLOCKS") && text.out.contains(remedy), "{text:?}");
}

#[test]
fn status_and_stop_tell_that_the_kernels_own_scheduler_is_in_charge() {
    if !cannot_load() {
        return;
    }
    let status = coretwin(Path::new("/"), &["sched", "status", "--json"]);
    assert_eq!(status.status, 0, "{status:?}");
    let status = json(&status.out);
    assert_eq!((&status["scheduler"], &status["sched_ext"]), (&"kernel".into(), &Value::Null));
    let stop = coretwin(Path::new("/"), &["sched", "stop"]);
    assert_eq!(stop.status, 0, "{stop:?}");
    assert!(stop.out.contains("nothing is to be stopped"), "{stop:?}");
    let folder = tempfile::tempdir().expect("folder");
    let ran = coretwin(folder.path(), &["sched", "status", "--openmetrics", "sched.prom"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let text = std::fs::read_to_string(folder.path().join("sched.prom")).expect("written");
    assert!(text.contains("coretwin_sched_supported 0\n") && text.ends_with("# EOF\n"), "{text}");
    assert_eq!(folder.path().read_dir().expect("folder").count(), 1, "nothing temporary is left");
}

#[test]
fn a_study_under_a_scheduler_that_cannot_be_loaded_never_begins() {
    if !cannot_load() {
        return;
    }
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let arms = ["--arm", "on@kernel", "--arm", "on@core-queue[active=off]"];
    let study = [&["study"][..], &arms, &["--out", "study", "--", "true"]].concat();
    let ran = coretwin(folder.path(), &study);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.err.contains("core-queue cannot be loaded here"), "{ran:?}");
    assert!(!folder.path().join("study").exists());
    let dry = coretwin(folder.path(), &[&study[..1], &["--dry-run"], &study[1..]].concat());
    assert_eq!(dry.status, 0, "{dry:?}");
    for part in ["on@core-queue[active=off]", "loaded for each visit", "cannot be loaded here"] {
        assert!(dry.out.contains(part), "{part}: {dry:?}");
    }
    let run = coretwin(folder.path(), &["run", "--arm", "on@core-queue", "--", "true"]);
    assert_eq!(run.status, 3, "{run:?}");
}

#[test]
fn arms_that_make_no_sense_are_usage() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    for (arm, part) in [
        ("on@core-queu", "did you mean 'core-queue'"),
        ("on@core-queue[actve=off]", "did you mean 'active'"),
        ("on@core-queue[slice_us=1]", "slice_us is 100 to 1000000"),
        ("boot:nosmt@core-queue", "leave out '@core-queue'"),
    ] {
        let other = if arm.starts_with("boot") { "boot:smt" } else { "on" };
        let ran = coretwin(folder.path(), &["study", "--arm", other, "--arm", arm, "--", "true"]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains(part), "{ran:?}");
    }
}

#[test]
fn on_this_kernel_readings_still_tell_what_they_can() {
    if !cannot_load() {
        return;
    }
    let _host = host();
    let ran = coretwin(Path::new("/"), &["run", "--json", "--", "true"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let reading = json(&ran.out);
    assert_eq!(reading["checks"]["scheduler"], true, "{reading}");
}
