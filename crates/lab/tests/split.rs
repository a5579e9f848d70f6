//! Siblings and threads apart: what is planned, run and found, on machines whose gains are known.

mod support;

use coretwin_base::machine::environment::{Environment, Facts};
use coretwin_base::machine::topology::Topology;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::Simulation;
use coretwin_base::study::job::{Job, Outcome, Work};
use coretwin_base::study::plan::{Comparison, PlanArm, Protocol};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::Part;
use coretwin_lab::engine::{self, Setup};
use coretwin_lab::event::Listeners;
use coretwin_lab::machine::Stop;
use coretwin_lab::planning;
use coretwin_lab::request::{Counts, Request, Subject};
use coretwin_lab::scripted::{Script, Scripted};
use coretwin_lab::simulated_machine::planning::Known;
use coretwin_lab::simulated_machine::{self, Described, Models, Simulated};
use std::collections::BTreeSet;
use std::sync::Arc;
use support::{machine, plan, run, with_arms};

struct AllModels;

impl Known for AllModels {
    fn has_model(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn fitted(&self, _: &str) -> Option<String> {
        None
    }
}

/// A request of a split over these rows and arms.
fn of_split(rows: &[&str], arms: &[&str]) -> Request {
    let asked = with_arms(arms, Counts::Default);
    let specs = rows.iter().map(|row| WorkloadSpec::parse(row).expect(row)).collect();
    let subject = if rows.is_empty() { asked.subject } else { Subject::Workloads(specs) };
    Request { split: true, subject, placements: Vec::new(), blocks: Some(6), ..asked }
}

#[test]
fn siblings_and_threads_are_separated_end_to_end() {
    let asked = Request { protocol: Protocol::Fixed, ..of_split(&[], &[]) };
    let plan = plan(&asked);
    let shape: Vec<(&str, usize, u32)> =
        plan.arms.iter().map(|arm| (&*arm.label, arm.cpus.len(), arm.threads)).collect();
    let wanted =
        [("one-per-core/2", 2, 2), ("one-per-core/4", 2, 4), ("on/2", 4, 2), ("on/4", 4, 4)];
    assert_eq!(shape, wanted);
    // Twice the threads gain a tenth by themselves, siblings a fifth of what is left, with them alone.
    let script: Script = Box::new(|job: &Job, _| {
        let threads = if job.threads == 4 { 1.1 } else { 1.0 };
        let siblings = if (job.threads, job.cpus.len()) == (4, 4) { 1.2 } else { 1.0 };
        Scripted::ok(1.0 / (threads * siblings), 1.0)
    });
    let finished = run(&plan, Vec::new(), &mut machine(script)).expect("study");
    let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    let found = |part: Part| {
        let one = summary.split.iter().find(|one| one.part == part).expect("the part");
        one.effect.ratio.expect("a ratio")
    };
    for (part, wanted) in [
        (Part::Threads, 1.1),
        (Part::Siblings, 1.0),
        (Part::SiblingsMore, 1.2),
        (Part::Together, 1.32),
        (Part::Interaction, 1.2),
    ] {
        assert!((found(part) / wanted - 1.0).abs() < 1e-9, "{part:?}: {}", found(part));
    }
}

#[test]
fn workloads_have_as_many_threads_as_their_arm_if_they_are_told() {
    let plan = plan(&of_split(
        &["dbench:clients={threads},seconds=0.1", "aim9/add_int:copies={threads}"],
        &[],
    ));
    let script: Script = Box::new(|job: &Job, _| {
        let Work::Builtin { workload, params } = &job.work else { panic!("{job:?}") };
        let told = if workload == "dbench" { &params["clients"] } else { &params["copies"] };
        assert_eq!(told.as_int(), Some(i64::from(job.threads)), "{workload}");
        assert!(workload == "dbench" || job.copies == job.threads);
        Scripted::ok(1.0, 1.0)
    });
    let finished = run(&plan, Vec::new(), &mut machine(script)).expect("study");
    let counts: BTreeSet<String> = finished
        .readings
        .iter()
        .filter_map(|one| Some(one.params.get("clients")?.to_string()))
        .collect();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), ["2", "4"], "what ran is in the journal");
}

#[test]
fn a_split_that_would_separate_nothing_is_refused() {
    let topology = Topology::regular(1, 2, 2);
    let alone = Topology::regular(1, 4, 1);
    let same = |request: Request| Request { blocks: None, ..request };
    for (request, topology, part) in [
        (of_split(&[], &[]), &alone, "cannot be told from threads here"),
        (of_split(&["chat:rooms=2"], &[]), &topology, "{threads} in the command"),
        (of_split(&[], &["on", "one-per-core"]), &topology, "must be some of those of"),
        (of_split(&[], &["cpus:0"]), &topology, "takes two arms"),
        (of_split(&[], &["boot:a", "boot:b"]), &topology, "must be some of those of"),
    ] {
        let error =
            planning::draw(&same(request), "scripted", topology).expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    let of_cpus = same(of_split(&[], &["few=cpus:0", "many=cpus:0-1"]));
    let plan = planning::draw(&of_cpus, "scripted", &alone).expect("plan");
    assert_eq!(plan.comparison, Comparison::None);
    assert!(plan.warnings.iter().any(|warning| warning.kind == "no-siblings"));
}

#[test]
fn siblings_and_threads_are_separated_on_a_machine_whose_gains_are_known() {
    let rows = ["dbench:clients={threads}"];
    let machine = Described {
        name: "test".to_owned(),
        topology: Topology::regular(1, 4, 2),
        policies: ["fair", "core-queue"].map(str::to_owned).into(),
        is_articles: false,
    };
    let drawn = |arms: &[&str]| {
        let simulation = Simulation {
            title: "a machine to test with".to_owned(),
            is_articles: false,
            preset: None,
            fit: None,
            fitted_rows: [].into(),
        };
        simulated_machine::planning::draw(&of_split(&rows, arms), &machine, simulation, &AllModels)
    };
    let plan = drawn(&[]).expect("plan");
    let labels: Vec<&str> = plan.arms.iter().map(|arm| &*arm.label).collect();
    assert_eq!(labels, ["off@fair/4", "off@fair/8", "on@fair/4", "on@fair/8"]);
    // Each client more than four gains a hundredth; siblings a quarter, whatever the clients.
    let models: Arc<Models> = Arc::new(|job: &Job, arm: &PlanArm| {
        let Work::Builtin { params, .. } = &job.work else { panic!("{job:?}") };
        let clients = params["clients"].as_int().expect("a number") as f64;
        let gain = if arm.smt == Some(true) { 1.25 } else { 1.0 };
        Outcome {
            schema: SCHEMA,
            value: Some(gain * (1.0 + 0.01 * (clients - 4.0))),
            failure: None,
            ..Outcome::failed("", "", Better::Higher)
        }
    });
    let mut simulated = Simulated::new(machine.clone(), Facts::new(), models);
    let setup = Setup {
        plan: &plan,
        readings: Vec::new(),
        environment: Environment::default(),
        run_as: None,
        boot: None,
        stop: Stop::default(),
    };
    let done = engine::run(setup, &mut simulated, &mut Listeners(Vec::new())).expect("study");
    let summary = coretwin_stats::study::analyse(&plan, &done.readings, done.stopped);
    let found: Vec<(Part, f64)> =
        summary.split.iter().map(|one| (one.part, one.effect.ratio.expect("ratio"))).collect();
    for (part, wanted) in [
        (Part::Together, 1.3),
        (Part::Threads, 1.04),
        (Part::SiblingsMore, 1.25),
        (Part::Siblings, 1.25),
        (Part::Interaction, 1.0),
    ] {
        let (_, ratio) = found.iter().find(|(one, _)| *one == part).expect("the part");
        assert!((ratio / wanted - 1.0).abs() < 1e-9, "{part:?} {ratio}");
    }
    assert!(summary.split.iter().all(|one| one.effect.verdict.is_none()), "it is predicted");
    let two = drawn(&["off@fair", "on@core-queue"]);
    assert!(two.expect_err("two").to_string().contains("under the same scheduler"));
}
