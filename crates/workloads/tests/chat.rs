//! Chat, through the real worker: totals, placement, system calls, and what is left behind.

mod common;

use common::{
    Worker, allowed_cpus, children, eventually, fail, installed, kill, left_out, nth_cpu, one_cpu,
    run, succeed, worker_path, workload,
};
use coretwin_base::study::job::{Outcome, RunAs};
use coretwin_workloads::chat::serve::{ChatOptions, Variant, serve_chat};
use coretwin_workloads::leftovers;
use coretwin_workloads::serve::ServeEvent;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// Long enough to be interrupted.
const LONG: &str = "chat:rooms=2,messages=30000";

fn counted(outcome: &Outcome, metric: &str) -> f64 {
    outcome.metrics.get(metric).unwrap_or_else(|| panic!("no metric {metric}")).value
}

#[test]
fn totals_are_those_of_the_protocol_in_every_variant() {
    for name in ["chat", "chat-futex", "chat-nodelay"] {
        let outcome = succeed(&workload(&format!("{name}:rooms=2,messages=30")));
        assert_eq!(counted(&outcome, "messages_sent"), 1200.0, "{name}");
        assert_eq!(counted(&outcome, "messages_received"), 22_800.0, "{name}");
        assert_eq!(counted(&outcome, "connections"), 40.0);
        assert_eq!((outcome.threads, outcome.operations), (160, 24_000));
        let value = outcome.value.expect("value");
        assert!((value * outcome.elapsed_s / 24_000.0 - 1.0).abs() < 1e-9);
        assert!(outcome.checks.len() >= 2 && outcome.checks.values().all(|held| *held));
        assert!(outcome.user_s + outcome.system_s > 0.0);
        assert!(counted(&outcome, "peak_memory_kib") > 500.0);
        assert!(!outcome.cpus_ran.is_empty() && outcome.cpus_ran.is_subset(&allowed_cpus()));
    }
}

#[test]
fn the_articles_twenty_rooms() {
    let outcome = succeed(&workload("chat:rooms=20"));
    assert_eq!(counted(&outcome, "messages_sent"), 40_000.0);
    assert_eq!(counted(&outcome, "messages_received"), 760_000.0);
    assert_eq!((outcome.threads, counted(&outcome, "connections")), (1600, 400.0));
}

#[test]
fn rooms_users_and_sizes_may_be_odd() {
    let outcome = succeed(&workload("chat:rooms=3,users=2,messages=7,size=5"));
    assert_eq!(counted(&outcome, "messages_sent"), 42.0);
    assert_eq!(counted(&outcome, "messages_received"), 42.0);
    let outcome = succeed(&workload("chat:rooms=1,users=3,messages=20,size=65536"));
    assert_eq!(counted(&outcome, "messages_received"), 120.0);
}

#[test]
fn tasks_stay_where_they_belong() {
    let mut job = workload("chat:rooms=1,messages=200");
    job.cpus = one_cpu();
    let outcome = succeed(&job);
    assert_eq!((&outcome.cpus_ran, &outcome.cpus_allowed), (&one_cpu(), &one_cpu()));
    let Some(second) = nth_cpu(1) else { return };
    let second = [second].into_iter().collect();
    let mut job = workload("chat:rooms=1,messages=200");
    job.roles = vec![one_cpu(), one_cpu()];
    assert_eq!(succeed(&job).cpus_ran, one_cpu());
    job.roles = vec![one_cpu(), second];
    assert_eq!(succeed(&job).cpus_ran.len(), 2);
}

/// The claim file of a worker, and the keys it holds.
fn claim_of(worker: i32) -> Option<(PathBuf, i32, i32)> {
    let entries = std::fs::read_dir("/dev/shm").ok()?.flatten();
    let path = entries.map(|entry| entry.path()).find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("coretwin-semaphores-") && name.ends_with(&format!("-{worker}"))
    })?;
    let text = std::fs::read_to_string(&path).ok()?;
    let (base, count) = text.trim().split_once(' ')?;
    Some((path, base.parse().ok()?, count.parse().ok()?))
}

/// How many semaphore sets there are under these keys, as the kernel lists them.
fn sets_within(base: i32, count: i32) -> usize {
    let table = std::fs::read_to_string("/proc/sysvipc/sem").expect("table of semaphores");
    let keys = table.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    keys.flat_map(str::parse::<i32>).filter(|key| (base..base + count).contains(key)).count()
}

/// A worker in the midst of a long chat: its claim, and its server and client.
fn in_the_midst() -> (Worker, (PathBuf, i32, i32), Vec<i32>) {
    let worker = Worker::start(&workload(LONG));
    let pid = worker.pid();
    eventually("every semaphore is made", || {
        claim_of(pid).is_some_and(|(_, base, count)| sets_within(base, count) == 5)
    });
    let claim = claim_of(pid).expect("claim");
    let both = children(pid);
    assert_eq!(both.len(), 2, "server and client");
    (worker, claim, both)
}

fn assert_nothing_left(claim: &(PathBuf, i32, i32), pids: &[i32]) {
    assert_eq!(sets_within(claim.1, claim.2), 0, "semaphores are left");
    assert!(!claim.0.exists(), "the claim is left");
    for pid in pids {
        let chat = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!chat.contains("chat-"), "process {pid} is left");
    }
}

#[test]
fn a_killed_process_is_named_and_nothing_is_left() {
    for (index, who) in ["server", "client"].iter().enumerate() {
        let (worker, claim, both) = in_the_midst();
        kill(both[index], Signal::KILL);
        let outcome = worker.outcome();
        let why = outcome.failure.expect("failure");
        assert!(why.contains(who) && why.contains("SIGKILL"), "{who}: {why}");
        assert_nothing_left(&claim, &both);
    }
}

#[test]
fn the_end_of_the_study_ends_everything() {
    let (mut worker, claim, both) = in_the_midst();
    worker.abandon();
    assert!(worker.outcome().failure.expect("failure").contains("is gone"));
    assert_nothing_left(&claim, &both);
}

#[test]
fn a_signal_ends_everything() {
    for (signal, name) in
        [(Signal::TERM, "SIGTERM"), (Signal::INT, "SIGINT"), (Signal::HUP, "SIGHUP")]
    {
        let (worker, claim, both) = in_the_midst();
        kill(worker.pid(), signal);
        assert!(worker.outcome().failure.expect("failure").contains(name));
        assert_nothing_left(&claim, &both);
    }
}

#[test]
fn the_time_limit_ends_everything() {
    let mut job = workload(LONG);
    job.timeout_s = 0.5;
    fail(&job, "time limit of 0.5 s");
}

#[test]
fn what_a_killed_worker_leaves_is_swept() {
    let (mut worker, claim, both) = in_the_midst();
    worker.child.kill().expect("kill");
    worker.child.wait().expect("dead");
    eventually("server and client die with the worker", || {
        both.iter().all(|pid| !PathBuf::from(format!("/proc/{pid}/cmdline")).exists())
            || both.iter().all(|pid| {
                std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| text.is_empty())
            })
    });
    // Another run of chat, in a test beside this one, may have swept it already.
    leftovers::sweep();
    assert_nothing_left(&claim, &both);
}

#[test]
fn a_limit_that_is_too_low_is_named() {
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", "ulimit -n 30 && exec \"$0\""]).arg(worker_path());
    let outcome = Worker::start_by(limited, &workload("chat:rooms=2,messages=1")).outcome();
    let why = outcome.failure.expect("failure");
    assert!(why.contains("connections") && why.contains("ulimit -Hn"), "{why}");
}

#[test]
fn threads_that_cannot_be_made_are_named() {
    if !rustix::process::geteuid().is_root() {
        left_out("only root can become a user who has nothing else running");
        return;
    }
    for limit in [30, 100] {
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--nproc={limit}")).arg(worker_path());
        let mut job = workload("chat:rooms=2,messages=1");
        // A user of its own: the limit counts all processes of a user.
        job.run_as = Some(RunAs {
            uid: 64_000 + limit,
            gid: 65_534,
            name: "nobody".to_owned(),
            home: "/".to_owned(),
        });
        let why = Worker::start_by(limited, &job).outcome().failure.expect("failure");
        assert!(why.contains("80 threads") && why.contains("ulimit -u"), "{why}");
    }
}

#[test]
fn wrong_jobs_are_refused() {
    let mut job = workload("chat");
    job.cpus =
        "60000".parse::<u32>().map(coretwin_base::machine::cpu_set::CpuId).into_iter().collect();
    fail(&job, "60000");
    job.cpus = Default::default();
    fail(&job, "no CPU");
    fail(&workload("chta"), "did you mean 'chat'");
    fail(&workload("chat:rooms=9999"), "from 1 to 819");
    fail(&workload("chat:server=127.0.0.1:1"), "cannot reach the server at 127.0.0.1:1");
    let mut newer = workload("chat");
    newer.schema = 99;
    fail(&newer, "newer coretwin");
}

/// A server of its own, until the receiver of events and the flag end it.
fn with_server(options: ChatOptions, test: impl FnOnce(u16, &Receiver<ServeEvent>)) {
    let stop = AtomicBool::new(false);
    let (sender, events) = channel();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            serve_chat(
                &options,
                || stop.load(Ordering::SeqCst),
                |event| sender.send(event).expect("test listens"),
            )
        });
        let Ok(ServeEvent::Listening(address)) = events.recv() else { panic!("it listens") };
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            test(address.port(), &events);
        }));
        stop.store(true, Ordering::SeqCst);
        server.join().expect("joined").expect("served");
        if let Err(panic) = tested {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_server_of_its_own_serves_one_client_after_the_other() {
    with_server(ChatOptions { port: 0, ..ChatOptions::default() }, |port, events| {
        for rooms in [1, 2] {
            let text = format!("chat:rooms={rooms},messages=5,server=127.0.0.1:{port}");
            let outcome = succeed(&workload(&text));
            assert_eq!(outcome.checks.get("totals_client"), Some(&true));
            assert!(!outcome.checks.contains_key("totals_server"));
            let started = ServeEvent::Started { rooms, messages: 5 };
            assert_eq!(events.recv(), Ok(started));
            let received = u64::from(rooms) * 100;
            let served = ServeEvent::Served { received, sent: 19 * received, right: true };
            assert_eq!(events.recv(), Ok(served));
        }
        // The port is taken, and that is said.
        let options = ChatOptions { port, ..ChatOptions::default() };
        let error = serve_chat(&options, || false, |_| {}).expect_err("taken");
        assert!(std::error::Error::source(&error).is_none(), "a chain would say it twice");
        let error = error.to_string();
        assert!(error.contains("another program has the port"), "{error}");
        assert_eq!(error.matches("os error").count(), 1, "{error}");
    });
}

#[test]
fn a_server_with_other_users_or_another_size_is_not_waited_for() {
    let options = |users, message_bytes| ChatOptions {
        port: 0,
        variant: Variant::Futex,
        users,
        message_bytes,
        ..ChatOptions::default()
    };
    // Fewer and more users, a greater and a smaller size, and one whose bytes add up.
    for (users, size) in [(4, 100), (2, 100), (3, 101), (3, 50), (3, 200)] {
        with_server(options(users, size), |port, _| {
            let entry =
                format!(r#"{{"parent":{},"cpus":null,"core_sched":false}}"#, std::process::id());
            let settings = r#"{"rooms":1,"users":3,"messages":20,"size":100,
                               "waiting":"Futexes","nodelay":false}"#;
            let (address, patience) = (format!("127.0.0.1:{port}"), "0.2");
            let client = Command::new(worker_path())
                .args(["chat-client", &entry, settings, &address, patience])
                .output()
                .expect("client runs");
            let said = String::from_utf8(client.stdout).expect("text");
            let part = format!("the server at {address} does not answer; does it serve the same");
            assert!(said.contains(&part), "users {users}, size {size}: {said}");
        });
    }
}

#[test]
fn a_client_that_wants_more_rooms_than_can_be_claimed_is_refused() {
    let options = ChatOptions { port: 0, users: 2, ..ChatOptions::default() };
    with_server(options, |port, events| {
        for (rooms, messages) in [(1022_u32, 1_u32), (0, 1), (1, 32_768)] {
            let mut client = TcpStream::connect(("127.0.0.1", port)).expect("connected");
            client
                .write_all(&[rooms.to_ne_bytes(), messages.to_ne_bytes()].concat())
                .expect("sent");
            let Ok(ServeEvent::Failed(why)) = events.recv() else { panic!("{rooms} {messages}") };
            assert!(why.contains("takes 1 to 1021 rooms and 1 to 32767 messages"), "{why}");
        }
    });
}

#[test]
fn a_thousand_silent_clients_hold_up_nobody() {
    with_server(ChatOptions { port: 0, ..ChatOptions::default() }, |port, _| {
        let silent = || TcpStream::connect(("127.0.0.1", port)).expect("connected");
        let before: Vec<TcpStream> = (0..1000).map(|_| silent()).collect();
        let start = std::time::Instant::now();
        succeed(&workload(&format!("chat:rooms=1,messages=5,server=127.0.0.1:{port}")));
        // Each is given a minute by itself.
        assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
        drop(before);
    });
}

#[test]
fn a_server_survives_a_client_that_dies() {
    with_server(ChatOptions { port: 0, ..ChatOptions::default() }, |port, events| {
        let long = workload(&format!("{LONG},server=127.0.0.1:{port}"));
        let mut worker = Worker::start(&long);
        assert_eq!(events.recv(), Ok(ServeEvent::Started { rooms: 2, messages: 30_000 }));
        std::thread::sleep(std::time::Duration::from_millis(200));
        worker.child.kill().expect("kill");
        worker.child.wait().expect("dead");
        assert!(matches!(events.recv(), Ok(ServeEvent::Failed(_))));
        succeed(&workload(&format!("chat:rooms=1,messages=5,server=127.0.0.1:{port}")));
        // And it can be stopped in the midst of a run, which the end of this test does.
        let worker = Worker::start(&long);
        while events.recv() != Ok(ServeEvent::Started { rooms: 2, messages: 30_000 }) {}
        drop(std::thread::spawn(|| worker.outcome()));
    });
}

#[test]
fn system_calls_are_those_of_the_original() {
    if !installed("strace") {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let (rooms, messages) = (2, 10);
    let mut traced = Command::new("strace");
    let calls = "trace=sendto,recvfrom,setsockopt,accept4,connect,clone3,clone,execve,\
                 ?semop,?semtimedop";
    traced.args(["-f", "-ff", "-e", calls, "-o"]).arg(folder.path().join("trace"));
    traced.arg(worker_path());
    let job = workload(&format!("chat:rooms={rooms},messages={messages}"));
    let outcome = Worker::start_by(traced, &job).outcome();
    assert_eq!(outcome.failure, None);
    let counts = count_calls(folder.path());
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    let sent = 20 * rooms * messages;
    // Three more each way on the control connection: wishes, start, end.
    assert_eq!(count("sendto"), sent + 19 * sent + 3);
    assert_eq!(count("recvfrom"), sent + 19 * sent + 3);
    assert_eq!((count("connect"), count("accept4")), (20 * rooms + 1, 20 * rooms + 1));
    assert_eq!(count("setsockopt"), 0, "no socket option at all");
    // A message counted and taken; start and end of tasks; the starting gun; two waits for zero.
    assert_eq!(count("sem_op=1"), sent);
    assert_eq!(count("sem_op=-1"), sent + 40 * rooms + 80 * rooms);
    assert_eq!(count(&format!("sem_op={}", 40 * rooms)), 1);
    assert_eq!(count("sem_op=0"), 2);
}

/// Calls by name, and semaphore operations by change, in every trace of the folder. A call that a
/// trace of its own thread shows is on one line.
fn count_calls(folder: &std::path::Path) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("folder").flatten() {
        for line in std::fs::read_to_string(entry.path()).expect("trace").lines() {
            let Some((name, rest)) = line.split_once('(') else { continue };
            // The door was tried, and nobody stood there.
            if line.contains(" EAGAIN ") {
                continue;
            }
            *counts.entry(name.to_owned()).or_default() += 1;
            if let Some(change) = rest.split_once("sem_op=").and_then(|(_, r)| r.split_once(',')) {
                *counts.entry(format!("sem_op={}", change.0)).or_default() += 1;
            }
        }
    }
    counts
}

#[test]
fn an_impossible_cookie_is_explained() {
    let mut job = workload("chat:rooms=1,messages=1");
    job.core_sched = true;
    // On a machine with SMT and a new kernel it works; elsewhere it says what is missing.
    let outcome = run(&job);
    if let Some(why) = outcome.failure {
        assert!(why.contains("core scheduling"), "{why}");
    }
}
