//! The worker's side: a folder and a process for every copy; all released together; the median of
//! all their samples; and nothing left.

use super::process::{Orders, Report};
use super::sampler::Sample;
use super::summary::Median;
use super::{Place, Row};
use crate::role::LMBENCH;
use crate::scratch::Scratch;
use crate::supervisor::Supervisor;
use crate::workload::{Measured, metric};
use crate::{Error, copies, leftovers};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::param::Params;
use coretwin_base::study::job::Job;
use coretwin_base::study::reading::{Better, Metric};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a copy's folder needs for a few small files, in KiB.
const SMALL_FILES_KIB: u64 = 4096;

pub(super) fn run(
    row: &Row,
    params: &Params,
    job: &Job,
    supervisor: &mut Supervisor,
) -> Result<Measured, Error> {
    if row.has_folder() {
        leftovers::start_janitor(supervisor)?;
    }
    let scratch = scratch_for(row, params, job.copies.max(1))?;
    let orders = |_, folder| orders(row, params, job, folder);
    let ran: Vec<Report> = copies::run(LMBENCH, job, params, scratch.as_ref(), orders, supervisor)?;
    let mut measured = measure(row, (row.tasks)(params), &ran)?;
    if let Some(scratch) = scratch {
        scratch.end(&mut measured)?;
    }
    Ok(measured)
}

fn scratch_for(row: &Row, params: &Params, copies: u32) -> Result<Option<Scratch>, Error> {
    if !row.has_folder() {
        return Ok(None);
    }
    let kib = (row.room)(params).folder_kib + SMALL_FILES_KIB;
    Scratch::of(params, (kib << 10) * u64::from(copies)).map(Some)
}

/// What one of the copies has to do.
fn orders(row: &Row, params: &Params, job: &Job, folder: Option<PathBuf>) -> Orders {
    let place = Place {
        folder,
        cpus: job.roles.clone(),
        core_sched: job.core_sched,
        params: params.clone(),
    };
    Orders { row: row.name.to_owned(), place, company: job.copies > 1 }
}

fn measure(row: &Row, tasks: u32, reports: &[Report]) -> Result<Measured, Error> {
    let value = |operation_s, report: &Report| row.measure.value(operation_s, report.amount);
    let values = |report| {
        let report: &Report = report;
        report.samples.iter().map(move |sample| value(sample.operation_s(), report))
    };
    let samples: Vec<f64> = reports.iter().flat_map(values).collect();
    let median = Median::of(&samples).ok_or_else(|| Error::failed("the row took no sample"))?;
    let elapsed = |report: &Report| report.samples.iter().map(|s| s.elapsed_s).sum::<f64>();
    let mut measured = Measured {
        value: median.value,
        unit: row.measure.unit().to_owned(),
        better: row.measure.better(),
        metrics: metrics(row, reports, &samples, median),
        samples,
        notes: BTreeMap::new(),
        operations: reports.iter().flat_map(|r| &r.samples).map(|sample| sample.operations).sum(),
        elapsed_s: reports.iter().map(elapsed).fold(0.0, f64::max),
        threads: tasks * reports.len() as u32,
        cpus_ran: CpuSet::new(),
        checks: BTreeMap::new(),
    };
    reports.iter().for_each(|report| report.remarks.add_to(&mut measured));
    Ok(measured)
}

fn metrics(
    row: &Row,
    reports: &[Report],
    samples: &[f64],
    median: Median,
) -> BTreeMap<String, Metric> {
    let own = |value: f64| metric(value, row.measure.unit(), row.measure.better());
    let lower = |value: f64, unit: &str| metric(value, unit, Better::Lower);
    let largest = |part: fn(&Report) -> f64| reports.iter().map(part).fold(0.0, f64::max);
    let lengths: Vec<f64> =
        reports.iter().flat_map(|r| &r.samples).map(|sample| sample.elapsed_s).collect();
    let length = Median::of(&lengths).map_or(0.0, |median| median.value);
    let mut metrics = BTreeMap::from([
        ("median_low".to_owned(), own(median.low)),
        ("median_high".to_owned(), own(median.high)),
        ("median_confidence".to_owned(), metric(100.0 * median.confidence, "%", Better::Higher)),
        ("sample_min".to_owned(), own(samples.iter().copied().fold(f64::INFINITY, f64::min))),
        ("sample_max".to_owned(), own(samples.iter().copied().fold(f64::NEG_INFINITY, f64::max))),
        ("sample_s".to_owned(), metric(length, "s", Better::Higher)),
        ("operations_with_warm_up".to_owned(), {
            let all: u64 = reports.iter().map(|report| report.all).sum();
            metric(all as f64, "operations", Better::Higher)
        }),
        ("clock_overhead_ns".to_owned(), lower(largest(|r| r.overheads.clock_s * 1e9), "ns")),
        ("loop_overhead_ns".to_owned(), lower(largest(|r| r.overheads.turn_s * 1e9), "ns")),
    ]);
    let both = |part: fn(&Sample) -> Option<f64>| -> Vec<f64> {
        let of = |report: &Report| {
            let amount = report.amount;
            let times = report.samples.iter().filter_map(part);
            times.map(|seconds| seconds * 1e6 / amount).collect::<Vec<_>>()
        };
        reports.iter().flat_map(of).collect()
    };
    let (whole, minus) = (both(|sample| Some(sample.whole_s)), both(|sample| sample.minus_s));
    if let (Some(whole), Some(minus)) = (Median::of(&whole), Median::of(&minus)) {
        metrics.insert("whole_us".to_owned(), lower(whole.value, "µs"));
        metrics.insert("subtracted_us".to_owned(), lower(minus.value, "µs"));
        let all: u64 = reports.iter().filter_map(|report| report.minus_all).sum();
        let all = metric(all as f64, "operations", Better::Higher);
        metrics.insert("subtracted_operations_with_warm_up".to_owned(), all);
    }
    for (name, (value, unit)) in reports.iter().flat_map(|report| &report.remarks.metrics) {
        let largest = metrics.entry(name.clone()).or_insert(lower(*value, unit));
        largest.value = largest.value.max(*value);
    }
    metrics
}
