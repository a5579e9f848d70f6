//! Bad worlds: a full disk, a home that cannot be written, an odd locale and time zone, paths with
//! spaces and bytes that are no UTF-8. Each ends well or with a sentence that says what to do.

mod common;

use common::{CORETWIN, coretwin, host, patiently};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

const STUDY: [&str; 6] = ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn paths_with_spaces_and_foreign_bytes_work_or_are_refused_in_words() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let odd = OsStr::from_bytes(b"a  b/\xffc");
    let study = |out: &OsStr, command: &OsStr, at: &std::path::Path| {
        patiently(
            Command::new(CORETWIN)
                .args(STUDY)
                .arg("--out")
                .arg(out)
                .args([OsStr::new("--"), OsStr::new("true"), command])
                .current_dir(at),
        )
    };
    let ran = study(odd, OsStr::new("x"), folder.path());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(folder.path().join(odd).join("report.html").exists());
    let report = Command::new(CORETWIN).arg("report").arg(odd).current_dir(folder.path()).output();
    assert!(report.expect("starts").status.success());
    // Records are UTF-8, so words and folders that become part of them must be.
    let ran = study(OsStr::new("s"), OsStr::from_bytes(b"\xff"), folder.path());
    assert_eq!(ran.status.code(), Some(2));
    assert!(text(&ran.stderr).contains("UTF-8"), "{}", text(&ran.stderr));
    let foreign = folder.path().join(OsStr::from_bytes(b"d\xff"));
    fs::create_dir(&foreign).expect("folder");
    let ran = study(OsStr::new("s"), OsStr::new("x"), &foreign);
    assert_eq!(ran.status.code(), Some(2));
    assert!(text(&ran.stderr).contains("is not UTF-8"), "{}", text(&ran.stderr));
}

#[test]
fn a_home_that_cannot_be_written_keeps_nobody_from_anything() {
    let folder = tempfile::tempdir().expect("folder");
    for args in [
        &["topology"][..],
        &["audit"],
        &["simulate", "core", "--preset", "zen4", "--thread", "spin", "--uops", "20000"],
    ] {
        let ran = Command::new(CORETWIN)
            .args(args)
            .current_dir(folder.path())
            .env("HOME", "/proc/none")
            .env("XDG_CACHE_HOME", "/proc/none")
            .env("XDG_STATE_HOME", "/proc/none")
            .output()
            .expect("starts");
        assert!(ran.status.success(), "{args:?}: {}", text(&ran.stderr));
    }
}

#[test]
fn locale_and_time_zone_change_no_figure_and_nothing_is_coloured_where_no_terminal_is() {
    let folder = tempfile::tempdir().expect("folder");
    let audit = |names: &[(&str, &str)]| {
        let mut command = Command::new(CORETWIN);
        command.arg("audit").current_dir(folder.path()).env_clear().envs(names.iter().copied());
        let output = command.output().expect("starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        output.stdout
    };
    let plain = audit(&[]);
    for names in [
        &[("LC_ALL", "tr_TR.UTF-8"), ("TZ", "No/Where")][..],
        &[("LANG", "xx_YY"), ("TZ", ":/etc/passwd"), ("TERM", "dumb")],
        &[("NO_COLOR", "1"), ("TERM", "xterm-256color"), ("COLUMNS", "0")],
        &[("CLICOLOR_FORCE", "1"), ("COLUMNS", "x")],
    ] {
        assert_eq!(text(&audit(names)), text(&plain), "{names:?}");
    }
    assert!(!text(&plain).contains('\u{1b}'));
}

#[test]
fn a_full_disk_ends_a_study_with_a_sentence_and_what_was_measured() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    // Pages of 4 KiB: plan and environment fit, the rest does not.
    let script = format!(
        "mount -t tmpfs -o size=16k none . && cd . && cd \"$PWD\" || exit 77\n\
         '{CORETWIN}' {} --out s -- true\n\
         echo \"status $?\"; test -s s/plan.json && echo kept",
        STUDY.join(" ")
    );
    if Command::new("unshare").arg("--version").output().is_err() {
        return skip("there is no unshare");
    }
    let ran = patiently(
        Command::new("unshare")
            .args(["--mount", "/bin/sh", "-c", &script])
            .current_dir(folder.path()),
    );
    if ran.status.code() == Some(77) || !text(&ran.stdout).contains("status") {
        return skip("this user may not mount");
    }
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    assert!(out.contains("status 3") && out.contains("kept"), "{out}{err}");
    assert!(err.contains("no space left to write") && err.contains("free at least"), "{err}");
    assert!(err.contains("--resume s"), "{err}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let ran = coretwin(folder.path(), &[&STUDY[..], &["--out", "/proc/no", "--", "true"]].concat());
    assert_eq!(ran.status, 3);
    assert!(ran.err.contains("cannot make /proc/no"), "{}", ran.err);
    let ran = patiently(
        Command::new(CORETWIN)
            .args(["run", "aim9/creat-clo:seconds=0,calls=1"])
            .env("TMPDIR", "/no/such/folder"),
    );
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        text(&ran.stdout).contains("the scratch folder /no/such/folder"),
        "{}",
        text(&ran.stdout)
    );
}

/// Says why a test was not made.
#[expect(clippy::print_stderr, reason = "for whoever reads the log of the tests")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}
