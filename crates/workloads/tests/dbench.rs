//! dbench and tbench, through the real worker: totals, bad input and system calls.

mod common;
#[path = "common/load_text.rs"]
mod load_text;

use common::{
    Worker, allowed_cpus, children, eventually, fail, installed, kill, one_cpu, succeed,
    with_server_at, worker_path, workload,
};
use coretwin_base::study::job::Outcome;
use coretwin_workloads::dbench::load::{self, parser::parse};
use coretwin_workloads::serve::ServeEvent;
use load_text::text_of;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// One of each call, and what each moves.
const SMALL: &str = r#"
Deltree "\clients\client1" NT_STATUS_OK
Mkdir "\clients" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 16385 NT_STATUS_OK
Close 16385 NT_STATUS_OK
NTCreateX "\clients\client1\NO.TXT" 0x40 0x1 9935 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\A.TXT" 0x40 0x2 9938 NT_STATUS_OK
QUERY_FS_INFORMATION 1 NT_STATUS_OK
WriteX 9938 65534 1 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 9938 258 NT_STATUS_OK
WriteX 9938 0 65536 65536 NT_STATUS_OK
ReadX 9938 0 4096 4096 NT_STATUS_OK
Flush 9938 NT_STATUS_OK
LockX 9938 2147483538 1 NT_STATUS_OK
UnlockX 9938 2147483538 1 NT_STATUS_OK
SET_FILE_INFORMATION 9938 1004 NT_STATUS_OK
Close 9938 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\a.txt" 1004 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\Q.TXT" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND
FIND_FIRST "\clients\client1\*" 260 1366 3 NT_STATUS_OK
FIND_FIRST "\clients\client1\NONE.*" 260 1366 0 NT_STATUS_NO_SUCH_FILE
Rename "\clients\client1\A.TXT" "\clients\client1\B.TXT" NT_STATUS_OK
NTCreateX "\clients\client1\C.TXT" 0x40 0x5 9939 NT_STATUS_OK
Close 9939 NT_STATUS_OK
Unlink "\clients\client1\B.TXT" 0x1f NT_STATUS_OK
Rmdir "\clients\client1\X" NT_STATUS_OBJECT_NAME_NOT_FOUND
Deltree "\clients\client1" NT_STATUS_OK
"#;
/// Calls in it.
const SMALL_CALLS: u64 = 26;

fn counted(outcome: &Outcome, metric: &str) -> f64 {
    outcome.metrics.get(metric).unwrap_or_else(|| panic!("no metric {metric}")).value
}

fn small(folder: &Path) -> String {
    let path = folder.join("small.txt");
    std::fs::write(&path, SMALL).expect("load file");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_pass_of_the_articles_load_moves_what_it_says() {
    let outcome = succeed(&workload("dbench:clients=2"));
    assert_eq!(outcome.operations, 180_000);
    assert_eq!(counted(&outcome, "read_bytes"), 156e6);
    assert_eq!(counted(&outcome, "written_bytes"), 108e6);
    let value = outcome.value.expect("value");
    assert!((value * outcome.elapsed_s / 264.0 - 1.0).abs() < 1e-9, "132 MB for each client");
    // Nobody is faster alone than the slowest makes all.
    assert!(counted(&outcome, "client_rates_sum") >= value * 0.999_999);
    assert!(outcome.checks["totals"] && outcome.checks["files_gone"]);
    assert!(counted(&outcome, "open_p99_us") >= counted(&outcome, "open_p50_us"));
    assert_eq!(counted(&outcome, "lock_count"), 1000.0);
    assert!(!outcome.metrics.contains_key("lock_p99_us"), "ten calls beyond it");
    assert!(outcome.notes["file_system"].contains("GiB"));
    assert!(!outcome.cpus_ran.is_empty() && outcome.cpus_ran.is_subset(&allowed_cpus()));
}

#[test]
fn timed_runs_count_what_lies_between_begin_and_end() {
    for name in ["dbench", "tbench", "tbench-threads"] {
        let text = format!("{name}:clients=2,mode=timed,seconds=0.5,warmup=0.3,loadfile=netbench");
        let outcome = succeed(&workload(&text));
        assert_eq!(outcome.elapsed_s, 0.5, "{name}");
        let moved = counted(&outcome, "read_bytes") + counted(&outcome, "written_bytes");
        assert!((outcome.value.expect("value") / (moved / 0.5e6) - 1.0).abs() < 1e-9);
        assert!(outcome.operations > 100 && outcome.checks.values().all(|held| *held));
        let latencies: f64 = outcome
            .metrics
            .iter()
            .filter(|(metric, _)| metric.ends_with("_count"))
            .map(|(_, metric)| metric.value)
            .sum();
        assert_eq!(latencies, outcome.operations as f64, "{name}: every counted call is timed");
    }
}

#[test]
fn tbench_counts_the_same_bytes_on_both_sides() {
    for name in ["tbench", "tbench-threads"] {
        let folder = tempfile::tempdir().expect("folder");
        let text = format!("{name}:clients=3,loadfile={}", small(folder.path()));
        let outcome = succeed(&workload(&text));
        assert!(outcome.checks["totals_server"] && outcome.checks["totals"], "{name}");
        assert_eq!(outcome.operations, 3 * SMALL_CALLS);
        // Nothing is sent for the two deltrees; the first exchange is added.
        assert_eq!(counted(&outcome, "exchanges"), 3.0 * (SMALL_CALLS - 2 + 1) as f64);
        assert_eq!(counted(&outcome, "written_bytes"), 3.0 * 65_537.0);
        assert_eq!((outcome.threads, outcome.metrics.contains_key("open_count")), (6, true));
    }
}

#[test]
fn a_load_file_is_replayed_by_many_clients_and_in_every_manner() {
    let folder = tempfile::tempdir().expect("folder");
    let file = small(folder.path());
    for manner in ["clients=5", "sync=yes,fsync=yes,clients=1"] {
        let outcome = succeed(&workload(&format!("dbench:loadfile={file},{manner}")));
        assert_eq!(outcome.operations % SMALL_CALLS, 0);
        assert_eq!(outcome.notes["load"], file);
    }
    // More than one pass, although folders stay that were not there when it was recorded.
    let text = format!("QUERY_PATH_INFORMATION \"\\clients\" 1 NT_STATUS_NO\n{SMALL}");
    std::fs::write(folder.path().join("again"), text).expect("written");
    let again = folder.path().join("again").to_string_lossy().into_owned();
    let timed = format!("dbench:clients=2,mode=timed,seconds=0.3,warmup=0.1,loadfile={again}");
    assert!(counted(&succeed(&workload(&timed)), "passes") > 4.0);
    // A directory that is opened is made, whatever the load says of creating, but for one that must
    // not be there.
    let text = "NTCreateX \"/d\" 1 1 5 0x0\nClose 5 0x0\nNTCreateX \"/none\" 1 1 5 NT_STATUS_NO\n\
                NTCreateX \"/d/f\" 0x40 2 5 0x0\nWriteX 5 0 10 10 0x0\nClose 5 0x0\n";
    std::fs::write(folder.path().join("directory"), text).expect("written");
    let directory = folder.path().join("directory").to_string_lossy().into_owned();
    let made = succeed(&workload(&format!("dbench:clients=1,loadfile={directory}")));
    assert_eq!(counted(&made, "written_bytes"), 10.0);
    // Without lookups the name in another case is not found, and that is an answer not expected.
    let place = format!("{file}:18: asking for clients/client0/a.txt");
    fail(&workload(&format!("dbench:clients=1,resolve=no,loadfile={file}")), &place);
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_touched() {
    let folder = tempfile::tempdir().expect("folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_string_lossy().into_owned()
    };
    let old = write("old", "SMBopenX REQUEST 0 0 0 NAME\n");
    fail(&workload(&format!("dbench:loadfile={old}")), "old:1:1: 'SMBopenX' is a call of dbench 1");
    fail(&workload("dbench:loadfile=/none/such"), "cannot read the load file: No such file");
    fail(&workload("dbench:loadfile=client.txt"), "it is netbench-2002, netbench, or a whole path");
    fail(&workload("dbench:mode=both"), "it is 'classic' or 'timed'");
    fail(&workload("dbench:sync=1"), "it is 'yes' or 'no'");
    fail(&workload("tbench:server=192.0.2.1:7003"), "only a loopback address");
    let dir = folder.path().to_string_lossy().into_owned();
    fail(&workload(&format!("dbench:dir={dir}")), "is not empty");
    assert!(folder.path().join("old").exists());
    fail(&workload(&format!("dbench:dir={dir}/none")), "No such file");
    fail(&workload(&format!("dbench:dir={dir}/old")), "is not a folder");
    // A port at which nobody listens any more.
    let gone = TcpListener::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).expect("port");
    fail(&workload(&format!("tbench:clients=1,server={gone}")), "is one running?");
    let huge = "NTCreateX \"/f\" 0 2 1 0x0\nWriteX 1 1099511627776 1 1 0x0\n";
    let huge = write("huge", huge);
    fail(&workload(&format!("dbench:clients=2000,loadfile={huge}")), "is too small");
    let long = write("long", "NTCreateX \"/f\" 0 2 1 0x0\nWriteX 1 0 69942 69942 0x0\n");
    fail(&workload(&format!("tbench:loadfile={long}")), "long:2: this call does not fit");
    let wrong = write("wrong", "QUERY_PATH_INFORMATION \"/f\" 1 0x0\n");
    let text = format!("dbench:clients=1,loadfile={wrong}");
    fail(&workload(&text), "wrong:1: asking for f: No such file");
}

#[test]
fn a_killed_client_or_server_is_named() {
    for (name, role) in
        [("dbench", "dbench-client"), ("tbench", "dbench-client"), ("tbench", "tbench-server")]
    {
        let long = format!("{name}:clients=2,mode=timed,seconds=100,warmup=50");
        let worker = Worker::start(&workload(&long));
        let find = || {
            children(worker.pid()).into_iter().find(|pid| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).contains(role)
            })
        };
        eventually("it runs", || find().is_some());
        std::thread::sleep(Duration::from_millis(300));
        kill(find().expect("it runs"), Signal::KILL);
        let why = worker.outcome().failure.expect("failure");
        assert!(why.contains("client") || why.contains("server"), "{name} {role}: {why}");
    }
}

/// A server at any port, until the test is over.
fn with_server(threads: bool, patience: Duration, test: impl FnOnce(u16, &Receiver<ServeEvent>)) {
    with_server_at(0, threads, patience, test);
}

fn failed(events: &Receiver<ServeEvent>) -> String {
    match events.recv_timeout(Duration::from_secs(20)) {
        Ok(ServeEvent::Failed(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_survives_garbage_and_slow_and_vanishing_clients() {
    for threads in [false, true] {
        with_server(threads, Duration::from_millis(500), |port, events| {
            let connect = || TcpStream::connect(("127.0.0.1", port)).expect("connected");
            let mut garbage = connect();
            garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
            assert!(failed(events).contains("no tbench client"));
            let mut slow = connect();
            slow.write_all(&[0, 0, 0]).expect("sent");
            assert!(failed(events).contains("too slow"));
            let mut half = connect();
            half.write_all(&[0, 0, 1, 0, 0, 0]).expect("sent");
            drop(half);
            assert!(failed(events).contains("in the middle of a message"));
            let silent = connect();
            assert!(failed(events).contains("silent"));
            drop(silent);
            // One that asks for more and more and does not read.
            let mut deaf = connect();
            deaf.set_write_timeout(Some(Duration::from_secs(1))).expect("set");
            let request = [0, 0, 0, 4, 0, 1, 17, 96].repeat(1000);
            while deaf.write_all(&request).is_ok() {}
            let why = failed(events);
            assert!(why.contains("did not read") || why.contains("reset"), "{why}");
            // And one that is right is served.
            let mut right = connect();
            right.write_all(&[0, 0, 0, 4, 0, 0, 0, 4]).expect("sent");
            let mut reply = [0; 8];
            right.read_exact(&mut reply).expect("reply");
            assert_eq!(reply[..4], [0, 0, 0, 4]);
            drop(right);
            let served = ServeEvent::Exchanged { exchanges: 1, received_bytes: 8, sent_bytes: 8 };
            assert_eq!(events.recv_timeout(Duration::from_secs(20)), Ok(served));
        });
    }
}

#[test]
fn a_server_elsewhere_serves_and_a_stranger_is_named() {
    with_server(false, Duration::from_secs(20), |port, events| {
        let folder = tempfile::tempdir().expect("folder");
        let file = small(folder.path());
        let text = format!("tbench:clients=2,loadfile={file},server=127.0.0.1:{port}");
        let outcome = succeed(&workload(&text));
        let (mut sent, mut received) = (0, 0);
        for _ in 0..2 {
            match events.recv_timeout(Duration::from_secs(20)) {
                Ok(ServeEvent::Exchanged { received_bytes, sent_bytes, .. }) => {
                    (received, sent) = (received + received_bytes, sent + sent_bytes);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(counted(&outcome, "requests_bytes"), received as f64);
        assert_eq!(counted(&outcome, "replies_bytes"), sent as f64);
    });
    let stranger = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = stranger.local_addr().expect("address");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = stranger.accept().expect("accepted");
            let _ = stream.write_all(b"220 mail.example\r\n");
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let text = format!("tbench:clients=1,server={address}");
        fail(&workload(&text), "does not speak as a tbench server");
    });
}

/// System calls of the one client of a run, by name; of openat, those of a folder apart.
fn calls_of(trace: &Path, begin: &str, end: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    let text = std::fs::read_to_string(trace).expect("trace");
    let first = text.find(begin).expect("begin of the pass");
    let pass = &text[first..];
    let pass = &pass[..pass.rfind(end).expect("end of the pass")];
    for line in pass.lines() {
        let Some((name, _)) = line.split_once('(') else { continue };
        if name == "fcntl" && !line.contains("F_SETLKW") {
            continue; // The standard library looks at descriptors in builds for tests.
        }
        let folder = name == "openat" && line.contains("O_NONBLOCK");
        *counts.entry(if folder { "opendir".to_owned() } else { name.to_owned() }).or_default() +=
            1;
    }
    counts
}

#[test]
fn system_calls_are_those_of_the_mapping() {
    if !installed("strace") {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let file = small(folder.path());
    let mut traced = Command::new("strace");
    let calls = "trace=openat,close,fstat,newfstatat,statx,pread64,pwrite64,fsync,fcntl,rename,\
                 renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,statfs,utimensat,getdents64";
    traced.args(["-f", "-ff", "-e", calls, "-o"]).arg(folder.path().join("trace"));
    traced.arg(worker_path());
    let mut job = workload(&format!("dbench:clients=1,loadfile={file}"));
    job.cpus = one_cpu();
    assert_eq!(Worker::start_by(traced, &job).outcome().failure, None);
    let trace = std::fs::read_dir(folder.path()).expect("folder").flatten().find(|entry| {
        entry.file_name().to_string_lossy().starts_with("trace")
            && std::fs::read_to_string(entry.path()).expect("trace").contains("pwrite64")
    });
    let counts = calls_of(
        &trace.expect("client").path(),
        "openat(AT_FDCWD, \"clients/client0\"",
        "getdents64",
    );
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    assert_eq!((count("pread64"), count("pwrite64"), count("fsync")), (1, 2, 1), "{counts:?}");
    assert_eq!((count("statfs"), count("utimensat")), (1, 1));
    assert_eq!(count("fcntl"), 2);
    assert_eq!(count("renameat") + count("rename") + count("renameat2"), 1);
    // The file that stays is removed by the deltree.
    assert_eq!(count("unlinkat") + count("unlink"), 3, "{counts:?}");
    assert_eq!(count("mkdirat") + count("mkdir"), 2);
    // The folder, two files, and one that is not there.
    assert_eq!(count("openat"), 4, "{counts:?}");
}

#[test]
fn a_load_that_is_written_is_read_again() {
    let load = load::find("netbench", 3).expect("load");
    let text = text_of(&load).expect("text");
    let read = parse("netbench", text.as_bytes()).expect("read");
    assert_eq!(read.operations, load.operations);
    assert_eq!((read.paths.clone(), read.bytes()), (load.paths.clone(), load.bytes()));
    assert_eq!(read.live_bytes_max, load.live_bytes_max);
    let other = load::find("netbench-2002", 3).expect("load");
    assert_eq!(text_of(&other), None, "it has calls that dbench 4 does not know");
}
