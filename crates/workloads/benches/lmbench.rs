//! The rows of LMbench beside those of the Debian package `lmbench`, on this machine: interleaved
//! pairs on one CPU; the ratio of our time to theirs, with its interval.
//!
//! `cargo bench -p coretwin-workloads --bench lmbench [-- NAME=VALUE …]` with `pairs=5`, `cpu=0`,
//! `rows=simple-read,fork-sh` (all), `programs=FOLDER` (those of the package, else left out).
//!
//! Not all are meant to be 1: theirs asks `select` for the number of descriptors instead of the
//! highest, so that it looks at two of ten; its `fstat` is what the C library makes of it; and its
//! program, for `fork-execve` and `fork-sh`, is one written in C.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

mod support;

use coretwin_base::machine::placement::Placement;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use support::{Options, Trouble, mean, ratio};

/// A sample of theirs lasts so long, in µs, as ours does.
const ENOUGH: &str = "50000";
/// Where Debian's look for the program that a child becomes. Where there is none they measure how
/// long it takes not to find it, and do not tell.
const HELLO: &str = "/var/tmp/lmbench/hello";
/// Each row, and their program with its arguments; `FILE` is an empty file.
const ROWS: [(&str, &[&str]); 14] = [
    ("simple-syscall", &["lat_syscall", "-N", "11", "null"]),
    ("simple-read", &["lat_syscall", "-N", "11", "read"]),
    ("simple-write", &["lat_syscall", "-N", "11", "write"]),
    ("simple-stat", &["lat_syscall", "-N", "11", "stat", "FILE"]),
    ("simple-fstat", &["lat_syscall", "-N", "11", "fstat", "FILE"]),
    ("simple-open-close", &["lat_syscall", "-N", "11", "open", "FILE"]),
    ("select-10-fds", &["lat_select", "-N", "11", "-n", "10", "file"]),
    ("select-10-tcp-fds", &["lat_select", "-N", "11", "-n", "10", "tcp"]),
    ("signal-install", &["lat_sig", "-N", "11", "install"]),
    ("signal-overhead", &["lat_sig", "-N", "11", "catch"]),
    ("pipe-latency", &["lat_pipe", "-N", "3"]),
    ("fork-exit", &["lat_proc", "-N", "11", "fork"]),
    ("fork-execve", &["lat_proc", "-N", "11", "exec"]),
    ("fork-sh", &["lat_proc", "-N", "11", "shell"]),
];

fn main() -> ExitCode {
    support::main(compare)
}

fn compare(options: &Options) -> Result<(), Trouble> {
    let pairs: usize = options.get("pairs", "5").parse()?;
    let cpu: u32 = options.get("cpu", "0").parse()?;
    let programs = match options.get("programs", "") {
        folder if folder.is_empty() => installed(),
        folder => Some(PathBuf::from(folder)),
    };
    let Some(programs) = programs else {
        println!(
            "left out: the package lmbench of Debian (non-free) is not installed; programs=FOLDER \
             names another place of lat_syscall and the others"
        );
        return Ok(());
    };
    // As deep below /tmp as our own file is.
    let place = tempfile::tempdir()?;
    let file = place.path().join("lmbench/lmbench");
    std::fs::create_dir(place.path().join("lmbench"))?;
    std::fs::write(&file, "")?;
    let hello = Path::new(HELLO);
    let folder = hello.parent().filter(|folder| !folder.exists());
    if let Some(folder) = folder {
        std::fs::create_dir(folder)?;
        std::fs::copy(programs.join("hello"), hello)?;
    }
    println!("{pairs} pairs on CPU {cpu}; ours over theirs, below 1 where ours is shorter");
    let done = rows(options, cpu, pairs, &programs, &file);
    if let Some(folder) = folder {
        std::fs::remove_dir_all(folder)?;
    }
    done
}

fn rows(
    options: &Options,
    cpu: u32,
    pairs: usize,
    programs: &Path,
    file: &Path,
) -> Result<(), Trouble> {
    for (row, command) in ROWS.iter().filter(|(row, _)| options.wants("rows", row)) {
        let text = match *row {
            "pipe-latency" => "lmbench/pipe-latency:samples=3".to_owned(),
            row => format!("lmbench/{row}"),
        };
        let ours = || -> Result<f64, Trouble> {
            Ok(support::run(&text, &[cpu], Placement::Free, &[])?.value.unwrap_or(f64::NAN))
        };
        let theirs = || theirs(cpu, command, programs, file);
        let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            if pair % 2 == 0 {
                our_times.push(ours()?);
                their_times.push(theirs()?);
            } else {
                their_times.push(theirs()?);
                our_times.push(ours()?);
            }
        }
        let (ratio, low, high) = ratio(&our_times, &their_times);
        println!(
            "{row:<18} {:>10.4} µs {:>10.4} µs  {ratio:.3} ({low:.3} to {high:.3})",
            mean(&our_times),
            mean(&their_times)
        );
    }
    Ok(())
}

/// Where the package puts them.
fn installed() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib/lmbench/bin").into_iter().flatten().flatten();
    folders.map(|entry| entry.path()).find(|folder| folder.join("lat_syscall").exists())
}

/// One run of theirs: the time it tells, in µs.
fn theirs(cpu: u32, command: &[&str], programs: &Path, file: &Path) -> Result<f64, Trouble> {
    let [program, args @ ..] = command else { return Err("no program".into()) };
    let file = file.to_string_lossy();
    let output = Command::new("taskset")
        .args(["--cpu-list", &cpu.to_string()])
        .arg(programs.join(program))
        .args(args.iter().map(|arg| if *arg == "FILE" { &*file } else { arg }))
        .env("ENOUGH", ENOUGH)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = said.lines().find_map(|line| line.split_once(": ")?.1.split_once(" micro"));
    let time = told.and_then(|(time, _)| time.parse().ok());
    time.ok_or_else(|| format!("{program} tells no time: {said}").into())
}
