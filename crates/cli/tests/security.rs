//! What docs/threat-model.md promises: nothing writable by everybody, no link followed, no shell that
//! nobody asked for, no environment but the caller's, no listener beyond loopback, no client that
//! holds a server.

mod common;

use common::{CORETWIN, coretwin, host, patiently};
use coretwin_base::printable::is_steering;
use coretwin_host::fake;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const STUDY: [&str; 6] = ["study", "--quick", "--arm", "a=cpus:0", "--arm", "b=cpus:0"];

/// A script in a folder.
fn script(folder: &Path, name: &str, text: &str) {
    fake::program(&folder.join(name), &format!("#!/bin/sh\n{text}\n")).expect("script");
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
    script(folder.path(), "work", "echo x > made");
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

/// A run that lasts, without a umask; killed if it is dropped.
struct Run(std::process::Child);

impl Run {
    /// Starts it and waits until something holds of its processes; again as long as somebody else's
    /// study holds the host, and where a moment passed unseen: on a busy machine this test may not run in
    /// the few milliseconds in which a server waits for its clients.
    fn until<T>(line: &str, folder: &Path, found: impl Fn(&[u32]) -> Option<T>) -> (Self, T) {
        'again: for _ in 0..600 {
            let mut command = Command::new("/bin/sh");
            let line = format!("umask 0; exec '{CORETWIN}' {line}");
            command.args(["-c", &line]).current_dir(folder);
            let mut run = Self(command.stderr(Stdio::piped()).spawn().expect("starts"));
            let limit = Instant::now() + Duration::from_secs(20);
            while run.0.try_wait().expect("status").is_none() {
                if Instant::now() > limit {
                    run.interrupt();
                    continue 'again;
                }
                if let Some(found) = found(&tree(run.0.id())) {
                    return (run, found);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            let mut said = String::new();
            let errors = run.0.stderr.take().expect("errors");
            BufReader::new(errors).read_to_string(&mut said).expect("errors");
            assert!(said.contains("measures on this host"), "it ended: {said}");
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("another study held the host for two minutes");
    }

    /// Ends it as Ctrl-C does.
    fn interrupt(mut self) {
        let id = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(id, rustix::process::Signal::INT).expect("signal");
        self.0.wait().expect("ends");
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process and all below it.
fn tree(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(process) = found.get(next) {
        for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(children.split_whitespace().flat_map(str::parse::<u32>));
        }
        next += 1;
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn what_a_run_makes_is_its_owners_alone_and_goes_with_it() {
    let _host = host();
    let place = tempfile::tempdir().expect("folder");
    let line = format!("run dbench:clients=1,seconds=600,dir={}", place.path().display());
    let entries = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let (run, (scratch, note)) = Run::until(&line, place.path(), |_| {
        let scratch = entries(place.path()).into_iter().next()?;
        // Only once it is at work.
        entries(&scratch).first()?;
        let names_it = |note: &PathBuf| {
            note.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"coretwin-"))
                && fs::read(note).is_ok_and(|text| text == scratch.as_os_str().as_encoded_bytes())
        };
        let note = entries(Path::new("/dev/shm")).into_iter().find(names_it)?;
        Some((scratch, note))
    });
    assert_eq!((mode(&scratch), mode(&note)), (0o700, 0o600));
    run.interrupt();
    assert!(entries(place.path()).is_empty() && !note.exists(), "{}", scratch.display());
}

/// Addresses on which processes listen, of `/proc/net/tcp` and `tcp6` (proc(5)).
fn listening(processes: &[u32]) -> Vec<String> {
    let mut sockets = Vec::new();
    for process in processes {
        let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        sockets.extend(open.filter_map(|fd| {
            let target = fs::read_link(fd.path()).ok()?.into_os_string().into_string().ok()?;
            Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        }));
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let lines = tables.iter().flatten().flat_map(|table| table.lines());
    let listens = lines.filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (address, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
        (*state == "0A" && sockets.iter().any(|own| own == inode)).then(|| (*address).to_owned())
    });
    listens.collect()
}

#[test]
fn servers_within_a_run_listen_on_loopback_alone() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    // As many clients as it takes to see the server while it waits for them.
    for row in ["chat:rooms=20,messages=30000", "tbench:clients=50,seconds=600"] {
        let (run, addresses) = Run::until(&format!("run {row}"), folder.path(), |processes| {
            Some(listening(processes)).filter(|addresses| !addresses.is_empty())
        });
        // 127.0.0.1, its bytes as this machine has them in a word.
        let loopback = format!("{:08X}:", u32::from_ne_bytes([127, 0, 0, 1]));
        assert!(addresses.iter().all(|at| at.starts_with(&loopback)), "{row}: {addresses:?}");
        // When all are in, nobody else can come.
        let limit = Instant::now() + Duration::from_secs(30);
        while !listening(&tree(run.0.id())).is_empty() {
            assert!(Instant::now() < limit, "{row}: it listens on");
        }
        run.interrupt();
    }
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
fn descriptors_of_the_caller_do_not_reach_the_work() {
    let folder = tempfile::tempdir().expect("folder");
    script(folder.path(), "show", "ls -l /proc/$$/fd > open");
    let line = format!("exec 7< /etc/passwd; exec '{CORETWIN}' run -- ./show");
    let ran = patiently(Command::new("/bin/sh").args(["-c", &line]).current_dir(folder.path()));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let open = fs::read_to_string(folder.path().join("open")).expect("a list");
    assert!(open.contains(" 1 -> ") && !open.contains("/etc/passwd"), "{open}");
}

#[test]
fn what_a_command_prints_controls_no_terminal() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    script(folder.path(), "bad", "printf 'here\\033]0;title\\007\\033[31m' >&2; exit 3");
    let ran =
        coretwin(folder.path(), &[&STUDY[..], &["--full", "--out", "s", "--", "./bad"]].concat());
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.out.contains("here"), "what it printed is told: {}", ran.out);
    let report = coretwin(folder.path(), &["report", "s", "--format", "md"]).out;
    let html = fs::read_to_string(folder.path().join("s/report.html")).expect("report");
    for text in [&ran.out, &ran.err, &report, &html] {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}

/// Text that steers a terminal: title, colour, C1, DEL, right to left, carriage return; also as JSON.
const HOSTILE: &str = "x\u{1b}]0;own\u{7}\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\ry";
const HOSTILE_JSON: &str = r"x\u001b]0;own\u0007\u001b[31m\u009b2J\u007f\u202e\ry";

/// Runs the program, and looks whether anything it prints steers a terminal.
fn harmless(folder: &Path, env: &[(&str, &str)], args: &[&str]) -> (bool, String) {
    let mut command = Command::new(CORETWIN);
    let ran = patiently(command.args(args).current_dir(folder).envs(env.iter().copied()));
    for printed in [&ran.stdout, &ran.stderr] {
        let text = String::from_utf8_lossy(printed);
        let steers = text.chars().find(|c| is_steering(*c) && !matches!(c, '\n' | '\t'));
        assert_eq!(steers, None, "{args:?} {env:?}: {text:?}");
    }
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// What is shown of [`HOSTILE`] where it is a name.
const SHOWN: &str = r"\u001b]0;own\u0007";

/// Names, as arguments and as files that are there; a verb each, and all of them.
#[test]
fn no_verb_prints_what_steers_a_terminal() {
    let _host = host();
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let pid = std::process::id().to_string();
    let go = |args: &[&str]| harmless(folder, &[], args);
    fs::write(folder.join(HOSTILE), HOSTILE).expect("a file of that name");
    let verbs: &[&[&str]] = &[
        &["topology", "--root", HOSTILE],
        &["smt", "level", HOSTILE],
        &["list", HOSTILE],
        &["run", "--", HOSTILE],
        &["probe", "--cpus", HOSTILE],
        &["serve", "chat", "--address", HOSTILE],
        &["study", "--resume", HOSTILE],
        &["report", HOSTILE],
        &["compare", HOSTILE, HOSTILE],
        &["cputime", "--resume", HOSTILE],
        &["account", "--cgroup", HOSTILE],
        &["account", "--", HOSTILE],
        &["top", "--root", HOSTILE, "--json"],
        &["fleet", "status", HOSTILE],
        &["audit", HOSTILE],
        &["sched", "scenario", HOSTILE],
        &["simulate", "core", "--preset", HOSTILE],
        &["simulate", "import", HOSTILE],
        &["simulate", "profile", "--preset=zen4", "--name", HOSTILE, "--", HOSTILE],
        &["generate", "completions", HOSTILE],
        &["survey", "--yes", "--out", HOSTILE],
    ];
    for args in verbs {
        assert!(!go(args).0, "{args:?} can be no success");
    }
    let help = go(&["--help"]).1;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for verb in listed.map_while(|line| line.split_whitespace().next()).filter(|v| *v != "help") {
        assert!(verbs.iter().any(|args| args[0] == verb), "{verb} is not tried");
    }
    // A folder of that name, and what is said of it; then its records with such texts in them.
    let study = ["study", "chat:rooms=2,messages=20", "--blocks=2", "--machine=xeon-mp-foster"];
    let (done, said) = go(&[&study[..], &["--out", &format!("{HOSTILE}s")]].concat());
    assert!(done && said.contains(SHOWN), "{said}");
    assert!(go(&[&study[..], &["--out", "s"]].concat()).0);
    hostile_records(folder, &go);
    let lines = format!("printf '%s\\n' '{HOSTILE}'; printf '%s\\n' '{HOSTILE}' >&2; exit 1");
    hostile_hosts(folder, &lines, &go);
    // The environment; what a command says; names of processes.
    for variable in ["SUDO_UID", "CORETWIN_NODE", "HOME", "XDG_STATE_HOME", "TMPDIR", "TERM"] {
        harmless(folder, &[(variable, HOSTILE)], &["run", "aim9/add_int:seconds=0"]);
        harmless(folder, &[(variable, HOSTILE)], &["topology"]);
    }
    script(folder, "bad", &lines);
    assert!(go(&["run", "--", "./bad"]).1.contains("own"), "what it said is told");
    let program = folder.join("\u{1b}]0;own\u{7}");
    symlink("/bin/sh", &program).expect("a program");
    let mut busy = Command::new(&program).args(["-c", "while :; do :; done"]).spawn().expect("it");
    let other = busy.id().to_string();
    let one = go(&["account", "--pid", &other, "--for", "500ms", "--json"]).1;
    assert!(one.contains(SHOWN), "its name is in what is printed: {one}");
    for args in [
        &["account", "--pid", &other, "--for", "300ms"][..],
        &["account", "--pid", &pid, "--for", "300ms", "--json"],
        &["account", "--for", "300ms", "--all"],
        &["top", "--json", "--windows", "1"],
        &["top", "--once"],
    ] {
        go(args);
    }
    busy.kill().and_then(|()| busy.wait()).expect("ended");
}

/// The records of the study `s`, with such texts in them.
fn hostile_records(folder: &Path, go: &dyn Fn(&[&str]) -> (bool, String)) {
    for (file, from) in [
        ("plan.json", "\"title\": \""),
        ("environment.json", "\"host\": \""),
        ("journal.jsonl", "\"unit\":\""),
        ("journal.jsonl", "\"cause\":"),
        ("plan.json", "\"schema\": "),
        ("journal.jsonl", "\"schema\":"),
    ] {
        let path = folder.join("s").join(file);
        let whole = fs::read_to_string(&path).expect(file);
        let quote = if from.ends_with('"') { "" } else { "\"" };
        fs::write(&path, whole.replace(from, &format!("{from}{quote}{HOSTILE_JSON}{quote}")))
            .expect(file);
        for format in ["text", "md", "html", "csv", "json", "openmetrics", "article-csv"] {
            go(&["report", "s", "--format", format]);
        }
        go(&["compare", "s", "s"]);
        go(&["study", "--resume", "s"]);
        if quote == "\"" {
            fs::write(&path, whole).expect(file);
        }
    }
}

/// Host lists, bundles, and what a remote host says.
fn hostile_hosts(folder: &Path, lines: &str, go: &dyn Fn(&[&str]) -> (bool, String)) {
    fs::write(folder.join("bad.txt"), format!("h1 {HOSTILE}\n{HOSTILE}:port\n")).expect("hosts");
    fs::write(folder.join("hosts.txt"), "h1\n").expect("hosts");
    let fleet = ["fleet", "plan", "f", "--engine=ssh", "--hosts"];
    assert!(!go(&[&fleet[..], &["bad.txt", "--", "study", "chat"]].concat()).0);
    assert!(go(&[&fleet[..], &["hosts.txt", "--", "study", "chat"]].concat()).0);
    fs::write(folder.join(format!("f/bundles/{HOSTILE}.tar.gz")), HOSTILE).expect("a bundle");
    script(folder, "ssh", lines);
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("PATH"));
    for verb in ["run", "status", "merge", "report"] {
        harmless(folder, &[("PATH", &path)], &["fleet", verb, "f"]);
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
    // And the next one is served; one that was stopped for a second is given up too, and tries again.
    let folder = tempfile::tempdir().expect("folder");
    let spec = format!("chat:rooms=1,messages=5,server={}", server.2);
    let ran = || coretwin(folder.path(), &["run", &spec]);
    let served = (0..5).map(|_| ran()).find(|ran| ran.status == 0);
    assert!(served.is_some(), "{}", ran().err);
}

#[test]
fn a_monitor_is_not_shown_to_the_network_by_accident() {
    let folder = tempfile::tempdir().expect("folder");
    for address in ["0.0.0.0:0", "[::]:0"] {
        let ran = coretwin(folder.path(), &["top", "--openmetrics", address]);
        assert!(ran.status != 0 && ran.err.contains("--allow-remote"), "{}", ran.err);
    }
}
