//! Plans of the experiment, drawn and run on a scripted machine.

use super::*;
use crate::engine::{self, Setup};
use crate::event::Listeners;
use crate::scripted::{Scripted, ScriptedMachine};
use coretwin_base::account::cputime::{SpinnerKind, metric};
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::plan::Plan;
use coretwin_stats::cputime::summarise;

fn request(topology: &Topology) -> Request {
    let pair = pair::choose(topology, None, &[]).expect("pair");
    Request {
        work: CommandSpec::plain(vec!["true".to_owned()], 60.0),
        about: "true".to_owned(),
        repeat: 1,
        data_bytes: None,
        spinner: Spinner { kind: SpinnerKind::Native, argv: Vec::new() },
        spinners: vec![0, 1, 4],
        control: pair::control(topology, &pair, &[]),
        pair,
        seed: 1,
        blocks: None,
        budget_s: 300.0,
        steal_share_max: 0.05,
        others_share_max: 0.05,
        commands: Vec::new(),
        objective: Objective::Sum,
        cores: None,
        rulers: false,
    }
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.rows.iter().map(|row| row.id.as_str()).collect()
}

fn run(
    plan: &Plan,
    topology: Topology,
    steps: impl FnMut(&Job, u64) -> Scripted + 'static,
) -> engine::Finished {
    let mut machine = ScriptedMachine::new(topology, Box::new(steps));
    let setup = Setup {
        plan,
        readings: Vec::new(),
        environment: Environment::default(),
        run_as: None,
        boot: None,
        stop: Stop::default(),
    };
    engine::run(setup, &mut machine, &mut Listeners(Vec::new())).expect("run")
}

#[test]
fn every_placement_has_its_conditions_and_its_spinner_alone() {
    let smt = Topology::regular(1, 2, 2);
    let plan = draw(&request(&smt), &[1.0], &smt).expect("plan");
    assert_eq!(
        names(&plan),
        [
            "alone",
            "siblings/1",
            "siblings/4",
            "same-cpu/1",
            "same-cpu/4",
            "free/1",
            "free/4",
            "cores/1",
            "cores/4",
            "spinner@1",
            "spinner@0",
            "spinner@0-1",
            "spinner@2",
        ]
    );
    assert_eq!(plan.arms[0].cpus.to_string(), "0-2");
    plan.check().expect("a plan that readers accept");
    let two = Topology::regular(1, 2, 1);
    let plan = draw(&request(&two), &[1.0], &two).expect("plan");
    assert!(names(&plan).iter().all(|name| !name.starts_with("siblings")), "{:?}", names(&plan));
    assert!(names(&plan).contains(&"cores/4") && names(&plan).contains(&"same-cpu/1"));
}

#[test]
fn a_budget_too_small_for_any_figure_says_what_would_do() {
    let smt = Topology::regular(1, 2, 2);
    let request = Request { budget_s: 60.0, ..request(&smt) };
    let error = draw(&request, &[10.0], &smt).expect_err("too small").to_string();
    assert!(error.contains("--budget") && error.contains("--spinners"), "{error}");
    assert!(!error.contains("--quick"), "cputime has no such option: {error}");
    let request = Request { blocks: Some(2), ..request };
    assert!(draw(&request, &[10.0], &smt).expect("blocks know no budget").rules.budget_s.is_none());
}

#[test]
fn a_short_budget_ends_with_the_blocks_it_has() {
    let smt = Topology::regular(1, 2, 2);
    let plan = |budget_s| draw(&Request { budget_s, ..request(&smt) }, &[1.0], &smt).expect("plan");
    // A block takes 13 s of the 30: with the second, half the third, and no figure of that.
    for (budget_s, blocks) in [(30.0, 2), (25.0, 1)] {
        let plan = plan(budget_s);
        assert_eq!(plan.rules.looks, [1, BLOCKS]);
        let finished = run(&plan, smt.clone(), |_, _| Scripted::ok(1.0, 1.0));
        assert_eq!(finished.stopped, coretwin_base::study::summary::StoppedBecause::Budget);
        let summary = summarise(&plan, &finished.readings, finished.stopped).expect("cputime");
        assert_eq!(summary.blocks, blocks, "{budget_s} s");
        let sibling = &summary.conditions[1];
        assert_eq!(sibling.slowdown, Some(1.0));
        assert_eq!(sibling.low.is_some(), blocks > 1);
    }
}

#[test]
fn the_default_work_is_as_long_as_the_budget_lets_it_be() {
    let smt = Topology::regular(1, 2, 2);
    let work_s = |budget_s| work_s(&Request { budget_s, ..request(&smt) }, 1.0);
    assert_eq!(work_s(300.0), 1.0);
    assert_eq!(work_s(1.0), 0.2);
    let minute = work_s(55.0);
    assert!((0.25..1.0).contains(&minute), "{minute}");
    let plan = draw(&Request { budget_s: 55.0, ..request(&smt) }, &[minute], &smt).expect("plan");
    assert_eq!(plan.rules.looks[0], BLOCKS_MIN);
}

#[test]
fn a_busy_machine_is_told_in_a_sentence() {
    let smt = Topology::regular(1, 2, 2);
    let plan = draw(&request(&smt), &[1.0], &smt).expect("plan");
    let finished = run(&plan, smt, |job, _| Scripted {
        others_s: 0.7 * job.cpus.len() as f64,
        ..Scripted::ok(1.0, 1.0)
    });
    assert_eq!(finished.stopped, coretwin_base::study::summary::StoppedBecause::Busy);
    let summary = summarise(&plan, &finished.readings, finished.stopped).expect("cputime");
    let said = summary.too_busy.expect("a sentence");
    assert!(said.starts_with("This machine is too busy to say: "), "{said}");
    assert!(said.ends_with("because others used 70 % of the CPUs."), "{said}");
}

#[test]
fn short_work_is_to_be_repeated() {
    let smt = Topology::regular(1, 2, 2);
    let error = check_length(&request(&smt), 0.004).expect_err("short").to_string();
    assert!(error.contains("4.0 ms") && error.contains("--repeat 250"), "{error}");
    check_length(&request(&smt), 0.2).expect("long enough");
}

/// A core on which the work takes 1.5 times as long beside a busy sibling and the spinner makes
/// two thirds of its steps; a CPU is shared evenly.
fn beside(job: &Job) -> (f64, Vec<f64>) {
    let Work::Beside(beside) = &job.work else { panic!("{:?}", job.work) };
    let spinners = beside.spinners as usize;
    if beside.work.is_none() {
        return (300.0, vec![300.0]);
    }
    let same = beside.work_cpus == beside.spinner_cpus;
    let control = beside.spinner_cpus.to_string() == "2";
    match spinners {
        0 => (1.0, Vec::new()),
        count if same && beside.work_cpus.len() == 1 => {
            (count as f64 + 1.0, vec![300.0 / (count as f64 + 1.0); count])
        }
        count if control => (1.0, vec![300.0 / count as f64; count]),
        count => (1.5, vec![200.0 / count as f64; count]),
    }
}

#[test]
fn the_engine_runs_it_and_both_sides_come_out() {
    let smt = Topology::regular(1, 2, 2);
    let plan = draw(&request(&smt), &[1.0], &smt).expect("plan");
    let mut finished = run(&plan, smt, |job, run| {
        // Noise of a percent, the same for no two runs.
        Scripted::ok(beside(job).0 * (1.0 + 0.01 * ((run * 7) % 11) as f64 / 11.0), 1.0)
    });
    assert_eq!(finished.readings.len(), 13 * 8, "eight blocks of every condition");
    for reading in &mut finished.readings {
        let condition = plan.cputime.as_ref().and_then(|e| e.condition(&reading.row)).expect("row");
        let job = Job {
            work: work(
                &plan,
                plan.rows.iter().find(|row| row.id == condition.name).expect("its row"),
                plan.command.as_ref().expect("work"),
            )
            .expect("a condition"),
            ..job_of(&plan)
        };
        let number = |value: f64| coretwin_base::study::reading::Metric {
            value,
            unit: String::new(),
            better: Better::Higher,
        };
        let rates = (0..).map(metric::spinner_rate).zip(beside(&job).1.into_iter().map(number));
        let times = [
            (metric::WORK_USER.to_owned(), number(0.9)),
            (metric::WORK_SYSTEM.to_owned(), number(0.1)),
        ];
        reading.metrics = std::sync::Arc::new(rates.chain(times).collect());
    }
    let summary = summarise(&plan, &finished.readings, finished.stopped).expect("summary");
    let found = |name: &str| summary.conditions.iter().find(|c| c.name == name).expect("condition");
    let sibling = found("siblings/1");
    let near = |value: Option<f64>, expected: f64| {
        value.is_some_and(|value| (value / expected - 1.0).abs() < 0.02)
    };
    assert!(
        near(sibling.slowdown, 1.5)
            && sibling.low < sibling.slowdown
            && sibling.slowdown < sibling.high
    );
    assert!(near(sibling.spinner_slowdown.map(|e| e.value), 1.5));
    assert!(near(sibling.stp.map(|e| e.value), 2.0 / 1.5), "{sibling:?}");
    assert!(near(sibling.antt.map(|e| e.value), 1.5));
    assert!(
        near(found("same-cpu/4").slowdown, 5.0)
            && near(found("same-cpu/4").stp.map(|e| e.value), 1.0)
    );
    assert!(near(found("siblings/4").stp.map(|e| e.value), 2.0 / 1.5), "four share one CPU");
    assert!(near(found("cores/1").slowdown, 1.0));
    let factors = summary.factors.expect("siblings have factors");
    assert!(
        (factors.slowdown.value - 1.0).abs() < 1e-9,
        "by CPU time, which was scripted the same"
    );
}

fn job_of(plan: &Plan) -> Job {
    let work = Work::Command(CommandSpec::plain(Vec::new(), 1.0));
    Job::plain(work, String::new(), plan.arms[0].cpus.clone(), 1.0)
}

#[test]
fn a_disturbed_block_is_run_again_and_two_cores_have_no_factors() {
    let two = Topology::regular(1, 2, 1);
    let plan = draw(&request(&two), &[1.0], &two).expect("plan");
    let finished = run(&plan, two, |job, run| {
        let others_s = if run == 3 { 2.0 } else { 0.0 };
        Scripted { others_s, ..Scripted::ok(beside(job).0, 1.0) }
    });
    let summary = summarise(&plan, &finished.readings, finished.stopped).expect("summary");
    assert_eq!((summary.blocks, summary.blocks_set_aside), (8, 1));
    assert_eq!(summary.factors, None);
    assert!(summary.meaning[0].contains("nothing below is a statement about SMT"));
}

#[test]
fn a_failed_condition_leaves_the_others() {
    let smt = Topology::regular(1, 2, 2);
    let plan = draw(&request(&smt), &[1.0], &smt).expect("plan");
    let finished = run(&plan, smt, |job, _| {
        let Work::Beside(beside) = &job.work else { panic!("{:?}", job.work) };
        let value = match beside.spinners {
            4 => Err("spinner 2 of 4 ended with status 3".to_owned()),
            _ => Ok(1.0),
        };
        Scripted { value, ..Scripted::ok(1.0, 1.0) }
    });
    let summary = summarise(&plan, &finished.readings, finished.stopped).expect("summary");
    for condition in &summary.conditions {
        let failed = condition.spinners == 4;
        assert_eq!(condition.failed, if failed { 8 } else { 0 }, "{}", condition.name);
        assert_eq!(condition.slowdown.is_none(), failed, "{}", condition.name);
        assert_eq!(condition.failure.is_some(), failed);
    }
}
