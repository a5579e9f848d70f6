//! Load curves on a scripted machine: queues whose capacity is a formula, on a clock of their own.

#![expect(clippy::print_stdout, reason = "what was found beside the formula is printed")]

mod support;

use coretwin_base::machine::topology::Topology;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::random::Stream;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::job::{Job, Work};
use coretwin_base::study::latency::Latency;
use coretwin_base::study::load::{Objective, RATE, Rate};
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading};
use coretwin_base::study::summary::{StoppedBecause, Verdict};
use coretwin_lab::planning;
use coretwin_lab::request::{Counts, LoadRequest, Request, Subject};
use coretwin_lab::scripted::{Script, Scripted};
use std::collections::{BTreeMap, BTreeSet};
use support::{machine, request, run};

/// Requests a second that each arm carries.
const CARRIES: [(&str, f64); 2] = [("one-per-core", 2_000.0), ("on", 2_540.0)];
const SPARE: f64 = 460.517_018_598_809_1;

fn asked(rates: &str, slo: Option<&str>) -> Request {
    let mut asked = request(Counts::Default);
    if let Subject::Command { spec, .. } = &mut asked.subject {
        spec.argv = vec!["gen".to_owned(), "{rate}".to_owned()];
        spec.load = Some(Box::default());
    }
    asked.target = 0.02;
    asked.load = Some(LoadRequest {
        rates: Rate::curve(rates).expect("rates"),
        slo: slo.map(|slo| Objective::parse(slo).expect("an objective")),
    });
    asked
}

fn plan(asked: &Request) -> Plan {
    planning::draw(asked, "host", &Topology::regular(1, 2, 2)).expect("plan")
}

fn spec(job: &Job) -> &CommandSpec {
    match &job.work {
        Work::Command(spec) => spec,
        _ => panic!("a command"),
    }
}

/// M/M/1 under the rate of each job, with noise that the job alone decides.
fn queue(job: &Job) -> Scripted {
    let rate = spec(job).load.as_ref().and_then(|load| load.rate).expect("a rate");
    assert_eq!(spec(job).argv, ["gen".to_owned(), rate.to_string()]);
    let stream = &mut Stream::new(job.seed, &job.arm, 0);
    let mut noise = |size: f64| 1.0 + size * (stream.unit() - 0.5);
    let most = CARRIES.iter().find(|(arm, _)| *arm == job.arm).expect("an arm").1 * noise(0.01);
    let spare = most - rate;
    let (carried, p99_s) =
        if spare > 1.0 { (rate, 100f64.ln() / spare) } else { (most, 10.0 * (1.0 - most / rate)) };
    let latency = Latency {
        offered_per_s: Some(rate),
        sent: (rate * 10.0) as u64,
        completed: (carried * 10.0) as u64,
        duration_s: 10.0,
        throughput_per_s: carried,
        mean_s: Some(p99_s / 100f64.ln()),
        p99_s: Some(p99_s.max(1e-4) * noise(0.05)),
        ..Latency::default()
    };
    let value = latency.mean_s.unwrap_or_default() * 1e6;
    Scripted { latency: Some(latency), ..Scripted::ok(value.max(1.0), 10.0) }
}

fn script() -> Script {
    Box::new(|job, _| queue(job))
}

/// Phase, block, arm and row.
type Cell = (Phase, u32, String, String);

/// The last attempt at each cell, with all that was read.
fn cells(readings: &[Reading]) -> BTreeMap<Cell, (Option<f64>, String)> {
    let cell = |reading: &Reading| {
        let key = (reading.phase, reading.block, reading.arm.to_string(), reading.row.to_string());
        (key, (reading.value, format!("{:?} {:?}", reading.params, reading.latency)))
    };
    readings.iter().map(cell).collect()
}

#[test]
fn rates_are_shares_of_what_the_reference_carries_in_every_arm_and_the_capacity_is_the_formulas() {
    let plan = plan(&asked("30%..130%:6", Some("p99=10ms")));
    let mut machine = machine(script());
    let finished = run(&plan, Vec::new(), &mut machine).expect("study");
    assert_eq!(finished.stopped, StoppedBecause::Target);
    let screened =
        finished.readings.iter().filter(|reading| reading.phase == Phase::Screen).count();
    // 100, 400, 1600, 6400 and two more beyond, in both arms.
    assert_eq!(screened, 12);
    let mut rates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for reading in finished.readings.iter().filter(|reading| reading.phase == Phase::Study) {
        rates.entry(reading.row.to_string()).or_default().insert(reading.params[RATE].to_string());
    }
    assert!(
        rates.values().all(|rates| rates.len() == 1),
        "one rate in every arm and block: {rates:?}"
    );
    let half: f64 = rates["command:rate=50%"].first().expect("a rate").parse().expect("a number");
    assert!((half / 1_000.0 - 1.0).abs() < 0.01, "{half}");
    let orders: BTreeSet<Vec<String>> = finished
        .readings
        .chunk_by(|a, b| a.switch == b.switch)
        .filter(|visit| visit[0].phase == Phase::Study)
        .map(|visit| visit.iter().map(|reading| reading.row.to_string()).collect())
        .collect();
    assert!(orders.len() > 8, "rates come in random order");
    let summary = coretwin_stats::study::analyse(&plan, &finished.readings, finished.stopped);
    for (arm, carries) in CARRIES {
        let found = summary.load.iter().find(|found| found.arm == arm).expect("a capacity");
        let rate = found.rate.expect("a rate");
        println!("{arm}: {rate:.1} a second, by the formula {:.1}", carries - SPARE);
        assert!((rate / (carries - SPARE) - 1.0).abs() < 0.02, "{arm}: {rate}");
        assert_eq!(found.verdict, (arm == "on").then_some(Verdict::Helps));
    }
    let used = |row: &str| {
        let curve = summary.curve.as_ref().expect("a curve");
        let point = curve.points.iter().find(|point| point.arm == "on" && point.row == row);
        point.and_then(|point| point.capacity_used).expect("a share").value
    };
    assert!((used("command:rate=50%") - 1_000.0 / 2_540.0).abs() < 0.01);
}

#[test]
fn a_load_curve_stopped_anywhere_goes_on_to_the_same_study() {
    let mut asked = asked("50%,90%", Some("p99=10ms"));
    (asked.blocks, asked.protocol) = (Some(2), coretwin_base::study::plan::Protocol::Fixed);
    let plan = plan(&asked);
    let whole = run(&plan, Vec::new(), &mut machine(script())).expect("study").readings;
    for stop_before in 0..whole.len() {
        let mut first = machine(script());
        first.stop_before_run = Some(stop_before as u64);
        let broken = run(&plan, Vec::new(), &mut first).expect("stopped");
        assert_eq!(broken.stopped, StoppedBecause::Interrupted);
        assert_eq!(broken.readings[..], whole[..stop_before], "nothing taken is lost");
        let resumed = run(&plan, broken.readings, &mut machine(script())).expect("resumed");
        assert_eq!(cells(&resumed.readings), cells(&whole), "stopped before run {stop_before}");
    }
}

#[test]
fn what_the_reference_carries_must_be_found() {
    let plan_of = plan(&asked("10%..90%", None));
    let fails: Script = Box::new(|_, _| Scripted {
        value: Err("connection refused".to_owned()),
        ..Scripted::ok(1.0, 1.0)
    });
    let why =
        run(&plan_of, Vec::new(), &mut machine(fails)).expect_err("nothing found").to_string();
    assert!(why.contains("connection refused") && why.contains("500/s..2500/s"), "{why}");
    // Rates a second need none of it.
    let plan = plan(&asked("500/s,900/s", None));
    let finished = run(&plan, Vec::new(), &mut machine(script())).expect("study");
    assert!(finished.readings.iter().all(|reading| reading.phase != Phase::Screen));
}

#[test]
fn what_does_not_go_with_a_load_curve_is_refused() {
    let refused = |asked: &Request, part: &str| {
        let drawn = planning::draw(asked, "host", &Topology::regular(1, 2, 2));
        let why = drawn.expect_err(part).to_string();
        assert!(why.contains(part), "{why}");
    };
    let mut without = asked("10%..90%", None);
    if let Subject::Command { spec, .. } = &mut without.subject {
        spec.argv = vec!["gen".to_owned()];
    }
    refused(&without, "needs {rate}");
    let mut chat = asked("10%..90%", None);
    chat.subject = Subject::Workloads(vec![WorkloadSpec::parse("tbench:clients=2").expect("spec")]);
    refused(&chat, "study service");
    let mut many = asked("10%..90%", None);
    if let Subject::Command { copies, .. } = &mut many.subject {
        *copies = Counts::List(vec![1, 2]);
    }
    refused(&many, "one service");
}

#[test]
fn the_service_is_driven_as_fast_as_it_answers_and_long_enough_for_its_percentile() {
    let mut own = asked("10%,50%", Some("p99=10ms"));
    own.subject =
        Subject::Workloads(vec![WorkloadSpec::parse("service:mix=compute").expect("spec")]);
    let plan = plan(&own);
    let ids: Vec<&str> = plan.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(
        ids,
        ["service/latency:mix=compute,rate=10%", "service/latency:mix=compute,rate=50%"]
    );
    let found_by = plan.saturation_row().expect("a row");
    assert_eq!(
        (found_by.workload.as_str(), found_by.params.contains_key(RATE)),
        ("service/throughput", false)
    );
    let script: Script = Box::new(|job, _| {
        let Work::Builtin { workload, params } = &job.work else { panic!("a row") };
        if workload == "service/throughput" {
            return Scripted::ok(5_000.0, 10.0);
        }
        let number = |name: &str| params[name].to_string().parse::<f64>().expect("a number");
        assert!(number("seconds") * number(RATE) >= 11_000.0, "{params:?}");
        Scripted::ok(100.0, 10.0)
    });
    let finished = run(&plan, Vec::new(), &mut machine(script)).expect("study");
    let seeds: BTreeSet<(u32, String)> = finished
        .readings
        .iter()
        .filter(|reading| reading.row == "service/latency:mix=compute,rate=50%")
        .map(|reading| (reading.block, reading.params["seed"].to_string()))
        .collect();
    let blocks: BTreeSet<u32> = seeds.iter().map(|(block, _)| *block).collect();
    let drawn: BTreeSet<&String> = seeds.iter().map(|(_, seed)| seed).collect();
    assert!(blocks.len() >= 8 && seeds.len() == blocks.len(), "the same arrivals in every arm");
    assert_eq!(drawn.len(), blocks.len(), "others in every block");
}
