//! A study as hyperfine's `--export-json` would write it, for scripts that read that: a result for each
//! row in each arm, with the time of every run that is analysed. Rows that are not in seconds have none.

use crate::Study;
use crate::format::pretty;
use crate::words::shell_line;
use coretwin_base::origin::Origin;
use coretwin_base::parameters::label;
use coretwin_base::study::plan::{PlanArm, PlanRow};
use coretwin_base::study::reading::{Better, Reading};
use coretwin_stats::study::Analysed;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Export {
    /// Not hyperfine's: a simulated second is none of a machine.
    origin: Origin,
    results: Vec<Benchmark>,
}

#[derive(Serialize)]
struct Benchmark {
    command: String,
    mean: f64,
    /// Of the sample; `None` of a single run.
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<i32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
}

pub(crate) fn hyperfine(study: &Study<'_>) -> String {
    let analysed = Analysed::new(study.plan, study.readings);
    let rows = study.plan.rows.iter().filter(|row| row.unit == "s" && row.better == Better::Lower);
    let cells = rows.flat_map(|row| study.plan.arms.iter().map(move |arm| (row, arm)));
    let results = cells.filter_map(|(row, arm)| {
        let of_cell = |reading: &&Reading| {
            reading.row == *row.id && reading.arm == *arm.label && analysed.includes(reading)
        };
        let readings: Vec<&Reading> = study.readings.iter().filter(of_cell).collect();
        benchmark(study, row, arm, &readings)
    });
    pretty(&Export { origin: study.summary.origin, results: results.collect() })
}

fn benchmark(
    study: &Study<'_>,
    row: &PlanRow,
    arm: &PlanArm,
    readings: &[&Reading],
) -> Option<Benchmark> {
    let times: Vec<f64> = readings.iter().filter_map(|reading| reading.value).collect();
    let mut sorted = times.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let squares = times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>();
    let metric = |reading: &Reading, name: &str| Some(reading.metrics.get(name)?.value);
    let per_run = |name: &str, whole: fn(&Reading) -> f64| {
        let one = |reading: &&Reading| metric(reading, name).unwrap_or_else(|| whole(reading));
        readings.iter().map(one).sum::<f64>() / count
    };
    let memory = |reading: &&Reading| Some((metric(reading, "peak_memory_kib")? * 1024.0) as u64);
    let own = arm.variant.iter().flat_map(|variant| &variant.params).chain(&row.params);
    Some(Benchmark {
        command: name(study, row, arm),
        mean,
        stddev: (times.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
        median: f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]),
        user: per_run("user_per_run_s", |reading| reading.user_s),
        system: per_run("system_per_run_s", |reading| reading.system_s),
        min,
        max,
        exit_codes: vec![0; times.len()],
        memory_usage_byte: readings.iter().filter_map(memory).collect(),
        parameters: own.map(|(name, value)| (name.clone(), value.to_string())).collect(),
        times,
    })
}

/// The command or workload as it is typed; beside its arm, unless the arm is only that command.
fn name(study: &Study<'_>, row: &PlanRow, arm: &PlanArm) -> String {
    match (&arm.variant, &study.plan.command) {
        (Some(_), _) => arm.label.clone(),
        (None, Some(command)) => format!("{}: {}", arm.label, shell_line(&command.argv)),
        (None, None) => format!("{}: {}", arm.label, label(&row.workload, &row.params)),
    }
}
