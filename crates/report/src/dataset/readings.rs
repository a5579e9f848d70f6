//! The tables `readings` and `metrics`.

use super::cells::{ByWorkload, Machine, some_text, text};
use coretwin_base::column::Column;
use coretwin_base::machine::environment::Environment;
use coretwin_base::origin::Origin;
use coretwin_base::parameters;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Metric, Reading};
use coretwin_stats::study::Analysed;
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy)]
pub struct ReadingRow<'a> {
    machine: Machine<'a>,
    pub(crate) reading: &'a Reading,
    /// Whether it takes part in the comparison.
    analysed: bool,
    /// When the machine was made ready for the run's arm, in microseconds since 1970 (UTC).
    arm_began: Option<i64>,
}

pub fn readings<'a>(
    plan: &'a Plan,
    readings: &'a [Reading],
    environment: &Environment,
) -> ByWorkload<'a, ReadingRow<'a>> {
    let machine = Machine::of_plan(plan);
    let analysed = Analysed::new(plan, readings);
    let moments: BTreeMap<&str, i64> = environment
        .moments
        .iter()
        .filter_map(|(name, moment)| Some((name.as_str(), microseconds(&moment.at_utc)?)))
        .collect();
    let mut rows: ByWorkload<'_, ReadingRow<'_>> = BTreeMap::new();
    for reading in readings {
        rows.entry(&reading.workload).or_default().push(ReadingRow {
            machine,
            reading,
            analysed: analysed.includes(reading),
            arm_began: moments.get(&*reading.env).copied(),
        });
    }
    rows
}

/// Of a moment in RFC 3339.
fn microseconds(utc: &str) -> Option<i64> {
    Some(utc.parse::<jiff::Timestamp>().ok()?.as_microsecond())
}

pub fn reading_columns<'a>() -> Vec<Column<ReadingRow<'a>>> {
    vec![
        Column::text("cpu_model", |row| text(row.machine.cpu_model)),
        Column::text("origin", |row| text(row.machine.origin.name())),
        Column::flag("is_simulated", |row| Some(row.machine.origin == Origin::Simulated)),
        Column::count("seq", |row| Some(row.reading.seq)),
        Column::text("phase", |row| text(row.reading.phase.into())),
        Column::count("block", |row| Some(row.reading.block.into())),
        Column::count("attempt", |row| Some(row.reading.attempt.into())),
        Column::count("switch", |row| Some(row.reading.switch.into())),
        Column::flag("analysed", |row| Some(row.analysed)),
        Column::text("arm", |row| text(&row.reading.arm)),
        Column::text("row", |row| text(&row.reading.row)),
        Column::text("params", |row| {
            Some(Cow::Owned(
                parameters::label("", &row.reading.params).trim_start_matches(':').into(),
            ))
        }),
        Column::text("placement_asked", |row| {
            Some(Cow::Owned(row.reading.placement_asked.to_string()))
        }),
        Column::text("cpus_ran", |row| Some(Cow::Owned(row.reading.cpus_ran.to_string()))),
        Column::count("threads", |row| Some(row.reading.threads.into())),
        Column::count("copies", |row| Some(row.reading.copies.into())),
        Column::text("status", |row| text(row.reading.status.into())),
        Column::text("cause", |row| row.reading.cause.as_deref().and_then(some_text)),
        Column::number("value", |row| row.reading.value),
        Column::text("unit", |row| text(&row.reading.unit)),
        Column::text("better", |row| text(row.reading.better.name())),
        Column::count("operations", |row| Some(row.reading.operations)),
        Column::number("elapsed_s", |row| Some(row.reading.elapsed_s)),
        Column::number("user_s", |row| Some(row.reading.user_s)),
        Column::number("system_s", |row| Some(row.reading.system_s)),
        Column::number("steal_s", |row| Some(row.reading.steal_s)),
        Column::number("offered_per_s", |row| row.reading.latency.as_ref()?.offered_per_s),
        Column::number("throughput_per_s", |row| {
            Some(row.reading.latency.as_ref()?.throughput_per_s)
        }),
        Column::number("p50_s", |row| row.reading.latency.as_ref()?.p50_s),
        Column::number("p95_s", |row| row.reading.latency.as_ref()?.p95_s),
        Column::number("p99_s", |row| row.reading.latency.as_ref()?.p99_s),
        Column::number("p999_s", |row| row.reading.latency.as_ref()?.p999_s),
        Column::number("server_cpu_s", |row| row.reading.latency.as_ref()?.server_cpu_s),
        Column::number("capacity_per_cpu_s", |row| {
            Some(row.reading.latency.as_ref()?.capacity.as_ref()?.per_cpu_s.value)
        }),
        Column::text("checks_failed", |row| some_text(&checks_failed(row.reading)).map(owned)),
        Column::time("arm_began_utc", |row| row.arm_began),
    ]
}

/// Columns of the readings as CSV: those of the table but what a folder's name tells, with workload and
/// environment.
pub(crate) fn csv_columns<'a>() -> Vec<Column<ReadingRow<'a>>> {
    let mut columns = reading_columns();
    columns.retain(|column| {
        !["cpu_model", "origin", "is_simulated", "arm_began_utc"].contains(&column.name)
    });
    let place = columns.iter().position(|column| column.name == "row").map_or(0, |row| row + 1);
    columns.insert(place, Column::text("workload", |row| text(&row.reading.workload)));
    columns.push(Column::text("env", |row| text(&row.reading.env)));
    columns.push(Column::text("origin", |row| text(row.machine.origin.name())));
    columns
}

pub(crate) fn csv_rows<'a>(
    plan: &'a Plan,
    readings: &'a [Reading],
) -> impl Iterator<Item = ReadingRow<'a>> {
    let machine = Machine::of_plan(plan);
    let analysed = Analysed::new(plan, readings);
    let row = move |reading| ReadingRow {
        machine,
        reading,
        analysed: analysed.includes(reading),
        arm_began: None,
    };
    readings.iter().map(row)
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

fn checks_failed(reading: &Reading) -> String {
    let failed: Vec<&str> =
        reading.checks.iter().filter(|(_, held)| !**held).map(|(name, _)| name.as_str()).collect();
    failed.join(" ")
}

#[derive(Debug, Clone, Copy)]
pub struct MetricRow<'a> {
    of: ReadingRow<'a>,
    name: &'a str,
    metric: &'a Metric,
}

pub fn metrics<'a>(readings: &ByWorkload<'a, ReadingRow<'a>>) -> ByWorkload<'a, MetricRow<'a>> {
    let mut rows: ByWorkload<'_, MetricRow<'_>> = BTreeMap::new();
    for (workload, readings) in readings {
        for of in readings {
            let row =
                |(name, metric): (&'a String, &'a Metric)| MetricRow { of: *of, name, metric };
            let found = of.reading.metrics.iter().map(row);
            rows.entry(workload).or_default().extend(found);
        }
    }
    rows.retain(|_, rows| !rows.is_empty());
    rows
}

pub fn metric_columns<'a>() -> Vec<Column<MetricRow<'a>>> {
    vec![
        Column::text("cpu_model", |row| text(row.of.machine.cpu_model)),
        Column::text("origin", |row| text(row.of.machine.origin.name())),
        Column::flag("is_simulated", |row| Some(row.of.machine.origin == Origin::Simulated)),
        Column::count("seq", |row| Some(row.of.reading.seq)),
        Column::text("phase", |row| text(row.of.reading.phase.into())),
        Column::count("block", |row| Some(row.of.reading.block.into())),
        Column::flag("analysed", |row| Some(row.of.analysed)),
        Column::text("arm", |row| text(&row.of.reading.arm)),
        Column::text("row", |row| text(&row.of.reading.row)),
        Column::text("metric", |row| text(row.name)),
        Column::number("value", |row| Some(row.metric.value)),
        Column::text("unit", |row| text(&row.metric.unit)),
        Column::text("better", |row| text(row.metric.better.name())),
    ]
}
