//! Beside Debian's dbench and tbench: the same load makes the same calls, and either side understands
//! the other's messages.

#![expect(clippy::print_stderr, reason = "what is left out is said, with the reason")]

mod common;
#[path = "common/load_text.rs"]
mod load_text;

use common::{
    Worker, eventually, installed, one_cpu, succeed, with_server_at, worker_path, workload,
};
use coretwin_workloads::dbench::load;
use coretwin_workloads::serve::ServeEvent;
use load_text::text_of;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines of the load that make a pass: enough that every kind of call is in it.
const LINES: usize = 6000;
/// A name that is there in another case only.
const OTHER_CASE: &str = r#"
NTCreateX "\CASE.TXT" 0x40 0x2 9000 NT_STATUS_OK
Close 9000 NT_STATUS_OK
QUERY_PATH_INFORMATION "\case.txt" 1004 NT_STATUS_OK
Unlink "\CASE.TXT" 0x1f NT_STATUS_OK
"#;
/// Theirs has no option for the port of a connection, so one test at a time has it.
static PORT_7003: Mutex<()> = Mutex::new(());

/// A load between two names that are asked for and not there, and how many calls it has.
fn marked_load(marks: [&str; 2]) -> (String, i64) {
    let load = text_of(&load::find("netbench", 7).expect("load")).expect("text");
    let [begin, end] = marks
        .map(|name| format!("QUERY_PATH_INFORMATION \"\\{name}\" 1004 NT_STATUS_NO_SUCH_FILE\n"));
    let mut text = begin + OTHER_CASE.trim_start();
    text.extend(load.split_inclusive('\n').take(LINES));
    text += &end;
    let calls = text.lines().count() as i64;
    (text, calls)
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

/// A command under strace, in a group of processes of its own; and where the traces will be.
fn traced(folder: &Path, name: &str) -> (Command, PathBuf) {
    let traces = folder.join(name);
    std::fs::create_dir(&traces).expect("folder");
    let mut command = Command::new("strace");
    command.arg("-ff").arg("-o").arg(traces.join("trace")).process_group(0);
    (command, traces)
}

/// A group of processes that ends with the test, however that ends.
struct Group(Child);

impl Group {
    fn start(mut command: Command) -> Self {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("strace"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // An error means that it has ended.
        let group = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

/// The traces of the processes that a command and its descendants were, as strace writes them.
fn traces(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("folder").flatten();
    entries.map(|entry| std::fs::read_to_string(entry.path()).unwrap_or_default()).collect()
}

/// The part of a trace between the first lines that make this call and hold the marks.
fn between(folder: &Path, call: &str, marks: [&str; 2]) -> Option<String> {
    traces(folder).iter().find_map(|trace| {
        let is_mark = |line: &str, mark| line.starts_with(call) && line.contains(mark);
        let place = |mark| trace.lines().position(|line| is_mark(line, mark));
        let (begin, end) = (place(marks[0])?, place(marks[1])?);
        Some(trace.lines().take(end).skip(begin).flat_map(|line| [line, "\n"]).collect())
    })
}

/// What a line of a trace calls, under one name for the same call at a path and at a descriptor.
fn call_of(line: &str) -> Option<&str> {
    let (name, arguments) = line.split_once('(')?;
    let holds = |word| arguments.contains(word);
    Some(match name {
        "newfstatat" | "statx" if holds("AT_EMPTY_PATH") => "fstat",
        "newfstatat" | "statx" | "lstat" => "stat",
        "openat" if holds("O_DIRECTORY") && holds("O_NONBLOCK") => "opendir",
        "openat" => "open",
        "recvfrom" if holds("MSG_TRUNC") => "recvfrom, thrown away",
        "unlinkat" if holds("AT_REMOVEDIR") => "rmdir",
        "unlinkat" => "unlink",
        "renameat" | "renameat2" => "rename",
        "mkdirat" => "mkdir",
        "fcntl" if !holds("F_SETLKW") => "fcntl, no lock",
        other => other,
    })
}

/// How often each call is made.
fn counts(pass: &str) -> BTreeMap<&str, i64> {
    let mut counts = BTreeMap::new();
    for call in pass.lines().filter_map(call_of) {
        *counts.entry(call).or_default() += 1;
    }
    counts
}

const PARENT: &str = "before each call it is seen whether the parent lives; ours dies with it";
const LOAD: &str = "the load is read while it is replayed; ours is read before";
const MEMORY: &str = "memory is taken for each read and write; ours has it before";

fn count(counts: &BTreeMap<&str, i64>, call: &str) -> i64 {
    counts.get(call).copied().unwrap_or(0)
}

/// Every call is made as often, but for those that are explained: call; how many more theirs makes,
/// where that is known exactly; why.
fn compare(
    ours: &BTreeMap<&str, i64>,
    theirs: &BTreeMap<&str, i64>,
    explained: &[(&str, Option<i64>, &str)],
) {
    for call in ours.keys().chain(theirs.keys()) {
        let more = count(theirs, call) - count(ours, call);
        match explained.iter().find(|(name, _, _)| name == call) {
            Some((_, Some(exactly), why)) => assert_eq!(more, *exactly, "{call}: {why}"),
            Some((_, None, _)) => {}
            None => assert_eq!(more, 0, "{call}: ours {ours:?}, theirs {theirs:?}"),
        }
    }
}

#[test]
fn one_pass_makes_the_file_calls_of_debians() {
    if !installed("strace") || !installed("dbench") {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let marks = ["begin-of-pass", "end-of-pass"];
    let (load, calls) = marked_load(marks);
    let file = write(folder.path(), "load", &load);
    let (mut command, traces) = traced(folder.path(), "ours");
    command.arg(worker_path());
    let mut job = workload(&format!("dbench:clients=1,loadfile={}", file.display()));
    job.cpus = one_cpu();
    assert_eq!(Worker::start_by(command, &job).outcome().failure, None);
    let ours = between(&traces, "", marks).expect("a pass");

    // Theirs rests at the end of its first pass until it is killed.
    let file = write(folder.path(), "rests", &format!("{load}Sleep 600000000 NT_STATUS_OK\n"));
    let (mut command, traces) = traced(folder.path(), "theirs");
    command.args(["dbench", "-t", "600", "-c"]).arg(file).arg("-D").arg(folder.path()).arg("1");
    let theirs = Group::start(command);
    eventually("their first pass is over", || between(&traces, "", marks).is_some());
    drop(theirs);
    let theirs = between(&traces, "", marks).expect("a pass");

    let folders_read = ours.lines().filter(|line| call_of(line) == Some("opendir"));
    let folders_read = folders_read.filter(|line| !line.contains(" = -1 ")).count() as i64;
    let (ours, theirs) = (counts(&ours), counts(&theirs));
    compare(
        &ours,
        &theirs,
        &[
            ("fstat", Some(folders_read), "the C library looks at a folder that it opens"),
            ("kill", Some(calls - 1), PARENT),
            ("read", None, LOAD),
            ("brk", None, MEMORY),
            ("mmap", None, MEMORY),
            ("munmap", None, MEMORY),
            ("fcntl, no lock", None, "ours: in builds for tests descriptors are looked at"),
        ],
    );
    // The pass had all of it.
    for call in [
        "close",
        "fcntl",
        "fstat",
        "fsync",
        "getdents64",
        "mkdir",
        "open",
        "opendir",
        "pread64",
        "pwrite64",
        "rename",
        "stat",
        "statfs",
        "unlink",
        "utimensat",
    ] {
        assert!(count(&ours, call) > 0, "no {call} in {ours:?}");
    }
}

/// Whether theirs can be tried now, and the word that nobody else here does.
fn alone_at_7003() -> Option<MutexGuard<'static, ()>> {
    if !["strace", "tbench", "tbench_srv"].into_iter().all(installed) {
        return None;
    }
    let alone = PORT_7003.lock().unwrap_or_else(PoisonError::into_inner);
    if std::net::TcpListener::bind("127.0.0.1:7003").is_err() {
        eprintln!("left out: port 7003 is in use");
        return None;
    }
    Some(alone)
}

#[test]
fn one_pass_makes_the_socket_calls_of_debians() {
    let Some(_only) = alone_at_7003() else { return };
    let folder = tempfile::tempdir().expect("folder");
    // Names so long that their requests have sizes of their own: 55 bytes and twice "./" and name.
    let names = [95, 96].map(|length| "x".repeat(length));
    let (load, calls) = marked_load([&names[0], &names[1]]);
    let file = write(folder.path(), "load", &load);
    // A server reads the first four bytes of each apart.
    let client = |traces: &Path| between(traces, "sendto", [", 249, ", ", 251, "]);
    let server = |traces: &Path| between(traces, "recvfrom", [", 245, ", ", 247, "]);
    let (mut command, traces) = traced(folder.path(), "ours");
    command.arg(worker_path());
    let mut job = workload(&format!("tbench:clients=1,loadfile={}", file.display()));
    job.cpus = one_cpu();
    assert_eq!(Worker::start_by(command, &job).outcome().failure, None);
    let ours = [client(&traces).expect("a pass"), server(&traces).expect("a pass")];

    let (mut command, server_traces) = traced(folder.path(), "their-server");
    command.arg("tbench_srv");
    let their_server = Group::start(command);
    eventually("their server listens", || {
        self::traces(&server_traces).iter().any(|trace| trace.contains("listen("))
    });
    let (mut command, client_traces) = traced(folder.path(), "their-client");
    command.args(["tbench", "-t", "600", "-c"]).arg(file).args(["1", "127.0.0.1"]);
    let their_client = Group::start(command);
    let theirs = || Some([client(&client_traces)?, server(&server_traces)?]);
    eventually("their first pass is over", || theirs().is_some());
    drop((their_client, their_server));
    let theirs = theirs().expect("a pass");

    let ours = ours.each_ref().map(|pass| counts(pass));
    let theirs = theirs.each_ref().map(|pass| counts(pass));
    // Each exchange is one call to send, and two to receive.
    let exchanges = count(&ours[0], "sendto");
    assert!(exchanges > LINES as i64 / 2 && exchanges < calls, "{exchanges} of {calls}");
    assert_eq!(count(&ours[0], "recvfrom, thrown away"), exchanges);
    assert_eq!(count(&ours[1], "recvfrom"), 2 * exchanges);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        compare(ours, theirs, &[("kill", Some(calls - 1), PARENT), ("read", None, LOAD)]);
    }
}

#[test]
fn debians_client_and_server_understand_ours() {
    let Some(_only) = alone_at_7003() else { return };
    let folder = tempfile::tempdir().expect("folder");
    let load = load::find("netbench", 7).expect("load");
    let file = write(folder.path(), "load", &text_of(&load).expect("text"));
    with_server_at(7003, false, Duration::from_secs(60), |_, events| {
        let theirs = Command::new("tbench")
            .args(["-t", "1", "-c"])
            .arg(&file)
            .args(["1", "127.0.0.1"])
            .output()
            .expect("tbench");
        let said = String::from_utf8_lossy(&theirs.stdout).into_owned();
        assert!(said.contains("Throughput"), "{said}");
        match events.recv_timeout(Duration::from_secs(20)) {
            Ok(ServeEvent::Exchanged { exchanges, .. }) => assert!(exchanges > 100, "{said}"),
            // Their client may leave in the midst of an exchange.
            Ok(ServeEvent::Failed(why)) => assert!(why.contains("reset"), "{why}"),
            other => panic!("{other:?}"),
        }
    });
    let mut command = Command::new("tbench_srv");
    command.process_group(0);
    let their_server = Group::start(command);
    eventually("their server listens", || TcpStream::connect("127.0.0.1:7003").is_ok());
    let text = format!("tbench:clients=2,loadfile={},server=127.0.0.1:7003", file.display());
    let outcome = succeed(&workload(&text));
    drop(their_server);
    for (metric, bytes) in [("read_bytes", load.read_bytes), ("written_bytes", load.written_bytes)]
    {
        assert_eq!(outcome.metrics[metric].value, 2.0 * bytes as f64, "{metric}");
    }
}
