//! The rows of lmbench-more, through the real worker: answers, what an operation really does, and
//! what is left behind.

mod common;

use common::{
    Worker, allowed_cpus, children, eventually, fail, installed, nth_cpu, one_cpu, run, succeed,
    traced, workload,
};
use coretwin_base::machine::limits::Limit;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::job::{Job, Outcome};
use coretwin_workloads::table;
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

/// Parameters of a run that is over at once.
const SHORT: &str = "sample=0.001,samples=3";

/// A job of a row, with parameters as typed.
fn row(name: &str, params: &str) -> Job {
    workload(&format!("lmbench-more/{name}:{params}"))
}

fn counted(outcome: &Outcome, metric: &str) -> f64 {
    outcome.metrics.get(metric).unwrap_or_else(|| panic!("no metric {metric}")).value
}

/// Whether a row has a parameter.
fn has(name: &str, param: &str) -> bool {
    let row = table::find(&format!("lmbench-more/{name}")).expect(name);
    row.facts().params.iter().any(|one| one.name == param)
}

/// As small as a row can be made.
fn small(name: &str) -> String {
    let size = if has(name, "size_kib") { ",size_kib=4" } else { "" };
    format!("{SHORT}{size}")
}

#[test]
fn every_row_gives_right_answers() {
    let rows = table::ALL.iter().filter(|row| row.facts().family == "lmbench-more");
    let mut count = 0;
    for workload in rows {
        let facts = workload.facts();
        let name = facts.name.strip_prefix("lmbench-more/").expect("prefix");
        let outcome = succeed(&row(name, &small(name)));
        assert!(outcome.value.is_some_and(f64::is_finite), "{name}");
        assert!(name == "context-switch" || outcome.value > Some(0.0), "{name}");
        assert!(!outcome.checks.is_empty() && outcome.checks.values().all(|held| *held), "{name}");
        assert_eq!(outcome.samples.len(), 3, "{name}");
        assert_eq!((&*outcome.unit, outcome.better), (facts.unit, facts.better));
        assert_eq!(outcome.threads, facts.roles.len() as u32, "{name}");
        assert!(outcome.cpus_ran.is_subset(&allowed_cpus()) && !outcome.cpus_ran.is_empty());
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn a_value_is_what_was_done_over_its_time() {
    // What an operation is worth, and in what part of a second the value counts.
    for (name, worth, per_s) in [
        ("memory-read", 65_536.0, 1e6),
        ("memory-copy", 65_536.0, 1e6),
        ("file-reread", 65_536.0, 1e6),
        ("tcp-bandwidth", 65_536.0, 1e6),
        ("udp-bandwidth", 32_768.0, 1e6),
        ("memory-latency", 64.0, 1e9),
        ("tcp-latency", 1.0, 1e6),
        ("file-create", 1.0, 1e6),
    ] {
        let size = if has(name, "size_kib") { ",size_kib=64" } else { "" };
        let outcome = succeed(&row(name, &format!("sample=0.02,samples=1{size}")));
        let operation_s = outcome.elapsed_s / outcome.operations as f64;
        let expected = match &*outcome.unit {
            "MB/s" => worth / operation_s / per_s,
            _ => operation_s * per_s / worth,
        };
        // Clock and loop are taken off as well.
        let share = outcome.value.expect("value") / expected;
        let slack = 1.0 - counted(&outcome, "loop_overhead_ns") * 1e-9 / operation_s - 1e-3;
        assert!((slack..=1.0 / slack).contains(&share), "{name}: {share} {slack}");
    }
}

#[test]
fn a_switch_is_a_turn_less_its_overhead_shared_by_all_processes() {
    for processes in [2, 5] {
        let params = format!("processes={processes},footprint_kib=4,sample=0.01,samples=1");
        let outcome = succeed(&row("context-switch", &params));
        let left = counted(&outcome, "whole_us") - counted(&outcome, "subtracted_us");
        let value = outcome.value.expect("value");
        assert!((value - left).abs() < 1e-9, "{value} {left}");
        // They are of one process of the ring, and all its turns took less than all of the time.
        let turns_us = counted(&outcome, "whole_us") * f64::from(processes);
        let all_us = turns_us * outcome.operations as f64;
        assert!(0.0 < all_us && all_us < outcome.elapsed_s * 1e6, "{processes}: {all_us}");
        assert_eq!(outcome.threads, processes);
    }
}

/// System calls by name; those of other architectures' C libraries under their older names.
fn by_name(lines: &[String]) -> BTreeMap<&str, i64> {
    let mut counts = BTreeMap::new();
    for line in lines {
        let Some((name, _)) = line.split_once('(') else { continue };
        let name = match name {
            "openat" => "open",
            "unlinkat" => "unlink",
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
    // What an operation adds to each count; what one adds that is taken off.
    type Calls = &'static [(&'static str, i64)];
    let rows: &[(&str, &str, Calls, Calls)] = &[
        ("clock", "", &[("clock_gettime", 0)], &[]),
        ("clock-system-call", "", &[("clock_gettime", 1)], &[]),
        ("memory-latency", ",size_kib=16", &[("mmap", 0), ("brk", 0)], &[]),
        // A turn of three processes; and three pipes of one process.
        (
            "context-switch",
            ",processes=3",
            &[("write", 3), ("read", 3)],
            &[("write", 3), ("read", 3)],
        ),
        ("file-reread", ",size_kib=256", &[("pread64", 4), ("open", 0)], &[]),
        ("mmap-reread", ",size_kib=256", &[("pread64", 0), ("mmap", 0)], &[]),
        ("tcp-latency", "", &[("write", 2), ("read", 2), ("connect", 0)], &[]),
        ("udp-latency", "", &[("write", 2), ("read", 2)], &[]),
        ("unix-latency", "", &[("write", 2), ("read", 2), ("connect", 0)], &[]),
        ("file-create", ",size_kib=0", &[("open", 1), ("write", 0), ("close", 1)], &[]),
        ("file-create", ",size_kib=10", &[("open", 1), ("write", 1), ("close", 1)], &[]),
        ("file-delete", ",size_kib=0", &[("unlink", 1)], &[]),
    ];
    for (name, params, calls, subtracted) in rows {
        let of = |samples: u32| {
            let job = row(name, &format!("sample=0.002,samples={samples}{params}"));
            let (lines, outcome) = traced(&job);
            let all = |metric: &str| outcome.metrics.get(metric).map_or(0, |all| all.value as i64);
            let done = ["operations_with_warm_up", "subtracted_operations_with_warm_up"].map(all);
            (lines, done)
        };
        let ((few, few_done), (more, more_done)) = (of(1), of(9));
        let (few, more) = (by_name(&few), by_name(&more));
        let grown = |of: usize| more_done[of] - few_done[of];
        assert!(grown(0) != 0, "{name}: as many operations");
        for (call, each) in *calls {
            let less = subtracted.iter().find(|(name, _)| name == call).map_or(0, |less| less.1);
            let count = |counts: &BTreeMap<&str, i64>| counts.get(call).copied().unwrap_or(0);
            let expected = each * grown(0) + less * grown(1);
            let found = count(&more) - count(&few);
            // The first word of a result may be written in another number of pieces.
            assert!((found - expected).abs() <= 2, "{name}{params}: {call} {found} of {expected}");
        }
    }
}

/// The instructions of a function of the worker, from its loop's beginning to the jump back, as
/// objdump writes them.
#[cfg(target_arch = "x86_64")]
fn loop_of(listing: &str, function: &str) -> Vec<String> {
    let head = format!("lmbench::native::memory::{function}>:");
    let begin = listing.find(&head).unwrap_or_else(|| panic!("no function {function}"));
    let code = &listing[begin..];
    let code = &code[..code.find("\n\n").unwrap_or(code.len())];
    let instructions: Vec<(&str, String)> = code
        .lines()
        .filter_map(|line| line.split_once(":\t"))
        .map(|(at, text)| (at.trim(), text.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect();
    // The only jump back behind a decrement.
    for (end, pair) in instructions.windows(2).enumerate() {
        let jump = pair[1].1.strip_prefix("jne ").filter(|_| pair[0].1.starts_with("dec "));
        let target = jump.and_then(|rest| rest.split_whitespace().next());
        let begin = target.and_then(|target| instructions.iter().position(|(at, _)| *at == target));
        if let Some(begin) = begin {
            return instructions[begin..=end + 1].iter().map(|(_, text)| text.clone()).collect();
        }
    }
    panic!("{function} has no loop: {instructions:?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_turn_has_the_loads_and_stores_it_says_and_nothing_else() {
    if !installed("objdump") {
        return;
    }
    let listing = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn", "-M", "intel"])
        .arg(common::worker_path())
        .output()
        .expect("objdump, of the package binutils, disassembles");
    let listing = String::from_utf8_lossy(&listing.stdout);
    for (function, loads, stores, pointers) in [
        ("chase", 64, 0, 0),
        ("read", 32, 0, 1),
        ("write", 0, 32, 1),
        ("read_write", 32, 32, 1),
        ("copy", 32, 32, 2),
    ] {
        let turn = loop_of(&listing, function);
        // `op target,source`: the side in brackets is memory; a word has 64 bits.
        let sides = |text: &String| {
            let (_, operands) = text.split_once(' ')?;
            let (target, source) = operands.split_once(',')?;
            Some((target.contains('['), source.contains('[')))
        };
        let count = |side: (bool, bool)| turn.iter().filter(|i| sides(i) == Some(side)).count();
        assert_eq!(count((false, true)), loads, "{function}: {turn:?}");
        assert_eq!(count((true, false)), stores, "{function}: {turn:?}");
        // The pointers, the count and the jump.
        assert_eq!(turn.len(), loads + stores + pointers + 2, "{function}: {turn:?}");
        assert!(turn.iter().all(|i| !i.contains("xmm") && !i.contains("DWORD")), "{function}");
        let addresses: BTreeSet<&str> =
            turn.iter().filter_map(|i| i.split_once('[')?.1.split_once(']')).map(|s| s.0).collect();
        let places = if function == "chase" { 1 } else { 32 * pointers };
        assert_eq!(addresses.len(), places, "{function}: every word has a place of its own");
    }
}

/// Instructions that a function executed for each operation of a row, its warm-up included, counted
/// by valgrind.
#[cfg(target_arch = "x86_64")]
fn instructions_per_operation(name: &str, params: &str, function: &str) -> f64 {
    let spec = WorkloadSpec::parse(&format!("lmbench-more/{name}:{params}")).expect(name);
    let (_, params) = table::resolve(&spec).expect(name);
    let entry = format!(r#"{{"parent":{},"cpus":null,"core_sched":false}}"#, std::process::id());
    let params = serde_json::to_string(&params).expect("parameters");
    let orders = format!(
        r#"{{"row":"{}","company":false,
            "place":{{"folder":null,"cpus":[],"core_sched":false,"params":{params}}}}}"#,
        spec.name
    );
    let (ours, theirs) = UnixStream::pair().expect("gate");
    ours.shutdown(std::net::Shutdown::Write).expect("released before it starts");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*lmbench::native::memory::{function}"))
        .arg(common::worker_path())
        .args(["lmbench", &entry, &orders])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .output()
        .expect("valgrind runs");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    let told = String::from_utf8_lossy(&output.stderr);
    let collected = told.lines().find_map(|line| line.split_once("Collected : "));
    let collected: f64 = collected.and_then(|(_, count)| count.trim().parse().ok()).expect("count");
    collected / said["done"]["all"].as_f64().expect("operations")
}

#[cfg(target_arch = "x86_64")]
#[test]
fn twice_the_memory_is_twice_the_instructions() {
    if !installed("valgrind") {
        return;
    }
    // Instructions of a turn of 32 words: loads and stores, pointers, the count and the jump.
    for (name, function, turn) in [
        ("memory-read", "read", 32 + 1 + 2),
        ("memory-write", "write", 32 + 1 + 2),
        ("memory-read-write", "read_write", 64 + 1 + 2),
        ("memory-copy", "copy", 64 + 2 + 2),
    ] {
        let pass = |kib: u32| {
            let params = format!("size_kib={kib},sample=0.01,samples=2");
            instructions_per_operation(name, &params, function)
        };
        // What comes before the loop is the same for both.
        let grown = pass(128) - pass(64);
        let turns = 65_536 / 256;
        assert!((grown - f64::from(turns * turn)).abs() < 1.0, "{name}: {grown}");
    }
    // 64 loads, the count and the jump; and once round before any operation.
    let params = "size_kib=1,stride=8,sample=0.01,samples=2";
    let loads = instructions_per_operation("memory-latency", params, "chase");
    assert!((66.0..66.5).contains(&loads), "{loads}");
}

#[test]
fn processes_run_on_the_cpus_of_their_roles() {
    let (Some(first), Some(second)) = (nth_cpu(0), nth_cpu(1)) else { return };
    // Long enough for a look at where they run.
    for (name, params) in [
        ("context-switch", ",processes=5"),
        ("tcp-latency", ""),
        ("udp-bandwidth", ""),
        ("pipe-bandwidth", ""),
    ] {
        let mut job = row(name, &format!("sample=0.4,samples=1{params}"));
        job.roles = vec![one_cpu(), std::iter::once(second).collect()];
        assert_eq!(succeed(&job).cpus_ran, [first, second].into_iter().collect(), "{name}");
        job.roles = vec![one_cpu(), one_cpu()];
        assert_eq!(succeed(&job).cpus_ran, one_cpu(), "{name}");
    }
}

#[test]
fn copies_run_side_by_side() {
    let mut job = row("context-switch", &format!("{SHORT},processes=3,copies=2"));
    job.copies = 2;
    let outcome = succeed(&job);
    assert_eq!((outcome.threads, outcome.samples.len()), (6, 6));
    let mut job = row("memory-latency", &format!("{SHORT},size_kib=16,copies=auto"));
    job.copies = allowed_cpus().len() as u32;
    assert_eq!(succeed(&job).cpus_ran, allowed_cpus(), "each CPU has its own");
    let mut job = row("file-create", &format!("{SHORT},size_kib=10,copies=2"));
    job.copies = 2;
    assert!(succeed(&job).checks["files_made"]);
}

#[test]
fn messages_of_every_size_come_through() {
    for channel in ["pipe", "tcp", "udp", "unix"] {
        let most = if channel == "udp" { 65_000 } else { 1 << 20 };
        for bytes in [1, 7, 4096, most] {
            let params = format!("{SHORT},message_bytes={bytes}");
            let outcome = succeed(&row(&format!("{channel}-bandwidth"), &params));
            assert!(outcome.checks["all_bytes_received"], "{channel} {bytes}");
            if channel != "pipe" && bytes < 65_536 {
                let outcome = succeed(&row(&format!("{channel}-latency"), &params));
                assert!(outcome.checks["messages_came_back"], "{channel} {bytes}");
            }
        }
    }
}

#[test]
fn chains_have_a_word_for_every_stride() {
    for (name, params, words) in [
        ("memory-latency", "size_kib=16,stride=128", 128.0),
        ("memory-latency", "size_kib=1,stride=8", 128.0),
        ("memory-latency", "size_kib=64,stride=4096", 16.0),
        ("memory-latency-random", "size_kib=16", 256.0),
        ("memory-latency-random", "size_kib=1024,stride=512", 2048.0),
    ] {
        let outcome = succeed(&row(name, &format!("{SHORT},{params}")));
        assert_eq!(counted(&outcome, "chain_words"), words, "{name} {params}");
        assert!(outcome.checks["every_line_visited"] && outcome.checks["loads_counted"]);
    }
}

#[test]
fn needs_grow_with_what_is_asked_for() {
    let memory = |text: &str| {
        let spec = WorkloadSpec::parse(&format!("lmbench-more/{text}")).expect(text);
        let (workload, params) = table::resolve(&spec).expect(text);
        let needs = workload.needs(&params);
        let amount = |limit| needs.iter().find(|need| need.limit == limit).map(|need| need.amount);
        (amount(Limit::MemoryKib).unwrap_or(0), amount(Limit::UserTasks).unwrap_or(0))
    };
    assert_eq!(memory("memory-read:size_kib=1000").0, 1000);
    assert_eq!(memory("bcopy:size_kib=1000").0, 2000);
    assert!(memory("memory-latency-random:size_kib=1024").0 >= 1024 + 64);
    let (kib, tasks) = memory("context-switch:processes=50,footprint_kib=1000");
    assert!(kib >= 50_000 && tasks == 51, "{kib} {tasks}");
    assert_eq!(memory("tcp-latency"), (0, 3));
}

#[test]
fn a_process_that_ends_is_told_and_not_waited_for() {
    for (name, params, part) in [
        ("context-switch", ",processes=6", "the ring"),
        ("tcp-latency", "", "the second process"),
        ("unix-bandwidth", "", "the second process"),
        ("pipe-bandwidth", "", "the second process"),
    ] {
        let worker = Worker::start(&row(name, &format!("sample=60{params}")));
        let pid = worker.pid();
        let below = |pid: i32| children(pid).into_iter();
        let other = || below(pid).flat_map(below).last();
        let all = if params.is_empty() { 1 } else { 5 };
        eventually("the others are at work", || below(pid).flat_map(below).count() == all);
        common::kill(other().expect("another"), Signal::KILL);
        let why = worker.outcome().failure.expect("failure");
        assert!(why.contains(part) || why.contains("token"), "{name}: {why}");
    }
}

#[test]
fn wrong_values_are_explained() {
    for (name, params, part) in [
        ("memory-latency", "stride=12", "a multiple of 8"),
        ("memory-latency", "size_kib=1,stride=1024", "at most half of size_kib"),
        ("memory-latency", "stride=0", "from 8 to 1048576"),
        ("memory-read", "size_kib=0", "from 1 to 4194304"),
        ("context-switch", "processes=1", "from 2 to 256"),
        ("context-switch", "footprint_kib=-1", "from 0 to 65536"),
        ("udp-bandwidth", "message_bytes=65001", "from 1 to 65000"),
        ("tcp-latency", "message_bytes=0", "from 1 to 65000"),
        ("file-create", "size_kib=1025", "from 0 to 1024"),
        ("file-reread", "dir=here", "beginning with '/'"),
        ("file-reread", "size=1", "no parameter of lmbench-more/file-reread"),
    ] {
        fail(&row(name, params), part);
    }
    let folder = tempfile::tempdir().expect("folder");
    let mut large =
        row("file-reread", &format!("size_kib=1048576,dir={}", folder.path().display()));
    large.copies = 1_000_000;
    fail(&large, "is too small");
    std::fs::write(folder.path().join("kept"), "precious").expect("file");
    fail(&row("file-create", &format!("dir={}", folder.path().display())), "is not empty");
}

#[test]
fn what_a_result_depends_on_is_told() {
    let create = run(&row("file-create", &small("file-create")));
    assert!(create.notes["file_system"].contains("GiB"), "{:?}", create.notes);
}
