//! Studies that compare boots, on a scripted machine: one boot is one visit.

mod support;

use coretwin_base::machine::environment::Environment;
use coretwin_base::machine::topology::Topology;
use coretwin_base::study::boot::{Boot, BootFacts};
use coretwin_base::study::plan::{Comparison, Plan, Protocol};
use coretwin_base::study::reading::{Phase, Reading};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_lab::boots::{self, ThisBoot};
use coretwin_lab::engine::{self, Finished, Setup};
use coretwin_lab::event::Listeners;
use coretwin_lab::machine::Stop;
use coretwin_lab::planning;
use coretwin_lab::request::{Counts, Request};
use coretwin_lab::scripted::ScriptedMachine;
use std::collections::BTreeSet;
use support::{faster_by, with_arms};

fn draw(arms: &[&str], blocks: Option<u32>) -> Plan {
    let protocol = if blocks.is_some() { Protocol::Fixed } else { Protocol::Modern };
    let request = Request { protocol, blocks, ..with_arms(arms, Counts::List(vec![2, 4])) };
    planning::draw(&request, "scripted", &Topology::regular(1, 2, 2)).expect("plan")
}

/// A boot of the machine, as its kernel shows it.
fn booted(boot_id: u32, command_line: &str) -> ThisBoot {
    let smt_active = !command_line.contains("nosmt");
    let cores = Topology::regular(1, 2, if smt_active { 2 } else { 1 });
    ThisBoot {
        boot_id: format!("boot-{boot_id}"),
        found: BootFacts {
            kernel_release: "6.12.95-amd64".to_owned(),
            command_line: command_line.to_owned(),
            smt_active,
            cpus: cores.allowed.clone(),
            cores: 2,
        },
    }
}

/// What a study has come to, from boot to boot.
#[derive(Default)]
struct Bundle {
    readings: Vec<Reading>,
    environment: Environment,
}

impl Bundle {
    /// Goes on in this boot, as `study --resume` does; a number stops it before that run.
    fn resume(
        &mut self,
        plan: &Plan,
        this: &ThisBoot,
        said: Option<&str>,
        stop_before: Option<u64>,
    ) -> Result<StoppedBecause, String> {
        let boots = &mut self.environment.boots;
        let due = boots::due(plan, boots, &self.readings).ok_or("nothing is due")?;
        let visit = boots::admit(plan, due, boots, &self.readings, this, said)?;
        let plan = plan.clone().with_boots(boots);
        let topology = Topology::regular(1, 2, if this.found.smt_active { 2 } else { 1 });
        let mut machine = ScriptedMachine::new(topology, faster_by(1.2, 0.002));
        machine.stop_before_run = stop_before;
        let setup = Setup {
            plan: &plan,
            readings: std::mem::take(&mut self.readings),
            environment: std::mem::take(&mut self.environment),
            run_as: None,
            boot: Some(visit),
            stop: Stop::default(),
        };
        let Finished { readings, environment, stopped } =
            engine::run(setup, &mut machine, &mut Listeners(Vec::new())).expect("run");
        (self.readings, self.environment) = (readings, environment);
        Ok(stopped)
    }

    fn due(&self, plan: &Plan) -> Option<(u32, String, u32)> {
        let due = boots::due(plan, &self.environment.boots, &self.readings)?;
        Some((due.block, plan.arms[due.arm].label.clone(), due.boots_left))
    }

    /// Boots whatever is due until nothing is.
    fn finish(&mut self, plan: &Plan, mut boot_id: u32) -> StoppedBecause {
        let mut stopped = StoppedBecause::Reboot;
        while let Some((_, label, _)) = self.due(plan) {
            stopped = self.resume(plan, &booted(boot_id, line(&label)), None, None).expect("boot");
            boot_id += 1;
        }
        stopped
    }

    fn summary(&self, plan: &Plan) -> coretwin_base::study::summary::Summary {
        let plan = plan.clone().with_boots(&self.environment.boots);
        coretwin_stats::study::analyse(&plan, &self.readings, StoppedBecause::Blocks)
    }
}

fn line(label: &str) -> &'static str {
    if label == "boot:nosmt" { "quiet nosmt" } else { "quiet" }
}

const ARMS: [&str; 2] = ["boot:nosmt", "boot:smt"];

#[test]
fn a_study_of_boots_goes_from_boot_to_boot_to_its_end() {
    let plan = draw(&ARMS, None);
    assert_eq!((plan.blocks_max(), plan.rules.repeats), (3, 3), "defaults for boots");
    assert_eq!((plan.rules.budget_s, plan.comparison), (None, Comparison::None));
    assert!(plan.warnings.is_empty() && plan.check().is_ok());
    let mut bundle = Bundle::default();
    for boot in 0..6 {
        let (_, label, left) = bundle.due(&plan).expect("due");
        assert_eq!(left, 6 - boot, "boots to come");
        let stopped = bundle.resume(&plan, &booted(boot, line(&label)), None, None).expect("boot");
        let last = boot == 5;
        assert_eq!(stopped, if last { StoppedBecause::Blocks } else { StoppedBecause::Reboot });
    }
    assert_eq!(bundle.due(&plan), None);
    // Each boot: both rows once and discarded, then three times each.
    assert_eq!(bundle.readings.len(), 6 * (2 + 6));
    let switches: BTreeSet<(u32, u32, &str)> =
        bundle.readings.iter().map(|r| (r.switch, r.block, &*r.arm)).collect();
    assert_eq!(switches.len(), 6, "a boot is a switch, and serves one arm of one block");
    for reading in &bundle.readings {
        assert_eq!(reading.cpus_ran.len(), if reading.arm == "boot:smt" { 4 } else { 2 });
    }
    let summary = bundle.summary(&plan);
    assert_eq!((summary.comparison, summary.blocks), (Comparison::Smt, 3));
    assert_eq!(summary.arms[0].threads, 2, "threads are those of the boot");
    assert!(summary.sentences[0].starts_with("Keep SMT on for your command"), "{summary:?}");
}

#[test]
fn a_boot_without_smt_is_advised_with_its_parameter() {
    let plan = draw(&["boot:smt", "boot:nosmt"], Some(3));
    let mut bundle = Bundle::default();
    bundle.finish(&plan, 0);
    for reading in &mut bundle.readings {
        // As if siblings were in each other's way.
        reading.value = reading.value.map(f64::recip);
    }
    let sentence = bundle.summary(&plan).sentences.remove(0);
    let start = "Switch SMT off for your command, by booting with nosmt (HELPS): ";
    assert!(sentence.starts_with(start), "{sentence}");
}

#[test]
fn one_block_gives_a_ratio_without_interval_or_verdict() {
    let plan = draw(&ARMS, Some(1));
    let mut bundle = Bundle::default();
    assert_eq!(bundle.finish(&plan, 0), StoppedBecause::Blocks);
    let summary = bundle.summary(&plan);
    let suite = &summary.suites[0];
    assert!(suite.ratio.is_some() && suite.low.is_none() && suite.verdict.is_none());
    assert!(summary.sentences[0].starts_with("Too few blocks for a verdict"), "{summary:?}");
}

#[test]
fn wrong_and_used_boots_are_refused_by_name() {
    let plan = draw(&ARMS, Some(2));
    let mut bundle = Bundle::default();
    let (_, first, _) = bundle.due(&plan).expect("due");
    let (right, wrong) = (line(&first), line(if first == ARMS[0] { ARMS[1] } else { ARMS[0] }));
    let refused = bundle.resume(&plan, &booted(0, wrong), None, None).expect_err("wrong");
    assert!(refused.contains("this boot is not"), "{refused}");
    let refused = bundle.resume(&plan, &booted(0, right), Some("6.1"), None).expect_err("said");
    assert!(refused.contains("is due in block 1, not 6.1"), "{refused}");
    assert!(bundle.environment.boots.is_empty(), "a refused boot leaves no trace");
    bundle.resume(&plan, &booted(0, right), None, None).expect("right");
    let refused = bundle.resume(&plan, &booted(0, right), None, None).expect_err("used");
    assert!(refused.contains("this boot has served already, in block 1"), "{refused}");
    // The next boot of the same arm must be like its first.
    bundle.resume(&plan, &booted(1, wrong), None, None).expect("the other arm");
    let mut twice = Bundle { readings: bundle.readings, environment: bundle.environment };
    while twice.due(&plan).expect("due").1 != first {
        let (_, label, _) = twice.due(&plan).expect("due");
        twice.resume(&plan, &booted(2, line(&label)), None, None).expect("boot");
    }
    let other = format!("{right} debug");
    let refused = twice.resume(&plan, &booted(3, &other), None, None).expect_err("differs");
    assert!(refused.contains("its command line is") && refused.contains("debug"), "{refused}");
}

#[test]
fn a_visit_broken_off_goes_on_in_the_same_boot_and_starts_over_in_another() {
    let plan = draw(&ARMS, Some(2));
    let whole = {
        let mut bundle = Bundle::default();
        bundle.finish(&plan, 0);
        bundle
    };
    for stop_before in 0..8 {
        for same in [true, false] {
            let mut bundle = Bundle::default();
            let (_, first, _) = bundle.due(&plan).expect("due");
            let this = booted(0, line(&first));
            let stopped = bundle.resume(&plan, &this, None, Some(stop_before)).expect("stopped");
            assert_eq!(stopped, StoppedBecause::Interrupted);
            let taken = bundle.readings.len();
            assert_eq!(taken as u64, stop_before, "nothing taken is lost");
            assert_eq!(bundle.due(&plan).expect("due").2, 4, "the visit is still due");
            let next = if same { this } else { booted(1, line(&first)) };
            bundle.resume(&plan, &next, None, None).expect("goes on");
            bundle.finish(&plan, 10);
            let summary = bundle.summary(&plan);
            assert_eq!(summary.blocks, 2, "stopped before run {stop_before}, same boot: {same}");
            let of = |bundle: &Bundle| {
                let analysed = coretwin_stats::study::Analysed::new(&plan, &bundle.readings);
                bundle.readings.iter().filter(|reading| analysed.includes(reading)).count()
            };
            assert_eq!(of(&bundle), of(&whole), "what another boot left is not mixed in");
            let mut visits: BTreeSet<(u32, &str)> = BTreeSet::new();
            let mut boots: Vec<&Boot> = bundle.environment.boots.iter().collect();
            boots.retain(|boot| visits.insert((boot.switch, &boot.boot_id)));
            assert_eq!(boots.len(), if same { 4 } else { 5 });
        }
    }
}

#[test]
fn a_free_name_is_what_the_user_first_says_it_is() {
    let plan = draw(&["boot:old-firmware", "boot:new-firmware"], Some(2));
    let mut bundle = Bundle::default();
    let name = |bundle: &Bundle| {
        let (_, label, _) = bundle.due(&plan).expect("due");
        label.strip_prefix("boot:").expect("boot").to_owned()
    };
    let first = name(&bundle);
    let refused = bundle.resume(&plan, &booted(0, "quiet"), None, None).expect_err("unsaid");
    assert!(refused.contains(&format!("say so with --boot {first}")), "{refused}");
    bundle.resume(&plan, &booted(0, "quiet"), Some(&first), None).expect("said");
    // The other arm looks alike; only the user can tell them apart, each time.
    while let Some((_, label, _)) = bundle.due(&plan) {
        let this = booted(bundle.environment.boots.len() as u32, "quiet");
        let refused = bundle.resume(&plan, &this, None, None).expect_err("unsaid");
        assert!(refused.contains("only you know"), "{refused}");
        bundle.resume(&plan, &this, Some(&label), None).expect("said by the arm's label");
    }
    assert_eq!(bundle.summary(&plan).comparison, Comparison::None, "both have SMT");
    assert!(bundle.summary(&plan).sentences[0].contains("no verdict on SMT"));
    assert_eq!(bundle.readings.iter().filter(|r| r.phase == Phase::Study).count(), 4 * 6);
}

#[test]
fn what_does_not_go_with_boots_is_refused() {
    for (request, part) in [
        (with_arms(&["boot:smt", "on"], Counts::Default), "cannot be in one study"),
        (with_arms(&ARMS, Counts::Auto), "--threads auto"),
        (
            Request { protocol: Protocol::Article2003, ..with_arms(&ARMS, Counts::Default) },
            "--blocks 1 --repeats 5",
        ),
    ] {
        let drawn = planning::draw(&request, "scripted", &Topology::regular(1, 2, 2));
        let error = drawn.expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
}
