//! Schedulers as part of arms: what a plan makes of them, what they can say about SMT, and that each
//! visit loads its own.

mod support;

use coretwin_base::study::plan::{Comparison, Plan};
use coretwin_base::study::reading::Phase;
use coretwin_host::fake::{self, sched_ext::install};
use coretwin_host::root::Root;
use coretwin_host::sched_ext::State;
use coretwin_lab::host_machine::HOST;
use coretwin_lab::request::Counts;
use coretwin_lab::switching::Scheduling;
use coretwin_lab::{Error, planning, run_order};
use coretwin_stats::study::pair_comparison;
use std::path::PathBuf;
use support::{switchable, with_arms};

fn drawn(arms: &[&str]) -> Result<Plan, Error> {
    planning::draw(&with_arms(arms, Counts::Default), HOST, &switchable())
}

#[test]
fn only_arms_of_one_scheduler_say_something_about_smt() {
    let of = |arms: &[&str]| drawn(arms).expect("plan");
    let plan = of(&["off@kernel", "on@kernel", "on@core-queue"]);
    assert_eq!(plan.comparison, Comparison::Smt);
    assert!(plan.changes_scheduler() && plan.switches_smt());
    let pairs: Vec<Comparison> =
        plan.arms[1..].iter().map(|arm| pair_comparison(&plan, arm)).collect();
    assert_eq!(pairs, [Comparison::Smt, Comparison::None]);
    assert!(plan.arms[2].about.contains("under core-queue"), "{}", plan.arms[2].about);
    assert_eq!(plan.arms[1].about, "all 4 CPUs on 2 cores");
    assert_eq!(of(&["off@kernel", "on@core-queue"]).comparison, Comparison::None);
    assert_eq!(of(&["on@kernel", "on@core-queue"]).comparison, Comparison::None);
    let stand_in = of(&["one-per-core@core-queue", "on@core-queue"]);
    assert_eq!(stand_in.comparison, Comparison::StandIn);
    let plan = of(&["on", "a=on@core-queue[active=off]"]);
    assert!(plan.arms[1].about.ends_with("for each visit with active=off"), "{plan:?}");
    assert!(!of(&["on", "one-per-core"]).changes_scheduler());
}

#[test]
fn what_does_not_go_together_is_said() {
    for (arm, part) in [
        ("on@fair", "simulated machines have more"),
        ("on@core-queue[slice=5]", "did you mean 'slice_us'"),
        ("core-sched@core-queue", "known to stop machines"),
    ] {
        match drawn(&["on", arm]) {
            Err(Error::Usage(why)) => assert!(why.contains(part), "{why}"),
            other => panic!("{arm}: {other:?}"),
        }
    }
}

#[test]
fn a_visit_begins_with_a_discarded_run() {
    let plan = drawn(&["on@kernel", "on@core-queue"]).expect("plan");
    let cells = run_order::cells(&plan, Phase::Study, 0, 1, &[].into());
    assert_eq!(run_order::discarded(&plan, &cells), &cells[..1]);
}

/// A machine with sched_ext, and a program that loads and unloads on it as `coretwin sched keep` does.
fn machine(answer: &str) -> (tempfile::TempDir, Root, PathBuf) {
    let folder = tempfile::tempdir().expect("folder");
    let root = Root::at(folder.path());
    install(&root, "disabled", Some("coretwin_core_queue")).expect("installed");
    let state = root.path("sys/kernel/sched_ext/state");
    let words = root.path("words");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> {words}\necho {answer} | grep -q refused || echo enabled > {state}\n\
         echo '{answer}'\ncat\necho disabled > {state}\n",
        words = words.display(),
        state = state.display(),
    );
    let program = root.path("keeper");
    fake::program(&program, &script).expect("written");
    (folder, root, program)
}

#[test]
fn each_visit_loads_its_own_scheduler_or_none() {
    let (_folder, root, program) = machine("\"loaded\"");
    let mut scheduling = Scheduling::new(root.clone(), program);
    scheduling.enter("kernel").expect("the kernel's own");
    for options in ["", "[active=off]"] {
        scheduling.leave().expect("left");
        scheduling.enter(&format!("core-queue{options}")).expect("loaded");
        assert_eq!(State::in_charge(&root), "core-queue");
    }
    scheduling.leave().expect("left");
    scheduling.enter("kernel").expect("unloaded");
    let own = std::process::id();
    let words = std::fs::read_to_string(root.path("words")).expect("words");
    let expected = format!("sched keep --study {own}\nsched keep --study {own} --set active=off\n");
    assert_eq!(words, expected);
    scheduling.enter("core-queue").expect("loaded");
    drop(scheduling);
    assert_eq!(State::in_charge(&root), "kernel", "whoever drops it leaves the kernel's own");
}

#[test]
fn what_is_not_in_charge_is_not_measured() {
    let (_folder, root, program) = machine("{\"refused\":\"no BTF\"}");
    let mut scheduling = Scheduling::new(root.clone(), program);
    assert_eq!(scheduling.enter("core-queue"), Err("no BTF".to_owned()));
    install(&root, "enabled", Some("lavd_1.0")).expect("installed");
    let error = scheduling.enter("kernel").expect_err("another");
    assert!(error.contains("in charge is lavd_1.0, not kernel"), "{error}");
}
