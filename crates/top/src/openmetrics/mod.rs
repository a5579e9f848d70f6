//! Windows for a monitor: in a file ([`textfile`]) or over HTTP ([`endpoint`]), as text in the
//! OpenMetrics format (version 1.0) or in the Prometheus text format (0.0.4) that came before it.
//!
//! [`metrics`] is the table of all metrics, [`totals`] what is counted up from window to window.
//! Threads are not exported: they come and go, and every one would be a series for ever.

pub mod endpoint;
pub mod metrics;
pub mod target;
pub mod textfile;
pub mod totals;

use crate::snapshot::Snapshot;
use coretwin_base::openmetrics::{Dialect, Exposition};
use metrics::METRICS;
use std::path::Path;
use totals::Totals;

/// The dialect of a file of that name: collectors of `.prom` files read the older one.
pub fn dialect_of_file(path: &Path) -> Dialect {
    match path.extension() {
        Some(ending) if ending == "prom" => Dialect::Prometheus,
        _ => Dialect::OpenMetrics,
    }
}

pub fn text(totals: &Totals, snapshot: &Snapshot, dialect: Dialect) -> String {
    let mut text = Exposition::new(dialect);
    for metric in METRICS {
        let mut samples = metric.family.samples();
        (metric.write)(totals, snapshot, &mut samples);
        // A family without a sample is not in the format.
        if !samples.is_empty() {
            text.add(&metric.family, &samples);
        }
    }
    text.finish()
}

#[cfg(test)]
mod tests;
