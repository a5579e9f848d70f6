//! What docs/threat-model.md promises: nothing writable by everybody, no link followed, no shell that
//! nobody asked for, no environment but the caller's, no listener beyond loopback, no client that
//! holds a server.

mod common;

use common::{CORETWIN, coretwin, host, patiently};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

const STUDY: [&str; 6] = ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0"];

/// A script in a folder.
fn script(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), format!("#!/bin/sh\n{text}\n")).expect("script");
    fs::set_permissions(folder.join(name), Permissions::from_mode(0o755)).expect("mode");
}

/// Everything below a folder that others may write.
fn writable_by_all(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(path) = ahead.pop() {
        let meta = fs::symlink_metadata(&path).expect("there");
        if !meta.is_symlink() && meta.permissions().mode() & 0o002 != 0 {
            found.push(path.display().to_string());
        }
        if meta.is_dir() {
            ahead.extend(
                fs::read_dir(&path).expect("list").map(|entry| entry.expect("entry").path()),
            );
        }
    }
    found
}

#[test]
fn nothing_is_writable_by_everybody_even_without_a_umask() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    script(
        folder.path(),
        "work",
        "ls -ldn /dev/shm/coretwin-* 2>/dev/null > shared; echo x > made",
    );
    for line in [
        "study --quick --arm a=cpus:0 --arm b=cpus:0 --out deep/study -- ./work",
        "report deep/study --save",
        "simulate core --preset zen4 --thread spin --thread spin --uops 20000",
        "simulate sched --scenario two-on-siblings --slowdown 1.6 --timeline t.svg --perfetto t.json",
        "generate man man",
    ] {
        let ran = patiently(
            Command::new("/bin/sh")
                .args(["-c", &format!("umask 0; exec '{CORETWIN}' {line}")])
                .current_dir(folder.path())
                .env("HOME", folder.path())
                .env_remove("XDG_STATE_HOME")
                .env_remove("XDG_CACHE_HOME"),
        );
        assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    assert_eq!(writable_by_all(folder.path()), [""; 0]);
}

#[test]
fn words_of_a_command_are_no_shell_lines() {
    let folder = tempfile::tempdir().expect("folder");
    script(folder.path(), "show", "printf '%s\\n' \"$@\" > words");
    let words = ["$HOME", "; touch pwned", "$(touch pwned)", "`touch pwned`", "a  b", "*", "'\""];
    let ran = coretwin(folder.path(), &[&["run", "--", "./show"], &words[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    let found = fs::read_to_string(folder.path().join("words")).expect("words");
    assert_eq!(found.lines().collect::<Vec<_>>(), words);
    assert!(!folder.path().join("pwned").exists());
}

#[test]
fn work_gets_the_callers_environment_and_nothing_else() {
    let folder = tempfile::tempdir().expect("folder");
    script(folder.path(), "show", "/usr/bin/env -0 > environment");
    let path = std::env::var("PATH").expect("PATH");
    let home = folder.path().to_string_lossy().into_owned();
    let given = [("PATH", path.as_str()), ("HOME", &home), ("SECRET", "a b\nc"), ("LANG", "C")];
    let ran = patiently(
        Command::new(CORETWIN)
            .args(["run", "--", "./show"])
            .current_dir(folder.path())
            .env_clear()
            .envs(given),
    );
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let found = fs::read_to_string(folder.path().join("environment")).expect("environment");
    let found: Vec<(&str, &str)> =
        found.split_terminator('\0').filter_map(|pair| pair.split_once('=')).collect();
    for pair in given {
        assert!(found.contains(&pair), "{pair:?} in {found:?}");
    }
    // What a shell makes itself, and the user whom the work runs as.
    let known = ["PWD", "OLDPWD", "SHLVL", "_", "USER", "LOGNAME"];
    let strange: Vec<_> = found.iter().filter(|pair| !given.contains(pair)).collect();
    assert!(strange.iter().all(|(name, _)| known.contains(name)), "{strange:?}");
}

#[test]
fn what_a_command_prints_controls_no_terminal() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    script(folder.path(), "bad", "printf 'here\\033]0;title\\007\\033[31m' >&2; exit 3");
    let ran = coretwin(folder.path(), &[&STUDY[..], &["--out", "s", "--", "./bad"]].concat());
    assert_eq!(ran.status, 1, "{}", ran.err);
    let report = coretwin(folder.path(), &["report", "s", "--format", "md"]).out;
    let html = fs::read_to_string(folder.path().join("s/report.html")).expect("report");
    for text in [&ran.out, &ran.err, &report, &html] {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}

#[test]
fn notes_of_others_lead_to_the_removal_of_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let precious = folder.path().join("precious");
    fs::create_dir(&precious).expect("folder");
    fs::write(precious.join("file"), "x").expect("file");
    let link = folder.path().join("coretwin-scratch-link");
    symlink(&precious, &link).expect("link");
    let notes = [("a", precious.as_path()), ("b", &link)].map(|(name, what)| {
        let note = format!("/dev/shm/coretwin-scratch-test-{}-{name}", std::process::id());
        fs::write(&note, what.as_os_str().as_encoded_bytes()).expect("note");
        note
    });
    let row = "aim9/creat-clo:seconds=0,calls=1";
    let ran = coretwin(folder.path(), &["run", row]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(precious.join("file").exists());
    for note in notes {
        assert!(!Path::new(&note).exists(), "{note} was looked at");
    }
}

/// A server that is killed with the test, and its events.
struct Server(std::process::Child, BufReader<std::process::ChildStdout>, SocketAddr);

impl Server {
    fn start(options: &[&str]) -> Self {
        let mut child = Command::new(CORETWIN)
            .arg("serve")
            .args(options)
            .args(["--port", "0", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("stdout"));
        let mut server = Self(child, lines, SocketAddr::from(([0, 0, 0, 0], 0)));
        server.2 = server.next()["address"].as_str().expect("address").parse().expect("address");
        server
    }

    fn next(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn servers_listen_on_loopback_and_give_up_clients_that_hold_them() {
    for (options, says) in [
        (&["chat", "--patience", "1"][..], "said nothing"),
        (&["chat-futex", "--patience", "1"], "said nothing"),
        (&["tbench", "--patience", "1"], "too long"),
    ] {
        let mut server = Server::start(options);
        assert!(server.2.ip().is_loopback(), "{options:?}");
        let _silent = TcpStream::connect(server.2).expect("connected");
        let event = server.next();
        assert_eq!(event["event"], "failed", "{options:?}");
        assert!(event["why"].as_str().expect("why").contains(says), "{options:?}: {event}");
    }
    let mut server = Server::start(&["chat", "--patience", "1"]);
    let mut liar = TcpStream::connect(server.2).expect("connected");
    let wishes = [2_u32.to_ne_bytes(), 5_u32.to_ne_bytes()].concat();
    liar.write_all(&wishes).expect("sent");
    assert_eq!(server.next()["event"], "started");
    let event = server.next();
    assert!(
        event["why"].as_str().expect("why").contains("did not make the connections"),
        "{event}"
    );
    // And the next one is served.
    let folder = tempfile::tempdir().expect("folder");
    let spec = format!("chat:rooms=1,messages=5,server={}", server.2);
    let ran = coretwin(folder.path(), &["run", &spec]);
    assert_eq!(ran.status, 0, "{}", ran.err);
}

#[test]
fn a_monitor_is_not_shown_to_the_network_by_accident() {
    let folder = tempfile::tempdir().expect("folder");
    for address in ["0.0.0.0:0", "[::]:0"] {
        let ran = coretwin(folder.path(), &["top", "--openmetrics", address]);
        assert!(ran.status != 0 && ran.err.contains("--allow-remote"), "{}", ran.err);
    }
}
