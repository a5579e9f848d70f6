//! A run of any family, killed or ended at a random moment, leaves no process, file, semaphore, shared
//! memory, socket or mount behind.

mod common;

use common::{
    Worker, children, claims_of, eventually, kill, processes_with, worker_path, workload,
};
use coretwin_base::parameters::WorkloadSpec;
use coretwin_workloads::{leftovers, table};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Runs that do not end by themselves, and how each is ended; the first word of each is a row. Each
/// family has one that is ended in every way; others are killed or ended from outside.
const RUNS: &[(&str, &[Blow])] = &[
    ("aim9/creat-clo:seconds=60,copies=2", &[Killed]),
    ("aim9/disk_cp:seconds=60,copies=2", ALL),
    ("aim9/disk_rw:seconds=60,copies=2", &[Asked]),
    ("aim9/disk_src:seconds=60,copies=2", &[Killed]),
    ("aim9/exec_test:seconds=60,copies=2", &[Killed]),
    ("aim9/fifo_test:seconds=60,copies=2", &[Killed]),
    ("aim9/fork_test:seconds=60,copies=2", &[Killed]),
    ("aim9/link_test:seconds=60,copies=2", &[Abandoned]),
    ("aim9/shared_memory:seconds=60,copies=2", ALL),
    ("aim9/shell_rtns_1:seconds=60,copies=2", ALL),
    ("chat:rooms=3,messages=32767", ALL),
    ("chat-futex:rooms=3,messages=32767", ALL),
    ("dbench:clients=3,mode=timed,seconds=100,warmup=50", ALL),
    ("kernel-2.4/delay-sleep:seconds=60", ALL),
    ("kernel-2.4/spin:seconds=60", ALL),
    ("lmbench/fork-execve:sample=60,copies=2", &[Killed, Asked]),
    ("lmbench/fork-exit:sample=60,copies=2", &[Killed]),
    ("lmbench/fork-sh:samples=1000,copies=2", ALL),
    ("lmbench/pipe-latency:samples=1000,copies=2", ALL),
    ("lmbench/select-10-tcp-fds:samples=1000,copies=2", ALL),
    ("lmbench/simple-open-close:sample=60,copies=2", &[Abandoned]),
    ("lmbench/simple-stat:sample=60,copies=2", &[Killed]),
    ("lmbench-more/context-switch:sample=60,copies=2,processes=9", &[Killed, Asked]),
    ("lmbench-more/file-create:samples=1000,copies=2", ALL),
    ("lmbench-more/file-delete:sample=60,copies=2", &[Killed, Abandoned]),
    ("lmbench-more/file-reread:sample=60,copies=2", &[Killed]),
    ("lmbench-more/memory-read:sample=60,copies=2", &[Killed]),
    ("lmbench-more/mmap-reread:sample=60,copies=2", &[Killed]),
    ("lmbench-more/tcp-latency:sample=60,copies=2", &[Killed]),
    ("lmbench-more/udp-bandwidth:sample=60,copies=2", &[Killed]),
    ("lmbench-more/unix-bandwidth:sample=60,copies=2", &[Abandoned]),
    ("lmbench-more/unix-latency:samples=1000", ALL),
    ("service/latency:mix=page,rate=500,seconds=100,connections=5", ALL),
    ("service/throughput:mix=lock,seconds=100,connections=5", ALL),
    ("tbench:clients=3,mode=timed,seconds=100,warmup=50", ALL),
    ("tbench-threads:clients=3,mode=timed,seconds=100,warmup=50", ALL),
];

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Blow {
    /// The worker is killed outright.
    Killed,
    /// The worker is asked to end, by SIGTERM or SIGINT.
    Asked,
    /// Whoever wanted the run is gone.
    Abandoned,
    /// A process of the run is killed.
    Bereft,
}

use Blow::{Abandoned, Asked, Bereft, Killed};
const ALL: &[Blow] = &[Killed, Asked, Abandoned, Bereft];

fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
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
    let mut job = workload(run);
    job.copies = if run.contains("copies=2") { 2 } else { 1 };
    let mut worker = Worker::start_by(command, &job);
    let pid = worker.pid();
    // Anything from the first moments to the midst of the work.
    std::thread::sleep(Duration::from_millis(random(400)));
    let keys = keys_of(pid);
    let case = format!("{run} {blow:?}");
    // A worker that has come to its work answers why it ends.
    let at_work = !children(pid).is_empty();
    match blow {
        Killed => kill(pid, Signal::KILL),
        Asked => kill(pid, [Signal::TERM, Signal::INT][random(2) as usize]),
        Abandoned => worker.abandon(),
        Bereft => {
            eventually("a process is started", || !children(pid).is_empty());
            let victims = children(pid);
            kill(victims[random(victims.len() as u64) as usize], Signal::KILL);
            // Whichever died: if the run can go on without it, it is ended now.
            worker.abandon();
        }
    }
    if at_work && matches!(blow, Asked | Abandoned) {
        assert!(worker.outcome().failure.is_some(), "{case}");
    } else {
        worker.child.wait().expect("ended");
    }
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
        rows.map(|name| table::find(name).unwrap_or_else(|| panic!("no {name}")).facts().family)
            .collect()
    };
    let all = families(&mut table::ALL.iter().map(|row| row.name()));
    let here = families(
        &mut RUNS
            .iter()
            .filter(|(_, blows)| *blows == ALL)
            .filter_map(|(run, _)| run.split(':').next()),
    );
    assert_eq!(here, all, "a family without a run that is killed");
    for (run, _) in RUNS {
        let spec = WorkloadSpec::parse(run).expect(run);
        table::resolve(&spec).unwrap_or_else(|error| panic!("{run} does not run: {error}"));
    }
}

/// Ends every run in that way that is to be ended so.
fn all_by(blow: Blow) {
    let runs = RUNS.iter().filter(|(_, blows)| blows.contains(&blow));
    runs.for_each(|(run, _)| ended_by(blow, run));
}

#[test]
fn a_run_killed_at_any_moment_leaves_nothing() {
    all_by(Killed);
}

#[test]
fn a_run_that_is_asked_to_end_leaves_nothing() {
    all_by(Asked);
}

#[test]
fn a_run_that_nobody_wants_any_more_leaves_nothing() {
    all_by(Abandoned);
}

#[test]
fn a_run_that_loses_a_process_leaves_nothing() {
    all_by(Bereft);
}
