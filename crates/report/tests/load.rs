//! The report of a load curve: card, picture, tables and columns say what each arm carries.

mod support;

use coretwin_base::account::Span;
use coretwin_base::origin::Origin;
use coretwin_base::parameters::{ParamValue, label};
use coretwin_base::random::Stream;
use coretwin_base::study::latency::{CapacityUse, Latency};
use coretwin_base::study::load::{Objective, RATE};
use coretwin_base::study::plan::LoadPlan;
use coretwin_base::study::reading::{Better, Phase, Reading, Status};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_report::{FORMATS, html, markdown, study_brief, text};
use support::Records;

const SHARES: [f64; 8] = [0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5];
/// What off and on carry, in requests a second.
const CARRIES: [f64; 2] = [8_000.0, 10_000.0];

/// A run of M/M/1 at that rate, which carries so many at most.
fn queue(rate: f64, carries: f64, cpus: f64, stream: &mut Stream) -> Latency {
    let mut noise = |size: f64| 1.0 + size * (stream.unit() - 0.5);
    let spare = (carries * noise(0.02) - rate).max(2.0);
    let carried = rate.min(carries);
    let mean_s = if spare > 2.0 { 1.0 / spare } else { 1.0 - carries / rate + 0.02 };
    Latency {
        offered_per_s: Some(rate),
        sent: (rate * 10.0) as u64,
        completed: (carried * 10.0) as u64,
        duration_s: 10.0,
        throughput_per_s: carried,
        mean_s: Some(mean_s),
        p50_s: Some(mean_s * 2f64.ln() * noise(0.04)),
        p95_s: Some(mean_s * 20f64.ln() * noise(0.06)),
        p99_s: Some(mean_s * 100f64.ln() * noise(0.5)),
        p999_s: (rate > 4_000.0).then(|| mean_s * 1000f64.ln() * noise(0.2)),
        server_cpu_s: Some(carried / carries * 10.0 * cpus * 0.7),
        capacity: Some(CapacityUse {
            cores: 4,
            per_cpu_s: if cpus > 4.0 {
                Span { value: 0.65, low: 0.6, high: 0.7 }
            } else {
                Span::exact(1.0)
            },
        }),
        ..Latency::default()
    }
}

/// An M/M/1 in each arm, ten blocks, with `p99 ≤ 2 ms`, and the screening before it.
fn records(carries: [f64; 2]) -> Records {
    let mut records = support::chat();
    let base = records.plan.rows[0].clone();
    let row = |share: &f64| {
        let mut row = base.clone();
        let shown = ParamValue::parse(&format!("{:.0}%", share * 100.0));
        row.params = [(RATE.to_owned(), shown)].into();
        row.id = label("service/latency", &row.params);
        (row.workload, row.family) = ("service/latency".to_owned(), "service".to_owned());
        (row.unit, row.better) = ("µs".to_owned(), Better::Lower);
        row
    };
    records.plan.rows = SHARES.iter().map(row).collect();
    let mut saturation = base.clone();
    (saturation.id, saturation.workload) =
        ("saturation".to_owned(), "service/throughput".to_owned());
    records.plan.load = Some(Box::new(LoadPlan {
        slo: Some(Objective::parse("p99=2ms").expect("an objective")),
        saturation: Some(saturation),
        raised: false,
        blocks: 3,
        orders: vec![vec![0, 1]; 3],
    }));
    let (plan, like) = (&records.plan, records.readings[0].clone());
    let stream = &mut Stream::new(7, "load", 0);
    let mut readings: Vec<Reading> = Vec::new();
    let mut add = |phase, block: u32, arm: usize, row: &str, value, latency: Option<Latency>| {
        readings.push(Reading {
            seq: readings.len() as u64,
            phase,
            block,
            switch: 2 * block + arm as u32,
            attempt: 0,
            arm: plan.arms[arm].label.as_str().into(),
            row: row.into(),
            status: Status::Ok,
            cause: None,
            value: Some(value),
            latency: latency.map(Into::into),
            ..like.clone()
        });
    };
    for block in 0..3 {
        (0..2).for_each(|arm| add(Phase::Screen, block, arm, "saturation", carries[arm], None));
    }
    for block in 0..10 {
        for (arm, carries) in carries.iter().enumerate() {
            for (row, share) in plan.rows.iter().zip(SHARES) {
                let cpus = plan.arms[arm].cpus.len() as f64;
                let latency = queue(share * 8_000.0, *carries, cpus, stream);
                let mean_us = latency.mean_s.unwrap_or_default() * 1e6;
                add(Phase::Study, block, arm, &row.id, mean_us, Some(latency));
            }
        }
    }
    records.readings = readings;
    records.analysed(StoppedBecause::Target)
}

#[test]
fn the_page_says_and_draws_what_each_arm_carries() {
    let records = records(CARRIES);
    let page = html(&records.study());
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("load.html");
    std::fs::write(file, &page).expect("written, to be looked at");
    // By the formula (10000 − 2303) / (8000 − 2303) = 1.351.
    let times = records.summary.load[1].ratio.expect("a ratio");
    assert!((1.31..1.40).contains(&times), "{times}");
    for said in [
        format!("SMT on carries {times:.2} times the requests at p99 ≤ 2 ms."),
        format!("{times:.2} times</p>"),
        "Latency and capacity under load".to_owned(),
        r#"class="objective""#.to_owned(),
        ">p99 ≤ 2 ms</text>".to_owned(),
    ] {
        assert!(page.contains(&said), "{said}");
    }
    assert_eq!(page.matches(r#"class="area "#).count(), 2, "a band for each arm");
    assert_eq!(page.matches(r#"class="drop "#).count(), 2, "a rate for each arm");
    assert!(!page.contains("work per second"), "at a given rate every arm does the same work");
    assert!(!page.contains("NaN") && !page.contains("inf"), "numbers only");
}

#[test]
fn text_answer_and_tables_say_it_too() {
    let records = records(CARRIES);
    let study = records.study();
    let answer = study_brief(&study).render(100, false);
    assert!(answer.lines().count() <= 7, "{answer}");
    assert!(answer.starts_with("HELPS: SMT on carries 1."), "{answer}");
    assert!(answer.contains("requests a second against"), "{answer}");
    for page in [text(&study), markdown(&study)] {
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in
            // Of on at half of what off carries: 5.6 of 8 CPUs busy at its most, 0.65 s each, on 4 cores.
            [
                "Capacity at p99 ≤ 2 ms",
                "by account",
                "of what it carries at most",
                "110 %",
                "36 % (34 % to 39 %)",
            ]
        {
            assert!(page.contains(said), "{said} in {page}");
        }
    }
    // Of off at its most the kernel shows 70 % busy in this fixture.
    assert!(text(&study).contains("70 %"));
    let of = |name: &str| {
        let format = FORMATS.iter().find(|format| format.name == name).expect(name);
        (format.render)(&study)
    };
    let csv = of("csv");
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().expect("a head").split(',').collect();
    // From the end: texts before may have commas.
    let place = |name: &str| columns.iter().rev().position(|column| *column == name).expect(name);
    let first = lines.find(|line| line.contains(",study,")).expect("a reading");
    let cell: Vec<&str> = first.rsplit(',').collect();
    assert_eq!(cell[place("offered_per_s")], "800");
    assert!(cell[place("p99_s")].parse::<f64>().is_ok_and(|p99| p99 < 1e-3), "{first}");
    assert_eq!(cell[place("p999_s")], "", "too few samples");
    let summary: serde_json::Value = serde_json::from_str(&of("json")).expect("JSON");
    assert_eq!(summary["load"][1]["slo"], "p99=2ms");
    assert_eq!(summary["curve"]["points"].as_array().map(Vec::len), Some(16));
}

#[test]
fn a_bound_is_said_and_never_a_number() {
    let records = records([8_000.0, 40_000.0]);
    let page = html(&records.study());
    assert!(page.contains("on carries at least "), "a bound in the title");
    assert_eq!(page.matches(r#"class="drop "#).count(), 1, "no rate is drawn for a bound");
    assert!(text(&records.study()).contains("at least 12,000"), "{}", text(&records.study()));
    assert_eq!(records.summary.origin, Origin::Measured);
}
