//! Studies that switch SMT, on a scripted machine: every visit is a switch of its own.

mod support;

use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::plan::{Comparison, Plan, Protocol};
use coretwin_base::study::reading::{Phase, Reading};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_lab::event::{Event, Listener};
use coretwin_lab::machine::MachineError;
use coretwin_lab::planning;
use coretwin_lab::request::{Counts, Request};
use coretwin_lab::scripted::ScriptedMachine;
use coretwin_lab::{Error, run_order};
use std::collections::{BTreeMap, BTreeSet};
use support::{faster_by, run, switchable, with_arms};

/// Off and on, two rows, each run twice in a visit.
fn asked(blocks: u32) -> Request {
    Request {
        protocol: Protocol::Fixed,
        blocks: Some(blocks),
        repeats: Some(2),
        ..with_arms(&["off", "on"], Counts::List(vec![2, 4]))
    }
}

fn draw(request: &Request) -> Plan {
    planning::draw(request, "scripted", &switchable()).expect("plan")
}

fn machine() -> ScriptedMachine {
    ScriptedMachine::new(switchable(), faster_by(1.2, 0.002))
}

fn study(readings: &[Reading]) -> impl Iterator<Item = &Reading> {
    readings.iter().filter(|reading| reading.phase == Phase::Study)
}

#[test]
fn off_keeps_the_first_cpu_of_each_core_and_threads_follow() {
    let plan = draw(&with_arms(&["off", "on", "one-per-core", "on-cores"], Counts::Default));
    let arms: Vec<(String, u32, Option<bool>)> =
        plan.arms.iter().map(|arm| (arm.cpus.to_string(), arm.threads, arm.smt)).collect();
    assert_eq!(arms[0], ("0,2".to_owned(), 2, Some(false)));
    assert_eq!(arms[1], ("0-3".to_owned(), 4, None));
    assert_eq!(arms[2], ("0,2".to_owned(), 2, None));
    assert_eq!(arms[3], ("0-3".to_owned(), 2, None));
    assert_eq!(plan.comparison, Comparison::Smt);
    assert_eq!((plan.rules.settle_s, plan.rules.repeats), (2.0, 1));
    assert!(plan.switches_smt() && plan.check().is_ok());
    // A CPU that is not ours does not become ours because its sibling goes.
    let mut narrow = switchable();
    narrow.allowed = CpuSet::parse("0,1,3").expect("list");
    let plan = planning::draw(&with_arms(&["off", "on"], Counts::Default), "scripted", &narrow);
    assert_eq!(plan.expect("plan").arms[0].cpus.to_string(), "0");
}

#[test]
fn every_visit_is_a_switch_and_starts_with_a_discarded_run() {
    let plan = draw(&asked(4));
    let mut machine = machine();
    let finished = run(&plan, Vec::new(), &mut machine).expect("study");
    // Each row once before everything, then 8 visits of a discarded run and 2 rows twice.
    assert_eq!(finished.readings.len(), 2 + 8 * (1 + 4));
    let mut visits: BTreeMap<u32, Vec<&Reading>> = BTreeMap::new();
    for reading in &finished.readings[2..] {
        visits.entry(reading.switch).or_default().push(reading);
    }
    assert_eq!(visits.len(), 8, "one switch a visit");
    let expected: Vec<(u32, usize)> = (0..4)
        .flat_map(|block| {
            let order = run_order::arm_order(&plan, Phase::Study, block);
            order.into_iter().map(move |arm| (block, arm))
        })
        .collect();
    let mut orders = BTreeSet::new();
    for (visit, (block, arm)) in visits.values().zip(expected) {
        let label = plan.arms[arm].label.as_str();
        assert!(visit.iter().all(|r| r.arm == label && r.block == block), "{block} {label}");
        assert_eq!(visit[0].phase, Phase::Warmup);
        assert!(visit[1..].iter().all(|reading| reading.phase == Phase::Study));
        let rows: Vec<&str> = visit[1..].iter().map(|reading| &*reading.row).collect();
        let twice = |row: &str| rows.iter().filter(|r| **r == row).count() == 2;
        assert!(plan.rows.iter().all(|row| twice(&row.id)), "{rows:?}");
        orders.insert(rows);
    }
    assert!(orders.len() > 2, "runs of a visit are shuffled: {orders:?}");
    let prepared = machine.log.iter().filter(|step| step.starts_with("arm ")).count();
    assert_eq!(prepared, 1 + 8);
    let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    assert_eq!((summary.blocks, summary.rows[0].blocks), (4, 4), "visits count, not runs");
    assert!(summary.sentences[0].starts_with("Keep SMT on for your command"), "{summary:?}");
}

#[test]
fn what_switching_takes_is_part_of_the_budget() {
    let patient = Request { settle_s: 200.0, ..with_arms(&["off", "on"], Counts::Default) };
    let error = run(&draw(&patient), Vec::new(), &mut machine()).expect_err("too long");
    assert!(matches!(error, Error::BudgetTooSmall { block_s, .. } if block_s > 400.0), "{error}");
}

#[test]
fn a_switching_study_stopped_anywhere_goes_on_to_a_whole_one() {
    let plan = draw(&asked(3));
    let all = run(&plan, Vec::new(), &mut machine()).expect("study").readings.len() as u64;
    for stop_before in 0..all {
        let mut first = machine();
        first.stop_before_run = Some(stop_before);
        let broken = run(&plan, Vec::new(), &mut first).expect("stopped");
        assert_eq!(broken.stopped, StoppedBecause::Interrupted);
        let finished = run(&plan, broken.readings.clone(), &mut machine()).expect("resumed");
        assert_eq!(finished.readings[..broken.readings.len()], broken.readings[..]);
        let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
        assert_eq!(summary.blocks, 3, "stopped before run {stop_before}");
        // No switch is shared by two visits, however often the study was broken off.
        let mut visits: BTreeMap<u32, BTreeSet<(u32, u32, &str)>> = BTreeMap::new();
        for reading in study(&finished.readings) {
            let visit = (reading.block, reading.attempt, &*reading.arm);
            visits.entry(reading.switch).or_default().insert(visit);
        }
        assert!(visits.values().all(|visits| visits.len() == 1), "{visits:?}");
    }
}

#[test]
fn a_switch_that_fails_ends_the_study_and_what_was_measured_is_kept() {
    let plan = draw(&asked(3));
    let mut broken = machine();
    broken.refuse_visit = Some(3);
    let mut kept = Kept::default();
    let error = support::run_with(&plan, Vec::new(), &mut broken, &mut kept).expect_err("refused");
    assert!(matches!(error, Error::Machine(MachineError::Refused(_))), "{error}");
    assert_eq!(kept.0.len(), 2 + 2 * 5, "two visits after the warm-up");
    let runs = broken.log.iter().filter(|step| step.starts_with("run ")).count();
    assert_eq!(runs, kept.0.len(), "nothing is run after it");
    let finished = run(&plan, kept.0, &mut machine()).expect("resumed");
    assert_eq!(finished.stopped, StoppedBecause::Blocks);
}

/// A listener that keeps readings.
#[derive(Default)]
struct Kept(Vec<Reading>);

impl Listener for Kept {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if let Event::ReadingTaken(reading) = event {
            self.0.push(Reading::clone(reading));
        }
        Ok(())
    }
}

#[test]
fn a_pair_says_what_it_can_whatever_else_is_compared() {
    let plan = Plan {
        reference_arm: "one-per-core".to_owned(),
        ..draw(&Request {
            protocol: Protocol::Fixed,
            blocks: Some(8),
            ..with_arms(&["off", "on", "one-per-core"], Counts::Default)
        })
    };
    let finished = run(&plan, Vec::new(), &mut machine()).expect("study");
    let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    let [off, on] = &summary.sentences[..] else { panic!("{:?}", summary.sentences) };
    assert!(off.ends_with("This is no verdict on SMT off against on."), "{off}");
    assert!(on.starts_with("Keep SMT on for your command (HELPS)"), "{on}");
    assert!(!on.contains("off"), "{on}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_switched() {
    let hidden = Topology { smt: switchable().smt, ..Topology::regular(1, 2, 1) };
    let fixed = Topology::regular(1, 2, 2);
    for (arms, topology, part) in [
        (&["off", "on"][..], &fixed, "'one-per-core' stands in for it"),
        (&["off", "on"], &fixed, "this machine is made up"),
        (&["off", "on"], &hidden, "no core shows two usable siblings"),
        (&["off", "boot:nosmt"], &switchable(), "make all of them boots"),
    ] {
        let error = planning::draw(&with_arms(arms, Counts::Default), "scripted", topology);
        let error = error.expect_err(part).to_string();
        assert!(error.contains(part), "{arms:?}: {error}");
    }
    let article = Request {
        protocol: Protocol::Article2003,
        ..Request { repeats: Some(2), ..with_arms(&["off", "on"], Counts::Default) }
    };
    let error = planning::draw(&article, "scripted", &switchable()).expect_err("fixed").to_string();
    assert!(error.contains("leave out --repeats"), "{error}");
}
