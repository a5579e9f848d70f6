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
use metrics::METRICS;
use std::fmt::Write;
use std::path::Path;
use totals::Totals;

/// What the text is, for HTTP.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How the text is written. They differ in the names of counters, and in units and an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus text 0.0.4.
    Prometheus,
}

impl Format {
    /// The format of a file of that name: collectors of `.prom` files read the older one.
    #[must_use]
    pub fn of_file(path: &Path) -> Self {
        match path.extension() {
            Some(ending) if ending == "prom" => Self::Prometheus,
            _ => Self::OpenMetrics,
        }
    }
}

/// The text of all metrics.
#[must_use]
pub fn text(totals: &Totals, snapshot: &Snapshot, format: Format) -> String {
    let mut text = String::new();
    for metric in METRICS {
        let (kind, total) = if metric.counter { ("counter", "_total") } else { ("gauge", "") };
        let sample = format!("{}{total}", metric.name);
        let mut samples = Samples { name: &sample, lines: String::new() };
        (metric.write)(totals, snapshot, &mut samples);
        // A family without a sample is not in the format.
        if samples.lines.is_empty() {
            continue;
        }
        let family = if format == Format::Prometheus { &sample } else { metric.name };
        let _ = writeln!(text, "# TYPE {family} {kind}");
        if format == Format::OpenMetrics && !metric.unit.is_empty() {
            let _ = writeln!(text, "# UNIT {family} {}", metric.unit);
        }
        let _ = writeln!(text, "# HELP {family} {}", metric.help);
        text.push_str(&samples.lines);
    }
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

/// The samples of one metric.
pub struct Samples<'a> {
    name: &'a str,
    lines: String,
}

impl Samples<'_> {
    /// Adds a sample; a number that is none is left out.
    pub fn add(&mut self, labels: &[(&str, &str)], value: f64) {
        if !value.is_finite() {
            return;
        }
        self.lines.push_str(self.name);
        if !labels.is_empty() {
            self.lines.push('{');
            for (position, (label, text)) in labels.iter().enumerate() {
                let comma = if position == 0 { "" } else { "," };
                let _ = write!(self.lines, "{comma}{label}=\"{}\"", escaped(text));
            }
            self.lines.push('}');
        }
        let _ = writeln!(self.lines, " {value}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
