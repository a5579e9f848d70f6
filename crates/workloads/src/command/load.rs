//! A user's own load: what it says of its requests, in its output or in a file of latencies.

use crate::Error;
use crate::service::latencies::{self, Unit};
use coretwin_base::study::command::{CommandSpec, LoadSpec, MetricSpec};
use coretwin_base::study::latency::Latency;
use coretwin_base::study::load::time_unit;
use std::path::Path;
use std::time::SystemTime;

/// Unit of the value of a run: its latency.
pub(super) const UNIT: &str = "µs";
/// Names of metrics that say how long requests took; the first of them is the value of a run.
const LATENCIES: [&str; 5] = ["mean", "p50", "p95", "p99", "p99.9"];
/// Name of the metric that says how many requests were answered a second.
const THROUGHPUT: &str = "throughput";

/// Checks that a load says what a curve needs. Errors: what is missing, and how it is written.
pub fn check(spec: &CommandSpec, has_shares: bool, percentile: Option<&str>) -> Result<(), String> {
    let Some(load) = &spec.load else { return Ok(()) };
    if !load.unit.is_empty() && load.unit.parse::<Unit>().is_err() {
        return Err(format!("'{}' is no unit of latencies: ns, us, ms or s", load.unit));
    }
    let said = |name: &str| spec.metrics.iter().find(|metric| metric.name == name);
    let latencies = || LATENCIES.into_iter().filter_map(said);
    if let Some(wrong) = latencies().find(|metric| time_unit(&metric.unit).is_none()) {
        let MetricSpec { name, unit, .. } = wrong;
        return Err(format!(
            "metric '{name}': '{unit}' is no unit of a latency; write it like {name}:ms=REGEX"
        ));
    }
    if load.latencies.is_some() {
        return Ok(());
    }
    let how = "name a file with --latencies, or read it from the output, like";
    if latencies().next().is_none() {
        return Err(format!("the load says no latency: {how} --metric 'p99:ms=p99 ([0-9.]+)'"));
    }
    if let Some(name) = percentile.filter(|name| said(name).is_none()) {
        return Err(format!("the load does not say its {name}: {how} --metric '{name}:ms=REGEX'"));
    }
    if has_shares && said(THROUGHPUT).is_none() {
        return Err(format!(
            "how much the load carries is not known: {how} --metric 'throughput:req/s=REGEX', or give \
             rates in requests a second, like --load-curve 500/s..2500/s"
        ));
    }
    Ok(())
}

/// What a run said. `means` are the metrics in the order of the spec.
pub(super) fn read(
    spec: &CommandSpec,
    load: &LoadSpec,
    means: &[f64],
    (began, elapsed_s): (SystemTime, f64),
) -> Result<Latency, Error> {
    let mut told = match &load.latencies {
        Some(file) => of_file(spec, load, file, (began, elapsed_s))?,
        None => Latency { offered_per_s: load.rate, duration_s: elapsed_s, ..Latency::default() },
    };
    for (metric, mean) in spec.metrics.iter().zip(means) {
        if metric.name == THROUGHPUT {
            told.throughput_per_s = *mean;
            if load.latencies.is_none() {
                told.completed = (mean * elapsed_s).round() as u64;
                told.sent = told.completed;
            }
        }
        let Some(unit) = time_unit(&metric.unit) else { continue };
        let place = match metric.name.as_str() {
            "mean" => &mut told.mean_s,
            "p50" => &mut told.p50_s,
            "p95" => &mut told.p95_s,
            "p99" => &mut told.p99_s,
            "p99.9" => &mut told.p999_s,
            _ => continue,
        };
        *place = Some(mean * unit);
    }
    if told.throughput_per_s == 0.0 {
        // Unsaid: what was offered, or less.
        told.throughput_per_s = load.rate.unwrap_or_default();
    }
    Ok(told)
}

fn of_file(
    spec: &CommandSpec,
    load: &LoadSpec,
    file: &str,
    (began, elapsed_s): (SystemTime, f64),
) -> Result<Latency, Error> {
    let path = Path::new(spec.folder.as_deref().unwrap_or(".")).join(file);
    let written = path.metadata().and_then(|found| found.modified());
    // File systems cut times down to their ticks.
    let is_old = |at: SystemTime| began.duration_since(at).is_ok_and(|age| age.as_secs_f64() > 0.1);
    if written.is_ok_and(is_old) {
        return Err(Error::failed(format!(
            "{} is older than this run: the load has not written its latencies there",
            path.display()
        )));
    }
    latencies::read(&path, load.unit.parse().ok(), load.rate, elapsed_s)
}

/// The value of a run: its mean latency, or the first percentile that is known, in [`UNIT`].
pub(super) fn value(told: &Latency) -> Option<f64> {
    let all = [told.mean_s, told.p50_s, told.p95_s, told.p99_s, told.p999_s];
    all.into_iter().flatten().next().map(|seconds| seconds * 1e6)
}
