//! Another user of the machine finds the sockets of a run and does to them what it can: connects and is
//! silent, sends garbage, sends datagrams to every port. No row fails by it.
//!
//! It happens in a network namespace, so that nothing else on the machine is attacked; only root makes
//! one and has another user to be.

mod common;

use common::{Worker, installed, left_out, worker_path, workload};
use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// A row of every kind with sockets that others can reach.
const ROWS: &[&str] = &[
    "chat:rooms=2,messages=50",
    "chat-futex:rooms=2,messages=50",
    "chat-nodelay:rooms=2,messages=50",
    "service/latency:rate=500,seconds=0.3,warmup=2,connections=4,memory_kib=64",
    "tbench:clients=4,loadfile=netbench,mode=timed,seconds=0.3,warmup=2",
    "tbench-threads:clients=4,loadfile=netbench,mode=timed,seconds=0.3,warmup=2",
    "aim9/tcp_test:seconds=0.5",
    "aim9/udp_test:seconds=0.5",
    "lmbench/select-10-tcp-fds:samples=10",
    "lmbench-more/tcp-latency:samples=10",
    "lmbench-more/tcp-bandwidth:samples=10",
    "lmbench-more/udp-latency:samples=10",
    "lmbench-more/udp-bandwidth:samples=10",
];
/// Who owns nothing on any machine.
const NOBODY: u32 = 65_534;
/// Silent connections that the stranger holds.
const HELD: usize = 300;

#[test]
fn a_stranger_fails_no_row() {
    if !rustix::process::geteuid().is_root() {
        return left_out("only root makes a network namespace and becomes another user");
    }
    if !installed("unshare") || !installed("ip") {
        return;
    }
    let test = std::env::current_exe().expect("this test");
    let inside = Command::new("unshare")
        .args(["--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .arg(test)
        .args(["--exact", "--ignored", "--nocapture", "in_a_network_of_its_own"])
        .output()
        .expect("unshare runs");
    let said = String::from_utf8_lossy(&inside.stdout);
    let _ = write!(std::io::stdout(), "\n{said}");
    let why = String::from_utf8_lossy(&inside.stderr);
    assert!(inside.status.success(), "{said}\n{why}");
}

/// Runs of all rows in turn beside a stranger.
#[test]
#[ignore = "part of a_stranger_fails_no_row, which starts it"]
fn in_a_network_of_its_own() {
    let trials: usize = std::env::var("CORETWIN_STRANGERS")
        .map_or(ROWS.len(), |text| text.parse().expect("CORETWIN_STRANGERS is a number"));
    // Where the other user can read it.
    let folder = tempfile::tempdir().expect("folder");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open.clone()).expect("opened");
    let program = folder.path().join("stranger");
    std::fs::copy(std::env::current_exe().expect("this test"), &program).expect("copied");
    std::fs::set_permissions(&program, open).expect("opened");
    let mut stranger = Command::new(&program)
        .args(["--exact", "--ignored", "--nocapture", "as_a_stranger"])
        .current_dir("/")
        .gid(NOBODY)
        .uid(NOBODY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a stranger");
    let mut failed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for trial in 0..trials {
        let row = ROWS[trial % ROWS.len()];
        let mut job = workload(row);
        job.timeout_s = 60.0;
        let outcome = Worker::start_by(Command::new(worker_path()), &job).outcome();
        let wrong = outcome.checks.iter().find(|(_, held)| !**held);
        let why = outcome.failure.clone().or_else(|| wrong.map(|(name, _)| format!("not {name}")));
        failed.entry(row).or_default().extend(why);
    }
    drop(stranger.stdin.take());
    let mut did = String::new();
    stranger.stdout.take().expect("stdout").read_to_string(&mut did).expect("its words");
    assert!(stranger.wait().expect("it ends").success(), "{did}");
    let mut out = std::io::stdout();
    for (row, why) in &failed {
        let first = why.first().map_or("", String::as_str);
        let _ = writeln!(out, "{row}: {} failed {first}", why.len());
    }
    let _ = writeln!(out, "{did}did: {trials} runs beside a stranger");
    assert!(did.contains("connections"), "{did}");
    let count: usize = failed.values().map(Vec::len).sum();
    assert_eq!(count, 0, "of {trials} runs");
}

/// What the other user does until its standard input ends.
#[test]
#[ignore = "part of a_stranger_fails_no_row, which starts it"]
fn as_a_stranger() {
    assert_eq!(rustix::process::geteuid().as_raw(), NOBODY);
    let over = AtomicBool::new(false);
    let (connections, datagrams) = std::thread::scope(|scope| {
        let connections = scope.spawn(|| knock(&over));
        let datagrams = scope.spawn(|| spray(&over));
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        over.store(true, Ordering::SeqCst);
        (connections.join().expect("knocked"), datagrams.join().expect("sprayed"))
    });
    let mut out = std::io::stdout();
    let _ = writeln!(out, "a stranger: {connections} connections, {datagrams} datagrams");
    assert!(connections > 0 && datagrams > 0);
}

/// Connects to whatever listens: is silent, sends what is no message, or goes at once.
fn knock(over: &AtomicBool) -> u64 {
    let (mut made, mut held) = (0, VecDeque::new());
    while !over.load(Ordering::SeqCst) {
        for port in ports("/proc/net/tcp", |state| state == "0A") {
            let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { continue };
            made += 1;
            match made % 3 {
                0 => drop(stream),
                1 => drop(stream.write_all(&[b'm'; 4096])),
                _ => held.push_back(stream),
            }
            if held.len() > HELD {
                held.pop_front();
            }
        }
    }
    made
}

/// Sends datagrams to the ports that are known, and to all that any program may be given.
fn spray(over: &AtomicBool) -> u64 {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    let (mut sent, mut all) = (0, (32_768..61_000).cycle());
    while !over.load(Ordering::SeqCst) {
        // What is listed may be gone in a moment, so it comes first.
        let known = ports("/proc/net/udp", |_| true);
        for port in known.into_iter().chain(all.by_ref().take(32)) {
            let size = [1, 32, 512, 2048][usize::from(port) % 4];
            let end = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            // Nobody may be there, which the kernel tells at the next call.
            sent += u64::from(socket.send_to(&[b'm'; 2048][..size], end).is_ok());
        }
    }
    sent
}

/// Ports of sockets on 127.0.0.1, by the kernel's own list, which is everybody's to read.
fn ports(list: &str, wanted: impl Fn(&str) -> bool) -> Vec<u16> {
    let text = std::fs::read_to_string(list).expect(list);
    let port = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let port = words.next()?.strip_prefix("0100007F:")?;
        let state = words.nth(1)?;
        wanted(state).then(|| u16::from_str_radix(port, 16).ok())?
    };
    text.lines().filter_map(port).collect()
}
