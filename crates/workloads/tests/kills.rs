//! A run of any family, killed or ended at a random moment, leaves no process, file, semaphore, shared
//! memory, socket or mount behind.

mod common;

use common::{Worker, children, eventually, kill, processes_with, worker_path, workload};
use coretwin_base::param::WorkloadSpec;
use coretwin_workloads::{leftovers, table};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Runs that do not end by themselves; the first word of each is a row, and each family has one.
const RUNS: &[&str] = &[
    "aim9/disk_cp:seconds=60",
    "aim9/shared_memory:seconds=60",
    "aim9/shell_rtns_1:seconds=60",
    "chat:rooms=3,messages=32767",
    "chat-futex:rooms=3,messages=32767",
    "dbench:clients=3,mode=timed,seconds=100,warmup=50",
    "kernel-2.4/delay-sleep:seconds=60",
    "kernel-2.4/spin:seconds=60",
    "lmbench/fork-sh:samples=1000",
    "lmbench/pipe-latency:samples=1000",
    "lmbench/select-10-tcp-fds:samples=1000",
    "lmbench-more/file-create:samples=1000",
    "lmbench-more/unix-latency:samples=1000",
    "tbench:clients=3,mode=timed,seconds=100,warmup=50",
    "tbench-threads:clients=3,mode=timed,seconds=100,warmup=50",
];

/// How a run ends.
#[derive(Debug, Clone, Copy)]
enum Blow {
    /// The worker is killed outright.
    Killed,
    /// The worker is asked to end.
    Asked,
    /// Whoever wanted the run is gone.
    Abandoned,
    /// A process of the run is killed.
    Bereft,
}

fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
}

/// What the worker has claimed and not let go: names of files that hold its number.
fn claims_of(worker: i32) -> Vec<String> {
    let entries = std::fs::read_dir("/dev/shm").expect("/dev/shm").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let of_worker = |name: &String| {
        name.starts_with("coretwin-") && name.split('-').any(|part| part == worker.to_string())
    };
    names.filter(of_worker).collect()
}

/// Ranges of keys of kernel objects that the worker has claimed.
fn keys_of(worker: i32) -> Vec<std::ops::Range<i64>> {
    let texts = claims_of(worker)
        .into_iter()
        .filter_map(|name| std::fs::read_to_string(Path::new("/dev/shm").join(name)).ok());
    texts
        .filter_map(|text| {
            let (base, count) = text.trim().split_once(' ')?;
            let (base, count): (i64, i64) = (base.parse().ok()?, count.parse().ok()?);
            Some(base..base + count)
        })
        .collect()
}

/// Semaphore sets and segments under these keys, as the kernel lists them.
fn kernel_objects(keys: &[std::ops::Range<i64>]) -> usize {
    let of = |file: &str| {
        let table = std::fs::read_to_string(file).expect("table of kernel objects");
        let found = table.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
        found.filter(|key: &i64| keys.iter().any(|range| range.contains(key))).count()
    };
    of("/proc/sysvipc/sem") + of("/proc/sysvipc/shm")
}

fn ended_by(blow: Blow, run: &str) {
    // All that the worker starts inherits the name of this folder, and works in it.
    let folder = tempfile::tempdir().expect("folder");
    let tag = folder.path().to_str().expect("text");
    let mut command = Command::new(worker_path());
    command.env("TMPDIR", tag);
    let mut worker = Worker::start_by(command, &workload(run));
    let pid = worker.pid();
    // Anything from the first moments to the midst of the work.
    std::thread::sleep(Duration::from_millis(random(400)));
    let keys = keys_of(pid);
    match blow {
        Blow::Killed => kill(pid, Signal::KILL),
        Blow::Asked => kill(pid, Signal::TERM),
        Blow::Abandoned => worker.abandon(),
        Blow::Bereft => {
            eventually("a process is started", || !children(pid).is_empty());
            let victims = children(pid);
            kill(victims[random(victims.len() as u64) as usize], Signal::KILL);
        }
    }
    if matches!(blow, Blow::Bereft) {
        // Whichever died: if the run can go on without it, it is ended now.
        worker.abandon();
    }
    worker.child.wait().expect("ended");
    let case = format!("{run} {blow:?}");
    eventually(&format!("{case}: every process ends"), || processes_with(tag).is_empty());
    eventually(&format!("{case}: nothing stays claimed"), || {
        leftovers::sweep();
        claims_of(pid).is_empty()
    });
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("folder").flatten().collect();
    assert!(left.is_empty(), "{case}: {left:?}");
    assert_eq!(kernel_objects(&keys), 0, "{case}");
    // Sockets without a name end with their processes.
    for table in ["/proc/self/mountinfo", "/proc/net/unix"] {
        let table = std::fs::read_to_string(table).expect("table");
        let ours = |line: &&str| line.contains(tag) || line.contains(&format!("-{pid}-"));
        assert_eq!(table.lines().find(ours), None, "{case}");
    }
}

#[test]
fn every_family_is_here_and_every_run_runs() {
    let families = |rows: &mut dyn Iterator<Item = &str>| -> BTreeSet<&'static str> {
        rows.map(|name| table::find(name).unwrap_or_else(|| panic!("no {name}")).family()).collect()
    };
    let all = families(&mut table::ALL.iter().map(|row| row.name()));
    let here = families(&mut RUNS.iter().filter_map(|run| run.split(':').next()));
    assert_eq!(here, all, "a family without a run that is killed");
    for run in RUNS {
        let spec = WorkloadSpec::parse(run).expect(run);
        table::resolve(&spec).unwrap_or_else(|error| panic!("{run} does not run: {error}"));
    }
}

#[test]
fn a_run_killed_at_any_moment_leaves_nothing() {
    RUNS.iter().for_each(|run| ended_by(Blow::Killed, run));
}

#[test]
fn a_run_that_is_asked_to_end_leaves_nothing() {
    RUNS.iter().for_each(|run| ended_by(Blow::Asked, run));
}

#[test]
fn a_run_that_nobody_wants_any_more_leaves_nothing() {
    RUNS.iter().for_each(|run| ended_by(Blow::Abandoned, run));
}

#[test]
fn a_run_that_loses_a_process_leaves_nothing() {
    RUNS.iter().for_each(|run| ended_by(Blow::Bereft, run));
}
