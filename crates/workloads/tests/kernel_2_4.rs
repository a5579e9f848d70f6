//! The rows of `kernel-2.4`, through the real worker: what both tasks counted, where they ran, and
//! the instructions that make the difference.

#![expect(clippy::print_stderr, reason = "what is left out is said, with the reason")]

mod common;

use common::{allowed_cpus, nth_cpu, succeed, worker_path, workload};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::placement::Placement;
use coretwin_base::study::job::Outcome;
use coretwin_workloads::table;
use std::process::Command;

fn counted(outcome: &Outcome, metric: &str) -> f64 {
    outcome.metrics.get(metric).unwrap_or_else(|| panic!("no metric {metric}")).value
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn every_row_counts_both_sides_on_the_cpus_of_its_roles() {
    let mut rows = 0;
    for row in table::ALL.iter().filter(|row| row.facts().family == "kernel-2.4") {
        let name = row.name();
        let mut job = workload(&format!("{name}:seconds=0.05"));
        if let (Some(first), Some(second)) = (nth_cpu(0), nth_cpu(1)) {
            job.placement = Placement::Cores;
            job.roles = [first, second].map(|cpu| std::iter::once(cpu).collect()).to_vec();
        }
        let outcome = succeed(&job);
        assert!(!outcome.checks.is_empty(), "{name}");
        assert_eq!(outcome.threads, 2, "{name}");
        assert!(counted(&outcome, "alone_per_s") > 0.0 && outcome.elapsed_s >= 0.05, "{name}");
        if !job.roles.is_empty() {
            let both: CpuSet = [nth_cpu(0), nth_cpu(1)].into_iter().flatten().collect();
            assert_eq!(outcome.cpus_ran, both, "{name}");
            assert!(outcome.notes["placement"].contains("different cores"), "{name}");
        }
        let value = outcome.value.expect(name);
        if outcome.metrics.contains_key("second_per_s") {
            let sum = counted(&outcome, "first_per_s") + counted(&outcome, "second_per_s");
            assert!(near(sum, value), "{name}: the value is the sum of both");
        } else {
            let kept = counted(&outcome, "kept") / 100.0;
            assert!(near(kept * counted(&outcome, "alone_per_s"), value), "{name}");
        }
        rows += 1;
    }
    assert_eq!(rows, 10);
}

#[test]
fn a_delay_is_as_long_as_asked_and_a_waiter_sees_what_is_handed_over() {
    for how in ["clock", "sleep"] {
        let text = format!("kernel-2.4/delay-{how}:delay_us=300,seconds=0.2");
        let outcome = succeed(&workload(&text));
        assert_eq!(counted(&outcome, "delay_asked_us"), 300.0);
        assert!(counted(&outcome, "delay_mean_us") >= 300.0, "{how}");
        assert_eq!(counted(&outcome, "early"), 0.0, "{how}");
    }
    for row in ["spin", "spin-pause"] {
        let outcome = succeed(&workload(&format!("kernel-2.4/{row}:seconds=0.2")));
        assert!(outcome.checks["handovers"] && outcome.checks["answer"], "{row}");
        assert!(counted(&outcome, "handovers") <= outcome.operations as f64);
    }
}

#[test]
fn on_one_cpu_the_tasks_take_turns_and_the_reading_says_so() {
    let mut job = workload("kernel-2.4/lock-packed:seconds=0.05");
    job.placement = Placement::SameCpu;
    let one: CpuSet = allowed_cpus().first().into_iter().collect();
    job.roles = vec![one.clone(), one.clone()];
    let outcome = succeed(&job);
    assert_eq!(outcome.cpus_ran, one);
    assert!(outcome.checks["totals"] && outcome.notes["placement"].contains("took turns"));
}

/// The instructions of the function of that name in the worker, as objdump writes them.
#[cfg(target_arch = "x86_64")]
fn disassembled(function: &str) -> String {
    let listing = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn", "-M", "intel"])
        .arg(worker_path())
        .output()
        .expect("objdump, of the package binutils, disassembles");
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    let begin = listing.find(&format!("<{function}>:")).unwrap_or_else(|| panic!("no {function}"));
    let code = &listing[begin..];
    code[..code.find("\n\n").unwrap_or(code.len())].to_owned()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_one_polls_with_pause_and_the_other_without() {
    let there = Command::new("objdump").arg("--version").output().is_ok();
    // Where the gate runs it has been installed; its absence must not pass for success.
    assert!(there || std::env::var_os("CI").is_none(), "no objdump on PATH; see .ci/needs");
    if !there {
        eprintln!("left out: there is no objdump on this machine's PATH");
        return;
    }
    // Where nothing is optimised, the instruction is in a function of the standard library.
    let has_pause = |code: &str| code.lines().any(|line| line.contains("pause"));
    let poll = disassembled("coretwin_workloads::kernel_2_4::pairs::poll");
    let with_pause = disassembled("coretwin_workloads::kernel_2_4::pairs::poll_with_pause");
    assert!(!has_pause(&poll.replace("poll_with_pause", "")), "{poll}");
    let body = with_pause.lines().skip(1).filter(|line| !line.contains("poll_with_pause"));
    let body: Vec<&str> = body.collect();
    assert!(has_pause(&body.join("\n")), "{with_pause}");
    let called = body.iter().find_map(|line| line.split_once(" <")?.1.strip_suffix('>'));
    if let Some(called) = called.filter(|name| name.contains("_mm_pause")) {
        let code = disassembled(called);
        assert!(code.lines().skip(1).any(|line| line.contains("\tpause")), "{code}");
    }
}
