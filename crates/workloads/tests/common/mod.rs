//! Starts the real worker and talks to it.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::print_stderr,
    reason = "each test file uses its own part"
)]

use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::job::{Job, Outcome, Work};
use coretwin_workloads::serve::ServeEvent;
use coretwin_workloads::tbench::server::{TbenchOptions, serve_tbench};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The worker, which cargo builds as an example beside the tests. Cargo does not do that for
/// `--test NAME`, so one that is older than the code is refused.
pub fn worker_path() -> PathBuf {
    let test = std::env::current_exe().expect("path of the test");
    let path = test.ancestors().nth(2).expect("target folder").join("examples/worker");
    let built = std::fs::metadata(&path).and_then(|file| file.modified());
    let newest = newest(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(
        built.is_ok_and(|built| built >= newest),
        "{} is missing or older than the code: run the tests without --test, or build --examples",
        path.display()
    );
    path
}

fn newest(folder: &Path) -> std::time::SystemTime {
    let entries = std::fs::read_dir(folder).expect("folder").flatten();
    let times = entries.map(|entry| match entry.path() {
        path if path.is_dir() => newest(&path),
        path => path.metadata().and_then(|file| file.modified()).expect("time"),
    });
    times.max().expect("files")
}

/// CPUs this test may use.
pub fn allowed_cpus() -> CpuSet {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    CpuSet::parse(line.expect("list")).expect("cpus")
}

/// The first CPU this test may use, alone.
pub fn one_cpu() -> CpuSet {
    allowed_cpus().first().into_iter().collect()
}

/// The n-th CPU this test may use; if there are not so many, says that something is left out.
pub fn nth_cpu(n: usize) -> Option<CpuId> {
    let cpu = allowed_cpus().iter().nth(n);
    if cpu.is_none() {
        left_out(&format!("this machine gives it fewer than {} CPUs", n + 1));
    }
    cpu
}

/// Says that a test, or a part of one, is left out, and why.
pub fn left_out(why: &str) {
    eprintln!("left out: {why}");
}

/// A job on every allowed CPU.
pub fn job(work: Work) -> Job {
    Job { threads: 2, ..Job::plain(work, "test".to_owned(), allowed_cpus(), 100.0) }
}

/// A job that runs a workload, as typed.
pub fn workload(text: &str) -> Job {
    let spec = WorkloadSpec::parse(text).expect(text);
    job(Work::Builtin { workload: spec.name, params: spec.params })
}

/// A worker at work.
pub struct Worker {
    pub child: Child,
    stdin: Option<ChildStdin>,
}

impl Worker {
    pub fn start(job: &Job) -> Self {
        Self::start_by(Command::new(worker_path()), job)
    }

    /// Starts it by a command that ends in running it.
    pub fn start_by(mut command: Command, job: &Job) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("worker starts");
        let mut stdin = child.stdin.take().expect("stdin");
        let line = serde_json::to_string(job).expect("job");
        writeln!(stdin, "{line}").expect("worker reads");
        Self { child, stdin: Some(stdin) }
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Closes its standard input, as the death of a study does.
    pub fn abandon(&mut self) {
        self.stdin = None;
    }

    /// Its answer; and then it ends.
    pub fn outcome(mut self) -> Outcome {
        let stdout = self.child.stdout.take().expect("stdout");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("answer");
        self.stdin = None;
        self.child.wait().expect("worker ends");
        serde_json::from_str(&line).unwrap_or_else(|bad| panic!("{bad}: {line}"))
    }
}

/// Runs a job to its end.
pub fn run(job: &Job) -> Outcome {
    Worker::start(job).outcome()
}

/// Runs a job that has to succeed.
pub fn succeed(job: &Job) -> Outcome {
    let outcome = run(job);
    assert_eq!(outcome.failure, None, "{:?}", outcome.output);
    outcome
}

/// Runs a job that has to fail, for a reason that holds this text.
pub fn fail(job: &Job, part: &str) -> Outcome {
    let outcome = run(job);
    let why = outcome.failure.clone().expect("a failure");
    assert!(why.contains(part), "'{why}' does not hold '{part}'");
    assert_eq!(outcome.value, None);
    outcome
}

/// Waits until something holds.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "it does not happen: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every living process with this text in its command line or environment.
pub fn processes_with(text: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let own = std::process::id().cast_signed();
    let holds = |pid: &i32| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(text)
        })
    };
    pids.filter(|pid| *pid != own).filter(holds).collect()
}

/// Sends a signal.
pub fn kill(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).expect("pid");
    rustix::process::kill_process(pid, signal).expect("kill");
}

/// Children of a process.
pub fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().flat_map(str::parse).collect()
}

/// Whether a program is there to compare or count with; if not, says that a test is left out.
pub fn installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let there = found.is_ok_and(|found| found.status.success());
    // Where the gate runs it has been installed; its absence must not pass for success.
    assert!(there || std::env::var_os("CI").is_none(), "no {program} on PATH; see .ci/needs");
    if !there {
        left_out(&format!("there is no {program} on this machine's PATH"));
    }
    there
}

/// A server of tbench at that port, 0 for any, until the test is over.
pub fn with_server_at(
    port: u16,
    threads: bool,
    patience: Duration,
    test: impl FnOnce(u16, &Receiver<ServeEvent>),
) {
    let stop = AtomicBool::new(false);
    let (sender, events) = channel();
    let options = TbenchOptions {
        address: ([127, 0, 0, 1], port).into(),
        threads,
        worker: worker_path(),
        patience,
        once: false,
    };
    std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            let told = |event| sender.send(event).expect("test listens");
            serve_tbench(&options, || stop.load(Ordering::SeqCst), told)
        });
        let Ok(ServeEvent::Listening(address)) = events.recv() else { panic!("it listens") };
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            test(address.port(), &events);
        }));
        stop.store(true, Ordering::SeqCst);
        served.join().expect("joined").expect("served");
        if let Err(panic) = tested {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Runs a job that has to succeed under strace: what its processes asked of the kernel, line by
/// line, without the worker and the janitor.
pub fn traced(job: &Job) -> (Vec<String>, Outcome) {
    let folder = tempfile::tempdir().expect("folder");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-ff", "-o"]).arg(folder.path().join("trace")).arg(worker_path());
    let outcome = Worker::start_by(traced, job).outcome();
    assert_eq!(outcome.failure, None, "{job:?}");
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder.path()).expect("folder").flatten() {
        let trace = std::fs::read_to_string(entry.path()).expect("trace");
        // The worker reads its job, and the janitor was told its role.
        if !trace.contains("read(0, \"{") && !trace.contains("\"janitor\"") {
            lines.extend(trace.lines().map(str::to_owned));
        }
    }
    (lines, outcome)
}

/// What a worker has claimed and not let go: the files that name it.
pub fn claims_of(worker: i32) -> Vec<String> {
    let entries = std::fs::read_dir("/dev/shm").expect("/dev/shm").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names_it = |name: &str| name.split('-').any(|part| part == worker.to_string());
    names.filter(|name| name.starts_with("coretwin-") && names_it(name)).collect()
}

/// A process and all below it.
pub fn tree(pid: i32) -> Vec<i32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children(*pid));
        next += 1;
    }
    found
}
