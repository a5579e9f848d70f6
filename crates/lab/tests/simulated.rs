//! A study on a simulated machine, with models of a few lines: arms, rows, seeds, resumption, and that
//! neither CPUs nor interruptions change a reading.

mod support;

use coretwin_base::machine::environment::{Environment, Facts};
use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::topology::Topology;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::random::Stream;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::Simulation;
use coretwin_base::study::job::{Job, Outcome, Work};
use coretwin_base::study::plan::{Comparison, Plan, PlanArm, Protocol};
use coretwin_base::study::reading::{Better, Reading};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_lab::Error;
use coretwin_lab::engine::{self, Finished, Setup};
use coretwin_lab::event::{Event, Listener};
use coretwin_lab::machine::Stop;
use coretwin_lab::request::{Request, Subject};
use coretwin_lab::simulated_machine::planning::{self, Known};
use coretwin_lab::simulated_machine::{Described, Models, Simulated};
use std::sync::Arc;
use support::with_arms;

/// The article's machine: one core, two threads.
fn xeon() -> Described {
    Described {
        name: "test-xeon".to_owned(),
        topology: Topology::regular(1, 1, 2),
        policies: ["linux-2.4.19", "linux-2.5.32"].map(str::to_owned).into(),
        is_articles: true,
    }
}

/// A machine of today.
fn server(packages: u32, cores: u32, threads: u32) -> Described {
    Described {
        topology: Topology::regular(packages, cores, threads),
        policies: ["fair", "one-per-core", "core-queue"].map(str::to_owned).into(),
        is_articles: false,
        ..xeon()
    }
}

fn asked(rows: &[&str], arms: &[&str]) -> Request {
    let specs = rows.iter().map(|row| WorkloadSpec::parse(row).expect("row")).collect();
    let request = with_arms(arms, coretwin_lab::request::Counts::Default);
    Request { subject: Subject::Workloads(specs), placements: Vec::new(), ..request }
}

fn drawn(request: &Request, machine: &Described) -> Result<Plan, Error> {
    let simulation = Simulation {
        title: "a Xeon to test with".to_owned(),
        is_articles: machine.is_articles,
        preset: None,
        fit: None,
        fitted_rows: [].into(),
    };
    planning::draw(request, machine, simulation, &FewModels)
}

/// No model of rows that wait for a disk; the service time of one row is fitted.
struct FewModels;

impl Known for FewModels {
    fn has_model(&self, workload: &str) -> Result<(), String> {
        match workload.starts_with("aim9/sync_") {
            true => Err("it waits for one disk".to_owned()),
            false => Ok(()),
        }
    }

    fn fitted(&self, workload: &str) -> Option<String> {
        (workload == "lmbench/simple-syscall").then(|| "its time".to_owned())
    }
}

/// Rooms cost; siblings bring a quarter; a seed moves it all by up to a percent.
fn models() -> Arc<Models> {
    Arc::new(|job: &Job, arm: &PlanArm| {
        let Work::Builtin { workload, params } = &job.work else {
            return Outcome::failed("s", "not a workload", Better::Lower);
        };
        let luck = Stream::new(job.seed, "luck", 0).unit();
        let size = params.get("rooms").and_then(|rooms| rooms.as_int()).unwrap_or(1) as f64;
        let gain = if arm.smt == Some(true) { 1.25 } else { 1.0 };
        Outcome {
            schema: SCHEMA,
            value: Some(1e5 / size * gain * (1.0 + 0.01 * luck)),
            unit: workload.clone(),
            elapsed_s: size,
            cpus_ran: job.cpus.clone(),
            cpus_allowed: job.cpus.clone(),
            failure: None,
            ..Outcome::failed("", "", Better::Higher)
        }
    })
}

/// Raises a stop after so many readings.
struct After(usize, Stop);

impl Listener for After {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if matches!(event, Event::ReadingTaken(_)) {
            self.0 = self.0.saturating_sub(1);
            if self.0 == 0 {
                self.1.raise();
            }
        }
        Ok(())
    }
}

fn studied(plan: &Plan, machine: &Described, before: Vec<Reading>, after: usize) -> Finished {
    let stop = Stop::default();
    let setup = Setup {
        plan,
        readings: before,
        environment: Environment::default(),
        run_as: None,
        boot: None,
        stop: stop.clone(),
    };
    let mut machine = Simulated::new(machine.clone(), Facts::new(), models());
    engine::run(setup, &mut machine, &mut After(after, stop)).expect("study")
}

const ALL: usize = usize::MAX;

#[test]
fn the_articles_machine_has_its_kernels_sizes_and_tables() {
    let plan = drawn(&asked(&["article"], &[]), &xeon()).expect("plan");
    let arms: Vec<&str> = plan.arms.iter().map(|arm| arm.label.as_str()).collect();
    assert_eq!(
        arms,
        ["off@linux-2.4.19", "on@linux-2.4.19", "off@linux-2.5.32", "on@linux-2.5.32"]
    );
    let cpus: Vec<usize> = plan.arms.iter().map(|arm| arm.cpus.len()).collect();
    assert_eq!((cpus.as_slice(), plan.comparison), (&[1, 2, 1, 2][..], Comparison::Smt));
    let sizes = |family: &str| plan.rows.iter().filter(|row| row.family == family).count();
    assert_eq!(["lmbench", "aim9", "chat", "dbench", "tbench"].map(sizes), [14, 56, 4, 5, 5]);
    // Tables 1 and 2 are of the older kernel.
    for row in &plan.rows {
        let older = ["lmbench", "aim9"].contains(&row.family.as_str());
        assert!(row.runs_in("on@linux-2.4.19"), "{}", row.id);
        assert_eq!(row.runs_in("on@linux-2.5.32"), !older, "{}", row.id);
    }
    // What has no model is left out, and said so with the reason.
    let left_out = plan.warnings.iter().find(|warning| warning.kind == "left-out").expect("said");
    assert!(left_out.text.contains("aim9/sync_disk_rw (it waits for one disk)"), "{left_out:?}");
    let fitted = plan.simulation.as_ref().map(|simulation| simulation.fitted_rows.clone());
    assert_eq!(fitted, Some([("lmbench/simple-syscall".to_owned(), "its time".to_owned())].into()));
    // There is nothing to switch, to warm or to wait for.
    assert!(!plan.switches_smt() && !plan.rules.warmup && plan.rules.budget_s.is_none());
    assert_eq!((plan.rules.settle_s, plan.check()), (0.0, Ok(())));
}

#[test]
fn todays_machines_have_one_arm_without_siblings_and_one_for_each_policy() {
    let labels = |machine: &Described| -> Vec<String> {
        let plan = drawn(&asked(&["chat:rooms=2"], &[]), machine).expect("plan");
        plan.arms.into_iter().map(|arm| arm.label).collect()
    };
    let with_siblings = ["off@fair", "on@fair", "on@one-per-core", "on@core-queue"];
    assert_eq!(labels(&server(2, 4, 2)), with_siblings);
    assert_eq!(labels(&server(1, 2, 1)), ["on@fair", "on@one-per-core", "on@core-queue"]);
    let request = asked(&["chat:rooms=2"], &["on", "q=on@core-queue[slice_us=500]"]);
    let plan = drawn(&request, &server(2, 96, 2)).expect("plan");
    let schedulers: Vec<&str> = plan.arms.iter().map(|arm| arm.scheduler.as_str()).collect();
    assert_eq!(schedulers, ["fair", "core-queue[slice_us=500]"]);
    assert_eq!((plan.arms[0].cpus.len(), plan.comparison), (384, Comparison::None));
}

#[test]
fn what_a_simulated_machine_cannot_have_is_refused_with_what_it_can() {
    let refused = |rows: &[&str], arms: &[&str], machine: &Described| {
        drawn(&asked(rows, arms), machine).map(|plan| plan.arms).expect_err("refused").to_string()
    };
    let chat = &["chat:rooms=2"];
    for (arms, part) in [
        (&["off@linux-2.4.18"][..], "did you mean 'linux-2.4.19'"),
        (&["on@core-queue[slice=5]"], "slice"),
        (&["one-per-core"], "on@one-per-core"),
        (&["packed", "on"], "on@POLICY or off@POLICY"),
        (&["cpus:0", "on"], "on@POLICY or off@POLICY"),
        (&["boot:nosmt", "on"], "on@POLICY or off@POLICY"),
        (&["on@fair", "on@fair"], "two arms are called 'on@fair'"),
        (&["on@fair"], "one arm only"),
    ] {
        let error = refused(chat, arms, &xeon());
        assert!(error.contains(part), "{arms:?}: {error}");
    }
    let error = refused(chat, &["off", "on"], &server(1, 1, 1));
    assert!(error.contains("no siblings"), "{error}");
    let error = refused(&["aim9/sync_disk_rw"], &[], &xeon());
    assert!(error.contains("no model: it waits for one disk"), "{error}");
    let placed = Request { placements: vec![Placement::SameCpu], ..asked(chat, &[]) };
    assert!(drawn(&placed, &xeon()).expect_err("placed").to_string().contains("--placement"));
    let command = with_arms(&[], coretwin_lab::request::Counts::Default);
    assert!(drawn(&command, &xeon()).expect_err("command").to_string().contains("not commands"));
}

#[test]
fn equal_seeds_give_equal_readings_and_other_seeds_others() {
    let request = asked(&["chat"], &["off@linux-2.4.19", "on@linux-2.5.32"]);
    let plan = drawn(&request, &xeon()).expect("plan");
    let first = studied(&plan, &xeon(), Vec::new(), ALL);
    assert_eq!((first.readings.len(), first.stopped), (3 * 2 * 4, StoppedBecause::Blocks));
    assert_eq!(first.readings, studied(&plan, &xeon(), Vec::new(), ALL).readings);
    let other = drawn(&Request { seed: 8, ..request }, &xeon()).expect("plan");
    assert_ne!(first.readings, studied(&other, &xeon(), Vec::new(), ALL).readings);
    // Within a block arms share their luck, so that the effect is that of the arms alone.
    let value = |arm: &str, block: u32, row: &str| {
        let mut readings = first.readings.iter();
        let found = readings.find(|one| &*one.arm == arm && one.block == block && &*one.row == row);
        found.and_then(|reading| reading.value).expect("value")
    };
    for block in 0..3 {
        let [off, on] =
            ["off@linux-2.4.19", "on@linux-2.5.32"].map(|arm| value(arm, block, "chat:rooms=20"));
        assert!((on / off - 1.25).abs() < 1e-12, "{off} {on}");
    }
    let [a, b] = [0, 1].map(|block| value("off@linux-2.4.19", block, "chat:rooms=20"));
    assert!(a != b, "blocks differ in luck");
}

#[test]
fn a_study_that_is_broken_off_ends_as_if_it_had_not_been() {
    let machine = xeon();
    let plan = drawn(&asked(&["chat"], &[]), &machine).expect("plan");
    let whole = studied(&plan, &machine, Vec::new(), ALL);
    for after in [1, 5, 16, 17, 40] {
        let broken = studied(&plan, &machine, Vec::new(), after);
        assert_eq!((broken.stopped, broken.readings.len()), (StoppedBecause::Interrupted, after));
        let resumed = studied(&plan, &machine, broken.readings, ALL);
        let analysed = |finished: &Finished| {
            coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped).rows
        };
        assert_eq!(analysed(&resumed), analysed(&whole), "after {after}");
    }
}

#[test]
fn the_protocol_of_2003_runs_as_often_as_the_article_did() {
    let request = asked(&["chat", "lmbench/pipe-latency"], &[]);
    let request = Request { protocol: Protocol::Article2003, ..request };
    let plan = drawn(&request, &server(1, 1, 2)).expect("plan");
    let finished = studied(&plan, &server(1, 1, 2), Vec::new(), ALL);
    assert_eq!(finished.readings.len(), plan.arms.len() * (4 * 5 + 3));
}
