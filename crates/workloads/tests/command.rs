//! A user's command, through the real worker: values, failures, time limits, servers.

mod common;

use common::{Worker, allowed_cpus, eventually, fail, job, one_cpu, processes_with, run, succeed};
use coretwin_base::study::command::{CommandSpec, Extract, LoadSpec, MetricSpec, ServerSpec};
use coretwin_base::study::job::{Job, RunAs, Work};
use coretwin_base::study::reading::Better;
use std::path::Path;
use std::time::Instant;

fn spec(argv: &[&str]) -> CommandSpec {
    CommandSpec {
        argv: argv.iter().map(|arg| (*arg).to_owned()).collect(),
        metrics: Vec::new(),
        server: None,
        setup: None,
        prepare: None,
        cleanup: None,
        min_time_s: 0.0,
        timeout_s: 50.0,
        folder: None,
        load: None,
    }
}

fn shell(line: &str) -> CommandSpec {
    spec(&["sh", "-c", line])
}

fn command(spec: CommandSpec) -> Job {
    job(Work::Command(spec))
}

fn metric(name: &str, pattern: &str, better: Better, primary: bool) -> MetricSpec {
    let extract = match pattern.starts_with('/') {
        true => Extract::JsonPointer(pattern.to_owned()),
        false => Extract::Regex(pattern.to_owned()),
    };
    MetricSpec { name: name.to_owned(), extract, unit: "u".to_owned(), better, primary }
}

#[test]
fn wall_time_is_the_value_and_cpu_time_stands_beside() {
    let start = Instant::now();
    let outcome = succeed(&command(spec(&["sleep", "0.3"])));
    let value = outcome.value.expect("value");
    assert!(value >= 0.3 && value <= start.elapsed().as_secs_f64(), "{value}");
    assert_eq!((outcome.unit.as_str(), outcome.better), ("s", Better::Lower));
    assert!(outcome.user_s + outcome.system_s < 0.2, "sleeping takes no CPU time");
    let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let outcome = succeed(&command(shell(busy)));
    assert!(outcome.user_s > 0.01, "{}", outcome.user_s);
    assert!(outcome.metrics["user_per_run_s"].value > 0.01);
    assert!(outcome.metrics["peak_memory_kib"].value > 300.0);
    assert!(!outcome.cpus_ran.is_empty() && outcome.cpus_ran.is_subset(&allowed_cpus()));
    assert_eq!((outcome.threads, outcome.operations), (2, 1));
}

#[test]
fn grandchildren_count_and_memory_is_that_of_the_largest() {
    let line = "sh -c 'head -c 60000000 /dev/zero | tail -c 50000000 | wc -c'";
    let outcome = succeed(&command(shell(line)));
    assert!(outcome.metrics["peak_memory_kib"].value > 48_000.0);
    assert!(outcome.user_s + outcome.system_s > 0.0);
}

#[test]
fn placeholders_are_filled_in_and_others_left_alone() {
    let mut spec = shell("echo {threads} {cpus} {arm} {copy} {other} $1 >&2; exit 9");
    spec.argv.extend(["name".to_owned(), "<{copy}>".to_owned()]);
    let outcome = fail(&command(spec), "ended with status 9");
    let expected = format!("2 {} test 0 {{other}} <0>\n", allowed_cpus());
    assert_eq!(outcome.output, Some(expected));
}

#[test]
fn a_failure_ends_with_the_end_of_standard_error_on_one_clean_line() {
    let loud = "echo result; printf 'usage:\\n\\033[31m  no\\tsuch file\\007\\n' >&2; exit 9";
    let said = "the command ended with status 9; it said: usage: [31m no such file";
    assert_eq!(fail(&command(shell(loud)), said).failure.as_deref(), Some(said));
    let mute = fail(&command(shell("echo result; exit 9")), "ended with status 9");
    assert_eq!(mute.failure.as_deref(), Some("the command ended with status 9"));
    let long = fail(&command(shell("yes ü | head -c 5000 >&2; exit 9")), "it said: …");
    assert!(long.failure.is_some_and(|text| text.chars().count() < 220));
}

#[test]
fn a_command_starts_from_a_clean_state() {
    let line = "cat; grep -E '^Sig(Blk|Ign)' /proc/self/status; readlink /proc/self/fd/0; \
                echo $HOME; ls /proc/self/fd; exit 1";
    let outcome = fail(&command(shell(line)), "status 1");
    let output = outcome.output.expect("output");
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "SigBlk:\t0000000000000000");
    let ignored = lines[1].rsplit('\t').next().expect("mask");
    let ignored = u64::from_str_radix(ignored, 16).expect("mask");
    assert_eq!(ignored >> 12 & 1, 0, "SIGPIPE is not ignored");
    assert_eq!(lines[2], "/dev/null");
    assert_eq!(lines[3], std::env::var("HOME").unwrap_or_default());
    assert_eq!(
        lines[4..],
        ["0", "1", "2", "3"],
        "the standard three, and the folder that ls reads"
    );
}

#[test]
fn failures_keep_the_end_of_the_output() {
    let line = "seq 1 5000; echo last words >&2; kill -SEGV $$";
    let outcome = fail(&command(shell(line)), "SIGSEGV");
    let output = outcome.output.expect("output");
    assert!(output.contains("last words") && output.len() <= 4096 && output.len() > 4000);
    fail(&command(spec(&["coretwin-no-such-program"])), "in no folder of PATH");
    let folder = tempfile::tempdir().expect("folder");
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").expect("write");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("mode");
    fail(&command(spec(&[script.to_str().expect("path")])), "the command: cannot run '/");
}

#[test]
fn metrics_are_read_and_combined() {
    let line = "echo rate 1; echo rate $(({copy} + 10)); echo time $(({copy} + 1))";
    let mut spec = shell(line);
    spec.metrics = vec![
        metric("rate", "rate ([0-9]+)", Better::Higher, true),
        metric("time", "time ([0-9]+)", Better::Lower, false),
    ];
    let mut job = command(spec);
    let outcome = succeed(&job);
    assert_eq!((outcome.value, outcome.unit.as_str()), (Some(10.0), "u"));
    assert_eq!(outcome.metrics["time"].value, 1.0);
    job.copies = 3;
    let outcome = succeed(&job);
    assert_eq!(outcome.value, Some(10.0 + 11.0 + 12.0), "more is better: summed");
    assert_eq!(outcome.metrics["time"].value, 2.0, "less is better: averaged");
    let mut spec = shell("echo '{\"a\": {\"b\": 2.5}}'; echo noise >&2");
    spec.metrics = vec![metric("b", "/a/b", Better::Lower, true)];
    assert_eq!(succeed(&command(spec)).value, Some(2.5));
    let mut spec = shell("echo nothing of that kind");
    spec.metrics = vec![metric("rate", "rate ([0-9]+)", Better::Higher, true)];
    let outcome = fail(&command(spec), "metric 'rate': 'rate ([0-9]+)' matches nothing");
    assert_eq!(outcome.output.as_deref(), Some("nothing of that kind\n"));
}

#[test]
fn copies_run_together_and_give_throughput() {
    // Each copy waits for the others, which it would do for ever if they ran in turn.
    let folder = tempfile::tempdir().expect("folder");
    let line = "touch {copy}; while [ $(ls | wc -l) -lt 4 ]; do sleep 0.01; done";
    let mut spec = shell(line);
    spec.folder = Some(folder.path().to_str().expect("path").to_owned());
    let mut job = command(spec);
    (job.copies, job.rate) = (4, true);
    let outcome = succeed(&job);
    assert_eq!((outcome.unit.as_str(), outcome.better), ("runs/s", Better::Higher));
    let same = |value: Option<f64>, other: f64| (value.expect("value") / other - 1.0).abs() < 1e-9;
    assert!(same(outcome.value, 4.0 / outcome.elapsed_s));
    assert_eq!(outcome.operations, 4);
    job.copies = 1;
    let outcome = succeed(&job);
    assert_eq!(outcome.unit, "runs/s", "one unit in every arm");
    assert!(same(outcome.value, 1.0 / outcome.elapsed_s));
    let mut job = command(shell("[ {copy} != 1 ] || exit 5; sleep 20"));
    job.copies = 3;
    fail(&job, "copy 1 of 3 of the command ended with status 5");
}

#[test]
fn a_least_time_repeats_the_command() {
    let mut spec = spec(&["sleep", "0.05"]);
    spec.min_time_s = 0.3;
    let outcome = succeed(&command(spec));
    assert!((1..=6).contains(&outcome.operations), "{}", outcome.operations);
    assert!(outcome.elapsed_s >= 0.3);
    let each = outcome.elapsed_s / outcome.operations as f64;
    assert!((outcome.value.expect("value") / each - 1.0).abs() < 1e-9);
}

#[test]
fn preparation_and_cleanup_surround_the_command() {
    let folder = tempfile::tempdir().expect("folder");
    let log = folder.path().join("log");
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    let mut spec = shell("echo run >> log");
    spec.folder = Some(folder.path().to_str().expect("path").to_owned());
    spec.prepare = Some("sleep 0.5; echo prepare {arm} >> log".to_owned());
    spec.cleanup = Some("echo cleanup {copy} >> log".to_owned());
    let start = Instant::now();
    let outcome = succeed(&command(spec.clone()));
    let rest_s = start.elapsed().as_secs_f64() - outcome.value.expect("value");
    assert!(rest_s >= 0.5, "preparation is not timed");
    assert_eq!(read(), "prepare test\nrun\ncleanup 0\n");
    std::fs::remove_file(&log).expect("log");
    spec.argv = vec!["false".to_owned()];
    fail(&command(spec.clone()), "status 1");
    assert_eq!(read(), "prepare test\ncleanup 0\n", "cleanup also after a failure");
    spec.prepare = Some("echo no luck; exit 4".to_owned());
    let outcome = fail(&command(spec.clone()), "the preparation");
    assert_eq!(outcome.output.as_deref(), Some("no luck\n"));
    spec.prepare = None;
    spec.argv = vec!["true".to_owned()];
    spec.cleanup = Some("exit 6".to_owned());
    fail(&command(spec), "the cleanup (`exit 6`) ended with status 6");
}

/// A command that hides a grandchild in a session of its own, and a mark to find it by.
fn hider(mark: &str, then: &str) -> CommandSpec {
    shell(&format!("MARK={mark} setsid sh -c 'sleep 300 & sleep 300' & {then}"))
}

#[test]
fn a_time_limit_ends_grandchildren_in_other_sessions() {
    let mark = format!("coretwin-limit-{}", std::process::id());
    let mut spec = hider(&mark, "sleep 300");
    spec.timeout_s = 0.7;
    let folder = tempfile::tempdir().expect("folder");
    let trace = folder.path().join("cleaned");
    spec.cleanup = Some(format!("touch {}", trace.display()));
    let outcome = fail(&command(spec), "time limit of 0.7 s");
    assert!(outcome.failure.is_some() && trace.exists(), "cleanup ran");
    assert_eq!(processes_with(&mark), Vec::<i32>::new());
}

#[test]
fn the_end_of_the_study_ends_grandchildren_too() {
    let mark = format!("coretwin-gone-{}", std::process::id());
    let mut worker = Worker::start(&command(hider(&mark, "sleep 300")));
    eventually("the grandchild runs", || processes_with(&format!("MARK={mark}")).len() >= 2);
    worker.abandon();
    assert!(worker.outcome().failure.expect("failure").contains("is gone"));
    assert_eq!(processes_with(&mark), Vec::<i32>::new());
}

#[test]
fn a_command_that_leaves_something_running_is_measured_and_cleared() {
    let mark = format!("coretwin-left-{}", std::process::id());
    let outcome = succeed(&command(hider(&mark, "sleep 0.3")));
    assert!(outcome.elapsed_s < 100.0);
    assert_eq!(processes_with(&mark), Vec::<i32>::new());
}

#[test]
fn output_without_end_is_read_and_bounded() {
    let mut spec = shell("head -c 100000000 /dev/zero; echo; echo rate 7");
    spec.metrics = vec![metric("rate", "rate ([0-9]+)", Better::Higher, true)];
    assert_eq!(succeed(&command(spec)).value, Some(7.0));
    let mut spec = spec_of_yes();
    spec.timeout_s = 0.5;
    fail(&command(spec), "time limit");
}

fn spec_of_yes() -> CommandSpec {
    spec(&["yes"])
}

fn with_server(folder: &Path, server: &str, load: &str) -> CommandSpec {
    let mut spec = shell(load);
    spec.folder = Some(folder.to_str().expect("path").to_owned());
    spec.server = Some(ServerSpec {
        command: server.to_owned(),
        ready: Some("test -e ready".to_owned()),
        ready_timeout_s: 5.0,
    });
    spec
}

#[test]
fn a_server_is_started_awaited_and_ended() {
    let folder = tempfile::tempdir().expect("folder");
    let server = "trap 'echo bye > ended; exit 0' TERM; i=0; while [ $i -lt 200000 ]; do \
                  i=$((i+1)); done; sleep 0.5; touch ready; while :; do sleep 0.05; done";
    let start = Instant::now();
    let outcome = succeed(&command(with_server(folder.path(), server, "test -e ready")));
    assert!(start.elapsed().as_secs_f64() - outcome.elapsed_s >= 0.5, "its start is not timed");
    assert!(folder.path().join("ended").exists(), "it was ended politely");
    assert!(outcome.user_s > 0.02, "its CPU time counts: {}", outcome.user_s);
}

#[test]
fn a_server_that_fails_is_named() {
    let folder = tempfile::tempdir().expect("folder");
    let spec = with_server(folder.path(), "echo no port; exit 3", "sleep 20");
    let outcome = fail(&command(spec), "the server ended with status 3");
    assert_eq!(outcome.output.as_deref(), Some("no port\n"));
    let spec = with_server(folder.path(), "touch ready; sleep 0.5; exit 4", "sleep 20");
    fail(&command(spec), "the server ended with status 4");
    std::fs::remove_file(folder.path().join("ready")).expect("ready");
    let mut spec = with_server(folder.path(), "sleep 300", "sleep 20");
    spec.server = spec.server.map(|server| ServerSpec { ready_timeout_s: 0.5, ..server });
    fail(&command(spec), "the server was not ready after 0.5 s");
}

#[test]
fn roles_separate_server_and_command() {
    let folder = tempfile::tempdir().expect("folder");
    let mask = "grep Cpus_allowed_list /proc/self/status";
    let server = format!("{mask} > server; touch ready; sleep 300");
    let mut job = command(with_server(folder.path(), &server, &format!("{mask} > command")));
    job.roles = vec![one_cpu(), allowed_cpus()];
    succeed(&job);
    for (file, cpus) in [("server", one_cpu()), ("command", allowed_cpus())] {
        let text = std::fs::read_to_string(folder.path().join(file)).expect(file);
        assert_eq!(text.trim(), format!("Cpus_allowed_list:\t{cpus}"), "{file}");
    }
}

#[test]
fn another_user_runs_it() {
    let user = RunAs { uid: 65_534, gid: 65_534, name: "nobody".to_owned(), home: "/".to_owned() };
    let mut job = command(shell("id -u; id -g; id -G; echo $HOME $USER; exit 1"));
    job.run_as = Some(user);
    let outcome = run(&job);
    if !rustix::process::geteuid().is_root() {
        assert!(outcome.failure.expect("failure").contains("cannot become user nobody"));
        return;
    }
    assert_eq!(outcome.output.as_deref(), Some("65534\n65534\n65534\n/ nobody\n"));
    job.work = Work::Builtin { workload: "chat".to_owned(), params: Default::default() };
    succeed(&job);
}

#[test]
fn a_folder_that_may_not_be_entered_is_not_called_missing() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).expect("closed");
    let program = folder.path().join("tool");
    std::fs::write(&program, "#!/bin/sh\n").expect("write");
    let mut job = job(Work::Command(spec(&[&program.to_string_lossy()])));
    job.run_as =
        Some(RunAs { uid: 65_534, gid: 65_534, name: "nobody".to_owned(), home: "/".to_owned() });
    let why = run(&job).failure.expect("failure");
    if !rustix::process::geteuid().is_root() {
        assert!(why.contains("cannot become user nobody"), "{why}");
        return;
    }
    assert!(why.contains("may not be entered") && why.contains("tool'"), "{why}");
}

/// A load that offers 50 requests a second to a server.
fn load(folder: &Path, line: &str, latencies: Option<&str>) -> CommandSpec {
    let mut spec = with_server(folder, "touch ready; exec sleep 300", line);
    let (latencies, unit) = (latencies.map(str::to_owned), "ms".to_owned());
    spec.load = Some(Box::new(LoadSpec { latencies, unit, rate: Some(50.0) }));
    spec
}

#[test]
fn a_load_says_its_latencies_in_a_file_or_in_its_output() {
    let folder = tempfile::tempdir().expect("folder");
    let line = "i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo $i; done > lat; sleep 0.2";
    let outcome = succeed(&command(load(folder.path(), line, Some("lat"))));
    let told = outcome.latency.expect("latencies");
    assert_eq!((told.offered_per_s, told.completed), (Some(50.0), 400));
    assert!(told.p50_s.is_some_and(|p50| (p50 / 0.200 - 1.0).abs() < 0.01), "{told:?}");
    assert_eq!(told.p99_s, None, "four lie beyond it");
    assert!(told.throughput_per_s < 400.0 / 0.2 && told.server_cpu_s.is_some(), "{told:?}");
    let mean_us = outcome.value.expect("a value");
    assert!((mean_us / 200_500.0 - 1.0).abs() < 0.01, "{mean_us}");
    assert_eq!((outcome.unit.as_str(), outcome.better), ("µs", Better::Lower));
    // What an earlier run wrote is not this one's.
    std::thread::sleep(std::time::Duration::from_millis(300));
    fail(&command(load(folder.path(), "sleep 0.1", Some("lat"))), "older than this run");
    let mut spec = load(folder.path(), "echo p99 12.5 ms, 48.5 req/s", None);
    let named = |name: &str, unit: &str, pattern: &str, better| MetricSpec {
        unit: unit.to_owned(),
        ..metric(name, pattern, better, false)
    };
    spec.metrics = vec![
        named("p99", "ms", "p99 ([0-9.]+)", Better::Lower),
        named("throughput", "req/s", "([0-9.]+) req/s", Better::Higher),
    ];
    assert_eq!(coretwin_workloads::command::check_load(&spec, true, Some("p99")), Ok(()));
    let outcome = succeed(&command(spec.clone()));
    let told = outcome.latency.expect("latencies");
    assert_eq!((told.p99_s, told.throughput_per_s), (Some(0.0125), 48.5));
    assert_eq!(outcome.value, Some(12_500.0));
    spec.metrics.pop();
    let why = coretwin_workloads::command::check_load(&spec, true, Some("p99"));
    assert!(why.is_err_and(|why| why.contains("throughput:req/s")));
    let why = coretwin_workloads::command::check_load(&spec, false, Some("p95"));
    assert!(why.is_err_and(|why| why.contains("does not say its p95")));
}
