//! Bad worlds: a full disk, a home that cannot be written, an odd locale and time zone, paths with
//! spaces and bytes that are no UTF-8. Each ends well or with a sentence that says what to do.

mod common;
#[path = "common/terminal.rs"]
mod terminal;

use common::{CORETWIN, coretwin, host, patiently};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use terminal::Session;

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

/// Whether a text has a sequence that sets a colour: `ESC [ … 31 … m` and its like.
fn has_colour(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ';')).unwrap_or(rest.len());
        let colour = |code: &str| code.len() > 1 && code.starts_with(['3', '4', '9']);
        rest[end..].starts_with('m') && rest[..end].split(';').any(colour)
    })
}

#[test]
fn a_terminal_without_colour_gets_none_and_a_dumb_one_nothing_but_lines() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let shown = |args: &[&str], environment: &[(&str, &str)]| {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let mut session = Session::start(CORETWIN, &args, 24, 100, environment);
        session.end();
        session.text()
    };
    for (index, environment) in [
        &[("TERM", "dumb")][..],
        &[("TERM", "xterm-256color"), ("NO_COLOR", "1")],
        &[("TERM", "xterm-256color"), ("CLICOLOR", "0")],
    ]
    .iter()
    .enumerate()
    {
        let out = folder.path().join(index.to_string()).display().to_string();
        let study = [&STUDY[..], &["--out", &out, "--", "true"]].concat();
        for args in [&["--help"][..], &["nonsense"], &study] {
            let text = shown(args, environment);
            assert!(!text.is_empty() && !has_colour(&text), "{environment:?} {args:?}: {text:?}");
            let dumb = environment.contains(&("TERM", "dumb"));
            assert!(!dumb || !text.contains('\u{1b}'), "{environment:?} {args:?}: {text:?}");
        }
    }
    // Where there is colour it is used, so the above can fail.
    assert!(has_colour(&shown(&["nonsense"], &[("TERM", "xterm-256color")])));
}

#[test]
fn standard_streams_on_a_full_disk_end_in_words_and_never_in_a_panic() {
    let folder = tempfile::tempdir().expect("folder");
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device");
    let ran = |args: &[&str]| {
        let mut command = Command::new(CORETWIN);
        command.args(args).current_dir(folder.path());
        command
    };
    for args in
        [&["audit"][..], &["list"], &["topology", "--json"], &["generate", "completions", "bash"]]
    {
        let output = ran(args).stdout(full()).output().expect("starts");
        assert_eq!(output.status.code(), Some(3), "{args:?}: {}", text(&output.stderr));
        let why = text(&output.stderr);
        assert!(why.contains("cannot write standard output: No space left"), "{why}");
    }
    // What cannot be said is not said; what was asked for is done.
    let status = ran(&["audit"]).stderr(full()).stdout(std::process::Stdio::null()).status();
    assert!(status.expect("starts").success());
    let status = ran(&["nonsense"]).stderr(full()).status();
    assert_eq!(status.expect("starts").code(), Some(2));
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
