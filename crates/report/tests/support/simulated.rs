//! The article's study on the simulated Xeon, as the program ran it: its plan as stored, and of its
//! readings what the report needs. The long check `simulated-study` runs it anew and compares.

use super::{Records, environment, reading};
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Better, Metric, Reading};
use coretwin_base::study::summary::StoppedBecause;
use std::sync::Arc;

const PLAN: &str = include_str!("../simulated/plan.json");
/// Row, arm, block, value; part of the load, runs, their error, and throughput of the core where siblings were busy.
const READINGS: &str = include_str!("../simulated/readings.csv");

pub(crate) fn simulated() -> Records {
    let plan: Plan = serde_json::from_str(PLAN).expect("plan");
    let readings = READINGS.lines().skip(1).zip(0..).map(|(line, seq)| told(&plan, line, seq));
    let readings: Vec<Reading> = readings.collect();
    let environment = environment(&plan);
    let summary = coretwin_article::analyse(&plan, &readings, StoppedBecause::Blocks);
    Records { plan, readings, environment, summary }
}

/// Of it, what one kernel's two arms did in the families that are a load: as the program answers
/// `coretwin study chat dbench tbench --machine xeon-mp-foster --arm off@KERNEL --arm on@KERNEL --seed 1`.
pub(crate) fn of_kernel(kernel: &str) -> Records {
    let Records { mut plan, mut readings, environment, .. } = simulated();
    plan.arms.retain(|arm| arm.scheduler == kernel);
    plan.reference_arm = plan.arms[0].label.clone();
    plan.rows.retain(|row| ["chat", "dbench", "tbench"].contains(&row.workload.as_str()));
    plan.orders.iter_mut().for_each(|order| *order = vec![0, 1]);
    readings.retain(|reading| {
        plan.arm(&reading.arm).is_some() && plan.rows.iter().any(|row| *row.id == *reading.row)
    });
    let summary = coretwin_article::analyse(&plan, &readings, StoppedBecause::Blocks);
    Records { plan, readings, environment, summary }
}

fn told(plan: &Plan, line: &str, seq: u64) -> Reading {
    let cells: Vec<&str> = line.split(',').collect();
    let [row, arm, block, value, fraction, runs, error, throughput] = cells[..] else {
        panic!("eight cells: {line}");
    };
    let row = plan.rows.iter().position(|one| one.id == row).expect(row);
    let arm = plan.arms.iter().position(|one| one.label == arm).expect(arm);
    let mut reading = reading(plan, row, arm, block.parse().expect(line), seq);
    reading.value = Some(value.parse().expect(line));
    let metrics = [
        ("sampled_fraction", fraction),
        ("runs", runs),
        ("seed_error", error),
        ("core_throughput", throughput),
    ];
    let given = metrics.iter().filter(|(_, value)| !value.is_empty());
    let metric = |value: &str| Metric {
        value: value.parse().expect(line),
        unit: String::new(),
        better: Better::Higher,
    };
    reading.metrics =
        Arc::new(given.map(|(name, value)| ((*name).to_owned(), metric(value))).collect());
    reading
}
