//! What benchmarks of rows share: the worker, options, and a few statistics.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each benchmark uses its own part"
)]

use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::placement::Placement;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::job::{Job, Outcome, Work};
use coretwin_workloads::worker;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

/// Marks the processes that are to be the worker, or one of its processes.
const AS_WORKER: &str = "CORETWIN_BENCH_WORKER";
/// Student's t, two-sided 95 %, for 1 to 14 degrees of freedom.
const STUDENT: [f64; 14] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145,
];

pub type Trouble = Box<dyn std::error::Error>;

/// What is typed behind `--` as NAME=VALUE.
pub struct Options(BTreeMap<String, String>);

impl Options {
    pub fn get(&self, name: &str, default: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| default.to_owned())
    }

    /// Whether this is among the comma-separated words of an option that may be left out.
    pub fn wants(&self, name: &str, word: &str) -> bool {
        self.0.get(name).is_none_or(|words| words.split(',').any(|one| one == word))
    }
}

/// The main function of a benchmark: it, the worker, or, where cargo runs it as a test, nothing.
#[expect(clippy::print_stdout, reason = "what went wrong is part of the answer")]
pub fn main(measure: impl FnOnce(&Options) -> Result<(), Trouble>) -> ExitCode {
    if std::env::var_os(AS_WORKER).is_some() {
        return worker::main();
    }
    // Cargo says so to those it runs as benchmarks; else this is a test run, which is not timed.
    if std::env::args().all(|arg| arg != "--bench") {
        return ExitCode::SUCCESS;
    }
    let words = std::env::args()
        .filter_map(|arg| arg.split_once('=').map(|(name, value)| (name.into(), value.into())));
    match measure(&Options(words.collect())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a row, as typed, once: bound to these CPUs, or, placed so, with a CPU for each role.
pub fn run(
    text: &str,
    cpus: &[u32],
    placement: Placement,
    roles: &[u32],
) -> Result<Outcome, Trouble> {
    let spec = WorkloadSpec::parse(text)?;
    let one = |cpu: &u32| -> CpuSet { std::iter::once(CpuId(*cpu)).collect() };
    let work = Work::Builtin { workload: spec.name, params: spec.params };
    let on = cpus.iter().map(|cpu| CpuId(*cpu)).collect();
    let job = Job {
        placement,
        roles: roles.iter().map(one).collect(),
        threads: cpus.len() as u32,
        ..Job::plain(work, "bench".to_owned(), on, 600.0)
    };
    let mut worker = Command::new(std::env::current_exe()?)
        .env(AS_WORKER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = worker.stdin.take().ok_or("no standard input")?;
    writeln!(stdin, "{}", serde_json::to_string(&job)?)?;
    let mut line = String::new();
    BufReader::new(worker.stdout.take().ok_or("no standard output")?).read_line(&mut line)?;
    drop(stdin);
    worker.wait()?;
    let outcome: Outcome = serde_json::from_str(&line)?;
    match &outcome.failure {
        Some(why) => Err(format!("{text}: {why}").into()),
        None => Ok(outcome),
    }
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation of single values.
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

/// Geometric mean of the paired ratios, with Student's interval.
pub fn ratio(ours: &[f64], theirs: &[f64]) -> (f64, f64, f64) {
    let logs: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| (a / b).ln()).collect();
    let error = deviation(&logs) / (logs.len() as f64).sqrt();
    let width = logs.len().checked_sub(2).and_then(|index| STUDENT.get(index));
    let (mean, width) = (mean(&logs), width.map_or(f64::NAN, |t| t * error));
    (mean.exp(), (mean - width).exp(), (mean + width).exp())
}

/// What a command prints; an error with what it says otherwise, if it fails.
pub fn output_of(command: &mut Command) -> Result<String, Trouble> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}
