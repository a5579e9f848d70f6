//! `coretwin simulate profile` through the real program: a stand-in for valgrind that writes what it is
//! told, and valgrind itself where it is installed.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const CORETWIN: &str = env!("CARGO_BIN_EXE_coretwin");

const COUNTS: &str = "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim
summary: 900000000 900 90 190000000 9000000 19000 90000000 1000000 90 170000000 1000000 10000000 400000
";

/// A folder whose `valgrind` runs this script, with `$counts` as the start of its file's name.
fn folder_with(script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("valgrind");
    let find = "for a; do case $a in --cachegrind-out-file=*) counts=${a#*=}; counts=${counts%.%p};; esac; done";
    fs::write(&file, format!("#!/bin/sh\n{find}\n{script}\n")).expect("script");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("executable");
    fs::create_dir(folder.path().join("tmp")).expect("folder for temporary files");
    folder
}

fn profile(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(CORETWIN);
    let path = format!("{}:/usr/bin:/bin", folder.display());
    command.args(["simulate", "profile", "--preset", "zen4"]).args(arguments);
    command.env("PATH", path).env("TMPDIR", folder.join("tmp"));
    command
}

fn counted(counts: &str) -> tempfile::TempDir {
    folder_with(&format!("cat > $counts.1 <<'end'\n{counts}end"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Nothing is left in the folder of temporary files.
fn nothing_left(folder: &Path) {
    let left = fs::read_dir(folder.join("tmp")).expect("folder").count();
    assert_eq!(left, 0, "temporary files are left");
}

#[test]
fn counts_and_time_become_a_profile_as_fast_as_its_program() {
    let folder = counted(COUNTS);
    // A name that must be quoted in the profile: what is in it is its own command.
    let hostile = "i=0; while [ $i -lt 900000 ]; do i=$((i+1)); done # \"\u{1b}'\\";
    let command = ["--json", "--runs", "1", "--name", "mine", "--", "/bin/sh", "-c", hostile];
    let output = profile(folder.path(), &command).output().expect("runs");
    assert!(output.status.success(), "{}", said(&output));
    let facts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let number = |key: &str| facts[key].as_f64().unwrap_or_else(|| panic!("{key} of {facts}"));
    assert_eq!(facts["origin"], "measured");
    assert_eq!(number("instructions"), 9e8);
    let (predicted, measured, simulated) =
        (number("predicted"), number("measured"), number("simulated"));
    let off = |speed: f64| (speed / measured - 1.0).abs();
    assert!(off(simulated) < off(predicted).max(0.011), "{simulated}, {predicted}, {measured}");
    assert!((number("simulated_misses") / number("misses") - 1.0).abs() < 0.15, "{facts}");
    let said = said(&output);
    assert!(said.contains(&format!("{measured:.3} instructions per cycle measured")), "{said}");
    nothing_left(folder.path());

    let file = folder.path().join("mine.toml");
    let text = facts["profile"].as_str().expect("text");
    assert!(text.contains("solo = ["), "{text}");
    fs::write(&file, text).expect("profile");
    let run = Command::new(CORETWIN)
        .args(["simulate", "core", "--preset", "zen4", "--uops", "20000", "--json", "--thread"])
        .arg(&file)
        .output()
        .expect("runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let run: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(run["threads"][0]["profile"], "mine");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place() {
    let refused = |folder: &tempfile::TempDir, says: &str| {
        let output = profile(folder.path(), &["--runs", "0", "--", "true"]).output().expect("runs");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says) && output.stdout.is_empty(), "{said}");
        nothing_left(folder.path());
    };
    refused(&counted(&COUNTS.replace(" 900 90", " 900 ninety")), "cachegrind:2: ILmr: 'ninety'");
    refused(&counted("events: Ir\nsummary: 1 2\n"), "cachegrind:2: summary: 2 counts for 1 events");
    refused(&counted("\u{1b}[2J nothing of it\n"), "cachegrind: has no counts");
    refused(&folder_with("echo 'valgrind: mycmd: no such program' >&2; exit 1"), "no such program");
    refused(&folder_with("exit 0"), "it said last: nothing");
}

#[test]
fn missing_valgrind_is_named_with_its_package() {
    let folder = tempfile::tempdir().expect("folder");
    fs::create_dir(folder.path().join("tmp")).expect("folder");
    let mut command = profile(folder.path(), &["--", "/bin/true"]);
    let output = command.env("PATH", folder.path()).output().expect("runs");
    assert!(!output.status.success());
    assert!(said(&output).contains("apt install valgrind"), "{}", said(&output));
    nothing_left(folder.path());
}

#[test]
fn work_of_other_processes_is_counted_and_not_timed() {
    let two = format!("cat > $counts.1 <<'end'\n{COUNTS}end\ncp $counts.1 $counts.2");
    let folder = folder_with(&two);
    let output = profile(folder.path(), &["--", "/bin/true"]).output().expect("runs");
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("50 % of the instructions are of other processes"));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("solo"));
}

#[test]
fn an_interrupt_ends_the_command_and_leaves_nothing() {
    let folder = folder_with("sleep 1000 & echo $! > $(dirname $0)/pid; wait");
    let mut child = profile(folder.path(), &["--", "/bin/true"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let (pid, end) = (folder.path().join("pid"), Instant::now() + Duration::from_secs(60));
    let sleeper = loop {
        let text = fs::read_to_string(&pid).unwrap_or_default();
        if let Ok(pid) = text.trim().parse::<i32>() {
            break pid;
        }
        assert!(Instant::now() < end, "valgrind was not started");
        std::thread::sleep(Duration::from_millis(20));
    };
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.expect("kill").success());
    let status = child.wait().expect("ends");
    assert_eq!(status.code(), Some(130));
    nothing_left(folder.path());
    // A shell's background job, which ignores an interrupt. Ended means gone or a zombie.
    let stat = || fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
    while stat().contains(") S") {
        assert!(Instant::now() < end, "the command's process {sleeper} still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn valgrind_itself_counts_a_program() {
    if !Path::new("/usr/bin/valgrind").exists() {
        eprintln!("valgrind is not installed: not tried");
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    fs::create_dir(folder.path().join("tmp")).expect("folder");
    let loops = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let command = ["--runs", "0", "--json", "--", "/bin/sh", "-c", loops];
    let output = profile(folder.path(), &command).output().expect("runs");
    assert!(output.status.success(), "{}", said(&output));
    let facts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // A round of a shell's loop is hundreds of instructions.
    let instructions = facts["instructions"].as_f64().expect("a number");
    assert!((2e6..1e9).contains(&instructions), "{instructions}");
    assert!(facts.get("measured").is_none(), "{facts}");
    nothing_left(folder.path());
}
