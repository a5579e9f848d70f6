//! Plans of suites, by every protocol and on several machines, and rows that not every arm can run.

mod support;

use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::topology::Topology;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::plan::{Plan, PlanRow, Protocol};
use coretwin_base::study::reading::Phase;
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_lab::request::{Counts, Request, Subject};
use coretwin_lab::scripted::{Scripted, ScriptedMachine};
use coretwin_lab::{Error, estimate, planning};
use coretwin_workloads::suites::SUITES;
use support::{machine, request, run, with_arms};

const PROTOCOLS: [Protocol; 4] =
    [Protocol::Modern, Protocol::Fixed, Protocol::Quick, Protocol::Article2003];

fn suite(name: &str, protocol: Protocol) -> Request {
    let spec = WorkloadSpec::parse(name).expect(name);
    Request {
        subject: Subject::Workloads(vec![spec]),
        protocol,
        blocks: (protocol == Protocol::Fixed).then_some(3),
        placements: Vec::new(),
        ..request(Counts::Default)
    }
}

fn drawn(request: &Request, topology: &Topology) -> Plan {
    let plan = planning::draw(request, "scripted", topology).expect("plan");
    plan.check().expect("a sound plan");
    plan
}

fn pipes(plan: &Plan) -> Vec<String> {
    let pipes = plan.rows.iter().filter(|row| row.workload == "lmbench/pipe-latency");
    pipes.map(|row| format!("{} [{}]", row.placement, row.arms.join(" "))).collect()
}

#[test]
fn every_suite_can_be_planned_on_every_machine_by_every_protocol() {
    // Packages, cores of each, threads of each core.
    for (packages, cores, threads) in [(1, 2, 1), (1, 2, 2), (2, 4, 2), (1, 8, 4)] {
        let topology = Topology::regular(packages, cores, threads);
        for known in SUITES {
            for protocol in PROTOCOLS {
                let plan = drawn(&suite(known.name, protocol), &topology);
                assert!(!plan.rows.is_empty(), "{}", known.name);
                assert!(estimate::foretold_s(&plan).is_some_and(|s| s > 0.0), "{}", known.name);
            }
        }
    }
}

#[test]
fn the_pipe_has_the_placements_that_the_arms_have() {
    let on = |packages, cores, threads| {
        let topology = Topology::regular(packages, cores, threads);
        pipes(&drawn(&suite("lmbench", Protocol::Modern), &topology))
    };
    // half of two CPUs is one
    assert_eq!(on(1, 2, 1), ["free []", "same-cpu []", "cores [cpus:0-1]"]);
    assert_eq!(on(1, 2, 2), ["free []", "same-cpu []", "siblings [on]", "cores []"]);
    assert_eq!(on(2, 4, 2), ["free []", "same-cpu []", "siblings [on]", "cores []", "packages []"]);
    let article = drawn(&suite("lmbench", Protocol::Article2003), &Topology::regular(2, 4, 2));
    assert_eq!(pipes(&article), ["free []"], "the article knew no placement");
}

#[test]
fn a_placement_asked_for_by_name_must_be_possible_everywhere() {
    let topology = Topology::regular(1, 2, 2);
    let asked =
        |placement| Request { placements: vec![placement], ..suite("lmbench", Protocol::Modern) };
    let plan = drawn(&asked(Placement::Cores), &topology);
    assert_eq!(pipes(&plan), ["cores []"]);
    assert_eq!(plan.rows.len(), 1, "other rows have one role");
    let error = planning::draw(&asked(Placement::Siblings), "scripted", &topology);
    let error = error.expect_err("one-per-core has no siblings").to_string();
    assert!(error.contains("lmbench/pipe-latency@siblings in arm one-per-core"), "{error}");
}

#[test]
fn boots_take_the_placements_that_any_machine_has() {
    let request = Request {
        arms: with_arms(&["boot:smt", "boot:nosmt"], Counts::Default).arms,
        ..suite("lmbench", Protocol::Modern)
    };
    let plan = drawn(&request, &Topology::regular(1, 2, 2));
    assert_eq!(pipes(&plan), ["free []", "same-cpu []"]);
}

#[test]
fn pairs_of_tasks_need_two_cpus_in_some_arm() {
    let one = Topology::regular(1, 2, 1);
    let request = Request {
        arms: with_arms(&["a=cpus:0", "b=cpus:1"], Counts::Default).arms,
        ..suite("kernel-2.4", Protocol::Modern)
    };
    match planning::draw(&request, "scripted", &one) {
        Err(Error::NotPossible(why)) => assert!(why.contains("two CPUs"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_screening_leaves_out_slow_rows_by_name_and_says_so() {
    let topology = Topology::regular(1, 2, 1);
    let quick = drawn(&suite("article", Protocol::Quick), &topology);
    let usual = drawn(&suite("article", Protocol::Modern), &topology);
    let ids = |plan: &Plan| -> Vec<String> { plan.rows.iter().map(|row| row.id.clone()).collect() };
    let slow = |id: &String| id.starts_with("aim9/sync_disk_");
    let kept: Vec<String> = ids(&usual).into_iter().filter(|id| !slow(id)).collect();
    assert_eq!(ids(&quick), kept, "the same rows under the same names");
    assert_eq!(usual.rows.len(), quick.rows.len() + 3);
    let warning = quick.warnings.iter().find(|warning| warning.kind == "left-out").expect("said");
    for name in ["aim9/sync_disk_rw", "aim9/sync_disk_wrt", "aim9/sync_disk_cp"] {
        assert!(warning.text.contains(name) && warning.remedy.contains(name), "{warning:?}");
    }
    assert!(usual.warnings.iter().all(|warning| warning.kind != "left-out"));
    // Asked for by name it is run.
    let by_name = drawn(&suite("aim9/sync_disk_rw", Protocol::Quick), &topology);
    assert_eq!(by_name.rows.len(), 1);
}

#[test]
fn samples_of_a_screening_last_a_fifth_of_a_second_and_all_of_it_a_quarter_of_an_hour() {
    let plan = drawn(&suite("article", Protocol::Quick), &Topology::regular(1, 2, 1));
    let number = |row: &PlanRow, name: &str| -> Option<f64> {
        row.params.get(name).and_then(|value| value.to_string().parse().ok())
    };
    for row in &plan.rows {
        let seconds = match row.family.as_str() {
            "lmbench" => number(row, "sample"),
            "chat" => continue,
            _ => number(row, "seconds"),
        };
        assert!(seconds.is_some_and(|seconds| seconds >= 0.2), "{}", row.id);
    }
    let foretold_s = estimate::foretold_s(&plan).expect("an estimate");
    assert!((60.0..900.0).contains(&foretold_s), "{foretold_s}");
    assert_eq!((plan.blocks_max(), plan.rules.retries_max), (3, 0));
}

/// A pipe of which `cores` is in the second arm alone; the second arm is a tenth faster.
fn pipe_machine() -> ScriptedMachine {
    let script = Box::new(|job: &coretwin_base::study::job::Job, _| {
        let two = job.roles.len() == 2 && job.roles[0] != job.roles[1];
        let base = if two { 30.0 } else { 2.0 };
        Scripted::ok(if job.cpus.len() == 2 { base / 1.1 } else { base }, 0.5)
    });
    ScriptedMachine::new(Topology::regular(1, 2, 1), script)
}

fn pipe_plan(protocol: Protocol) -> Plan {
    let mut plan = drawn(&suite("lmbench", protocol), &Topology::regular(1, 2, 1));
    plan.rows.retain(|row| row.workload == "lmbench/pipe-latency");
    plan
}

#[test]
fn a_row_that_one_arm_cannot_run_is_measured_in_the_other() {
    let plan = pipe_plan(Protocol::Quick);
    let finished = run(&plan, Vec::new(), &mut pipe_machine()).expect("study");
    assert_eq!(finished.stopped, StoppedBecause::Blocks);
    let study = finished.readings.iter().filter(|reading| reading.phase == Phase::Study);
    assert_eq!(study.count(), 3 * (2 + 3));
    let summary: Summary =
        coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    assert_eq!(summary.blocks, 3, "blocks are whole without the cell that is not run");
    assert!(summary.warnings.iter().all(|warning| warning.kind != "failed"));
    let row = |id: &str| summary.rows.iter().find(|row| row.row == id).expect("row");
    let free = row("lmbench/pipe-latency");
    assert!((free.ratio.expect("ratio") - 1.1).abs() < 1e-9);
    let cores = row("lmbench/pipe-latency@cores");
    assert_eq!((cores.value_reference, cores.ratio, cores.failed), (None, None, 0));
    assert!((cores.value_arm.expect("value") - 30.0 / 1.1).abs() < 1e-9);
    // Suites are made of what can be compared.
    assert_eq!(summary.suites[0].rows, 2);
}

#[test]
fn such_a_study_is_resumed_where_it_was_broken_off() {
    let plan = pipe_plan(Protocol::Quick);
    let whole = run(&plan, Vec::new(), &mut pipe_machine()).expect("study").readings.len() as u64;
    for stop_before in 0..whole {
        let mut first = pipe_machine();
        first.stop_before_run = Some(stop_before);
        let broken = run(&plan, Vec::new(), &mut first).expect("stopped");
        let finished = run(&plan, broken.readings, &mut pipe_machine()).expect("resumed");
        let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
        assert_eq!(summary.blocks, 3, "stopped before run {stop_before}");
    }
}

#[test]
fn runs_of_lmbench_that_lie_apart_have_not_converged() {
    let study = |wobble: f64| {
        let plan = pipe_plan(Protocol::Article2003);
        let mut machine = machine(Box::new(move |_, run| {
            Scripted::ok(10.0 * (1.0 + wobble * (run % 3) as f64), 0.1)
        }));
        let finished = run(&plan, Vec::new(), &mut machine).expect("study");
        assert_eq!(finished.readings.len(), 2 * 3, "three runs in either arm");
        coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped).warnings
    };
    let said = |wobble| study(wobble).iter().any(|warning| warning.kind == "convergence");
    assert!(!said(0.005) && said(0.02));
}
