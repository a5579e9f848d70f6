//! OpenMetrics text: the one writer for whatever exports numbers to a monitor. A family is a metric
//! with its samples, one for each set of labels.
//!
//! Source: OpenMetrics 1.0, <https://github.com/OpenObservability/OpenMetrics>.

use std::fmt::{Display, Write};

pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How the text is written. They differ in the names of counters, and in units and an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus text 0.0.4, which came before it.
    Prometheus,
}

#[derive(Debug, Clone, Copy)]
pub struct Family<'a> {
    /// Its name; a counter's samples have `_total` behind it.
    pub name: &'a str,
    /// Whether it only grows.
    pub counter: bool,
    /// Its unit, which its name ends with; empty for plain numbers.
    pub unit: &'a str,
    pub help: &'a str,
}

#[derive(Debug)]
pub struct Samples {
    name: String,
    lines: String,
}

#[derive(Debug)]
pub struct Exposition {
    dialect: Dialect,
    text: String,
}

impl Family<'_> {
    pub fn samples(&self) -> Samples {
        let total = if self.counter { "_total" } else { "" };
        Samples { name: format!("{}{total}", self.name), lines: String::new() }
    }
}

impl Samples {
    /// Adds a sample; a number that is not finite is left out.
    pub fn add(&mut self, labels: &[(&str, &str)], value: f64) {
        if value.is_finite() {
            self.put(labels, value);
        }
    }

    /// Adds a whole number, to the last digit.
    pub fn count(&mut self, labels: &[(&str, &str)], value: u64) {
        self.put(labels, value);
    }

    fn put(&mut self, labels: &[(&str, &str)], value: impl Display) {
        let pair = |(name, text): &(&str, &str)| format!("{name}=\"{}\"", escaped(text));
        let labels: Vec<String> = labels.iter().map(pair).collect();
        let set =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.lines, "{}{set} {value}", self.name);
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

impl Exposition {
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, text: String::new() }
    }

    pub fn add(&mut self, family: &Family<'_>, samples: &Samples) {
        let named = match self.dialect {
            Dialect::OpenMetrics => family.name,
            Dialect::Prometheus => &samples.name,
        };
        let kind = if family.counter { "counter" } else { "gauge" };
        let _ = writeln!(self.text, "# TYPE {named} {kind}");
        if self.dialect == Dialect::OpenMetrics && !family.unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {named} {}", family.unit);
        }
        let _ = writeln!(self.text, "# HELP {named} {}", escaped(family.help));
        self.text.push_str(&samples.lines);
    }

    /// The whole text, with its end mark where the dialect has one.
    pub fn finish(self) -> String {
        match self.dialect {
            Dialect::OpenMetrics => self.text + "# EOF\n",
            Dialect::Prometheus => self.text,
        }
    }
}

/// A text between quotes, or a help line. Control characters but line ends become spaces.
fn escaped(text: &str) -> String {
    let strange = |character: char| character.is_control() && character != '\n';
    let text = text.replace(strange, " ").replace('\\', "\\\\");
    text.replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_outside_cannot_break_a_line() {
        assert_eq!(escaped("a\"b\\c\nd\u{1b}"), r#"a\"b\\c\nd "#);
    }

    #[test]
    fn dialects_differ_in_counters_units_and_the_end() {
        let family = Family { name: "x_seconds", counter: true, unit: "seconds", help: "Time." };
        let mut samples = family.samples();
        samples.add(&[("a", "1"), ("b", "2")], 0.5);
        samples.add(&[], f64::NAN);
        samples.count(&[], u64::MAX);
        let text = |dialect| {
            let mut text = Exposition::new(dialect);
            text.add(&family, &samples);
            text.finish()
        };
        let lines = "x_seconds_total{a=\"1\",b=\"2\"} 0.5\nx_seconds_total 18446744073709551615\n";
        assert_eq!(
            text(Dialect::OpenMetrics),
            format!(
                "# TYPE x_seconds counter\n# UNIT x_seconds seconds\n# HELP x_seconds Time.\n{lines}# EOF\n"
            )
        );
        assert_eq!(
            text(Dialect::Prometheus),
            format!("# TYPE x_seconds_total counter\n# HELP x_seconds_total Time.\n{lines}")
        );
    }
}
