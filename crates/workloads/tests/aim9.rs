//! AIM9, through the real worker: answers, what a call really does, and what is left behind.

mod common;

use common::{
    Worker, allowed_cpus, children, eventually, fail, installed, run, succeed, traced, worker_path,
    workload,
};
use coretwin_base::study::job::{Job, Outcome, RunAs};
use coretwin_workloads::{aim9, table};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// A job of a row, with parameters as typed.
fn row(name: &str, params: &str) -> Job {
    workload(&format!("aim9/{name}:{params}"))
}

fn counted(outcome: &Outcome, metric: &str) -> f64 {
    outcome.metrics.get(metric).unwrap_or_else(|| panic!("no metric {metric}")).value
}

/// The parameters that make a row run so many calls and no more.
fn exactly(name: &str, calls: u32) -> String {
    match name.starts_with("sync_") {
        true => format!("seconds=0,calls={calls},calls_max={calls},file_kib=64"),
        false => format!("seconds=0,calls={calls}"),
    }
}

#[test]
fn every_row_gives_right_answers() {
    let rows = table::ALL.iter().filter_map(|row| row.name().strip_prefix("aim9/"));
    let mut count = 0;
    for name in rows {
        let outcome = succeed(&row(name, &exactly(name, 1)));
        assert!(outcome.value.is_some_and(|value| value > 0.0), "{name}");
        assert_eq!((counted(&outcome, "calls"), outcome.threads), (1.0, 1), "{name}");
        assert!(outcome.checks.values().all(|held| *held), "{name}: {:?}", outcome.checks);
        assert_eq!(outcome.samples.len(), 1, "{name}");
        assert!(outcome.cpus_ran.is_subset(&allowed_cpus()) && !outcome.cpus_ran.is_empty());
        count += 1;
    }
    assert!(count >= aim9::rows::TABLE_2.len(), "{count}");
}

#[test]
fn a_rate_is_calls_times_credit_over_time() {
    for (name, credit, operations) in [
        ("mul_int", 240.0, 240_000),
        ("creat-clo", 1000.0, 1000),
        ("disk_rd", 5120.0, 5120),
        ("pipe_cpy", 100.0, 100),
        ("ram_copy", 25_020.0, 25_020),
    ] {
        let outcome = succeed(&row(name, "seconds=0,calls=7"));
        let value = outcome.value.expect("value");
        assert!((value * outcome.elapsed_s / (7.0 * credit) - 1.0).abs() < 1e-9, "{name}");
        assert_eq!(outcome.operations, 7 * operations, "{name}");
    }
}

#[test]
fn copies_run_together_and_their_rates_add_up() {
    let mut job = row("mul_int", "seconds=0.1,copies=3");
    job.copies = 3;
    let outcome = succeed(&job);
    assert_eq!(outcome.threads, 3);
    let (slowest, fastest) = (counted(&outcome, "copy_min"), counted(&outcome, "copy_max"));
    let value = outcome.value.expect("value");
    assert!(3.0 * slowest <= value && value <= 3.0 * fastest, "{slowest} {value} {fastest}");
    let mut job = row("mul_int", "seconds=0,calls=3,copies=auto");
    job.copies = allowed_cpus().len() as u32;
    assert_eq!(succeed(&job).cpus_ran, allowed_cpus(), "each CPU has its own");
    let mut job = row("shared_memory", "seconds=0,calls=3,copies=2");
    job.copies = 2;
    assert_eq!(counted(&succeed(&job), "calls"), 6.0);
}

/// System calls by name of one run of a row: those of the copy and of what it starts.
fn system_calls(name: &str, params: &str) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for line in traced(&row(name, params)).0 {
        if let Some((call, _)) = line.split_once('(') {
            *counts.entry(call.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn a_call_makes_the_system_calls_of_the_original() {
    if !installed("strace") {
        return;
    }
    // By how much two calls more than one change each count.
    let rows: &[(&str, &[(&str, i64)])] = &[
        ("creat-clo", &[("creat", 1000), ("close", 1000), ("unlink", 1)]),
        ("link_test", &[("creat", 1), ("link", 70), ("unlink", 71), ("close", 1)]),
        ("brk_test", &[("brk", 1 + 1 + 17 * 1000 + 1)]),
        ("page_test", &[("brk", 1 + 1 + 17 * 100 + 1)]),
        (
            "signal_test",
            &[("kill", 1000), ("rt_sigaction", 1001), ("rt_sigreturn", 1000), ("getpid", 1)],
        ),
        ("fork_test", &[("clone", 100), ("wait4", 200)]),
        ("exec_test", &[("clone", 5), ("wait4", 10), ("execve", 5)]),
        ("disk_rr", &[("write", 5120), ("lseek", 5120), ("read", 5120), ("unlink", 1)]),
        ("disk_rw", &[("write", 2 * 5120), ("lseek", 5120), ("read", 0)]),
        ("disk_rd", &[("read", 5120), ("lseek", 1), ("write", 0)]),
        ("disk_wrt", &[("write", 5120), ("unlink", 1), ("read", 0)]),
        ("disk_cp", &[("write", 5120), ("read", 5120), ("unlink", 1)]),
        ("disk_src", &[("creat", 43), ("unlink", 43), ("chdir", 2)]),
        ("pipe_cpy", &[("write", 99), ("read", 99), ("close", 2)]),
        ("fifo_test", &[("write", 99), ("read", 99), ("mknod", 1), ("unlink", 2)]),
        ("stream_pipe", &[("write", 99), ("read", 99), ("socketpair", 1)]),
        ("udp_test", &[("write", 99), ("read", 99), ("socket", 2), ("bind", 2)]),
        ("tcp_test", &[("write", 89), ("socket", 2), ("accept", 1), ("connect", 1)]),
        ("shared_memory", &[("shmget", 1), ("semget", 1), ("shmat", 1), ("shmdt", 1)]),
    ];
    for (name, expected) in rows {
        let few = system_calls(name, &exactly(name, 1));
        let more = system_calls(name, &exactly(name, 3));
        for (call, each) in *expected {
            // The C library of other architectures makes some by their newer names.
            let count = |counts: &BTreeMap<String, i64>| {
                let newer = [format!("{call}at"), format!("{call}4")];
                let names = [*call, &newer[0], &newer[1]];
                names.iter().filter_map(|name| counts.get(*name)).sum::<i64>()
            };
            let grown = count(&more) - count(&few);
            assert_eq!(grown, 2 * each, "{name}: {call} of two calls");
        }
    }
}

#[test]
fn pages_are_really_touched() {
    let outcome = succeed(&row("page_test", "seconds=0,calls=4"));
    if counted(&outcome, "page_kib") == 4.0 {
        let faults = counted(&outcome, "page_faults_per_call");
        assert!((1600.0..1700.0).contains(&faults), "{faults}");
    }
}

/// The instructions of a function of the worker, as objdump writes them.
#[cfg(target_arch = "x86_64")]
fn disassembled() -> BTreeMap<String, Vec<String>> {
    let listing = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn", "-M", "intel"])
        .arg(worker_path())
        .output()
        .expect("objdump, of the package binutils, disassembles");
    let mut functions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = None;
    for line in String::from_utf8_lossy(&listing.stdout).lines() {
        if let Some((_, symbol)) = line.split_once(" <").filter(|_| line.ends_with(">:")) {
            let path = symbol.trim_end_matches(">:");
            name = path.contains("aim9::native::arithmetic").then(|| path.to_owned());
        } else if let (Some(name), Some((_, instruction))) = (&name, line.split_once(":\t")) {
            functions.entry(name.clone()).or_default().push(instruction.trim().to_owned());
        }
    }
    functions
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_turn_has_twelve_operations_and_nothing_else() {
    if !installed("objdump") {
        return;
    }
    let functions = disassembled();
    for (row, mnemonic, others) in [
        ("add_double", "addsd xmm", 0),
        ("add_float", "addss xmm", 0),
        ("add_long", "add r", 0),
        ("add_int", "add e", 0),
        ("add_short", "add ", 0),
        ("mul_double", "mulsd xmm", 0),
        ("mul_float", "mulss xmm", 0),
        ("mul_long", "imul r", 0),
        ("mul_int", "imul e", 0),
        ("mul_short", "imul ", 0),
        ("div_double", "divsd xmm", 0),
        ("div_float", "divss xmm", 0),
        // A division needs its dividend brought, widened, and its quotient fetched.
        ("div_long", "idiv r", 36),
        ("div_int", "idiv ", 36),
        ("div_short", "idiv ", 36),
    ] {
        let named = |path: &&String| path.split("::").any(|part| part == row);
        let path = functions.keys().find(named).unwrap_or_else(|| panic!("no function {row}"));
        // The turn ends with the decrement and the jump back.
        let code: Vec<String> = functions[path]
            .iter()
            .map(|i| i.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let end = code.iter().position(|i| i.starts_with("jne") || i.starts_with("jnz"));
        let end = end.unwrap_or_else(|| panic!("{row} has no loop: {code:?}"));
        let turn = &code[end - 1 - 12 - others..end];
        let operations = turn.iter().filter(|i| i.starts_with(mnemonic)).count();
        assert_eq!(operations, 12, "{row}: {turn:?}");
        assert!(turn[turn.len() - 1].starts_with("dec"), "{row}: {turn:?}");
    }
}

/// Instructions that a copy of a row executes in so many calls, its start included.
fn instructions(name: &str, calls: u32) -> i64 {
    let entry = format!(r#"{{"parent":{},"cpus":null,"core_sched":false}}"#, std::process::id());
    let orders = format!(
        r#"{{"row":"aim9/{name}","company":false,"place":{{"folder":null,"key":null,"cpus":[],
            "core_sched":false,"params":{{"calls":{calls},"seconds":0}}}}}}"#
    );
    let (ours, theirs) = UnixStream::pair().expect("gate");
    ours.shutdown(std::net::Shutdown::Write).expect("released before it starts");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(worker_path())
        .args(["aim9", &entry, &orders])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("\"done\""),
        "{name}: {said} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let told = String::from_utf8_lossy(&output.stderr);
    let collected = told.lines().find_map(|line| line.split_once("Collected : "));
    collected.and_then(|(_, count)| count.trim().parse().ok()).unwrap_or_else(|| panic!("{told}"))
}

#[test]
fn instructions_grow_with_the_work() {
    if !installed("valgrind") {
        return;
    }
    // Per call: the turns times a turn's instructions, where they are exactly known.
    let known: &[(&str, i64)] = &[
        ("mul_int", 20_000 * 14),
        ("mul_long", 20_000 * 14),
        ("mul_short", 25_000 * 14),
        ("div_int", 75_000 * (4 * 12 + 2)),
    ];
    for (name, each) in known.iter().filter(|_| cfg!(target_arch = "x86_64")) {
        let grown = instructions(name, 4) - instructions(name, 2);
        // One operation more a turn would be 7 %; the clock and its samples take less than 3.
        let share = grown as f64 / (2 * each) as f64;
        assert!((1.0..1.03).contains(&share), "{name}: {grown} of 2 x {each}");
    }
    for name in ["fun_cal", "num_rtns_1", "matrix_rtns", "mem_rtns_1"] {
        let counts = [1, 3, 7].map(|calls| instructions(name, calls));
        let (two, four) = (counts[1] - counts[0], counts[2] - counts[1]);
        let ratio = four as f64 / two as f64;
        assert!((ratio - 2.0).abs() < 0.1, "{name}: twice the work is {ratio} times as long");
    }
}

#[test]
fn a_run_that_takes_too_long_leaves_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let mut job = row("disk_cp", &format!("seconds=60,dir={}", folder.path().display()));
    job.timeout_s = 0.3;
    fail(&job, "time limit of 0.3 s");
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0);
}

#[test]
fn a_copy_that_is_killed_is_named() {
    let folder = tempfile::tempdir().expect("folder");
    let worker =
        Worker::start(&row("disk_cp", &format!("seconds=60,dir={}", folder.path().display())));
    let pid = worker.pid();
    let copy = || {
        let is_copy = |pid: &i32| {
            let cmdline = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&cmdline).contains("aim9/disk_cp")
        };
        children(pid).into_iter().find(is_copy)
    };
    eventually("a copy is at work", || copy().is_some());
    common::kill(copy().expect("copy"), Signal::KILL);
    let why = worker.outcome().failure.expect("failure");
    assert!(why.contains("SIGKILL"), "{why}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0);
}

#[test]
fn folders_that_will_not_do_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().display();
    let mut large = row("disk_cp", &format!("dir={path},file_kib=32768"));
    large.copies = 1_000_000;
    fail(&large, "is too small");
    fail(&row("disk_cp", &format!("dir={path}/absent")), "No such file");
    fail(&row("disk_cp", "dir=/dev/null"), "is not a folder");
    let kept = folder.path().join("kept");
    std::fs::write(&kept, "precious").expect("file");
    fail(&row("disk_cp", &format!("dir={path}")), "is not empty");
    assert_eq!(std::fs::read_to_string(&kept).expect("kept"), "precious");
    std::fs::remove_file(&kept).expect("removed");

    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(0o555);
    std::fs::set_permissions(folder.path(), permissions).expect("read-only");
    let mut job = row("creat-clo", &format!("dir={path}"));
    if rustix::process::geteuid().is_root() {
        // Root may write anywhere, so somebody else tries.
        let (name, home) = ("nobody".to_owned(), "/".to_owned());
        job.run_as = Some(RunAs { uid: 65_534, gid: 65_534, name, home });
    }
    fail(&job, "cannot write in the scratch folder");
}

#[test]
fn what_a_result_depends_on_is_told() {
    let disk = run(&row("disk_rd", "seconds=0"));
    assert!(disk.notes["file_system"].contains("GiB"), "{:?}", disk.notes);
    assert_eq!(counted(&disk, "file_kib"), 5120.0);
    if Path::new("/dev/shm").is_dir() {
        let folder = tempfile::tempdir_in("/dev/shm").expect("folder");
        let dir = folder.path().display();
        let sync = run(&row("sync_disk_rw", &format!("file_kib=64,dir={dir}")));
        assert!(sync.notes["warning"].contains("in memory"), "{:?}", sync.notes);
        assert!(sync.notes["file_system"].starts_with("tmpfs"), "{:?}", sync.notes);
        assert!(counted(&sync, "calls") >= 5.0);
    }
    let shell = run(&row("shell_rtns_1", "seconds=0,calls=1"));
    assert!(shell.notes["shell"].starts_with('/'), "{:?}", shell.notes);
    let sort = run(&row("sort_rtns_1", "seconds=0,calls=1,sort=libc"));
    assert!(sort.failure.is_none() && sort.notes["sort"] != "our own merge sort");
}

/// What the worker says of a copy that could not be set up.
#[test]
fn a_row_that_cannot_be_set_up_says_why() {
    fail(&row("dir_rtns_1", "list=/absent"), "cannot read /absent");
    let mut silent = Command::new(worker_path())
        .args(["aim9", "{}", "{}"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut said = String::new();
    silent.stdout.take().expect("stdout").read_to_string(&mut said).expect("reads");
    assert!(said.contains("failed") && !silent.wait().expect("ends").success(), "{said}");
}
