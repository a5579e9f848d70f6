//! LMbench, through the real worker: answers, what an operation really does, and what is left
//! behind.

mod common;

use common::{
    Worker, allowed_cpus, children, eventually, fail, installed, nth_cpu, one_cpu, run, succeed,
    traced, workload,
};
use coretwin_base::study::job::{Job, Outcome};
use coretwin_workloads::table;
use rustix::process::Signal;
use std::collections::BTreeMap;

/// A job of a row, with parameters as typed.
fn row(name: &str, params: &str) -> Job {
    workload(&format!("lmbench/{name}:{params}"))
}

/// Parameters of a run that is over at once.
const SHORT: &str = "sample=0.001,samples=3";

fn counted(outcome: &Outcome, metric: &str) -> f64 {
    outcome.metrics.get(metric).unwrap_or_else(|| panic!("no metric {metric}")).value
}

#[test]
fn every_row_gives_right_answers() {
    let rows = table::ALL.iter().filter_map(|row| row.name().strip_prefix("lmbench/"));
    let mut count = 0;
    for name in rows {
        let outcome = succeed(&row(name, SHORT));
        assert!(outcome.value.is_some_and(f64::is_finite), "{name}");
        assert!(name == "signal-overhead" || outcome.value > Some(0.0), "{name}");
        assert!(!outcome.checks.is_empty() && outcome.checks.values().all(|held| *held), "{name}");
        assert_eq!((outcome.samples.len(), outcome.unit.as_str()), (3, "µs"), "{name}");
        let tasks = if name == "pipe-latency" { 2 } else { 1 };
        assert_eq!(outcome.threads, tasks, "{name}");
        assert!(outcome.cpus_ran.is_subset(&allowed_cpus()) && !outcome.cpus_ran.is_empty());
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn the_value_is_the_median_of_the_samples() {
    let outcome = succeed(&row("simple-write", "sample=0.002,samples=9"));
    let mut samples = outcome.samples.clone();
    samples.sort_by(f64::total_cmp);
    assert_eq!(samples.len(), 9);
    assert_eq!(outcome.value, Some(samples[4]));
    assert_eq!(counted(&outcome, "median_low"), samples[1]);
    assert_eq!(counted(&outcome, "median_high"), samples[7]);
    assert!(counted(&outcome, "median_confidence") > 95.0);
    assert_eq!(counted(&outcome, "sample_min"), samples[0]);
    assert_eq!(counted(&outcome, "sample_max"), samples[8]);
    // Clock and loop are taken off, and nothing else: what is left is less than the whole, by as
    // much as those can have cost.
    let whole_us = outcome.elapsed_s * 1e6 / outcome.operations as f64;
    let least = samples[0] * 0.99;
    assert!(least < whole_us && counted(&outcome, "loop_overhead_ns") > 0.0, "{least} {whole_us}");
    assert!(counted(&outcome, "clock_overhead_ns") > 0.0);
    assert!(counted(&outcome, "operations_with_warm_up") > outcome.operations as f64);
}

#[test]
fn a_difference_is_of_two_calls() {
    let outcome = succeed(&row("signal-overhead", "sample=0.002,samples=1"));
    let (whole, less) = (counted(&outcome, "whole_us"), counted(&outcome, "subtracted_us"));
    assert!((outcome.value.expect("value") - (whole - less)).abs() < 1e-9, "{whole} {less}");
}

#[test]
fn copies_run_together() {
    let mut job = row("pipe-latency", &format!("{SHORT},copies=3"));
    job.copies = 3;
    let outcome = succeed(&job);
    assert_eq!((outcome.threads, outcome.samples.len()), (6, 9));
    let mut job = row("simple-stat", &format!("{SHORT},copies=auto"));
    job.copies = allowed_cpus().len() as u32;
    assert_eq!(succeed(&job).cpus_ran, allowed_cpus(), "each CPU has its own");
}

#[test]
fn the_second_process_runs_on_the_cpus_of_its_role() {
    let (Some(first), Some(second)) = (nth_cpu(0), nth_cpu(1)) else { return };
    // Long enough for a look at where it runs.
    let mut job = row("pipe-latency", "sample=0.4,samples=1");
    job.roles = vec![one_cpu(), std::iter::once(second).collect()];
    assert_eq!(succeed(&job).cpus_ran, [first, second].into_iter().collect());
    job.roles = vec![one_cpu(), one_cpu()];
    assert_eq!(succeed(&job).cpus_ran, one_cpu());
}

/// What the processes of a row asked of the kernel, line by line, and how many operations that was
/// for: those of the body, and those that are taken off.
fn operations_traced(name: &str, params: &str) -> (Vec<String>, [i64; 2]) {
    let (lines, outcome) = traced(&row(name, params));
    let all = |metric: &str| outcome.metrics.get(metric).map_or(0, |all| all.value as i64);
    (lines, ["operations_with_warm_up", "subtracted_operations_with_warm_up"].map(all))
}

/// System calls by name; those of other architectures' C libraries under their older names.
fn by_name(lines: &[String]) -> BTreeMap<&str, i64> {
    let mut counts = BTreeMap::new();
    for line in lines {
        // With its status, for the measuring process ends too.
        let end = if line.starts_with("exit_group") { ')' } else { '(' };
        let Some((name, rest)) = line.split_once(end) else { continue };
        // The second process is ended in the midst of waiting, which may be told or not.
        if end == '(' && (!rest.contains(" = ") || rest.ends_with("= ?")) {
            continue;
        }
        let name = match name {
            "clone" | "clone3" | "fork" | "vfork" => "fork",
            "open" | "openat" => "open",
            "newfstatat" if rest.contains("AT_EMPTY_PATH") => "fstat",
            "stat" | "newfstatat" => "stat",
            "select" | "pselect6" => "select",
            other => other,
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

#[test]
fn an_operation_makes_the_system_calls_it_says() {
    if !installed("strace") {
        return;
    }
    // What one operation adds to each count; and of signal-overhead, one that is taken off.
    type Calls = &'static [(&'static str, i64)];
    let rows: &[(&str, Calls, Calls)] = &[
        ("simple-syscall", &[("getppid", 1), ("getpid", 0)], &[]),
        ("simple-read", &[("read", 1), ("write", 0)], &[]),
        ("simple-write", &[("write", 1), ("read", 0)], &[]),
        ("simple-stat", &[("stat", 1), ("fstat", 0), ("open", 0)], &[]),
        ("simple-fstat", &[("fstat", 1), ("stat", 0), ("statx", 0)], &[]),
        ("simple-open-close", &[("open", 1), ("close", 1), ("fcntl", 0)], &[]),
        ("select-10-fds", &[("select", 1), ("poll", 0)], &[]),
        ("select-10-tcp-fds", &[("select", 1), ("poll", 0)], &[]),
        ("signal-install", &[("rt_sigaction", 1), ("rt_sigprocmask", 0)], &[]),
        (
            "signal-overhead",
            &[("kill", 1), ("rt_sigreturn", 1), ("rt_sigaction", 0), ("getpid", 0)],
            &[("kill", 1)],
        ),
        ("pipe-latency", &[("write", 2), ("read", 2)], &[]),
        ("fork-exit", &[("fork", 1), ("wait4", 1), ("exit_group(1", 1), ("execve", 0)], &[]),
        ("fork-execve", &[("fork", 1), ("wait4", 1), ("execve", 1)], &[]),
        ("fork-sh", &[("execve", 2)], &[]),
    ];
    for (name, calls, subtracted) in rows {
        let (few, few_operations) = operations_traced(name, "sample=0.002,samples=1");
        let (more, more_operations) = operations_traced(name, "sample=0.002,samples=9");
        let (few, more) = (by_name(&few), by_name(&more));
        let grown = |of: usize| more_operations[of] - few_operations[of];
        assert!(grown(0) != 0, "{name}: as many operations");
        for (call, each) in *calls {
            let less =
                subtracted.iter().find(|(name, _)| name == call).map_or(0, |(_, each)| *each);
            let count = |counts: &BTreeMap<&str, i64>| counts.get(call).copied().unwrap_or(0);
            let expected = each * grown(0) + less * grown(1);
            assert_eq!(count(&more) - count(&few), expected, "{name}: {call}");
        }
    }
}

/// Which call a row of `fstat` makes, and the C library that it goes through, if any. What more
/// samples add is counted: starting the process makes both calls too. On a busy machine the longer
/// run may do fewer operations than the short one, and both differences are then negative.
fn fstat_traced(params: &str) -> (String, Option<String>) {
    let counted = |samples: u32| {
        let job = row("simple-fstat", &format!("sample=0.002,samples={samples},{params}"));
        let (lines, outcome) = traced(&job);
        let calls: Vec<_> = lines.iter().filter_map(|line| line.split('(').next()).collect();
        let count = |name: &str| calls.iter().filter(|call| **call == name).count() as i64;
        let operations = outcome.metrics["operations_with_warm_up"].value as i64;
        let library = outcome.notes.get("c_library").cloned();
        ([count("fstat"), count("newfstatat"), operations], library)
    };
    let ([few_fstat, few_newfstatat, few], _) = counted(1);
    let ([more_fstat, more_newfstatat, more], library) = counted(9);
    let grown = more - few;
    assert!(grown != 0, "as many operations");
    let name = match [more_fstat - few_fstat, more_newfstatat - few_newfstatat] {
        [fstat, 0] if fstat == grown => "fstat",
        [0, newfstatat] if newfstatat == grown => "newfstatat",
        other => panic!("{other:?} calls for {grown} operations"),
    };
    (name.to_owned(), library)
}

#[test]
fn a_call_goes_through_the_c_library_unless_it_is_to_go_directly() {
    if !installed("strace") {
        return;
    }
    assert_eq!(fstat_traced("call=direct"), ("fstat".to_owned(), None));
    let (call, library) = fstat_traced("call=library");
    let library = library.expect("a C library");
    let minor = library.strip_prefix("glibc 2.").and_then(|minor| minor.parse::<u32>().ok());
    let longer = minor.is_some_and(|minor| (33..=38).contains(&minor));
    assert_eq!(call, if longer { "newfstatat" } else { "fstat" }, "{library}");
}

#[test]
fn select_looks_at_as_many_as_it_is_told_to() {
    if !installed("strace") {
        return;
    }
    for name in ["select-10-fds", "select-10-tcp-fds"] {
        let (lines, [operations, _]) = operations_traced(name, &format!("{SHORT},looked_at=2"));
        let two = |line: &&String| line.contains("select") && line.contains(") = 2 ");
        assert_eq!(lines.iter().filter(two).count() as i64, operations, "{name}");
    }
}

#[test]
fn select_looks_at_all_ten() {
    if !installed("strace") {
        return;
    }
    for name in ["select-10-fds", "select-10-tcp-fds"] {
        let (lines, [operations, _]) = operations_traced(name, SHORT);
        let ten = |line: &&String| {
            let asked = line.split_once("NULL, [").and_then(|(_, rest)| rest.split_once(']'));
            let fds = asked.map(|(fds, _)| fds.split(' ').flat_map(str::parse::<i32>));
            let fds: Vec<i32> = fds.into_iter().flatten().collect();
            let end = line.split_once('(').and_then(|(_, rest)| rest.split_once(','));
            let end = end.and_then(|(end, _)| end.parse::<i32>().ok());
            fds.len() == 10
                && end == fds.iter().max().map(|highest| highest + 1)
                && line.contains(") = 10 ")
        };
        let asked = lines.iter().filter(|line| line.trim_start_matches('p').starts_with("select"));
        assert_eq!(asked.clone().count() as i64, operations, "{name}");
        for line in asked {
            assert!(ten(&line), "{name}: {line}");
        }
    }
}

#[test]
fn children_become_the_program_and_can_write_nothing() {
    if !installed("strace") {
        return;
    }
    for (name, program) in
        [("fork-execve", "dynamic"), ("fork-execve", "static"), ("fork-sh", "dynamic")]
    {
        let (lines, [operations, _]) =
            operations_traced(name, &format!("{SHORT},program={program}"));
        let refused = r#"write(1, "Hello world\n", 12)"#;
        let refused: Vec<_> = lines.iter().filter(|line| line.starts_with(refused)).collect();
        let (tried, closed): (Vec<_>, Vec<_>) =
            refused.into_iter().partition(|line| !line.contains("EBADF"));
        assert_eq!((tried.len(), closed.len() as i64), (1, operations), "{name} {program}");
        // The measuring process and the parent load one each; so does every child that is no static program.
        let opened = |line: &&String| {
            line.starts_with("openat(") && line.contains("libc.so") && !line.contains(" = -1 ")
        };
        let libraries = lines.iter().filter(opened).count() as i64;
        let of_children = if program == "dynamic" { operations + 3..i64::MAX } else { 0..3 };
        assert!(of_children.contains(&libraries), "{name} {program}: {libraries}");
        if name == "fork-execve" {
            // Nobody is told an environment, but by the one that only tries the program.
            let alone = lines
                .iter()
                .filter(|line| line.starts_with("execve(") && line.contains("], NULL)"));
            assert_eq!(alone.count() as i64, operations, "{program}");
        }
    }
}

#[test]
fn a_run_that_takes_too_long_leaves_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let mut job = row("fork-execve", &format!("sample=60,dir={}", folder.path().display()));
    job.timeout_s = 0.3;
    fail(&job, "time limit of 0.3 s");
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0);
}

#[test]
fn a_second_process_that_ends_is_told_and_not_waited_for() {
    let worker = Worker::start(&row("pipe-latency", "sample=60"));
    let pid = worker.pid();
    let below = |pid: i32| children(pid).into_iter();
    let echo = || below(pid).flat_map(below).next();
    eventually("the second process is at work", || echo().is_some());
    common::kill(echo().expect("echo"), Signal::KILL);
    let why = worker.outcome().failure.expect("failure");
    assert!(why.contains("the second process"), "{why}");
}

#[test]
fn what_a_result_depends_on_is_told() {
    let stat = run(&row("simple-stat", SHORT));
    assert!(stat.notes["file_system"].contains("GiB"), "{:?}", stat.notes);
    assert!(stat.notes["path"].ends_with(" names"), "{:?}", stat.notes);
    let shell = run(&row("fork-sh", SHORT));
    assert!(shell.notes["shell"].starts_with('/'), "{:?}", shell.notes);
    assert!(shell.notes["program"].starts_with("dynamic, "), "{:?}", shell.notes);
    let [small, worker] = ["small", "worker"].map(|parent| {
        let fork = run(&row("fork-exit", &format!("{SHORT},parent={parent}")));
        let (own, resident) = (counted(&fork, "own_memory_kib"), counted(&fork, "resident_kib"));
        assert!(0.0 < own && own < resident && resident < 32_768.0, "{own} {resident}");
        own
    });
    // LMbench's has 92 KiB of its own.
    assert!(small < 150.0 && small < worker, "{small} {worker}");
}

#[test]
fn wrong_values_are_explained() {
    fail(&row("fork-sh", "program=bash"), "it is 'dynamic' or 'static'");
    fail(&row("fork-sh", "program=parent"), "it is 'dynamic' or 'static'");
    fail(&row("fork-exit", "parent=none"), "it is 'small' or 'worker'");
    fail(&row("fork-sh", "parent=none"), "it is 'small' or 'worker'");
    fail(&row("simple-read", "call=none"), "it is 'library' or 'direct'");
    fail(&row("simple-stat", "dir=here"), "beginning with '/'");
    fail(&row("simple-stat", "dir=/absent"), "No such file");
    fail(&row("simple-read", "sample=0"), "from 0.001 to 60");
    fail(&row("simple-read", "samples=0"), "from 1 to 1001");
    fail(&row("simple-read", "copies=none"), "'auto' or a whole number");
    fail(&row("simple-read", "program=static"), "no parameter of lmbench/simple-read");
}

/// A folder whose programs may not be run, where such a mount is at hand.
#[test]
fn a_folder_without_programs_is_explained() {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let noexec = mounts.lines().filter(|line| {
        line.split(' ').nth(5).is_some_and(|options| options.split(',').any(|o| o == "noexec"))
    });
    for place in noexec.filter_map(|line| line.split(' ').nth(4)) {
        if let Ok(folder) = tempfile::tempdir_in(place) {
            let dir = folder.path().display();
            fail(&row("fork-execve", &format!("{SHORT},dir={dir}")), "mount option noexec");
            return;
        }
    }
}
