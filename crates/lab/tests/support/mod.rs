//! Requests, plans and scripted machines to test with.

// Every test file uses some of this and none uses all.
#![allow(dead_code, clippy::allow_attributes, reason = "what is unused differs by test file")]

use coretwin_base::machine::environment::Environment;
use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::topology::{SmtControl, Topology};
use coretwin_base::random::Stream;
use coretwin_base::study::arm::ArmSpec;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::job::Job;
use coretwin_base::study::plan::{Plan, Protocol, Rule};
use coretwin_base::study::reading::Reading;
use coretwin_lab::Error;
use coretwin_lab::engine::{self, Finished, Setup};
use coretwin_lab::event::{Listener, Listeners};
use coretwin_lab::machine::Stop;
use coretwin_lab::planning;
use coretwin_lab::request::{Counts, Request, Subject};
use coretwin_lab::scripted::{Script, Scripted, ScriptedMachine};

pub(crate) fn command(setup: Option<&str>) -> CommandSpec {
    CommandSpec {
        setup: setup.map(str::to_owned),
        ..CommandSpec::plain(vec!["work".to_owned(), "{threads}".to_owned()], 60.0)
    }
}

pub(crate) fn request(threads: Counts) -> Request {
    Request {
        subject: Subject::Command {
            spec: Box::new(command(None)),
            threads,
            copies: Counts::Default,
            variants: Vec::new(),
            parameters: Vec::new(),
        },
        arms: Vec::new(),
        placements: vec![Placement::Free],
        seed: 7,
        protocol: Protocol::Modern,
        blocks: None,
        until: Rule::Width,
        target: 0.01,
        margin: 0.02,
        budget_s: 1800.0,
        warmup: true,
        warmup_runs: None,
        control: false,
        split: false,
        settle_s: 2.0,
        repeats: None,
        steal_share_max: 0.05,
        others_share_max: 0.05,
        load: None,
    }
}

pub(crate) fn machine(script: Script) -> ScriptedMachine {
    ScriptedMachine::new(Topology::regular(1, 2, 2), script)
}

/// `on` (4 CPUs) is faster than `one-per-core` (2 CPUs) by the factor, with noise of that size.
pub(crate) fn faster_by(factor: f64, noise: f64) -> Script {
    Box::new(move |job: &Job, run| {
        let wobble = 1.0 + noise * (Stream::new(3, "noise", run).unit() - 0.5);
        let base = if job.cpus.len() == 4 { 1.0 / factor } else { 1.0 };
        Scripted::ok(base * wobble, 1.0)
    })
}

pub(crate) fn plan(request: &Request) -> Plan {
    planning::draw(request, "scripted", &Topology::regular(1, 2, 2)).expect("plan")
}

pub(crate) fn run(
    plan: &Plan,
    readings: Vec<Reading>,
    machine: &mut ScriptedMachine,
) -> Result<Finished, Error> {
    run_with(plan, readings, machine, &mut Listeners(Vec::new()))
}

pub(crate) fn run_with(
    plan: &Plan,
    readings: Vec<Reading>,
    machine: &mut ScriptedMachine,
    listener: &mut dyn Listener,
) -> Result<Finished, Error> {
    let setup = Setup {
        plan,
        readings,
        environment: Environment::default(),
        run_as: None,
        boot: None,
        stop: Stop::default(),
    };
    engine::run(setup, machine, listener)
}

/// A request with these arms.
pub(crate) fn with_arms(arms: &[&str], threads: Counts) -> Request {
    let arms = arms.iter().map(|arm| ArmSpec::parse(arm).expect("arm")).collect();
    Request { arms, ..request(threads) }
}

/// A machine whose SMT can be switched.
pub(crate) fn switchable() -> Topology {
    let mut topology = Topology::regular(1, 2, 2);
    topology.smt.control = Some(SmtControl::On);
    topology.smt.switchable = true;
    topology
}
